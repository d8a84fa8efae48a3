"""CONTRIBUTING's recipes, followed to the letter, add a transform, two formats and a store: a folder and lines each."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
RECIPES = ["Add a transform", "Add a format of rows", "Add a table format", "Add a store"]
#: Tests that must pass in the copy: the suites over the tables, and the recipes' own.
SUITES = ["transform::", "format::tests", "format::detect", "store::", "logfmt", "shard::", "open::"]


def recipe(title: str) -> str:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    return text.split(f"## {title}\n")[1].split("\n## ")[0]


def steps(text: str) -> Iterator[tuple[str, str | None, str]]:
    """The file, the line to insert code after (none for a new file), and the code."""
    pattern = r"(?:Make `([^`]+)`|[Aa]dd to `([^`]+)`, behind `([^`]+)`):\n\n```rust\n(.*?)```"
    for new, old, behind, code in re.findall(pattern, text, re.DOTALL):
        yield new or old, behind or None, code


def copy_of_workspace(copy: Path) -> None:
    listed = subprocess.run(
        ["git", "ls-files", "Cargo.*", "crates"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            # With modification times, so that unchanged files are not built again.
            shutil.copy2(ROOT / name, copy / name)


def follow(title: str, copy: Path) -> None:
    made = 0
    for file, behind, code in steps(recipe(title)):
        path = copy / file
        if behind is None:
            assert not path.exists(), f"{title}: {file} is there already"
            path.parent.mkdir(parents=True)
            path.write_text(code)
            made += 1
            continue
        lines = path.read_text().splitlines(keepends=True)
        at = next(i for i, line in enumerate(lines) if behind in line)
        assert code.count("\n") == 1, f"{title}: one line at a time"
        lines.insert(at + 1, code)
        path.write_text("".join(lines))
    assert made == 1, f"{title}: one folder"


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_recipes(tmp_path: Path) -> None:
    copy = tmp_path / "checkout"
    copy_of_workspace(copy)
    for title in RECIPES:
        follow(title, copy)
    env = {**os.environ, "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    # Chosen like the other tests, it finds its dependencies built.
    run = ["cargo", "test", "-q", "--workspace", "--exclude=infeed-python", "--lib", "--", *SUITES]
    started = time.time()
    try:
        done = subprocess.run(run, cwd=copy, env=env, capture_output=True, text=True)
    finally:
        # Cargo tells checkouts apart by the times of their files alone: what was built of the copy must not pass for
        # what lies here.
        for made in Path(env["CARGO_TARGET_DIR"]).glob("debug/.fingerprint/infeed*"):
            if any(file.stat().st_mtime >= started for file in made.iterdir()):
                shutil.rmtree(made, ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"test result: ok\. [1-9]\d* passed", done.stdout), done.stdout
    assert len(re.findall(r"test result: ok\. [1-9]\d* passed", done.stdout)) >= 2, "both crates ran their suites"
