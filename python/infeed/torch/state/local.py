"""Iteration without workers, from any position."""

from __future__ import annotations

from typing import Any

from torch.utils.data import dataloader as theirs
from torch.utils.data._utils.pin_memory import pin_memory

from ..steps import Steps
from .keeper import Keeper
from .objects import is_stateful

_create_fetcher: Any = theirs._DatasetKind.create_fetcher


class LocalIterator(Steps, theirs._SingleProcessDataLoaderIter):
    """torch's iterator without workers. Counts batches, and begins where a loaded state says."""

    def __init__(self, loader: Any) -> None:
        self.progress = loader._progress
        saved = loader._resuming
        if saved is None:
            super().__init__(loader)
            self._sampler_iter = self.progress.begin(self, None)
            fetcher: Any = self._dataset_fetcher
            iterator = getattr(fetcher, "dataset_iter", None)
            # Without a state there is nothing to ask: do not keep the data set's iterator alive.
            if is_stateful(loader.dataset) or (iterator is not None and is_stateful(iterator)):
                self.progress.keeper = keeper = Keeper(loader.dataset, 1)
                keeper.open(lambda: fetcher)
        else:
            self._resume(loader, saved)
        self.progress.base_seed = self._base_seed

    def _resume(self, loader: Any, saved: Any) -> None:
        keeper = Keeper(loader.dataset, 1, saved.places[0])
        made: list[Any] = []

        def make() -> Any:
            # torch's own constructor makes the fetcher, after the state of the data set is restored.
            if made:
                return _create_fetcher(
                    self._dataset_kind, self._dataset, self._auto_collation, self._collate_fn, self._drop_last
                )
            with saved.replay(loader):
                super(LocalIterator, self).__init__(loader)
                self._sampler_iter = self.progress.begin(self, saved)
            made.append(self._dataset_fetcher)
            return self._dataset_fetcher

        self._dataset_fetcher = keeper.open(make)
        self.progress.keeper = keeper if keeper.is_stateful else None

    def _next_data(self) -> Any:
        progress = self.progress
        try:
            index = next(self._sampler_iter)
            progress.position += 1
            data = self._dataset_fetcher.fetch(index)
        except StopIteration:
            progress.finished = True
            if self._dataset_kind == theirs._DatasetKind.Iterable:
                progress.position -= 1
            raise
        if self._pin_memory:
            data = pin_memory(data, self._pin_memory_device)  # type: ignore[no-untyped-call]
        return data
