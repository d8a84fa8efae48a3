"""A state that was loaded: compared with the loader, and read."""

from __future__ import annotations

import contextlib
import pickle
from collections.abc import Iterator
from typing import Any

from torch.utils.data import BatchSampler
from torch.utils.data.dataloader import _DatasetKind

from . import rng
from .keeper import Place

VERSION = 1


class StateMismatch(ValueError, AssertionError):
    """A state that does not fit the loader. An AssertionError, too: this is what torchdata raises."""


def shape_of(loader: Any) -> dict[str, Any]:
    """What a state and a loader must have in common."""
    sampler = loader._index_sampler
    inner = rng.innermost(sampler)
    try:
        length = None if loader._dataset_kind == _DatasetKind.Iterable else len(inner)
    except Exception:  # samplers need not have a length
        length = None
    return {
        "dataset": "iterable" if loader._dataset_kind == _DatasetKind.Iterable else "map-style",
        "num_workers": loader.num_workers,
        "sampler": type(inner).__name__ if type(sampler) is BatchSampler else f"{type(sampler).__name__} of batches",
        "batch_size": sampler.batch_size if type(sampler) is BatchSampler else loader.batch_size,
        "drop_last": loader.drop_last,
        "samples": length,
    }


class Saved:
    """A loaded state."""

    def __init__(self, state: dict[str, Any], loader: Any) -> None:
        own = state.get("infeed") if isinstance(state, dict) else None
        if own is None:
            known = isinstance(state, dict) and ("_snapshot" in state or "_num_yielded" in state)
            raise StateMismatch(
                "this state was made by torchdata's StatefulDataLoader; finish the epoch with it, or begin a new one"
                if known
                else "this is not a state of an infeed.torch.DataLoader: pass what its state_dict() returned"
            )
        if own["version"] != VERSION:
            raise StateMismatch(f"this state has version {own['version']}, and this infeed reads version {VERSION}")
        self.finished: bool = state["_iterator_finished"]
        _compare(own["shape"], shape_of(loader), self.finished)
        snapshot = state.get("_snapshot", {})
        main = snapshot.get("_main_snapshot", state)
        self.position: int = main["_sampler_iter_yielded"]
        self.yielded: int = snapshot.get("_snapshot_step", state.get("_num_yielded", 0))
        self.last: int = snapshot.get("_last_yielded_worker_id", -1)
        self.sampler_state: Any = main["_index_sampler_state"]
        self.iterator_state: Any = main["_sampler_iter_state"]
        self.base_seed: int | None = own["base_seed"]
        self.native: dict[str, Any] | None = own["native"]
        self.early: list[int] = own["early"]
        self.again: bool = own["again"]
        self.draws_globally: bool = own["draws_globally"]
        self.start = rng.from_plain(own["start"])
        self.now = rng.from_plain(own["now"])
        size = (loader.batch_size or 1) if own["shape"]["dataset"] == "iterable" else 0
        parts = list(snapshot.get("_worker_snapshots", {}).values()) if "_snapshot" in state else [state]
        self.places = [_place(part, size, self.finished) for part in parts]
        self.since = [part["infeed_since"] for part in parts]
        if self.finished:
            self._turn_page(loader)

    @contextlib.contextmanager
    def replay(self, loader: Any, *, native: bool = False) -> Iterator[None]:
        """Make the iterator inside: random states are those of the start of the epoch, and afterwards those of now."""
        outside = rng.capture_global("unknown")
        if native or not self.again:
            self.restore_start(loader)
        yield
        if not self.finished:
            # As they were when the state was taken. What the sampler does not draw from is left as the program has it.
            # A native run reads its sampler further ahead than torch does: its generators are where the sampler is now.
            if not native:
                rng.restore_generators(loader, self.now)
            rng.restore_global({**outside, **self.now} if self.draws_globally else outside)
        elif not self.draws_globally and self.again:
            rng.restore_global(outside)

    def restore_start(self, loader: Any) -> None:
        """Set the random states to those at the start of the epoch."""
        rng.restore_generators(loader, self.start)
        if not self.finished or self.draws_globally:
            rng.restore_global(self.start)

    def _turn_page(self, loader: Any) -> None:
        """Make it the state of the start of the next epoch."""
        self.again = loader.persistent_workers and loader.num_workers > 0
        self.start = self.now
        self.position = self.yielded = 0
        self.early = []
        self.last = -1
        self.since = [0] * len(self.places)
        if self.native is not None:
            self.native = {**self.native, "epochs": self.native["epochs"] + 1}
        elif loader.num_workers > 0 and not self.again:
            # Workers that are not persistent end with the epoch; the next ones begin with the data set as it is here.
            self.base_seed = None
            self.places = [Place(finished=True)] * len(self.places)


def _place(part: dict[str, Any], size: int, finished: bool) -> Place:
    states = {name: part[name] for name in ("dataset_state", "fetcher_state")}
    fetcher = states["fetcher_state"] or {}
    has_any = states["dataset_state"] is not None or fetcher.get("dataset_iter_state") is not None
    frozen = pickle.dumps(states, pickle.HIGHEST_PROTOCOL) if has_any else None
    if finished:
        return Place(frozen, finished=True)
    return Place(frozen, part["infeed_batches"], part["infeed_since"] * size)


def _compare(theirs: dict[str, Any], ours: dict[str, Any], finished: bool) -> None:
    # Between epochs the length does not matter: the next order is drawn for the length of the day.
    names = [name for name in ours if not (finished and name == "samples")]
    differing = [name for name in names if theirs.get(name) != ours[name]]
    if differing:
        told = "; ".join(f"{name}: {theirs.get(name)} in the state, {ours[name]} in the loader" for name in differing)
        raise StateMismatch(
            f"the state does not fit this DataLoader. {told}. Make the loader as it was, or do not load it"
        )
