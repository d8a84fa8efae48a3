"""Transforms, with the names and parameters of ``torchvision.transforms.v2``.

They are descriptions: the loader's threads do the work, fused with decoding. ``infeed list transforms`` and
``infeed list batch_transforms`` show every parameter. The classes are made from the loader's own tables, so this module
always has all of its transforms.
"""

from __future__ import annotations

import functools
import inspect
import json
import random
from collections.abc import Callable, Sequence
from typing import Any

from . import _core, _typing


class Transform:
    """A transform by name and arguments."""

    name: str = ""
    _params: tuple[dict[str, Any], ...] = ()

    def __init__(self, *values: Any, **named: Any) -> None:
        names = [p["name"] for p in self._params]
        if len(values) > len(names):
            raise TypeError(f"{self.name} takes at most {len(names)} arguments, got {len(values)}")
        args = dict(zip(names, values, strict=False))
        for key, value in named.items():
            if key in args:
                raise TypeError(f"{self.name} got two values for {key!r}")
            if key not in names:
                raise TypeError(f"{self.name} has no argument {key!r}; it takes {', '.join(names) or 'none'}")
            args[key] = value
        missing = [p["name"] for p in self._params if p["required"] and p["name"] not in args]
        if missing:
            raise TypeError(f"{self.name} needs {', '.join(missing)}")
        self.args = {key: _plain(value) for key, value in args.items()}

    def __call__(self, image: Any, *, seed: int | None = None) -> Any:
        """Apply it to one image (u8, height x width x channels) outside of a pipeline.

        Random choices differ from call to call and follow ``random.seed``; with ``seed`` they are always the same.
        """
        from .functions.stage import on_array

        chain = _core.Chain(json.dumps([[self.name, self.args]]))
        return on_array(chain, image, (random.getrandbits(64) if seed is None else seed, 0, 0, 0))

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{k}={v!r}' for k, v in self.args.items())})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transform) and (self.name, self.args) == (other.name, other.args)

    def __hash__(self) -> int:
        return hash((self.name, json.dumps(self.args, sort_keys=True)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _make, (self.name, self.args)


class BatchTransform(Transform):
    """A transform of whole batches, for :meth:`infeed.Pipeline.map_batch`."""

    def __call__(self, image: Any, *, seed: int | None = None) -> Any:
        """Raise ``TypeError``: it needs a batch, not one image."""
        raise TypeError(f"{self.name} works on batches: use map_batch({self!r}) after batch()")


def _make(name: str, args: dict[str, Any]) -> Transform:
    made: Transform = globals()[name](**args)
    return made


def _plain(value: Any) -> Any:
    """An argument as JSON: converts tuples, NumPy and torch scalars, arrays and dtypes, enums of torchvision."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, type):  # numpy.float32
        return value.__name__
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "value") and isinstance(value.value, str):  # torchvision's InterpolationMode
        return value.value
    return str(value)  # numpy.dtype, torch.dtype


# Types of parameters that are `str` in the tables but accept only certain words.
_WORDS = {
    "nearest, box, bilinear, hamming, bicubic or lanczos": "Interpolation",
    "nearest or bilinear": "WarpInterpolation",
    "padding_mode": "PaddingMode",
    "side": "Side",
    "truncation": "Side",
    "dtype": "IntegerName",
}


def _type(param: dict[str, Any]) -> str:
    """The Python type annotation of a parameter."""
    if param["python"] != "str":
        return str(param["python"])
    return _WORDS.get(param["about"]) or _WORDS.get(param["name"], "str")


@functools.cache
def _evaluated(annotation: str) -> Any:
    """An annotation as an object. The same few occur again and again, and every import has to wait for them."""
    return eval(annotation, {"Sequence": Sequence, **vars(_typing)})


def _init(params: list[dict[str, Any]], about: str) -> Callable[..., None]:
    """A constructor that shows its parameters, with types and defaults, to ``help`` and ``inspect.signature``."""

    def __init__(self: Transform, *values: Any, **named: Any) -> None:
        Transform.__init__(self, *values, **named)

    types = {p["name"]: _evaluated(_type(p)) for p in params}
    shown = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    for p in params:
        default = tuple(p["default"]) if isinstance(p["default"], list) else p["default"]
        shown.append(
            inspect.Parameter(
                p["name"],
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if p["required"] else default,
                annotation=types[p["name"]],
            )
        )
    __init__.__annotations__ = {**types, "return": None}
    __init__.__signature__ = inspect.Signature(shown, return_annotation=None)  # type: ignore[attr-defined]
    __init__.__doc__ = about
    return __init__


def _classes(kind: str, base: type[Transform]) -> dict[str, type[Transform]]:
    out = {}
    for entry in json.loads(_core.entries(kind)):
        lines = [entry["about"], ""]
        lines += [f"* ``{p['name']}``: {p['about']}" for p in entry["params"]]
        doc = "\n".join(lines)
        init = _init(entry["params"], doc)
        init.__qualname__ = f"{entry['name']}.__init__"
        body = {
            "name": entry["name"],
            "_params": tuple(entry["params"]),
            "__doc__": doc,
            "__init__": init,
            "__module__": __name__,
        }
        out[entry["name"]] = type(entry["name"], (base,), body)
    return out


_made = _classes("transforms", Transform) | _classes("batch_transforms", BatchTransform)
globals().update(_made)
__all__ = ["BatchTransform", "Transform", *_made]
