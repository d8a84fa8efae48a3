"""Commands as paths (``pipe:``): ranges in braces, and the command that reads an address of the network."""

from __future__ import annotations

import re
import shlex

#: Only ranges of numbers: other braces belong to the shell and its programs (``awk '{print $1}'``, ``jq '{a,b}'``).
_RANGE = re.compile(r"(?<!\$)\{(\d+)\.\.(\d+)\}")
_MOST = 1_000_000
_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]*)://")

_READERS = {
    "ftp": "curl -sf {}",
    "gcs": "gcloud storage cat {}",
    "hdfs": "hdfs dfs -cat {}",
    "sftp": "curl -sf {}",
}


def expanded(path: str) -> list[str]:
    """A command with a range of numbers as one command for each of them, as WebDataset has it; other paths as they are.

    A shell either does not know such ranges, or would put all files into one command.
    """
    found = _RANGE.search(path) if path.startswith("pipe:") else None
    if found is None:
        return [path]
    first, last = found.groups()
    step = 1 if int(first) <= int(last) else -1
    width = max(len(first), len(last)) if any(n.startswith("0") and len(n) > 1 for n in (first, last)) else 0
    numbers = range(int(first), int(last) + step, step)
    if len(numbers) > _MOST:
        raise ValueError(f"{path!r}: {found.group()} would be {len(numbers):,} commands")
    made = [f"{path[: found.start()]}{number:0{width}d}{path[found.end() :]}" for number in numbers]
    return [command for one in made for command in expanded(one)]


def refuse_address(path: str) -> None:
    """Raise for an address that no store of infeed reads, and name the command that does."""
    if path.startswith("pipe:"):
        return
    for part in path.split("::"):
        found = _SCHEME.match(part)
        scheme = found.group(1).lower() if found else ""
        if scheme in _READERS:
            command = _READERS[scheme].format(shlex.quote(part))
            raise ValueError(
                f"`{part}`: there is no store for `{scheme}:`. Read it through a command that writes it to its output,"
                f' infeed.open("pipe:{command}") (for what can be read from front to back: tar, JSON lines, CSV, text,'
                " TFRecord), or copy or mount the data and give a local path"
            )
