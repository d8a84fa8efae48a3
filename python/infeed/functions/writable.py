"""Writable arrays for functions that make tensors of them.

Arrays that the engine does not write into a batch (those of varying shape, undecoded bytes) share memory with their shard
and are read-only. torch has no read-only tensors: ``torch.from_numpy`` warns, and a write through the tensor would change
the data of other samples. Functions that make tensors this way get copies; all others get the arrays as they are.
"""

from __future__ import annotations

import contextlib
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .values import each_value

#: Functions of torch whose tensors share the memory of an array.
_SHARING = {"from_numpy", "as_tensor", "frombuffer"}
#: Functions that are looked into, of those that a function calls.
_MOST = 64


def makes_tensors(call: Any) -> bool:
    """Whether the code of a function, or of functions of its modules that it calls, shares arrays with torch."""
    return any(_SHARING & set(code.co_names) and "torch" in _spaces(code, space) for code, space in _reached(call))


def _reached(call: Any) -> Iterator[tuple[types.CodeType, dict[str, Any]]]:
    waiting: list[Any] = [call]
    seen: set[int] = set()
    while waiting and len(seen) < _MOST:
        call = waiting.pop()
        call = getattr(call, "func", call)  # functools.partial
        if not isinstance(call, types.FunctionType | types.MethodType):
            call = type(call).__call__ if callable(call) else None
        call = getattr(call, "__func__", call)
        if not isinstance(call, types.FunctionType) or id(call) in seen:
            continue
        seen.add(id(call))
        codes = [call.__code__]
        for code in codes:
            codes += [inner for inner in code.co_consts if isinstance(inner, types.CodeType)]
            yield code, call.__globals__
            named = (call.__globals__.get(name) for name in code.co_names)
            waiting += [one for one in named if isinstance(one, types.FunctionType)]
        for cell in call.__closure__ or ():
            with contextlib.suppress(ValueError):  # Not set yet.
                waiting.append(cell.cell_contents)


def _spaces(code: types.CodeType, space: dict[str, Any]) -> set[str]:
    """The top-level modules that a function can mean: those of its own imports and of its module."""
    roots = {name.partition(".")[0] for name in code.co_names}
    for value in (space.get(name) for name in code.co_names):
        module = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
        roots.add(str(module).partition(".")[0])
    return roots


def with_copies(call: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The same function of a value and a generator; in place of read-only arrays it gets copies that it may write to."""

    def writable(value: Any, rng: Any) -> Any:
        encoded: dict[int, tuple[Any, Any]] = {}

        def copied(item: Any) -> Any:
            if not isinstance(item, np.ndarray) or item.flags.writeable:
                return item
            copy = item.copy()
            if item.dtype == np.uint8 and item.ndim == 1:
                encoded[id(copy)] = (copy, item)
            return copy

        def as_it_was(item: Any) -> Any:
            # Undecoded bytes that a function leaves alone are known by their identity.
            copy, original = encoded.get(id(item), (None, None))
            return original if copy is not None and np.array_equal(copy, original) else item

        made = call(each_value(value, copied), rng)
        return each_value(made, as_it_was) if encoded else made

    return writable
