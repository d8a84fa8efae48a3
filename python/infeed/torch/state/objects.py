"""Objects that have a state of their own: data sets, their iterators, samplers."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from types import GeneratorType
from typing import Any


@dataclass(frozen=True)
class Unable:
    """In place of a state that could not be taken. Raised only if somebody asks for the state."""

    reason: str


Frozen = bytes | Unable


def is_stateful(thing: Any) -> bool:
    """Whether it has ``state_dict`` and ``load_state_dict``. Looked up without running its ``__getattr__``."""
    kind = type(thing)
    if kind is GeneratorType:
        return False
    if callable(getattr(kind, "state_dict", None)) and callable(getattr(kind, "load_state_dict", None)):
        return True
    try:
        own = object.__getattribute__(thing, "__dict__")
    except AttributeError:
        return False
    # Methods that were set on the object itself; one of the two may be the class's.
    return ("state_dict" in own or "load_state_dict" in own) and all(
        callable(own.get(name)) or callable(getattr(kind, name, None)) for name in ("state_dict", "load_state_dict")
    )


def own_state(thing: Any) -> Any:
    """The state of a stateful object; None for others."""
    return thing.state_dict() if is_stateful(thing) else None


def freeze(take: Any) -> Frozen:
    """What ``take()`` returns, as bytes: later changes of the object do not reach it.

    Loaders are used by programs that never ask for a state, so an error here must not stop them.
    """
    try:
        return pickle.dumps(take(), pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return Unable(f"{type(error).__name__}: {error}")


def thaw(frozen: Frozen | None) -> Any:
    """The state in ``frozen``."""
    if isinstance(frozen, Unable):
        raise RuntimeError(f"the state of the data set or the sampler could not be taken: {frozen.reason}")
    return None if frozen is None else pickle.loads(frozen)
