"""States of the data set and its iterator, taken and restored where they live."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .objects import Frozen, freeze, is_stateful, own_state, thaw
from .order import forward

_END = object()


@dataclass(frozen=True)
class Place:
    """Where a worker comes back to."""

    frozen: Frozen | None = None
    """The states of data set and iterator."""
    batches: int = 0
    """Batches of this epoch that were handed out."""
    skip: int = 0
    """Samples of an iterable data set that were handed out after the states were taken."""
    finished: bool = False
    """Whether the epoch is over: the next one begins."""


@dataclass
class Carried:
    """A batch and the states after it."""

    data: Any
    frozen: Frozen

    def pin_memory(self, device: Any = None) -> Carried:
        """Called by torch's ``pin_memory``."""
        from torch.utils.data._utils.pin_memory import pin_memory

        return Carried(pin_memory(self.data, device), self.frozen)  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class Report:
    """Asks a worker for its states at the start of the epoch."""


class Keeper:
    """Opens the data set at a place, and adds states to batches.

    ``every``: batches of a worker between two states of an iterable data set; 0 keeps only the first one.
    """

    def __init__(self, dataset: Any, every: int, place: Place | None = None) -> None:
        self._dataset = dataset
        self._every = every
        self._place = place
        self._fetcher: Any = None
        self._count = 0
        self.is_stateful = False
        self.initial: Frozen | None = None

    def open(self, make: Callable[[], Any]) -> Any:
        """The fetcher that ``make`` gives, at the place."""
        place, self._place = self._place or Place(), None
        self._count = place.batches
        states = thaw(place.frozen)
        self._load(states)
        self._fetcher = make()
        iterator = getattr(self._fetcher, "dataset_iter", None)
        if iterator is not None and states is not None:
            self._restore_iterator(states, place.finished, make)
            iterator = self._fetcher.dataset_iter
        self.is_stateful = is_stateful(self._dataset) or (iterator is not None and is_stateful(iterator))
        if place.frozen is not None and not place.finished and not (iterator is not None and is_stateful(iterator)):
            # Not taken anew: a generator function that has not run yet would tell its old position.
            self.initial = place.frozen
        else:
            self.initial = self.take() if self.is_stateful else None
        if iterator is not None:
            forward(iterator, place.skip)
        return self._fetcher

    def _load(self, states: Any) -> None:
        if states is not None and states["dataset_state"] is not None and is_stateful(self._dataset):
            self._dataset.load_state_dict(states["dataset_state"])

    def _restore_iterator(self, states: Any, finished: bool, make: Callable[[], Any]) -> None:
        fetcher, state = self._fetcher, states["fetcher_state"]
        if state["dataset_iter_state"] is not None and is_stateful(fetcher.dataset_iter):
            fetcher.dataset_iter.load_state_dict(state["dataset_iter_state"])
        if not finished and not state["fetcher_ended"]:
            return
        # The epoch was over for this data set. Some then keep the last position, and start again from it: run these to
        # their end, or the next epoch would be empty. Others have gone back to the start: these must not be run.
        has_ended = next(fetcher.dataset_iter, _END) is _END
        if not has_ended:
            self._load(states)
        if finished or not has_ended:
            self._fetcher = make()
        self._fetcher.ended = not finished

    def take(self) -> Frozen:
        """The states now."""
        return freeze(self._states)

    def _states(self) -> dict[str, Any]:
        iterator = getattr(self._fetcher, "dataset_iter", None)
        if iterator is None:
            return {"dataset_state": own_state(self._dataset), "fetcher_state": None}
        return {
            # A data set that is its own iterator has one state, not two.
            "dataset_state": None if iterator is self._dataset else own_state(self._dataset),
            "fetcher_state": {"dataset_iter_state": own_state(iterator), "fetcher_ended": self._fetcher.ended},
        }

    def carry(self, data: Any) -> Any:
        """The batch, with the states if it is time for them."""
        self._count += 1
        # The first batch tells the consumer that there is a state.
        due = self._count == 1 or (self._every > 0 and self._count % self._every == 0)
        if due or not hasattr(self._fetcher, "dataset_iter"):
            return Carried(data, self.take())
        return data
