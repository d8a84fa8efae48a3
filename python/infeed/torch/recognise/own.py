"""Whether functions of a library are the library's own: programs replace them, and then mean their replacement."""

from __future__ import annotations

import os
import sys
from typing import Any

import torch
from torch.utils.data._utils import collate

from .words import Unknown, short

# What torch collates the parts of recognised samples with.
COLLATED = {
    torch.Tensor: "collate_tensor_fn",
    float: "collate_float_fn",
    int: "collate_int_fn",
    str: "collate_str_fn",
}


def is_own(function: Any, package: str) -> bool:
    """Whether the code of a function stands in a file of the package."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    where = getattr(sys.modules.get(package), "__file__", None)
    return code is not None and where is not None and code.co_filename.startswith(os.path.dirname(where) + os.sep)


def is_default_collate(function: Any) -> bool:
    """Whether a function is torch's ``default_collate``, with the table that torch gives it."""
    if getattr(function, "__name__", "") != "default_collate" or not is_own(function, "torch"):
        return False
    table = collate.default_collate_fn_map
    if not all(is_own(made, "torch") for made in table.values()):
        return False
    return all(getattr(table.get(kind), "__name__", None) == name for kind, name in COLLATED.items())


def is_default_convert(function: Any) -> bool:
    """Whether a function is torch's ``default_convert``."""
    return getattr(function, "__name__", "") == "default_convert" and is_own(function, "torch")


def check_methods(thing: Any, package: str, *names: str) -> None:
    """Refuse an object with a method that was replaced: on the object itself, or on its class."""
    kind = type(thing)
    if any(getattr(thing, hooks, None) for hooks in ("_forward_hooks", "_forward_pre_hooks")):
        raise Unknown(f"{short(thing)} has hooks, which only Python calls")
    for name in vars(thing):
        if callable(getattr(kind, name, None)):
            raise Unknown(f"{name} of {short(thing)} was replaced, so only Python knows what it does")
    for name in names:
        method = getattr(kind, name, None)
        if method is not None and not is_own(method, package) and not is_own(method, "torch"):
            raise Unknown(f"{kind.__name__}.{name} was replaced, so only Python knows what it does")
