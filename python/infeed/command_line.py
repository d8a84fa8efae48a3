"""Which commands run in Rust and which in Python.

What draws is written in Python and needs NumPy. Nothing here imports it before it is needed, so that other commands start
at once.
"""

from __future__ import annotations

from . import _core
from .annotated import annotated_set

#: What the help of `infeed inspect` adds about the options that Python handles.
_INSPECT_HELP = """
In the Python package:
      --html              Write one HTML file: these tables, and the first samples with boxes and masks drawn
  -o, --out <FILE>        The file that --html writes [default: inspect.html]
      --rows <ROWS>       With --html: samples to show [default: 16]
      --set <NAME=VALUE>  An argument of the format, as its function in Python takes it

  infeed inspect 'train-*.tar' --html -o train.html
  infeed inspect val2017 --format coco --set annotations=annotations/instances_val2017.json
  infeed inspect coco/    COCO, Pascal VOC and YOLO are found by how their folders look"""


def run(argv: list[str]) -> int:
    """Run a command and return its exit status."""
    if argv[:1] == ["show"]:
        from .show import command

        return command(argv[1:])
    if argv[:1] == ["inspect"]:
        return _inspect(argv)
    return _core.command(argv)


def _inspect(argv: list[str]) -> int:
    words = argv[: argv.index("--")] if "--" in argv else argv
    if not {"-h", "--help"}.isdisjoint(words):
        status = _core.command(argv)
        print(_INSPECT_HELP, flush=True)
        return status
    options = {word.partition("=")[0] for word in words if word.startswith("-")}
    draws = not options.isdisjoint(("--html", "-o", "--out", "--set"))
    if draws or (options.isdisjoint(("--format", "--json")) and any(map(annotated_set, argv[1:]))):
        from .show.inspect import inspect

        return inspect(argv[1:])
    return _core.command(argv)
