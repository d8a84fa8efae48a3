"""The batches of one epoch: native ones, and in between those that only torch's own code can make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader, _utils

from ...errors import WorkerDied
from .order import Given

# Batches in a row that may not be native before the rest is left to torch, if they are most of the epoch so far.
FAILURES = 8
WRITTEN = "the program writes to the tensors of the data set while it iterates, and torch reads them batch by batch"
OTHER = "its indices are not those of single rows, or Pillow reads an image of it in another way"

_utils_untyped: Any = _utils


class Slow:
    """Makes batches with torch's own code, in this process: what a sampler asks for that is no list of rows, images that
    Pillow reads in another way, and batches whose native making failed, so that the error is torch's, too.
    """

    def __init__(self) -> None:
        self._made = 0
        self._why = ""
        #: Why nothing is made natively any more; empty as long as it is.
        self.given_up = ""

    def of(self, loader: DataLoader[Any], seed: int) -> SlowEpoch:
        """For one epoch of a loader."""
        return SlowEpoch(self, loader, seed)

    def count(self, why: str) -> None:
        """Count a batch."""
        self._made += 1
        self._why = why

    def give_up(self, why: str) -> None:
        """Leave everything to torch from the next epoch on."""
        self.given_up = why

    def words(self) -> list[str]:
        """For ``explain()``."""
        if not self._made:
            return []
        return [f"batches that torch's own code made so far: {self._made} (the last one: {self._why})"]


class SlowEpoch:
    """Torch's fetcher over the data set of a loader."""

    def __init__(self, slow: Slow, loader: DataLoader[Any], seed: int) -> None:
        self.slow = slow
        self._seed = seed
        self._workers = loader.num_workers
        kind: Any = torch.utils.data._DatasetKind
        self._fetcher = kind.create_fetcher(kind.Map, loader.dataset, True, loader.collate_fn, loader.drop_last)

    def make(self, indices: Any, number: int, why: str) -> Any:
        """A batch. With worker processes an error has the form in which torch's workers send it."""
        self.slow.count(why)
        before = torch.get_rng_state()
        # Random transforms draw from a seed of their own: native batches leave the program's generator alone.
        torch.default_generator.manual_seed((self._seed * 1_000_003 + number) % 2**63)
        try:
            return self._fetcher.fetch(indices)
        except Exception:
            if self._workers == 0:
                raise
            where = f"in DataLoader worker process {number % self._workers}"
            wrapped: Any = _utils_untyped.ExceptionWrapper(where=where)
        finally:
            torch.set_rng_state(before)
        return wrapped.reraise()


class Batches:
    """One epoch, from the batch with the number ``first`` on. After an error it goes on with the next batch, as torch's
    iterators do. When ``version`` gives another value, what was read ahead is dropped and the rest is left to torch.
    """

    def __init__(
        self,
        given: Given,
        native: Callable[[Iterator[list[int]]], Iterator[Any]],
        slow: SlowEpoch,
        *,
        first: int = 0,
        version: Callable[[], Any] | None = None,
    ) -> None:
        self._given = given
        self._start = native
        self._native: Iterator[Any] | None = None
        self._slow = slow
        self._number = first - 1
        self._failures = 0
        self._given_up = ""
        self._version = version
        self._read: Any = None
        # Native batches less the others.
        self._balance = 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self._number += 1
        if self._version is not None and (now := self._version()) != self._read:
            self._notice(now)
        self._given.begin()
        try:
            return self._made()
        finally:
            self._given.end()

    def _notice(self, version: Any) -> None:
        if self._read is not None:
            self._version = self._native = None
            self._given.again()
            self._given_up = WRITTEN
            self._slow.slow.give_up(WRITTEN)
        self._read = version

    def _made(self) -> Any:
        while True:
            if self._native is None:
                asked = self._given.peek()
                if asked.rows is None or self._given_up:
                    self._given.pop()
                    return self._other(asked.indices, self._given_up or OTHER)
                self._native = self._start(self._given)
            try:
                batch = next(self._native)
            except StopIteration:
                # The end, or a batch that is not native.
                self._native = None
                continue
            except WorkerDied:
                raise
            except Exception as error:
                self._native = None
                return self._other(self._given.failed().indices, f"{type(error).__name__}: {error}")
            self._given.done()
            self._failures = 0
            self._balance += 1
            return batch

    def _other(self, indices: Any, why: str) -> Any:
        """Make a batch that is not native, or whose native making failed."""
        self._failures += 1
        self._balance -= 1
        if self._failures >= FAILURES and self._balance < 0 and not self._given_up:
            self._given_up = why
            self._slow.slow.give_up(f"{FAILURES} batches in a row could not be made natively; the last one: {why}")
        return self._slow.make(indices, self._number, why)
