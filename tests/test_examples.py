"""The examples run as they are written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def run(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_resume(tmp_path):
    """Interrupted on two ranks, continued on three, and proved."""
    pytest.importorskip("torch")
    script, folder = str(EXAMPLES / "resume.py"), str(tmp_path / "run")
    torchrun = ["-m", "torch.distributed.run", "--standalone"]
    run(*torchrun, "--nproc-per-node=2", script, folder, "--stop-after", "7")
    out = run(*torchrun, "--nproc-per-node=3", script, folder)
    assert "epoch 1:" in out
    ledgers = sorted(str(p) for p in (tmp_path / "run").glob("ledger-*.json"))
    assert len(ledgers) == 5
    verdict = json.loads(run("-m", "infeed", "verify-epoch", f"{folder}/recipe.json", *ledgers, "--json"))
    assert verdict["exact"] is True
