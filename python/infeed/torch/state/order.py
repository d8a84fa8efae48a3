"""The iterator over a loader's sampler, which can be brought to a position."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from torch.utils.data import BatchSampler

from . import rng
from .objects import Frozen, freeze, is_stateful, own_state

_END = object()


class Batches(Iterator[list[Any]]):
    """torch's BatchSampler as an iterator whose inner sampler can be asked for its state."""

    def __init__(self, batch_sampler: Any) -> None:
        self._sampler = batch_sampler.sampler
        self._size = batch_sampler.batch_size
        self._drop_last = batch_sampler.drop_last
        # Made with the first batch, as torch does: a sampler may draw random numbers when it is started.
        self._inner: Any = None
        self._samples = 0

    def __next__(self) -> list[Any]:
        if self._inner is None:
            self._inner = iter(self._sampler)
        batch = list(itertools.islice(self._inner, self._size))
        if not batch or (self._drop_last and len(batch) < self._size):
            raise StopIteration
        self._samples += len(batch)
        return batch

    @property
    def is_stateful(self) -> bool:
        """Whether the sampler, or its iterator, has a state."""
        return is_stateful(self._sampler) or (self._inner is not None and is_stateful(self._inner))

    def state_dict(self) -> dict[str, Any]:
        """The states of the sampler and its iterator."""
        return {
            "samples_yielded": self._samples,
            "sampler_state": own_state(self._sampler),
            "sampler_iter_state": None if self._inner is None else own_state(self._inner),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Come back to a position. Samplers without a state are moved forward."""
        self._samples = state["samples_yielded"]
        restored = _restore(self._sampler, state["sampler_state"])
        self._inner = iter(self._sampler)
        restored = _restore(self._inner, state["sampler_iter_state"]) or restored
        if not restored:
            forward(self._inner, self._samples)


class Order(Iterator[Any]):
    """The indices of an epoch, from a sampler that torch does not define.

    Keeps the state of the sampler after each batch that is not handed out yet, and notices whether the sampler draws
    from a global generator.
    """

    def __init__(self, index_sampler: Any, iterator: Any) -> None:
        self._sampler = index_sampler
        # torch's iterator over a BatchSampler has not started yet, and can be replaced.
        self._iterator: Any = Batches(index_sampler) if type(index_sampler) is BatchSampler else iterator
        self._count = 0
        self._states: dict[int, Frozen] = {0: freeze(self._state)}
        self._keeps_states = False
        self.draws_globally: bool | None = None
        """None: not known before the first batch."""

    def __next__(self) -> Any:
        index = self._first() if self.draws_globally is None else next(self._iterator)
        self._count += 1
        if self._keeps_states:
            self._states[self._count] = freeze(self._state)
        return index

    def _first(self) -> Any:
        before = rng.capture_global("unknown")
        index = next(self._iterator)
        self.draws_globally = not rng.same(before, rng.capture_global("unknown"))
        # The iterator of a sampler inside a BatchSampler is known only now.
        inner = type(self._iterator) is Batches
        self._keeps_states = is_stateful(self._sampler) or (
            self._iterator.is_stateful if inner else is_stateful(self._iterator)
        )
        return index

    def _state(self) -> tuple[Any, Any]:
        inner = type(self._iterator) is Batches
        if inner and not self._iterator.is_stateful:
            return own_state(self._sampler), None
        return own_state(self._sampler), own_state(self._iterator)

    def at(self, position: int) -> Frozen | None:
        """The states of the sampler and its iterator after ``position`` batches."""
        return self._states.get(position)

    def forget(self, position: int) -> None:
        """Drop the states before ``position``."""
        for known in [known for known in self._states if known < position]:
            del self._states[known]

    def restore(self, position: int, sampler_state: Any, iterator_state: Any) -> None:
        """Come back to a position."""
        restored = _restore(self._sampler, sampler_state)
        if restored and type(self._iterator) is not Batches:
            self._iterator = iter(self._sampler)
        restored = _restore(self._iterator, iterator_state) or restored
        if not restored:
            forward(self._iterator, position)
        self._count = position
        self._states = {position: freeze(self._state)}


def order_of(index_sampler: Any, iterator: Any) -> Order | None:
    """The order of a sampler that is not torch's own; None for torch's, which have no state and are iterated directly."""
    return Order(index_sampler, iterator) if rng.draws(index_sampler) == "unknown" else None


def forward(iterator: Iterator[Any], count: int) -> None:
    """Skip ``count`` items, or as many as there are."""
    # Not islice: it calls iter(), with which a data set that is its own iterator begins anew.
    for _ in range(count):
        if next(iterator, _END) is _END:
            return


def _restore(thing: Any, state: Any) -> bool:
    if state is None or not is_stateful(thing):
        return False
    thing.load_state_dict(state)
    return True
