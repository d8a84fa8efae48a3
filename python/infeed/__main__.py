"""``python -m infeed`` and the ``infeed`` command."""

import signal
import sys

from .command_line import run


def main() -> None:
    """Run the command line."""
    # The Rust code does not check for Python signals, so Ctrl-C must terminate the process directly.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
