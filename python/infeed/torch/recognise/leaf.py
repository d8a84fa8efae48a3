"""Data sets that have a native twin, and data sets that only select or concatenate rows of others."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch.utils.data import ConcatDataset, Subset

from ... import _core
from ...pipeline import Pipeline
from .own import is_own
from .words import Unknown

Rows = npt.NDArray[np.int64]
Check = Callable[[Iterable[int]], bool]


@dataclasses.dataclass
class Leaf:
    """A data set with a native twin."""

    rows: int
    #: Makes the twin, given an empty folder that exists until the pipeline is planned. Each call gives separate rows, so
    #: that one file can have several random draws.
    make: Callable[[str], Pipeline]
    #: The fields of a sample in their order, and their names where a sample is a dict; otherwise it is a tuple.
    fields: tuple[str, ...]
    names: tuple[str, ...] | None
    random: bool
    words: list[str]
    #: Leaves with equal marks have the same data and the same transforms.
    mark: tuple[Any, ...]
    #: Conversions of the column of a field when a batch is handed out.
    after: dict[str, Callable[[Any], Any]] = dataclasses.field(default_factory=dict)
    #: The Python part for the first field of each sample, after the native part.
    rest: Callable[[Any], Any] | None = None
    #: Given rows: whether the native samples of all of them are as torch's. None: always. Known when ``make`` was called.
    check: Callable[[], Check | None] = lambda: None
    #: A value that changes when the program writes to the data; None if nothing tells.
    version: Callable[[], Any] | None = None


@dataclasses.dataclass
class Tree:
    """Concatenated leaves, and the row of each index of the data set (None: all rows in order)."""

    leaves: list[Leaf]
    rows: Rows | None
    words: list[str]
    #: Batches of rows, for iterable data sets; for the others a sampler gives the indices.
    stream: Callable[[_core.Plan], Iterator[list[int]]] | None = None

    def __len__(self) -> int:
        return self.total if self.rows is None else len(self.rows)

    @property
    def rest(self) -> Callable[[Any], Any] | None:
        """The part that all leaves leave to Python."""
        found = [leaf.rest for leaf in self.leaves]
        if any(rest != found[0] for rest in found):
            raise Unknown("parts of it leave different things to Python")
        return found[0]

    @property
    def total(self) -> int:
        """Rows of all leaves."""
        return sum(leaf.rows for leaf in self.leaves)

    def checks(self) -> Iterator[tuple[int, int, Check]]:
        """First row, the row after the last one, and check of the leaves that have one."""
        start = 0
        for leaf in self.leaves:
            check = leaf.check()
            if check is not None:
                yield start, start + leaf.rows, check
            start += leaf.rows

    @property
    def version(self) -> Callable[[], Any] | None:
        """A value that changes when the program writes to the data of a leaf; None if nothing tells."""
        found = [leaf.version for leaf in self.leaves if leaf.version is not None]
        return found[0] if len(found) == 1 else (lambda: [ask() for ask in found]) if found else None

    def same(self, other: Tree) -> bool:
        """Whether the other tree has the same samples."""
        if (self.rows is None) != (other.rows is None) or len(self.leaves) != len(other.leaves):
            return False
        if self.rows is not None and other.rows is not None and not np.array_equal(self.rows, other.rows):
            return False
        return all(a.mark == b.mark for a, b in zip(self.leaves, other.leaves, strict=True))


class Same:
    """A mark that is equal only for the very same object."""

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)


def tree(dataset: Any, known: Callable[[Any], Tree]) -> Tree:
    """Follow Subset and ConcatDataset down to data sets that are ``known``."""
    if type(dataset) is Subset:
        unchanged(dataset, Subset)
        below = tree(dataset.dataset, known)
        chosen = _chosen(dataset.indices, len(below))
        rows = chosen if below.rows is None else below.rows[chosen]
        return Tree(below.leaves, rows, [f"Subset of {len(chosen)} rows: index arithmetic", *below.words])
    if type(dataset) is ConcatDataset:
        unchanged(dataset, ConcatDataset)
        parts = [tree(part, known) for part in dataset.datasets]
        return _lined_up(parts)
    return known(dataset)


def _lined_up(parts: list[Tree]) -> Tree:
    leaves = [leaf for part in parts for leaf in part.leaves]
    first = leaves[0]
    for other in leaves[1:]:
        if (other.fields, other.names, other.after.keys()) != (first.fields, first.names, first.after.keys()):
            raise Unknown("the parts of a ConcatDataset have samples of different kinds")
    starts = np.cumsum([0, *(part.total for part in parts)])
    rows = None
    if any(part.rows is not None for part in parts):
        own = (np.arange(part.total) if part.rows is None else part.rows for part in parts)
        rows = np.concatenate([start + these for start, these in zip(starts, own, strict=False)])
    words = [f"ConcatDataset of {len(parts)} parts: index arithmetic", *(w for part in parts for w in part.words)]
    return Tree(leaves, rows, words)


def _chosen(indices: Any, length: int) -> Rows:
    chosen = np.asarray(indices.cpu() if isinstance(indices, torch.Tensor) else indices)
    if chosen.ndim != 1 or (chosen.size and not np.issubdtype(chosen.dtype, np.integer)):
        raise Unknown("the indices of a Subset are not whole numbers")
    chosen = chosen.astype(np.int64)
    if chosen.size and not -length <= chosen.min() <= chosen.max() < length:
        raise Unknown("a Subset has an index outside of its data set")
    return np.where(chosen < 0, chosen + length, chosen)


def unchanged(dataset: Any, base: type, *names: str) -> None:
    """Refuse a subclass that overrides what makes samples."""
    package = base.__module__.partition(".")[0]
    for name in ("__getitem__", "__len__", "__getitems__", *names):
        method = getattr(base, name, None)
        own = name in vars(dataset) or getattr(type(dataset), name, None) is not method
        if own or (method is not None and not is_own(method, package) and not is_own(method, "torch")):
            raise Unknown(f"{type(dataset).__name__} has a {name} of its own, so only Python knows its samples")


def whole_numbers(values: Any, what: str) -> npt.NDArray[np.int64]:
    """Labels that torch collates to int64, as an array."""
    if isinstance(values, torch.Tensor | np.ndarray):
        array = np.asarray(values)
        if array.dtype != np.int64 or array.ndim != 1:
            raise Unknown(f"{what} are {array.dtype} of {array.ndim} dimensions, not a row of int64")
        return array
    if not all(type(value) is int or type(value) is np.int64 for value in values):
        raise Unknown(f"{what} are not all whole numbers")
    try:
        return np.asarray(values, dtype=np.int64)
    except OverflowError:
        raise Unknown(f"{what} do not fit 64 bits") from None
