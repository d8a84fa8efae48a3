"""Objects that stand for an entry of the engine's tables: a name and arguments. The tables give their classes."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from . import _core, _typing
from .tokenizer_files import Tokenizer, is_tokenizer, tokenizer_path


class Described:
    """A name and arguments."""

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

    def __repr__(self) -> str:
        return _shown(self.name, self.args)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.args == other.args

    def __hash__(self) -> int:
        return hash((self.name, json.dumps(self.args, sort_keys=True)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (type(self), self.args)


def _rebuilt(cls: type[Described], args: dict[str, Any]) -> Described:
    return cls(**args)


def _shown(name: str, args: dict[str, Any]) -> str:
    """A call as one would write it. Arguments may be entries themselves."""

    def one(value: Any) -> str:
        if isinstance(value, list):
            return f"[{', '.join(map(one, value))}]"
        entry = isinstance(value, dict) and value.keys() == {"name", "args"}
        return _shown(value["name"], value["args"]) if entry else repr(value)

    return f"{name}({', '.join(f'{key}={one(value)}' for key, value in args.items())})"


def _plain(value: Any) -> Any:
    """An argument as JSON: converts tuples, NumPy and torch scalars, arrays and dtypes, enums of torchvision."""
    if isinstance(value, Described):
        return {"name": value.name, "args": value.args}
    if isinstance(value, dict):  # an entry that was an argument
        return value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, type):  # numpy.float32
        return value.__name__
    if hasattr(value, "tolist"):
        return value.tolist()
    if is_tokenizer(value):
        return tokenizer_path(value)
    if hasattr(value, "value") and isinstance(value.value, str):  # torchvision's InterpolationMode
        return value.value
    return str(value)  # numpy.dtype, torch.dtype


# Types of parameters that are `str` in the tables but accept only certain words, or objects that are kept as files.
_WORDS = {
    "nearest, box, bilinear, hamming, bicubic or lanczos": "Interpolation",
    "nearest or bilinear": "WarpInterpolation",
    "padding_mode": "PaddingMode",
    "side": "Side",
    "truncation": "Side",
    "dtype": "IntegerName",
    "tokenizer": "Tokenizer",
}


def type_of(param: dict[str, Any]) -> str:
    """The Python type annotation of a parameter."""
    if param["python"] != "str":
        return str(param["python"])
    return _WORDS.get(param["about"].partition(";")[0]) or _WORDS.get(param["name"], "str")


_EVALUATED: dict[str, Any] = {}
_NAMES = {"Sequence": Sequence, "Transform": Described, "Tokenizer": Tokenizer, **vars(_typing)}


def _evaluated(annotation: str) -> Any:
    """An annotation as an object. The same few occur again and again, and every import has to wait for them."""
    if annotation not in _EVALUATED:
        _EVALUATED[annotation] = eval(annotation, _NAMES)
    return _EVALUATED[annotation]


def _init(params: list[dict[str, Any]], about: str) -> Callable[..., None]:
    """A constructor that shows its parameters, with types and defaults, to ``help`` and ``inspect.signature``."""

    def __init__(self: Described, *values: Any, **named: Any) -> None:
        Described.__init__(self, *values, **named)

    types = {p["name"]: _evaluated(type_of(p)) for p in params}
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


D = TypeVar("D", bound=Described)


def classes(kind: str, base: type[D]) -> dict[str, type[D]]:
    """A class for each entry of a table, for the module of their base."""
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
            "__module__": base.__module__,
        }
        out[entry["name"]] = type(entry["name"], (base,), body)
    return out
