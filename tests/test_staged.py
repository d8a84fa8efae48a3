"""Staged copies are read in place of their sources; the page about staging runs as it is written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import jpeg, write_shards
from staging import PATIENCE

import infeed

PAGE = Path(__file__).resolve().parents[1] / "docs" / "staging.md"


@pytest.fixture
def shards(tmp_path: Path) -> str:
    (tmp_path / "data").mkdir()
    return write_shards(tmp_path / "data", 50)


def pipeline(shards: str, **options: Any) -> infeed.Pipeline:
    return infeed.open(shards, **options).shuffle(seed=3).decode(cls="int").batch(7)


def epoch(loader: infeed.Loader) -> list[tuple[list[str], list[int], list[bytes]]]:
    return [(batch["__key__"], batch["cls"].tolist(), [bytes(jpg) for jpg in batch["jpg"]]) for batch in loader]


def test_open_reads_the_copies(shards: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    fast = tmp_path / "fast"
    infeed.stage(shards, fast)
    plain, staged = pipeline(shards).to_numpy(), pipeline(shards, staged=fast).to_numpy()
    assert epoch(plain) == epoch(staged)
    assert plain.ledger() == staged.ledger()
    assert plain.state_dict() == staged.state_dict()
    # States go back and forth in the middle of an epoch.
    half = iter(staged)
    next(half)
    plain.load_state_dict(staged.state_dict())
    assert next(iter(plain))["__key__"] == next(half)["__key__"]
    assert f"staged  all of 4 files are read from {fast}" in pipeline(shards, staged=fast).explain()
    # One copy is gone, one is not of its source any more.
    (fast / "train-001.tar").unlink()
    os.utime(data / "train-002.tar")
    mixed = pipeline(shards, staged=str(fast))
    assert "staged  2 of 4 files are read from" in mixed.explain()
    assert epoch(mixed.to_numpy()) == epoch(pipeline(shards).to_numpy())
    assert epoch(pipeline(shards, staged=tmp_path / "none").to_numpy()) == epoch(pipeline(shards).to_numpy())


def test_copies_that_vanish_while_they_are_read(shards: str, tmp_path: Path) -> None:
    staged = infeed.stage(shards, tmp_path / "fast")
    loader = pipeline(shards, staged=staged).to_numpy(prefetch=1)
    batches = iter(loader)
    first = next(batches)
    assert staged.clean_up()
    rest = [key for batch in batches for key in batch["__key__"]]
    assert len(first["__key__"]) + len(rest) == 50


def test_a_staged_object_is_opened(shards: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    staged = infeed.stage(shards, tmp_path / "fast")
    assert staged.paths == [str(tmp_path / "fast" / f"train-{n:03d}.tar") for n in range(4)]
    # Opened with nothing left of the sources; the list beside the copies is no data.
    for path in data.iterdir():
        path.unlink()
    rows = len(infeed.open(staged))
    assert rows == 50 == len(infeed.tar(staged)) == len(infeed.open(staged.folder))


def test_folders_of_images(tmp_path: Path) -> None:
    for number in range(12):
        path = tmp_path / "images" / f"class-{number % 3}" / f"{number}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(number))
    staged = infeed.stage(tmp_path / "images", tmp_path / "fast")
    plain = infeed.open(tmp_path / "images").batch(5)
    for other in (infeed.open(staged).batch(5), infeed.open(tmp_path / "images", staged=staged).batch(5)):
        for a, b in zip(plain.to_numpy(), other.to_numpy(), strict=True):
            assert a["label"].tolist() == b["label"].tolist()
            assert [bytes(x) for x in a["image"]] == [bytes(x) for x in b["image"]]


def test_found_by_itself(shards: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLURM_TMPDIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    staged = infeed.stage(shards)
    assert staged.found_by == "$TMPDIR" and (tmp_path / "tmp") in staged.folder.parents
    auto = pipeline(shards, staged="auto")
    assert f"all of 4 files are read from {staged.folder}" in auto.explain()
    assert epoch(auto.to_numpy()) == epoch(pipeline(shards).to_numpy())
    assert staged.folder.parent.stat().st_mode & 0o077 == 0


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)


@pytest.mark.usefixtures("shards")
def test_the_page_about_staging(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its Python runs as it is written, one block after the other."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("SLURM_TMPDIR", raising=False)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    found = blocks("python")
    assert len(found) >= 2
    for code in found:
        exec(compile(code, str(PAGE), "exec"), names)


@pytest.mark.usefixtures("shards")
def test_the_commands_of_the_page(tmp_path: Path) -> None:
    """Its shell commands and its script for SLURM run, with a stand-in for srun that starts every rank."""
    (tmp_path / "scratch").mkdir()
    stand_ins = tmp_path / "bin"
    stand_ins.mkdir()
    run = f'exec "{sys.executable}" -m infeed "$@"\n'
    (stand_ins / "infeed").write_text(f"#!/bin/sh\n{run}")
    (stand_ins / "python").write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    # Two tasks on one node, both at once, as srun would start them.
    (stand_ins / "srun").write_text(
        """#!/bin/bash
tasks=2
while [[ $1 == --* ]]; do [[ $1 == --ntasks-per-node=1 ]] && tasks=1; shift; done
codes=0; pids=()
for ((rank = 0; rank < tasks; rank++)); do
    INFEED_RANK=$rank INFEED_WORLD_SIZE=$tasks INFEED_LOCAL_RANK=$rank INFEED_LOCAL_WORLD_SIZE=$tasks "$@" &
    pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || codes=1; done
exit $codes
"""
    )
    for path in stand_ins.iterdir():
        path.chmod(0o755)
    (tmp_path / "train.py").write_text(
        """
import infeed
data = infeed.open("data/train-*.tar", staged="auto")
print("STAGED" if "all of 4 files are read from" in data.explain() else data.explain())
"""
    )
    scratch = str(tmp_path / "scratch")
    environment = {
        **os.environ,
        "PATH": f"{stand_ins}:{os.environ['PATH']}",
        "TMPDIR": scratch,
        "SLURM_TMPDIR": scratch,
    }
    found = blocks("bash")
    assert len(found) >= 2
    for code in found:
        code = code.replace("/nvme/", f"{tmp_path}/nvme/")
        done = subprocess.run(
            ["bash", "-eu", "-c", code],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert done.returncode == 0, f"{code}\n{done.stdout}\n{done.stderr}"
        if "train.py" in code:
            assert done.stdout.count("STAGED") == 2, done.stdout
            assert not list((tmp_path / "scratch").glob("infeed-stage-*/*")), "the script cleans up"
