"""The order of indices, drawn as torch draws it, and the native rows for them."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator
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
)
from torch.utils.data._utils.pin_memory import pin_memory
from torch.utils.data.dataloader import _BaseDataLoaderIter

from .leaf import Tree

# How many different random draws a row can have if it is repeated in one epoch.
COPIES = 8
# The limit for rows times draws: more would cost too much memory for lists of files.
MOST_ROWS = 4_000_000


class Drawn(_BaseDataLoaderIter):
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

    @property
    def seed(self) -> int:
        """The seed of random transforms."""
        return int(self._base_seed)

    def _next_data(self) -> Any:
        data = next(self.batches)
        if self._pin_memory:
            data = pin_memory(data, self._pin_memory_device)  # type: ignore[no-untyped-call]
        return data


class Given:
    """Turns batches of indices into batches of native rows. Keeps an error until the batches before it are handed out."""

    def __init__(self, tree: Tree, copies: int) -> None:
        self.rows = None if tree.rows is None else tree.rows.tolist()
        self.length = len(tree)
        self.total = tree.total
        self.copies = copies
        self.error: Exception | None = None

    def batches(self, indices: Iterable[Any]) -> Iterator[list[int]]:
        """Rows, batch by batch."""
        drawn = bytearray(self.total) if self.copies > 1 else None
        try:
            for batch in indices:
                rows = [self._row(index) for index in batch]
                if drawn is not None:
                    for at, row in enumerate(rows):
                        rows[at] = row + drawn[row] * self.total
                        drawn[row] = (drawn[row] + 1) % self.copies
                yield rows
        except Exception as error:
            self.error = error

    def _row(self, index: Any) -> int:
        at = operator.index(index)
        at = at + self.length if at < 0 else at
        if not 0 <= at < self.length:
            raise IndexError(f"the sampler gave the index {index}, and the data set has {self.length} samples")
        return at if self.rows is None else self.rows[at]


def copies(loader: DataLoader[Any], tree: Tree) -> int:
    """How many draws a row can have in one epoch: more than one where a sampler may repeat rows."""
    if tree.stream is not None or not any(leaf.random for leaf in tree.leaves) or not _may_repeat(loader, tree):
        return 1
    return max(2, min(COPIES, MOST_ROWS // max(1, tree.total)))


def _may_repeat(loader: DataLoader[Any], tree: Tree) -> bool:
    if tree.rows is not None and len(np.unique(tree.rows)) != len(tree.rows):
        return True
    sampler = loader.sampler
    if type(loader.batch_sampler) is BatchSampler:
        sampler = loader.batch_sampler.sampler
    elif loader.batch_sampler is not None:
        return True
    if type(sampler) is RandomSampler:
        return sampler.replacement or sampler.num_samples > len(tree)
    if type(sampler) is SubsetRandomSampler:
        return len({int(index) for index in sampler.indices}) != len(sampler.indices)
    return type(sampler) not in (SequentialSampler, DistributedSampler)
