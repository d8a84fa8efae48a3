"""``python -m infeed`` and the ``infeed`` command."""

import signal
import sys

from . import _core


def main() -> None:
    """Run the command line."""
    # The Rust code does not check for Python signals, so Ctrl-C must terminate the process directly.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:2] == ["show"]:
        # Written in Python: it draws with NumPy. Other commands do not import it.
        from .show import command

        sys.exit(command(sys.argv[2:]))
    sys.exit(_core.command(sys.argv[1:]))


if __name__ == "__main__":
    main()
