"""Write requirements-dev.lock: the versions that this interpreter has of requirements-dev.txt and of all that it needs.

    python scripts/lock.py > requirements-dev.lock

Run it with the interpreter of an environment that was made from requirements-dev.txt and nothing else; `make lock` does
both. Packages that are needed on some platforms or versions of Python alone keep the condition.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PLATFORMS = ["linux", "darwin"]
PYTHONS = ["3.11", "3.12", "3.13", "3.14"]
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
LIST = Path(__file__).parent.parent / "requirements-dev.txt"
HEAD = """# The test environment, with all versions. Made from requirements-dev.txt by scripts/lock.py.
# To renew it: `make lock` makes a new environment from requirements-dev.txt and writes this file anew.
"""


def wanted(text: str) -> list[Requirement]:
    """The requirements of a list."""
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [Requirement(line) for line in lines if line]


def environment(platform: str, python: str) -> dict[str, str]:
    """What markers see on a platform, with a version of Python."""
    system, machine = {"linux": ("Linux", "x86_64"), "darwin": ("Darwin", "arm64")}[platform]
    return {
        "os_name": "posix",
        "sys_platform": platform,
        "platform_system": system,
        "platform_machine": machine,
        "platform_python_implementation": "CPython",
        "implementation_name": "cpython",
        "python_version": python,
        "python_full_version": f"{python}.0",
    }


def needed(requirements: list[Requirement], where: dict[str, str]) -> set[str]:
    """The packages that are needed in an environment, as far as they are installed here."""
    found: set[str] = set()
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(one, frozenset({""})) for one in requirements]
    while waiting:
        one, extras = waiting.pop()
        if one.marker is not None and not any(one.marker.evaluate({**where, "extra": extra}) for extra in extras):
            continue
        name, own = canonicalize_name(one.name), frozenset({"", *one.extras})
        if (name, own) in seen:
            continue
        seen.add((name, own))
        try:
            lines = distribution(name).requires or []
        except PackageNotFoundError:
            if where == environment(sys.platform, HERE):
                raise
            # Needed elsewhere alone: its version is not known here, and pip chooses it.
            continue
        found.add(name)
        waiting += [(Requirement(line), own) for line in lines]
    return found


def condition(places: set[tuple[str, str]]) -> str:
    """The marker for a package that is needed in these environments."""
    platforms, pythons = {platform for platform, _ in places}, {python for _, python in places}
    parts = [] if len(platforms) == len(PLATFORMS) else [f'sys_platform == "{platform}"' for platform in platforms]
    if len(pythons) < len(PYTHONS):
        first, last = PYTHONS.index(min(pythons, key=PYTHONS.index)), PYTHONS.index(max(pythons, key=PYTHONS.index))
        parts += [f'python_version >= "{PYTHONS[first]}"'] * (first > 0)
        parts += [f'python_version < "{PYTHONS[last + 1]}"'] * (last + 1 < len(PYTHONS))
    return "; " + " and ".join(parts) if parts else ""


def lock(requirements: list[Requirement]) -> str:
    """The text of the lock file."""
    places: dict[str, set[tuple[str, str]]] = {}
    for platform in PLATFORMS:
        for python in PYTHONS:
            for name in needed(requirements, environment(platform, python)):
                places.setdefault(name, set()).add((platform, python))
    lines = [f"{name}=={distribution(name).version}{condition(where)}" for name, where in sorted(places.items())]
    return HEAD + "\n".join(lines) + "\n"


def main() -> int:
    """Print the lock file."""
    try:
        sys.stdout.write(lock(wanted(LIST.read_text())))
    except PackageNotFoundError as missing:
        print(f"{missing.name} is not installed: install requirements-dev.txt first", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
