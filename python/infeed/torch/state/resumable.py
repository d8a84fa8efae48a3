"""The methods of the loader that save and restore its position."""

from __future__ import annotations

import copy
from typing import Any

from torch.utils.data.dataloader import _DatasetKind

from .order import order_of
from .progress import Progress
from .saved import Saved, StateMismatch


class Resumable:
    """``state_dict()`` and ``load_state_dict()`` of a DataLoader, as torchdata's StatefulDataLoader has them."""

    _progress: Progress | None = None
    _prepared: Any = None
    """An iterator that was made to ask for its state, and that the next loop uses."""
    _loaded: dict[str, Any] | None = None
    _resuming: Saved | None = None

    def state_dict(self) -> dict[str, Any]:
        """The position after the last batch that was handed out, as plain data.

        Batches that were prefetched, but not handed out, are not counted. Data sets, iterators of iterable data sets and
        samplers that have ``state_dict`` and ``load_state_dict`` are asked for theirs.
        """
        if self._loaded is not None:
            return copy.deepcopy(self._loaded)
        if self._progress is None:
            self._prepared = iter(self)  # type: ignore[call-overload]
        assert self._progress is not None
        return self._progress.state(self)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Continue from a position: the next iteration begins with the batch that would have come next.

        A position at the end of an epoch begins the next epoch. The loader must be made as the one that gave the state;
        what differs is named when the iteration begins.
        """
        self._progress = self._prepared = None
        loader: Any = self
        loader._iterator = None
        self._loaded = copy.deepcopy(state_dict) if state_dict else None

    def _begin(self) -> Any:
        """An iterator, from the loaded position if there is one."""
        loader: Any = self
        if self._prepared is not None:
            prepared, self._prepared = self._prepared, None
            return prepared
        native = loader._native()
        if self._loaded is None:
            again = loader.persistent_workers and loader.num_workers > 0
            if native is None:
                again = again and loader._iterator is not None and loader._iterator.is_alive()
                # Not through __setattr__, which torch has made slow: this is done for every epoch.
                self.__dict__["_progress"] = Progress(loader, again=again)
                return loader._as_torch()
            again = again and getattr(native, "epochs", 0) > 0
            self._progress = Progress(loader, again=again, native=True)
            return self._counted()
        saved, self._loaded = Saved(self._loaded, loader), None
        if loader._dataset_kind == _DatasetKind.Iterable and (saved.native is None) != (native is None):
            raise StateMismatch(
                f"the state is from a loader that ran {'natively' if native is None else 'in Python'}, and this one does "
                f"not; native={native is None} makes it so"
            )
        self._resuming = saved
        try:
            return self._resumed(saved, native)
        finally:
            self._resuming = None

    def _resumed(self, saved: Saved, native: Any) -> Any:
        loader: Any = self
        _end_sampler(self, saved)
        self._progress = Progress(self, again=saved.again, saved=saved)
        if native is not None:
            place = saved.native or {"epochs": int(saved.again), "seed": saved.base_seed}
            native.epochs, native.seed = place["epochs"], place["seed"]
        elif loader.num_workers == 0:
            # Its data set lives here, and may have random states of its own to restore: the iterator does both.
            return self._counted()
        with saved.replay(self, native=native is not None):
            return self._counted()

    def _counted(self) -> Any:
        """The iterator of the loader; one that runs natively is made to count."""
        loader: Any = self
        progress = self._progress
        assert progress is not None
        native = loader._native()
        epochs = getattr(native, "epochs", 0)
        iterator = loader._iterate(progress.position)
        if native is not None and loader._native() is native and hasattr(iterator, "batches"):
            progress.base_seed = native.seed
            progress.native = {"epochs": epochs, "seed": native.seed}
            iterator.batches = _Counted(iterator.batches, progress)
        elif native is not None:
            # It was changed to what cannot be run natively: its workers begin with this epoch.
            progress.again = False
        return iterator


class _Counted:
    """Counts batches of a native run as they are handed out."""

    def __init__(self, batches: Any, progress: Progress) -> None:
        self._next = batches.__next__
        self._progress = progress

    def __iter__(self) -> _Counted:
        return self

    def __next__(self) -> Any:
        try:
            batch = self._next()
        except StopIteration:
            self._progress.finished = True
            raise
        self._progress.position += 1
        self._progress.yielded += 1
        return batch


def _end_sampler(loader: Any, saved: Saved) -> None:
    """Bring a sampler with a state to the end of the epoch that is over."""
    if not saved.finished or (saved.sampler_state is None and saved.iterator_state is None):
        return
    order = order_of(loader._index_sampler, iter(loader._index_sampler))
    if order is not None:
        order.restore(0, saved.sampler_state, saved.iterator_state)
        next(order, None)
    saved.sampler_state = saved.iterator_state = None
