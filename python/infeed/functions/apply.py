"""Applies one function to one sample, or to some of its fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from .seeds import generator
from .stage import Function


def bound(call: Callable[[Any, Any], Any], rng: Later) -> Callable[[Any], Any]:
    """A function of the value alone."""
    return lambda value: call(value, rng)


class Later:
    """A generator that is created on first use."""

    def __init__(self, address: tuple[int, int, int, int]) -> None:
        self.address = address

    def __call__(self) -> np.random.Generator:
        """The generator."""
        return generator(*self.address)


def apply(function: Function, call: Callable[..., Any], value: Any, address: tuple[int, int, int]) -> list[Any]:
    """Apply one function to one sample; returns the samples that it gives."""
    if function.op == "native":
        return [on_fields(value, function.on, lambda v: call(v, address)) if function.on else call(value, address)]
    rng = Later((*address, function.number))
    if function.op == "filter":
        looked_at = value if not function.on else _values(value, function.on)
        return [value] if call(looked_at, rng) else []
    if function.op == "flat_map":
        return list(call(value, rng))
    made = returning(bound(call, rng), "sample")
    return [on_fields(value, function.on, made) if function.on else made(value)]


def returning(call: Callable[[Any], Any], whole: str) -> Callable[[Any], Any]:
    """The same function, which must return something: ``None`` is a forgotten ``return``, unless ``None`` was given."""

    def checked(value: Any) -> Any:
        made = call(value)
        if made is None and value is not None:
            raise TypeError(f"the function returned None: return the {whole}, or with on= the new value of the field")
        return made

    return checked


def _values(sample: Any, on: tuple[str, ...]) -> Any:
    if not isinstance(sample, Mapping):
        raise TypeError(f"on={on[0]!r} needs samples that are dicts, and this one is a {type(sample).__name__}")
    missing = [name for name in on if name not in sample]
    if missing:
        raise KeyError(f"there is no field {missing[0]!r}; the fields are {', '.join(map(str, sample))}")
    return sample[on[0]] if len(on) == 1 else tuple(sample[name] for name in on)


def on_fields(sample: Any, on: tuple[str, ...], call: Callable[[Any], Any]) -> Any:
    """Apply a function to one field, or to several at once: it then takes and returns a tuple."""
    made = call(_values(sample, on))
    out = dict(sample)
    if len(on) == 1:
        out[on[0]] = made
    else:
        out.update(zip(on, made, strict=True))
    return out
