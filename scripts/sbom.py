"""Write the software bill of materials of a wheel: CycloneDX 1.5 JSON.

    python scripts/sbom.py dist/infeed-*.whl > dist/infeed.cdx.json

It names every crate that is linked into the wheel with version, licence and checksum, what depends on what, and the
Python packages that the wheel requires. The same wheel and lock file give the same text.
"""

from __future__ import annotations

import argparse
import email
import email.message
import hashlib
import json
import re
import sys
import tomllib
import uuid
import zipfile
from pathlib import Path
from typing import Any

from cargo_graph import ROOT, Graph

_NAMES = uuid.UUID("6f1c2a54-5b1e-4c3c-9d0a-7d5f4f6b8a11")
"""The name space of serial numbers."""


def wheel_metadata(wheel: Path) -> email.message.Message:
    """The METADATA of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", name))
        return email.message_from_bytes(archive.read(name))


def checksums(root: Path = ROOT) -> dict[tuple[str, str], str]:
    """The SHA-256 of every crate of the lock file, by name and version; crates of the workspace have none."""
    lock = tomllib.loads((root / "Cargo.lock").read_text())
    return {(one["name"], one["version"]): one["checksum"] for one in lock["package"] if "checksum" in one}


def _crate(package: dict[str, Any], sums: dict[tuple[str, str], str]) -> dict[str, Any]:
    name, version = package["name"], package["version"]
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:cargo/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:cargo/{name}@{version}",
    }
    if package["license"]:
        # Old crates write "A/B" for what SPDX calls "A OR B".
        component["licenses"] = [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}]
    if (name, version) in sums:
        component["hashes"] = [{"alg": "SHA-256", "content": sums[name, version]}]
    if package["repository"]:
        component["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return component


def _required(metadata: email.message.Message) -> list[dict[str, Any]]:
    """The Python packages that the wheel cannot do without. Which version is there is decided when it is installed."""
    out = []
    for line in metadata.get_all("Requires-Dist", []):
        if "extra ==" in line:
            continue
        name = re.match(r"[A-Za-z0-9._-]+", line)
        if name is None:
            raise ValueError(f"a requirement without a name: {line!r}")
        purl = f"pkg:pypi/{name[0].lower()}"
        wanted = {"name": "infeed:requirement", "value": line}
        out.append({"type": "library", "bom-ref": purl, "name": name[0], "purl": purl, "properties": [wanted]})
    return out


def sbom(wheel: Path, graph: Graph) -> dict[str, Any]:
    """The bill of materials of a wheel."""
    metadata = wheel_metadata(wheel)
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    name, version = metadata["Name"], metadata["Version"]
    root = f"pkg:pypi/{name}@{version}"
    sums, linked, required = checksums(), graph.linked(), _required(metadata)
    reference = {package: f"pkg:cargo/{p['name']}@{p['version']}" for package, p in graph.packages.items()}
    top = [package for package in linked if graph.packages[package]["name"] == "infeed-python"]
    depends = [{"ref": root, "dependsOn": [reference[one] for one in top] + [one["bom-ref"] for one in required]}]
    depends += [{"ref": reference[one], "dependsOn": [reference[dep] for dep in graph.needs(one)]} for one in linked]
    component = {
        "type": "library",
        "bom-ref": root,
        "name": name,
        "version": version,
        "purl": root,
        "licenses": [{"expression": metadata["License-Expression"] or metadata["License"]}],
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "properties": [{"name": "infeed:wheel", "value": wheel.name}],
    }
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(_NAMES, digest)}",
        "version": 1,
        "metadata": {"component": component},
        "components": [_crate(graph.packages[one], sums) for one in linked] + required,
        "dependencies": depends,
    }


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    options = parser.parse_args()
    json.dump(sbom(options.wheel, Graph.of_workspace()), sys.stdout, indent=1)
    print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
