"""Check that a wheel runs where its tag says: which shared libraries and which versions of their symbols it needs.

    python scripts/wheel_symbols.py dist/infeed-*.whl

The tag ``manylinux_2_17`` promises that glibc 2.17 is enough. A symbol of a newer glibc, or a library that such a system
does not have, would show only there, when the extension is loaded. ``readelf`` (binutils) reads them here.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

Version = tuple[int, ...]

LIBRARIES = {
    "ld-linux-aarch64.so.1",
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libdl.so.2",
    "libgcc_s.so.1",
    "libm.so.6",
    "libpthread.so.0",
    "librt.so.1",
    "libutil.so.1",
}
"""Of what every manylinux policy allows, what an extension in Rust and C may need. The policies allow libstdc++, too,
but nothing here should need it."""

OLDEST_GCC: Version = (4, 8, 0)
"""Systems with glibc 2.17 have the libgcc of this version."""

_UNVERSIONED = re.compile(r"_?Py[A-Z_]")
"""Names that the interpreter provides. It has no versions of symbols."""


@dataclass(frozen=True)
class Needs:
    """What a shared object needs from the system that loads it."""

    libraries: frozenset[str]
    """Shared libraries by name."""
    versions: frozenset[str]
    """Versions of symbols, as ``GLIBC_2.17``."""
    unversioned: frozenset[str]
    """Symbols that must be found, in a version that nobody asked for."""

    @property
    def newest_glibc(self) -> Version:
        """The newest version of glibc of which a symbol is needed."""
        found = [_numbers(name) for name in self.versions if name.startswith("GLIBC_")]
        return max(found, default=(0,))


def _numbers(text: str) -> Version:
    return tuple(int(part) for part in re.findall(r"\d+", text))


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def parse(dynamic: str, versions: str, symbols: str) -> Needs:
    """Read what ``readelf -Wd``, ``readelf -WV`` and ``readelf -W --dyn-syms`` print."""
    unversioned = set()
    for line in symbols.splitlines():
        # Num: Value Size Type Bind Vis Ndx Name. A weak symbol may be missing: the code asks whether it is there.
        cells = line.split()
        if len(cells) >= 8 and cells[4] == "GLOBAL" and cells[6] == "UND" and "@" not in cells[7]:
            unversioned.add(cells[7])
    needs = versions.partition("Version needs section")[2]
    return Needs(
        libraries=frozenset(re.findall(r"\(NEEDED\).*\[(.+)\]", dynamic)),
        versions=frozenset(re.findall(r"Name: (\S+)\s+Flags:", needs)),
        unversioned=frozenset(unversioned),
    )


def read(path: Path) -> Needs:
    """What a shared object needs."""

    def readelf(*options: str) -> str:
        return subprocess.run(["readelf", *options, str(path)], check=True, capture_output=True, text=True).stdout

    return parse(readelf("-Wd"), readelf("-WV"), readelf("-W", "--dyn-syms"))


def promised(wheel: str) -> Version | None:
    """The glibc that the name of a wheel promises to be enough, ``None`` if it promises nothing."""
    found = [_numbers(one) for one in re.findall(r"manylinux_(\d+_\d+)_", wheel)]
    return min(found, default=None)


def complaints(needs: Needs, glibc: Version) -> list[str]:
    """Why a shared object does not run with this glibc, one line each."""
    out = [f"needs the library {name}, which not every system has" for name in sorted(needs.libraries - LIBRARIES)]
    for name in sorted(needs.versions):
        kind, _, number = name.partition("_")
        limit = {"GLIBC": glibc, "GCC": OLDEST_GCC}.get(kind)
        if limit is None:
            out.append(f"needs symbols of {name}, of which the tag says nothing")
        elif not number[:1].isdigit() or _numbers(number) > limit:
            out.append(f"needs symbols of {name}; the tag allows {kind}_{_dotted(limit)} and older")
    # With an old glibc to link against, a newer function is not an error: it has no version, and loading fails.
    strange = sorted(name for name in needs.unversioned if not _UNVERSIONED.match(name))
    return out + [f"needs {name}, which is not in glibc {_dotted(glibc)}" for name in strange]


def check(wheel: Path) -> list[str]:
    """Check every shared object of a wheel and print what it needs."""
    glibc = promised(wheel.name)
    if glibc is None:
        return [f"{wheel.name} has no manylinux tag: it may run only where it was built"]
    wrong = []
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        names = [name for name in archive.namelist() if re.search(r"\.so(\.|$)", name)]
        if not names:
            return [f"{wheel.name} has no shared object"]
        for name in names:
            needs = read(Path(archive.extract(name, folder)))
            print(f"{name}: {', '.join(sorted(needs.libraries))}")
            print(f"  needs: {' '.join(sorted(needs.versions, key=lambda one: (one[:3], _numbers(one))))}")
            print(f"  newest symbol: GLIBC_{_dotted(needs.newest_glibc)}; the tag promises GLIBC_{_dotted(glibc)}")
            wrong += [f"{name} {complaint}" for complaint in complaints(needs, glibc)]
    print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB")
    return wrong


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheels", type=Path, nargs="+")
    wrong = [line for wheel in parser.parse_args().wheels for line in check(wheel)]
    print("\n".join(wrong), file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
