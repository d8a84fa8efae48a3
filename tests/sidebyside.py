"""Runs torch's DataLoader and infeed's over the same, and compares all that comes: batches, errors and their order."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import infeed.torch

LOADERS: tuple[Any, Any] = (torch.utils.data.DataLoader, infeed.torch.DataLoader)
# More than any test has: an iterator that never ends is a failure, not a hang.
MOST = 200


def outcomes(loader: Any) -> list[Any]:
    """All batches of an epoch. An error is its class and text, and the iterator is asked again after it."""
    found: list[Any] = []
    batches = iter(loader)
    while len(found) < MOST:
        try:
            found.append(next(batches))
        except StopIteration:
            return found
        except Exception as error:
            # Without addresses of objects, which are never the same.
            found.append((type(error), re.sub("0x[0-9a-f]+", "", str(error).partition("\n")[0])))
    raise AssertionError("the iterator does not end")


def alike(theirs: Any, ours: Any) -> None:
    """Equal structure, types and values."""
    assert type(theirs) is type(ours), f"{theirs!r:.200} and {ours!r:.200}"
    if isinstance(theirs, dict):
        assert list(theirs) == list(ours)
        theirs, ours = list(theirs.values()), list(ours.values())
    if isinstance(theirs, list | tuple):
        assert len(theirs) == len(ours), f"{theirs!r:.200} and {ours!r:.200}"
        for a, b in zip(theirs, ours, strict=True):
            alike(a, b)
    elif isinstance(theirs, torch.Tensor):
        assert (theirs.dtype, theirs.shape) == (ours.dtype, ours.shape)
        # Bits, so that not-a-number is equal to itself.
        bits = [tensor.detach().reshape(-1).contiguous().view(torch.uint8) for tensor in (theirs, ours)]
        assert torch.equal(*bits)
    elif isinstance(theirs, np.ndarray):
        np.testing.assert_array_equal(theirs, ours)
    else:
        assert theirs == ours


def same(make: Callable[[Any], Any], *, native: bool | None = None, seed: int = 3) -> list[Any]:
    """Make a loader of each class with ``make(DataLoader)`` and compare an epoch. Returns the outcomes.

    ``native`` says whether infeed's must run natively, at least in part.
    """
    both = []
    for kind in LOADERS:
        torch.manual_seed(seed)
        loader = make(kind)
        both.append(outcomes(loader))
        if kind is not torch.utils.data.DataLoader:
            runs = loader.explain().startswith("native")
            assert native is None or runs == native, loader.explain()
            loader.close()
    alike(*both)
    return both[0]
