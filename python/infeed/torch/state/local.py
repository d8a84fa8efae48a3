"""Iteration without workers, from any position."""

from __future__ import annotations

import contextlib
from typing import Any

from torch.utils.data import dataloader as theirs

from .keeper import Keeper

_create_fetcher: Any = theirs._DatasetKind.create_fetcher


class LocalIterator(theirs._SingleProcessDataLoaderIter):
    """torch's iterator without workers. Counts batches, and begins where a loaded state says."""

    def __init__(self, loader: Any) -> None:
        self.progress = loader._progress
        saved = loader._resuming
        keeper = Keeper(loader.dataset, 1, None if saved is None else saved.places[0])
        made: list[Any] = []

        def make() -> Any:
            # torch's own constructor makes the fetcher, after the state of the data set is restored.
            if made:
                return _create_fetcher(
                    self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
                )
            with contextlib.nullcontext() if saved is None else saved.replay(loader):
                super(LocalIterator, self).__init__(loader)
                self._sampler_iter = self.progress.begin(self, saved)
            made.append(self._dataset_fetcher)
            return self._dataset_fetcher

        self._dataset_fetcher = keeper.open(make)
        self.progress.base_seed = self._base_seed
        # Without a state there is nothing to ask: do not keep the data set's iterator alive.
        self.progress.keeper = keeper if keeper.is_stateful else None

    def _next_index(self) -> Any:
        index = next(self._sampler_iter)
        self.progress.position += 1
        return index

    def _next_data(self) -> Any:
        try:
            return super()._next_data()  # type: ignore[no-untyped-call]
        except StopIteration:
            self.progress.finished = True
            if self._dataset_kind == theirs._DatasetKind.Iterable:
                self.progress.position -= 1
            raise
