"""What the wheel and the test environment are made of: licences, duplicates, bill of materials, lock file."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import cargo_graph  # noqa: E402
import lock  # noqa: E402
import sbom  # noqa: E402
import supply  # noqa: E402

needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="needs cargo")


@pytest.fixture(scope="module")
def graph():
    return cargo_graph.Graph.of_workspace()


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "infeed-1.2.3-cp311-abi3-linux.whl"
    metadata = """Metadata-Version: 2.4
Name: infeed
Version: 1.2.3
License-Expression: Apache-2.0 OR MIT
Requires-Dist: numpy>=1.26
Requires-Dist: torch ; extra == 'torch'
"""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("infeed-1.2.3.dist-info/METADATA", metadata)
    return path


def tree() -> set[tuple[str, str]]:
    """What ``cargo tree`` says that the crate of the wheel links: names and versions."""
    command = ["cargo", "tree", "--locked", "-p", "infeed-python", "-e", "normal", "--prefix=none", "--format={p}"]
    lines = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return {(line.split()[0], line.split()[1].removeprefix("v")) for line in lines if line}


@needs_cargo
def test_the_bill_names_what_cargo_links(graph, wheel):
    bill = sbom.sbom(wheel, graph)
    crates_of = [one for one in bill["components"] if one["purl"].startswith("pkg:cargo/")]
    named = {(one["name"], one["version"]) for one in crates_of}
    assert len(named) == len(crates_of)
    assert tree() <= named
    # Cargo resolves features for the whole workspace at once, so a few crates more can be in it, but none of the tests.
    assert named <= {(package["name"], package["version"]) for package in graph.packages.values()}
    assert not {"proptest", "shuttle"} & {name for name, _ in named}
    package_of = {(package["name"], package["version"]): package for package in graph.packages.values()}
    sums = sbom.checksums()
    for one in crates_of:
        package = package_of[one["name"], one["version"]]
        assert one["licenses"][0]["expression"].replace(" OR ", "/") == package["license"].replace(
            " / ", "/"
        ).replace(" OR ", "/")
        if package["source"] is not None:
            assert one["hashes"] == [{"alg": "SHA-256", "content": sums[one["name"], one["version"]]}]


@needs_cargo
def test_the_bill_says_what_depends_on_what(graph, wheel):
    bill = sbom.sbom(wheel, graph)
    references = {one["bom-ref"] for one in bill["components"]}
    root = bill["metadata"]["component"]
    assert root["purl"] == "pkg:pypi/infeed@1.2.3" and root["hashes"][0]["alg"] == "SHA-256"
    depends = {one["ref"]: one["dependsOn"] for one in bill["dependencies"]}
    version = next(one["version"] for one in bill["components"] if one["name"] == "infeed-python")
    assert depends[root["bom-ref"]] == [f"pkg:cargo/infeed-python@{version}", "pkg:pypi/numpy"]
    assert set(depends) - {root["bom-ref"]} == references - {"pkg:pypi/numpy"}
    reached, waiting = set(), [root["bom-ref"]]
    while waiting:
        one = waiting.pop()
        if one not in reached:
            reached.add(one)
            waiting += depends.get(one, [])
    assert reached == references | {root["bom-ref"]}
    assert sbom.sbom(wheel, graph) == bill, "the same wheel, the same bill"


@needs_cargo
def test_crates_keep_the_rules_of_deny_toml(graph):
    rules = tomllib.loads((ROOT / "deny.toml").read_text())
    assert supply.problems(graph, rules) == []
    # Each rule finds what is against it.
    for change, words in [
        (lambda r: r["licenses"].update(allow=["MIT"]), "licence"),
        (lambda r: r["bans"].update(skip=[]), "in the versions"),
        (lambda r: r["bans"].update(deny=[{"name": "arrow-array", "reason": "no"}]), "arrow-array is there"),
        (lambda r: r["bans"]["deny"][-1].update(wrappers=["tokenizers"]), "rayon is used by rayon-cond"),
        (lambda r: r["sources"].update({"allow-registry": []}), "comes from"),
        (lambda r: r["bans"]["skip"].append({"name": "libc", "version": "0.1"}), "no duplicate any more"),
    ]:
        broken = json.loads(json.dumps(rules))
        change(broken)
        assert any(words in problem for problem in supply.problems(graph, broken)), words


@pytest.mark.parametrize(
    "expression, good",
    [
        ("MIT", True),
        ("GPL-3.0", False),
        ("MIT OR GPL-3.0", True),
        ("GPL-3.0/MIT", True),
        ("MIT AND GPL-3.0", False),
        ("(MIT OR GPL-3.0) AND Zlib", True),
        ("Zlib AND (GPL-3.0 OR LGPL-3.0)", False),
        ("Apache-2.0 WITH LLVM-exception", True),
        ("Apache-2.0", False),
    ],
)
def test_licence_expressions(expression, good):
    assert supply.is_allowed(expression, {"MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"}) is good


def test_the_lock_file_holds_the_list():
    text = (ROOT / "requirements-dev.lock").read_text()
    pins = {canonicalize_name(one.name): one for one in lock.wanted(text)}
    for one in pins.values():
        assert [spec.operator for spec in one.specifier] == ["=="], f"{one} is not pinned"
    for one in lock.wanted((ROOT / "requirements-dev.txt").read_text()):
        pin = pins[canonicalize_name(one.name)]
        assert one.specifier.contains(next(iter(pin.specifier)).version), f"{pin} is not what {one} asks for"
    # What belongs to one platform must not be asked for on others.
    for name, pin in pins.items():
        if name.startswith(("nvidia-", "cuda-")) or name == "triton":
            assert pin.marker is not None and not pin.marker.evaluate(lock.environment("darwin", "3.12")), name


def test_the_lock_file_can_be_made(capsys):
    made = lock.lock([Requirement("pytest")])
    names = {one.name for one in lock.wanted(made)}
    assert {"pytest", "pluggy", "iniconfig", "packaging"} <= names and "torch" not in names
    with pytest.raises(lock.PackageNotFoundError):
        lock.lock([Requirement("no-package-has-this-name")])
