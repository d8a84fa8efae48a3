"""CONTRIBUTING's recipe, followed to the letter, adds a transform in one folder plus its two lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")
def test_the_transform_recipe(tmp_path):
    recipe = (ROOT / "CONTRIBUTING.md").read_text().split("## Add a transform")[1].split("## Add a decoder")[0]
    folder = re.search(r"Make the folder `([^`]+)`", recipe).group(1)
    code, module, entry = re.findall(r"```rust\n(.*?)```", recipe, re.S)

    copy = tmp_path / "checkout"
    listed = subprocess.run(
        ["git", "ls-files", "Cargo.*", "crates"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, copy / name)

    (copy / folder).mkdir(parents=True)
    (copy / folder / "mod.rs").write_text(code)
    table = copy / "crates/infeed/src/transform/mod.rs"
    text = table.read_text()
    before = text.count("\n")
    text = text.replace("mod resize;\n", module + "mod resize;\n", 1)
    text = re.sub(
        r"(pub const ENTRIES.*?)(\n\];)",
        lambda m: m.group(1) + "\n" + entry.rstrip("\n") + m.group(2),
        text,
        flags=re.S,
    )
    assert text.count("\n") == before + 2, "two lines and no more"
    table.write_text(text)

    # The suite over every entry must pass, and the new one must be in it.
    env = {**os.environ, "CARGO_TARGET_DIR": os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))}
    # Chosen like the other tests, it finds its dependencies built.
    run = ["cargo", "test", "-q", "--workspace", "--exclude=infeed-python", "--lib", "transform::"]
    try:
        done = subprocess.run(run, cwd=copy, env=env, capture_output=True, text=True)
    finally:
        # Cargo tells checkouts apart by the times of their files alone: what was built of the copy must not pass for
        # what lies here.
        for made in Path(env["CARGO_TARGET_DIR"]).glob("debug/.fingerprint/infeed*"):
            shutil.rmtree(made, ignore_errors=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"test result: ok\. [1-9]\d* passed", done.stdout), done.stdout
