"""Check licences, duplicates, bans and sources of all crates against deny.toml, without cargo-deny or a network."""

from __future__ import annotations

import re
import sys
import tomllib
from collections import defaultdict
from typing import Any

from cargo_graph import ROOT, Graph


def is_allowed(expression: str, allowed: set[str]) -> bool:
    """Whether an SPDX expression can be satisfied with the allowed licences."""
    expression = re.sub(r"\s*/\s*", " OR ", expression)
    tokens = re.findall(r"[()]|[^\s()]+", re.sub(r"\s+WITH\s+", "+WITH+", expression))

    def any_of() -> bool:
        value = all_of()
        while tokens and tokens[0] == "OR":
            tokens.pop(0)
            value = all_of() or value
        return value

    def all_of() -> bool:
        value = one()
        while tokens and tokens[0] == "AND":
            tokens.pop(0)
            value = one() and value
        return value

    def one() -> bool:
        token = tokens.pop(0)
        if token != "(":
            return token.replace("+WITH+", " WITH ") in allowed
        value = any_of()
        if not tokens or tokens.pop(0) != ")":
            raise ValueError(f"a parenthesis is open in the licence {expression!r}")
        return value

    value = any_of()
    if tokens:
        raise ValueError(f"the licence {expression!r} goes on with {tokens}")
    return value


def is_version(version: str, wanted: str) -> bool:
    """Whether a version is one of those that a requirement such as ``0.13`` or ``2`` means."""
    parts = wanted.split(".")
    return version.split(".")[: len(parts)] == parts


def problems(graph: Graph, rules: dict[str, Any]) -> list[str]:
    """What is against the rules."""
    found: list[str] = []
    allowed = set(rules["licenses"]["allow"])
    registries = {f"registry+{url}" for url in rules["sources"]["allow-registry"]}
    versions: dict[str, set[str]] = defaultdict(set)
    users: dict[str, set[str]] = defaultdict(set)
    for identity, package in graph.packages.items():
        name, version = package["name"], package["version"]
        versions[name].add(version)
        for dep in graph.nodes[identity]["deps"]:
            users[graph.packages[dep["pkg"]]["name"]].add(name)
        if identity in graph.members:
            continue
        if not package["license"] or not is_allowed(package["license"], allowed):
            found.append(f"{name} {version} has the licence {package['license']!r}, which is not allowed")
        if package["source"] not in registries:
            found.append(f"{name} {version} comes from {package['source']!r}")
    skips = [(skip["name"], skip["version"]) for skip in rules["bans"]["skip"]]
    for name, all_versions in versions.items():
        left = {v for v in all_versions if not any(n == name and is_version(v, wanted) for n, wanted in skips)}
        if len(left) > 1:
            found.append(f"{name} is there in the versions {', '.join(sorted(all_versions))}")
    for name, wanted in skips:
        if len(versions[name]) < 2 or not any(is_version(version, wanted) for version in versions[name]):
            found.append(f"deny.toml skips {name} {wanted}, which is no duplicate any more")
    for ban in rules["bans"]["deny"]:
        if ban["name"] in versions and (others := users[ban["name"]] - set(ban.get("wrappers", []))):
            found.append(f"{ban['name']} is used by {', '.join(sorted(others))}: {ban['reason']}")
        if ban["name"] in versions and "wrappers" not in ban:
            found.append(f"{ban['name']} is there: {ban['reason']}")
    return found


def main() -> int:
    """Print what is wrong."""
    graph = Graph.of_workspace()
    found = problems(graph, tomllib.loads((ROOT / "deny.toml").read_text()))
    for problem in found:
        print(problem, file=sys.stderr)
    print(f"{len(graph.packages)} crates, {len(found)} problems")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
