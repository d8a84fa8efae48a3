"""Real processes under torchrun: same global batches, no hang, exact ledgers, also when a rank is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import jpeg

import infeed

pytest.importorskip("torch")
WORKER = Path(__file__).with_name("torchrun_worker.py")
ROWS = 53


@pytest.fixture(scope="module")
def uneven(tmp_path_factory) -> str:
    """Shards of 1, 30, 2 and 20 rows."""
    folder = tmp_path_factory.mktemp("uneven")
    row = 0
    for shard, rows in enumerate([1, 30, 2, 20]):
        with infeed.ShardWriter(folder / f"part{shard}-%d.tar") as out:
            for _ in range(rows):
                out.write({"__key__": f"s{row:05d}", "jpg": jpeg(row, 40, 36), "cls": row % 10})
                row += 1
    assert row == ROWS
    return str(folder / "*.tar")


def torchrun(ranks: int, check: bool = True, **job) -> subprocess.CompletedProcess:
    defaults = {
        "run": "one",
        "global": 12,
        "last": "short",
        "epochs": 1,
        "checkpoint": 0,
        "die": None,
        "resume": False,
    }
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={ranks}"]
    command += [str(WORKER), json.dumps({**defaults, **job})]
    # Far more than it takes: the limit is there to tell a hang from a slow machine.
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    if check:
        assert done.returncode == 0, done.stderr[-3000:]
    return done


def steps(out: Path, run: str, ranks: int) -> list[list[tuple[int, str]]]:
    """The global batches: (row, pixels) of all ranks, in order, without padding."""
    logs = [json.loads((out / f"log-{run}-{rank}.json").read_text()) for rank in range(ranks)]
    assert len({len(log["steps"]) for log in logs}) == 1, "every rank takes the same number of steps"
    joined = []
    for parts in zip(*(log["steps"] for log in logs), strict=True):
        assert all(part["rows"] for part in parts), "nobody goes away empty"
        assert {part["count"] for part in parts} == {sum(len(part["rows"]) for part in parts)}
        joined.append(
            [
                (row, pixels)
                for part in parts
                for row, pixels, real in zip(part["rows"], part["pixels"], part["real"], strict=True)
                if real
            ]
        )
    return joined


def verify(shards: str, out: Path, *runs: str) -> str:
    """``infeed verify-epoch`` over all ledgers of these runs."""
    recipe = out / "recipe.json"
    recipe.write_text(json.dumps(infeed.open(shards).shuffle(seed=11).recipe))
    ledgers = [str(p) for run in runs for p in sorted(out.glob(f"ledger-{run}-*.json"))]
    command = [sys.executable, "-m", "infeed", "verify-epoch", str(recipe), *ledgers]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (
        done.stdout + done.stderr if done.returncode == 0 else f"exit {done.returncode}: {done.stdout}{done.stderr}"
    )


@pytest.fixture(scope="module")
def straight(uneven, tmp_path_factory) -> list[list[tuple[int, str]]]:
    """Two epochs on one rank."""
    out = tmp_path_factory.mktemp("straight")
    torchrun(1, shards=uneven, out=str(out), epochs=2)
    batches = steps(out, "one", 1)
    assert len(batches) == 10 and sorted(row for batch in batches[:5] for row, _ in batch) == list(range(ROWS))
    assert "exactly once" in verify(uneven, out, "one")
    return batches


@pytest.mark.parametrize("ranks", [2, 3, 4])
def test_any_number_of_ranks(uneven, straight, tmp_path, ranks):
    torchrun(ranks, shards=uneven, out=str(tmp_path), epochs=2)
    assert steps(tmp_path, "one", ranks) == straight
    verdict = verify(uneven, tmp_path, "one")
    assert verdict.count("exactly once") == 2 and f"{ranks} ranks" in verdict, verdict


def test_a_killed_rank_and_another_world(uneven, straight, tmp_path):
    """Four ranks, one is killed one step after a checkpoint; three ranks resume from it."""
    job = {"shards": uneven, "out": str(tmp_path), "last": "pad"}
    died = torchrun(4, check=False, **job, run="first", checkpoint=2, die=[2, 0, 2], epochs=2)
    assert died.returncode != 0 and "SIGKILL" in died.stderr, died.stderr[-2000:]
    # Three steps were taken, and the checkpoint is after the second: the third is lost and does not count.
    torchrun(3, **job, run="second", resume=True, epochs=2)
    assert steps(tmp_path, "second", 3) == straight[2:]
    verdict = verify(uneven, tmp_path, "first", "second")
    assert verdict.count("exactly once") == 2, verdict
    # One ledger less, and the verdict names what is missing.
    (tmp_path / "ledger-first-1.json").unlink()
    verdict = verify(uneven, tmp_path, "first", "second")
    assert verdict.startswith("exit 1") and "missing" in verdict, verdict
