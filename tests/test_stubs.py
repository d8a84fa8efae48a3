"""The generated files are what the tables say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


@pytest.mark.parametrize("script", ["stubs.py", "formats.py"])
def test_up_to_date(script: str) -> None:
    run = subprocess.run([sys.executable, str(SCRIPTS / script), "--check"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
