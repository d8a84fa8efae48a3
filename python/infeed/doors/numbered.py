"""Batches by their number: ``loader[0]``."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, SupportsIndex

if TYPE_CHECKING:
    from .loader import Loader


class Numbered:
    """What gives the batches of a loader by number."""

    #: Its items are for looking: each opens the data anew. It is no data set to read by index.
    _is_for_looking = True

    def __getitem__(self: Loader, number: SupportsIndex) -> Any:  # type: ignore[misc]
        """Batch ``number`` of the current epoch, for a look: the same that iterating gives as that batch.

        The current epoch is the one that is being iterated over, or the next one between iterations. Negative numbers
        count from the end. The state, the ledger and the running iteration do not change: another loader is opened
        for this batch, so do not train this way.
        """
        if isinstance(number, slice):
            raise TypeError("loader[n] gives one batch; for several, iterate over loader.over([...])")
        wanted = operator.index(number)
        if self.pipeline.plan.is_stream:
            raise TypeError(
                "the batches of a stream have no numbers to look them up by: iterate, or use pipeline.peek()"
            )
        steps = self._core.steps
        place = wanted if steps is None or wanted >= 0 else wanted + steps
        if place < 0 or (steps is not None and place >= steps):
            count = "no end" if steps is None else f"{steps} batches in an epoch"
            raise IndexError(f"there is no batch {wanted}: the loader has {count}")
        return _batch(self, place)


def _batch(loader: Loader, number: int) -> Any:
    kind, pipeline, options, state = loader.__reduce__()[1]
    # One batch is wanted: nothing is prepared beyond it, and functions run here instead of in new processes.
    options = {**options, "prefetch": 1, "persistent": False, "workers": "consumer", "num_workers": 1}
    options["multiprocessing_context"] = None
    with kind(pipeline, **options) as other:
        other.load_state_dict(_at(loader, state, number))
        return next(iter(other))


def _at(loader: Loader, state: dict[str, Any], number: int) -> dict[str, Any]:
    """The state in front of a batch of the epoch that a state is in."""
    stages: list[dict[str, Any]] = loader.pipeline.recipe["stage"]
    batch: dict[str, Any] = next((stage for stage in reversed(stages) if stage["op"] == "batch"), {})
    together = batch.get("global_size") or batch.get("size", 1) * loader.world.size
    if not (loader._options["endless"] or loader._options["steps_per_epoch"]):
        return {**state, "step": number, "place": number * together}
    # Epochs of the data follow each other without a gap: count from the step where this iteration began.
    places = loader.pipeline.plan.places
    each = max(1, places // together if batch.get("last") == "drop" else -(-places // together))
    begin = state["data_epoch"] * each + min(-(-state["place"] // together), each) - state["step"]
    epoch, step = divmod(begin + number, each)
    return {**state, "step": number, "data_epoch": epoch, "place": step * together}
