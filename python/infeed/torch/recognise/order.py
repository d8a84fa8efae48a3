"""The order of indices, drawn as torch draws it, and the native rows for them."""

from __future__ import annotations

import dataclasses
import itertools
import operator
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torch.utils.data._utils.pin_memory import pin_memory

from ..steps import Steps
from .leaf import Tree

# What gives the same indices however far ahead it is read.
STATIC = {list, tuple, range, SequentialSampler, RandomSampler, SubsetRandomSampler, WeightedRandomSampler}
STATIC |= {DistributedSampler, np.ndarray, torch.Tensor}
# How many different random draws a row can have if it is repeated in one epoch.
COPIES = 8
# The limit for rows times draws: more would cost too much memory for lists of files.
MOST_ROWS = 4_000_000


class Drawn(Steps):
    """An iterator on torch's base class, which draws the seed and the indices, warns, and knows whether to pin.

    So it has their length and appears in torch's profiler under their name.
    """

    def __init__(self, loader: DataLoader[Any], *, again: bool) -> None:
        # Persistent workers keep their seed: torch draws none for later epochs.
        kept = loader.generator
        if again:
            loader.generator = torch.Generator()
        try:
            super().__init__(loader)
        finally:
            loader.generator = kept
        self.indices: Iterator[Any] = self._sampler_iter
        self.batches: Iterator[Any] = iter(())
        if loader.num_workers > 0:
            # With workers, torch restarts the sampler and asks it for the first batches at once.
            if not again:
                self.indices = iter(self._index_sampler)
            first = list(itertools.islice(self.indices, loader.num_workers * (loader.prefetch_factor or 2)))
            self.indices = itertools.chain(first, self.indices)
            # Training frameworks look for these. Threads make the samples: no process is there to be watched.
            self._workers: list[Any] = []
            self._shutdown = False

    def _shutdown_workers(self) -> None:
        """End this pass without the batches that are left, as torch's iterators with workers do."""
        self._shutdown = True
        self.batches = iter(())

    @property
    def seed(self) -> int:
        """The seed of random transforms."""
        return int(self._base_seed)

    def _next_data(self) -> Any:
        data = next(self.batches)
        if self._pin_memory:
            data = pin_memory(data, self._pin_memory_device)  # type: ignore[no-untyped-call]
        return data


@dataclasses.dataclass(slots=True)
class Asked:
    """A batch that the sampler asks for, and its native rows; None if it is not a list of indices of single rows."""

    indices: Any
    rows: list[int] | None


class Given:
    """Turns what a sampler gives into batches of native rows, which it iterates over. Remembers batches under way.

    Samplers of torch are read as far ahead as native threads like. A program's own may look at what the loop does:
    ``ahead`` says how many batches torch would have asked it for before the first one is handed out.
    """

    def __init__(self, tree: Tree, copies: int, indices: Iterator[Any], ahead: int | None = None) -> None:
        self._indices = indices
        self._table = None if tree.rows is None else tree.rows.tolist()
        self._length = len(tree)
        self._total = tree.total
        self._checks = list(tree.checks())
        self._copies = copies
        self._drawn = bytearray(tree.total) if copies > 1 else None
        self._next: deque[Asked] = deque()
        self._under_way: deque[Asked] = deque()
        self._error: Exception | None = None
        self._ahead = ahead
        for _ in range(ahead or 0):
            self._read()

    def __iter__(self) -> Iterator[list[int]]:
        return self

    def __next__(self) -> list[int]:
        """The rows of the next batch. Ends at a batch that cannot be made natively, and where torch reads no further:
        it may go on later.
        """
        if not self._next and self._ahead is None:
            self._read()
        if not self._next or (rows := self._next[0].rows) is None:
            raise StopIteration
        self._under_way.append(self._next.popleft())
        return rows

    def begin(self) -> None:
        """A batch is asked for: without workers, torch now asks the sampler."""
        if self._ahead == 0:
            self._read()

    def end(self) -> None:
        """A batch is handed out: with workers, torch asks the sampler for another one before."""
        if self._ahead:
            self._read()

    def _read(self) -> None:
        try:
            indices = next(self._indices)
        except StopIteration:
            return
        except Exception as error:
            # Raised after the batches before it were handed out.
            self._error = error
            return
        if not isinstance(indices, list):
            indices = _listed(indices)
        self._next.append(Asked(indices, self._rows(indices)))

    def peek(self) -> Asked:
        """The next batch, which stays the next. Raises what the sampler raises, ``StopIteration`` at the end."""
        if not self._next and self._ahead is None and self._error is None:
            self._read()
        if self._next:
            return self._next[0]
        if self._error is not None:
            error, self._error = self._error, None
            raise error
        raise StopIteration

    def pop(self) -> Asked:
        """Take the next batch."""
        return self._next.popleft()

    def skip(self, count: int) -> None:
        """Drop the next batches, as many as there are."""
        for _ in range(count):
            self.begin()
            try:
                self.peek()
            except StopIteration:
                return
            self._next.popleft()
            self.end()

    def done(self) -> None:
        """The first batch under way was handed out."""
        self._under_way.popleft()

    def failed(self) -> Asked:
        """Take the first batch under way. Those after it come again."""
        asked = self._under_way.popleft()
        self.again()
        return asked

    def again(self) -> None:
        """Have all batches under way come again."""
        self._next.extendleft(reversed(self._under_way))
        self._under_way.clear()

    def _rows(self, indices: Any) -> list[int] | None:
        if not isinstance(indices, list) or not indices:
            return None
        length = self._length
        try:
            rows = [i if type(i) is int and 0 <= i < length else _index(i, length) for i in indices]
        except (TypeError, IndexError):
            return None
        if self._table is not None:
            table = self._table
            rows = [table[row] for row in rows]
        for start, stop, check in self._checks:
            if not check(row - start for row in rows if start <= row < stop):
                return None
        if self._drawn is not None:
            drawn = self._drawn
            for at, row in enumerate(rows):
                rows[at] = row + drawn[row] * self._total
                drawn[row] = (drawn[row] + 1) % self._copies
        return rows


