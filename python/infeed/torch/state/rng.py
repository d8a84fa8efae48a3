"""The random states that the order of a loader depends on, as plain data."""

from __future__ import annotations

import base64
import random
from typing import Any, Literal

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data.dataloader import _InfiniteConstantSampler

Draws = Literal["nothing", "torch", "unknown"]
_RANDOM = (RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
_FIXED = (SequentialSampler, DistributedSampler, _InfiniteConstantSampler)
_TORCHS = frozenset((*_RANDOM, *_FIXED))
_PATHS = ("sampler", "batch_sampler", "batch_sampler.sampler")


def innermost(index_sampler: Any) -> Any:
    """The sampler below torch's BatchSampler."""
    return index_sampler.sampler if type(index_sampler) is BatchSampler else index_sampler


def draws(index_sampler: Any) -> Draws:
    """Which global generators the sampler draws from."""
    sampler = innermost(index_sampler)
    kind = type(sampler)
    if kind in _RANDOM:
        return "torch" if sampler.generator is None else "nothing"
    return "nothing" if kind in _FIXED else "unknown"


def generators(loader: Any) -> dict[str, torch.Generator]:
    """The generators of a loader and its samplers, by their place. One that is at two places is given once."""
    found: dict[str, torch.Generator] = {}
    batches, sampler = loader.batch_sampler, loader.sampler
    at = loader.generator
    is_plain = batches is None or (type(batches) is BatchSampler and batches.sampler is sampler)
    if at is None and is_plain and type(sampler) in _TORCHS and getattr(sampler, "generator", None) is None:
        return found
    # isinstance() of a Generator runs Python code: most of these are None.
    if at is not None and isinstance(at, torch.Generator):
        found["generator"] = at
    for path, owner in zip(_PATHS, (sampler, batches, _get(batches, "sampler")), strict=True):
        at = _get(owner, "generator")
        if at is not None and isinstance(at, torch.Generator) and all(at is not other for other in found.values()):
            found[f"{path}.generator"] = at
    return found


def _get(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # a sampler's own __getattr__ may raise anything
        return None


def capture_global(which: Draws) -> dict[str, Any]:
    """The states of the global generators that a sampler may draw from."""
    states: dict[str, Any] = {}
    if which != "nothing":
        states["torch"] = torch.get_rng_state()
    if which == "unknown":
        states["random"] = random.getstate()
        states["numpy"] = np.random.get_state()
    return states


def capture(loader: Any, which: Draws) -> dict[str, Any]:
    """The random states of a loader."""
    states = capture_global(which)
    states["generators"] = {place: generator.get_state() for place, generator in generators(loader).items()}
    return states


def restore_global(states: dict[str, Any]) -> None:
    """Set the global generators that ``states`` has."""
    if "torch" in states:
        torch.set_rng_state(states["torch"])
    if "random" in states:
        random.setstate(states["random"])
    if "numpy" in states:
        np.random.set_state(states["numpy"])


def restore_generators(loader: Any, states: dict[str, Any]) -> None:
    """Set the generators of the loader and its samplers."""
    for place, generator in generators(loader).items():
        if place in states["generators"]:
            generator.set_state(states["generators"][place])


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two captures of the global generators are equal."""
    return to_plain({**one, "generators": {}}) == to_plain({**other, "generators": {}})


def to_plain(states: dict[str, Any]) -> dict[str, Any]:
    """As text and numbers, which every format of checkpoints keeps."""
    plain: dict[str, Any] = {"generators": {place: _text(state) for place, state in states["generators"].items()}}
    if "torch" in states:
        plain["torch"] = _text(states["torch"])
    if "random" in states:
        version, words, gauss = states["random"]
        plain["random"] = [version, _text(torch.tensor(words, dtype=torch.int64).view(torch.uint8)), gauss]
    if "numpy" in states:
        name, keys, *rest = states["numpy"]
        plain["numpy"] = [name, base64.b64encode(keys.astype("<u4").tobytes()).decode(), *rest]
    return plain


def from_plain(plain: dict[str, Any]) -> dict[str, Any]:
    """The reverse of :func:`to_plain`."""
    states: dict[str, Any] = {"generators": {place: _tensor(text) for place, text in plain["generators"].items()}}
    if "torch" in plain:
        states["torch"] = _tensor(plain["torch"])
    if "random" in plain:
        version, words, gauss = plain["random"]
        states["random"] = (version, tuple(_tensor(words).view(torch.int64).tolist()), gauss)
    if "numpy" in plain:
        name, keys, *rest = plain["numpy"]
        states["numpy"] = (name, np.frombuffer(base64.b64decode(keys), "<u4").astype(np.uint32), *rest)
    return states


def _text(state: torch.Tensor) -> str:
    return base64.b64encode(state.numpy().tobytes()).decode()


def _tensor(text: str) -> torch.Tensor:
    return torch.frombuffer(bytearray(base64.b64decode(text)), dtype=torch.uint8)
