"""Staging: copies made by several processes, killed and resumed, and removed by the last."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from staging import PATIENCE, begin, make_files, said, same

import infeed


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return make_files(tmp_path / "data")


def test_copies(source: Path, tmp_path: Path) -> None:
    staged = infeed.stage(source, tmp_path / "fast", verify=True)
    assert same(source, tmp_path / "fast" / "data")
    assert (staged.files, staged.kept, staged.bytes) == (8, 0, staged.copied_bytes)
    assert (staged.folder, staged.found_by) == (tmp_path / "fast", "given")
    assert os.fspath(staged) == str(tmp_path / "fast") and (staged / "data" / "f-0.bin").is_file()
    assert repr(staged) == f"Staged(8 files, 67.5 MB, in {os.fspath(staged)!r})"
    again = infeed.stage([str(source)], staged.folder)
    assert (again.kept, again.copied_bytes) == (8, 0)
    listed = json.loads((staged / "infeed-stage.json").read_text())
    assert {entry["name"] for entry in listed["files"]} >= {"data/f-0.bin", "data/deep/f-1.bin"}
    assert all(len(entry["crc32c"]) == 8 and entry["modified"] for entry in listed["files"])
    (source / "f-3.bin").write_bytes(b"now another")
    assert infeed.stage(source, staged.folder).copied_bytes == 11
    assert same(source, tmp_path / "fast" / "data")
    assert staged.clean_up() and not staged.folder.exists()


@pytest.mark.parametrize("share", [None, "node"])
def test_processes_at_once(source: Path, tmp_path: Path, share: str | None) -> None:
    """Four processes start together; each byte is read once, and all return when everything is there."""
    code = """
sys.stdin.readline()
staged = infeed.stage(sys.argv[1], sys.argv[2], share=sys.argv[3] or None, threads=2)
complete = sum(1 for path in staged.folder.rglob("*.bin"))
print(staged.copied_bytes, staged.bytes, complete)
"""
    ranks = [
        begin(
            code,
            source,
            tmp_path / "fast",
            share or "",
            INFEED_RANK=str(rank),
            INFEED_WORLD_SIZE="4",
            INFEED_LOCAL_RANK=str(rank),
            INFEED_LOCAL_WORLD_SIZE="4",
        )
        for rank in range(4)
    ]
    for process in ranks:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    answers = [[int(word) for word in said(process).split()] for process in ranks]
    assert sum(copied for copied, _, _ in answers) == answers[0][1]
    assert all(complete == 8 for _, _, complete in answers)
    assert same(source, tmp_path / "fast" / "data")


#: Stages, and kills itself without a warning once so many files are there.
KILLED = """
from infeed import _core
def watch(files, all_files, done, all_bytes, copied, waiting):
    if files >= int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)
_core.stage([sys.argv[1]], sys.argv[2], False, None, (0, 1, 0, 1), 1, watch)
"""


def test_killed_and_resumed(source: Path, tmp_path: Path) -> None:
    fast = tmp_path / "fast"
    # Enough to be looked at in the middle.
    for number in range(3000):
        (source / f"small-{number}.bin").write_bytes(b"x" * (number % 100))
    killed = 0
    for limit in (1, 1, 1200):
        process = begin(KILLED, source, fast, limit)
        process.communicate(timeout=PATIENCE)
        killed += process.returncode == -signal.SIGKILL
    assert killed
    # Nothing is locked, what was done is kept, and what was left half done is finished.
    staged = infeed.stage(source, fast)
    assert staged.kept and same(source, fast / "data")
    assert not list(fast.rglob(".*.part"))


def test_a_kill_at_any_moment(source: Path, tmp_path: Path) -> None:
    """The same from outside, at moments that nobody chose."""
    fast = tmp_path / "fast"
    rng = np.random.default_rng(5)
    for _ in range(6):
        process = begin("print('on', flush=True); infeed.stage(sys.argv[1], sys.argv[2], threads=2)", source, fast)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.25))
        process.kill()
        process.communicate(timeout=PATIENCE)
    infeed.stage(source, fast, verify=True)
    assert same(source, fast / "data")


def test_others_take_over_from_the_killed(source: Path, tmp_path: Path) -> None:
    """Of four processes two are killed; the others neither wait for them nor leave their files out."""
    fast = tmp_path / "fast"
    code = """
print("on", flush=True)
staged = infeed.stage(sys.argv[1], sys.argv[2], threads=1)
print(sum(1 for path in staged.folder.rglob("*.bin")))
"""
    processes = [begin(code, source, fast) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None and process.stdout.readline() == "on\n"
    rng = np.random.default_rng(11)
    for process in processes[:2]:
        time.sleep(rng.uniform(0, 0.1))
        process.kill()
        process.communicate(timeout=PATIENCE)
    assert [said(process) for process in processes[2:]] == ["8", "8"]
    assert same(source, fast / "data")
    assert not list(fast.rglob(".*.part"))


def test_ctrl_c_stops_it(source: Path, tmp_path: Path) -> None:
    def watch(*_: Any) -> None:
        raise KeyboardInterrupt

    for path in range(60):
        (source / f"more-{path}.bin").write_bytes(bytes(4_000_000))
    with pytest.raises(KeyboardInterrupt):
        infeed._core.stage([str(source)], str(tmp_path / "fast"), False, None, (0, 1, 0, 1), 1, watch)
    infeed.stage(source, tmp_path / "fast")
    assert same(source, tmp_path / "fast" / "data")


def test_removed_by_the_last(source: Path, tmp_path: Path) -> None:
    code = """
staged = infeed.stage(sys.argv[1], sys.argv[2], clean=True)
print("staged", flush=True)
sys.stdin.readline()
"""
    fast = tmp_path / "fast"
    both = [begin(code, source, fast) for _ in range(2)]
    for process in both:
        assert process.stdout is not None and process.stdout.readline() == "staged\n"
    said(both[0])
    assert same(source, fast / "data"), "the other one still uses them"
    refused = subprocess.run(
        [sys.executable, "-m", "infeed", "stage", "--clean-up", str(fast)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 1 and "in use by another process" in refused.stderr
    said(both[1])
    assert not fast.exists()


def test_a_fork_removes_nothing(source: Path, tmp_path: Path) -> None:
    code = """
staged = infeed.stage(sys.argv[1], sys.argv[2], clean=True)
child = os.fork()
if child == 0:
    sys.exit(0)
os.waitpid(child, 0)
print(sum(1 for path in staged.folder.rglob("*.bin")))
"""
    assert said(begin(code, source, tmp_path / "fast")) == "8"
    assert not (tmp_path / "fast").exists()


def test_mistakes(tmp_path: Path) -> None:
    (tmp_path / "x.txt").write_text("x")
    with pytest.raises(FileNotFoundError, match="none"):
        infeed.stage(tmp_path / "none", tmp_path / "fast")
    with pytest.raises(ValueError, match="it is a file; the folder to stage into comes last"):
        infeed.stage(tmp_path, tmp_path / "x.txt")
    with pytest.raises(ValueError, match="cannot be staged: it is not a file"):
        infeed.stage("pipe:cat x", tmp_path / "fast")
    with pytest.raises(ValueError, match='share must be "node" or "job"'):
        infeed.stage(tmp_path, tmp_path / "fast", share="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="data in memory"):
        infeed.open({"x": np.arange(3)}, staged="auto")
    (tmp_path / "fast").mkdir()
    (tmp_path / "fast" / "x.txt").write_text("mine")
    with pytest.raises(ValueError, match="is in the way: it was not staged"):
        infeed.stage(tmp_path / "x.txt", tmp_path / "fast")
