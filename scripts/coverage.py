"""Line coverage of the Rust code by the tests, per folder.

    python scripts/coverage.py [--python]

Needs rustup's component `llvm-tools`. With ``--python`` the tests of Python are counted, too: the package is built with
counters and tested from a folder of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OUT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "coverage"
#: Called by cargo in place of the compiler, for crates of this workspace alone: others need no counters.
WRAPPER = '#!/bin/sh\nexec "$@" -Cinstrument-coverage\n'
#: Code that is there for tests and benchmarks alone.
OTHER = re.compile(
    r"(^|/)(tests|examples|benches)(/|\.rs$)|/tests\.rs$|infeed-testkit|infeed-fuzz|/golden|build\.rs$"
)


def tool(name: str) -> str:
    """A program of LLVM that fits the compiler."""
    root = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True).stdout.strip()
    host = re.search(r"host: (\S+)", subprocess.run(["rustc", "-vV"], capture_output=True, text=True).stdout)
    assert host
    path = Path(root) / "lib" / "rustlib" / host[1] / "bin" / name
    if not path.exists():
        sys.exit(f"{name} is missing: rustup component add llvm-tools")
    return str(path)


def rust_tests(env: dict[str, str]) -> list[str]:
    """Runs the tests of all crates and returns their programs."""
    command = ["cargo", "test", "--workspace", "--exclude", "infeed-python", "--no-run", "--message-format=json"]
    built = subprocess.run(command, cwd=ROOT, env=env, stdout=subprocess.PIPE, text=True, check=True)
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    programs = [m["executable"] for m in messages if m.get("executable") and m["profile"]["test"]]
    for program in programs:
        crate = next(m for m in messages if m.get("executable") == program)
        folder = Path(crate["manifest_path"]).parent
        subprocess.run([program, "-q"], cwd=folder, env=env, check=False, stdout=subprocess.DEVNULL)
    return programs


def python_tests(env: dict[str, str]) -> list[str]:
    """Builds the package with counters, runs its tests, and returns its library."""
    folder = OUT / "python"
    shutil.rmtree(folder, ignore_errors=True)
    build = ["maturin", "build", "--profile", "dev", "-q", "--interpreter", sys.executable, "--out", str(folder)]
    subprocess.run(build, cwd=ROOT, env=env, check=True)
    wheel = next(folder.glob("*.whl"))
    shutil.unpack_archive(wheel, folder / "site", "zip")
    env = {**env, "PYTHONPATH": str(folder / "site")}
    # What builds the package again, or kills processes before they could write their counts, adds nothing.
    skipped = ["--ignore=tests/test_contributing.py", "--ignore=tests/test_allocations.py", "-p", "no:cacheprovider"]
    subprocess.run([sys.executable, "-m", "pytest", "-q", *skipped], cwd=ROOT, env=env, check=False)
    return [str(next((folder / "site").rglob("_core*.so")))]


def report(programs: list[str]) -> None:
    """Prints lines covered per folder."""
    profile = OUT / "all.profdata"
    listing = OUT / "counts.txt"
    listing.write_text("\n".join(str(path) for path in (OUT / "counts").glob("*.profraw")))
    merge = [tool("llvm-profdata"), "merge", "-sparse", "--failure-mode=all", "-f", str(listing), "-o", str(profile)]
    subprocess.run(merge, check=True)
    objects = [part for program in programs[1:] for part in ("-object", program)]
    export = [tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={profile}", programs[0], *objects]
    files = json.loads(subprocess.run(export, capture_output=True, text=True, check=True).stdout)["data"][0]["files"]
    folders: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for file in files:
        path = file["filename"]
        if f"{ROOT}/crates/" not in path or OTHER.search(path.removeprefix(str(ROOT))):
            continue
        crate, *rest = path.split("/crates/")[1].split("/")
        folder = f"{crate}/{rest[1]}" if crate == "infeed" and len(rest) > 2 else crate
        for name in (folder, "all"):
            folders[name][0] += file["summary"]["lines"]["covered"]
            folders[name][1] += file["summary"]["lines"]["count"]
    print(f"{'folder':28} {'lines':>7} {'covered':>8}")
    for name, (covered, count) in sorted(folders.items(), key=lambda item: (item[0] == "all", item[0])):
        print(f"{name:28} {count:7} {100 * covered / count:7.1f}%")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="store_true", help="count the tests of Python, too")
    args = parser.parse_args()
    shutil.rmtree(OUT / "counts", ignore_errors=True)
    OUT.mkdir(parents=True, exist_ok=True)
    wrapper = OUT / "rustc"
    wrapper.write_text(WRAPPER)
    wrapper.chmod(0o755)
    counts = str(OUT / "counts" / "%p-%m.profraw")
    env = {**os.environ, "RUSTC_WORKSPACE_WRAPPER": str(wrapper), "LLVM_PROFILE_FILE": counts}
    programs = rust_tests(env)
    if args.python:
        programs += python_tests(env)
    report(programs)


if __name__ == "__main__":
    main()
