"""Checks ARCHITECTURE.md against the code: imports, `unsafe`, and where names of formats occur."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from infeed import _core

ROOT = Path(__file__).parent.parent
CRATES = ROOT / "crates"
STAGES = CRATES / "infeed" / "src"
TEXT = (ROOT / "ARCHITECTURE.md").read_text()

pytestmark = pytest.mark.skipif(not CRATES.is_dir(), reason="needs the sources")


def section(title: str) -> str:
    """The text under a heading."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", TEXT, re.MULTILINE | re.DOTALL)
    assert found, f"ARCHITECTURE.md has no section {title!r}"
    return found.group(1)


def rows(text: str) -> Iterator[list[str]]:
    """The rows of the tables in a text, without their heads."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and not set(line) <= set("|-: ") and not cells[0].endswith("folder"):
            yield cells


def is_test(path: Path) -> bool:
    return "tests" in path.parts or path.name in (
        "tests.rs",
        "text_tests.rs",
        "golden.rs",
        "samples.rs",
        "contract.rs",
    )


def code(path: Path) -> str:
    """The code of a file without comments and without the tests at its end."""
    text = path.read_text().split("#[cfg(test)]\nmod tests {")[0]
    return re.sub(r"//.*", "", text)


def imports(text: str) -> set[str]:
    """The top-level modules of the crate that a file names."""
    found = set(re.findall(r"\bcrate::(\w+)", text))
    for block in re.finditer(r"\bcrate::\{", text):
        depth, start = 1, block.end()
        for at in range(block.end(), len(text)):
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if text[at] in ",}" and depth <= 1:
                found.update(re.findall(r"^\s*(\w+)", text[start:at]))
                start = at + 1
            if depth == 0:
                break
    return found


def test_stages_import_what_they_may() -> None:
    allowed = {}
    for folder, may, *_ in rows(section("Who may import whom")):
        if folder.startswith("`") and not folder.startswith("`infeed"):
            allowed[folder.strip("`")] = set(re.findall(r"`(\w+)`", may))
    folders = {path.name for path in STAGES.iterdir() if path.is_dir()}
    assert set(allowed) == folders, "the table and the folders of crates/infeed/src differ"
    wrong = []
    for folder in folders - {"engine"}:
        for path in sorted((STAGES / folder).rglob("*.rs")):
            if not is_test(path):
                own = {name for name in imports(code(path)) & folders if name not in allowed[folder] | {folder}}
                wrong += [f"{path.relative_to(ROOT)} imports {name}" for name in sorted(own)]
    assert not wrong, "\n".join(wrong)


def test_unsafe_code_lives_where_the_table_says() -> None:
    listed = {name for row in rows(section("Where `unsafe` lives")) for name in re.findall(r"`([^`]+)`", row[0])}
    stated = set()
    prefix = ""
    for row in rows(section("Where `unsafe` lives")):
        for name in re.findall(r"`([^`]+)`", row[0]):
            # Further files of a row stand without their crate.
            head = name.split("/")[0]
            if (CRATES / head).is_dir():
                prefix = head
                stated.add(name)
            else:
                stated.add(f"{prefix}/src/{name}")
    assert listed and stated
    used = set()
    for path in sorted(CRATES.rglob("*.rs")):
        if re.search(r"\bunsafe\s*(\{|fn|impl|extern)", code(path)) and "target" not in path.parts:
            used.add(str(path.relative_to(CRATES)))
    covered = {file for file in used for name in stated if file == name or file.startswith(name.rstrip("*/") + "/")}
    assert not used - covered, f"unsafe code in files that the table does not name: {sorted(used - covered)}"
    idle = {n for n in stated if not any(f == n or f.startswith(n.rstrip("*/") + "/") for f in used)}
    assert not idle, f"files that the table names and that have no unsafe code: {sorted(idle)}"


def test_names_of_formats_stand_in_the_table_alone() -> None:
    """The name of a format occurs as a string only in the folder of its entry and in tests."""
    names = [entry["name"] for entry in json.loads(_core.entries("formats"))]
    known = "|".join(names)
    entry = re.compile(rf'name: "({known})",\n\s*about')
    homes: dict[str, Path] = {}
    for path in CRATES.rglob("src/**/*.rs"):
        for name in entry.findall(path.read_text()):
            homes.setdefault(name, path.parent)
    assert set(homes) == set(names)
    wrong = []
    for path in sorted(CRATES.rglob("src/**/*.rs")):
        if is_test(path) or {"infeed-fuzz", "infeed-testkit", "examples"} & set(path.parts):
            continue
        # A build without a family has no entry that could say its name.
        if path == STAGES / "families.rs":
            continue
        text = path.read_text().split("#[cfg(test)]")[0]
        for name in names:
            # A folder of that name holds the parser, or the stream, of the format.
            if homes[name] in [path.parent, *path.parents] or name in path.parts:
                continue
            # `text`, `files` and `root` are words of other things, too, and `npy` is also a decoder.
            if name not in ("text", "files", "csv", "folder", "tokens", "npy", "root") and f'"{name}"' in text:
                wrong.append(f"{path.relative_to(ROOT)}: {name}")
    assert not wrong, "\n".join(wrong)


def test_the_walks_name_files_that_exist() -> None:
    walks = re.findall(r"^\*\*(One [^*]+)\*\*\n((?:\d+\. .*\n)+)", section("Four walks"), re.MULTILINE)
    assert len(walks) == 4
    for title, walk in walks:
        files = re.findall(r"`([\w./-]+\.(?:rs|py))`", walk)
        assert len(files) >= 5, title
        assert len(files) == len(set(files)), f"{title}: a file twice"
        missing = [file for file in files if not (ROOT / file).exists()]
        assert not missing, f"{title}: {missing}"
