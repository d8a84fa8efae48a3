"""``python -m infeed`` and the ``infeed`` command."""

import signal
import sys

from . import _core


def main() -> None:
    """Run the command line."""
    # Rust does the work without looking up for Python's signals, so Ctrl-C must end the process as it ends any tool.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_core.command(sys.argv[1:]))


if __name__ == "__main__":
    main()