def _listed(indices: Any) -> Any:
    """A batch of a sampler as a list, if it is one."""
    try:
        return list(indices)
    except TypeError:
        return indices


def _index(index: Any, length: int) -> int:
    """The row of an index that is no plain one. Raises if it is none of a single row: a bool is a mask."""
    if isinstance(index, bool | np.bool_) or (isinstance(index, torch.Tensor | np.ndarray) and _is_mask(index)):
        raise TypeError("a mask")
    at = operator.index(index)
    at = at + length if at < 0 else at
    if not 0 <= at < length:
        raise IndexError(index)
    return at


def _is_mask(index: Any) -> bool:
    return bool(index.ndim) or index.dtype in (torch.bool, np.bool_)


def read_ahead(loader: DataLoader[Any]) -> int | None:
    """How many batches torch asks a sampler for before it hands out the first; None if it makes no difference."""
    batches: Any = loader.batch_sampler
    while _is_accelerate(batches, "BatchSamplerShard", "SkipBatchSampler"):
        batches = batches.batch_sampler
    sampler = batches.sampler if type(batches) is BatchSampler else batches
    if type(sampler) in STATIC or _is_accelerate(sampler, "SeedableRandomSampler"):
        return None
    return loader.num_workers * (loader.prefetch_factor or 2)


def copies(loader: DataLoader[Any], tree: Tree) -> int:
    """How many draws a row can have in one epoch: more than one where a sampler may repeat rows."""
    if tree.stream is not None or not any(leaf.random for leaf in tree.leaves) or not _may_repeat(loader, tree):
        return 1
    return max(2, min(COPIES, MOST_ROWS // max(1, tree.total)))


def _may_repeat(loader: DataLoader[Any], tree: Tree) -> bool:
    if tree.rows is not None and len(np.unique(tree.rows)) != len(tree.rows):
        return True
    sampler: Any = loader.sampler
    batches: Any = loader.batch_sampler
    while _is_accelerate(batches, "BatchSamplerShard", "SkipBatchSampler"):
        # Parts of another one's batches.
        batches = batches.batch_sampler
    if type(batches) is BatchSampler:
        sampler = batches.sampler
    elif batches is not None:
        return True
    if type(sampler) is RandomSampler or _is_accelerate(sampler, "SeedableRandomSampler"):
        return bool(sampler.replacement or sampler.num_samples > len(tree))
    if type(sampler) is SubsetRandomSampler:
        return len({int(index) for index in sampler.indices}) != len(sampler.indices)
    return type(sampler) not in (SequentialSampler, DistributedSampler)


def _is_accelerate(sampler: Any, *names: str) -> bool:
    kind = type(sampler)
    return kind.__module__ == "accelerate.data_loader" and kind.__name__ in names
