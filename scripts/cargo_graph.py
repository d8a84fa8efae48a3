"""What Cargo says about the crates that are linked into the wheel."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
WHEEL = "infeed-python"
"""The crate that becomes the wheel."""


class Graph:
    """The resolved dependencies on this platform, as ``cargo metadata --locked`` gives them."""

    def __init__(self, metadata: dict[str, Any]) -> None:
        self.packages: dict[str, dict[str, Any]] = {package["id"]: package for package in metadata["packages"]}
        self.nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
        self.members = set(metadata["workspace_members"])

    @classmethod
    def of_workspace(cls, root: Path = ROOT) -> Graph:
        host = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
        target = next(line.removeprefix("host: ") for line in host.splitlines() if line.startswith("host: "))
        command = ["cargo", "metadata", "--locked", "--format-version=1", f"--filter-platform={target}"]
        found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=root)
        return cls(json.loads(found.stdout))

    def needs(self, package: str) -> list[str]:
        """The packages that one links: neither those of its build script nor those of its tests."""
        deps = self.nodes[package]["deps"]
        return sorted(dep["pkg"] for dep in deps if any(kind["kind"] is None for kind in dep["dep_kinds"]))

    def linked(self, name: str = WHEEL) -> list[str]:
        """A crate of the workspace and all that is linked into it, by name."""
        waiting = [package for package in self.members if self.packages[package]["name"] == name]
        found: set[str] = set()
        while waiting:
            package = waiting.pop()
            if package not in found:
                found.add(package)
                waiting += self.needs(package)
        return sorted(found, key=lambda package: (self.packages[package]["name"], self.packages[package]["version"]))
