"""Recognises what a torch DataLoader is given, and makes its batches natively where that is exact.

:func:`take_over` inspects data set, transforms and collation. If it recognises all of them, it takes over; otherwise it
returns a :class:`Refusal` with the reason, and the DataLoader works as torch's.
"""

from __future__ import annotations

from typing import Any

from torch.utils.data import BatchSampler, DataLoader

from . import huggingface, shards, tensors, vision
from .leaf import Tree, tree
from .own import is_default_collate
from .takeover import Takeover
from .words import Refusal, Unknown

__all__ = ["Refusal", "Takeover", "Unknown", "take_over"]


def take_over(loader: DataLoader[Any]) -> Takeover | Refusal:
    """Make the batches of ``loader`` natively from now on, or return the reason why not."""
    try:
        return Takeover(loader, _read)
    except Unknown as why:
        return Refusal(str(why))
    except Exception as error:
        # A data set may raise anything when it is looked at. What torch can iterate must not fail here.
        return Refusal(f"looking at it raised {type(error).__name__}: {error}")


def _read(loader: DataLoader[Any]) -> Tree:
    if loader.worker_init_fn is not None:
        raise Unknown("worker_init_fn is given, and a native run has no workers to call it")
    found = shards.tree(loader)
    if found is not None:
        return found
    if loader.batch_sampler is None:
        raise Unknown("batch_size=None hands out single samples, which are not made natively")
    if not is_default_collate(loader.collate_fn):
        raise Unknown("its collate_fn is not torch's default_collate")
    if isinstance(loader.sampler, BatchSampler):
        raise Unknown("its sampler gives lists of indices, which are left to the data set")
    return tree(loader.dataset, _known)


def _known(dataset: Any) -> Tree:
    found = huggingface.tree(dataset)
    if found is not None:
        return found
    for read in (vision.leaf, tensors.leaf):
        leaf = read(dataset)
        if leaf is not None:
            return Tree([leaf], None, list(leaf.words))
    kind = type(dataset)
    raise Unknown(f"{kind.__module__}.{kind.__qualname__} is a data set that only Python can read")
