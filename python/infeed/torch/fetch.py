"""The work of a loader's workers: torch's fetchers over the worker's copy of the dataset, collated into shared memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import IterDataPipe, _utils
from torch.utils.data.graph_settings import apply_random_seed

from ..work import WorkerInfo, allocate
from ..work.wire import SMALL
from .state.keeper import Keeper, Place, Report
from .state.objects import Frozen

# A private module of torch, without types.
utils: Any = _utils
_create_fetcher: Any = torch.utils.data._DatasetKind.create_fetcher


@dataclass(frozen=True)
class Resume:
    """Tells a persistent worker to begin the next epoch."""

    seed: int | None = None


@dataclass(frozen=True)
class Ended:
    """The answer of a worker whose iterable dataset is exhausted."""

    worker: int
    frozen: Frozen | None = None
    """The states of the dataset at its end."""


@dataclass(frozen=True)
class Told:
    """The states of the dataset at the start of an epoch."""

    frozen: Frozen | None


@dataclass
class Work:
    """Everything that a worker of a loader needs; called in the worker, it returns the function that runs tasks."""

    kind: int
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[[Any], Any]
    drop_last: bool
    init_fn: Callable[[int], None] | None
    shared_seed: int | None
    places: list[Place] | None = None
    """Where each worker begins."""
    every: int = 1
    """Batches of a worker between two states of an iterable dataset."""

    def __call__(self, info: WorkerInfo) -> Callable[[Any], Any]:
        """Set the worker up as torch does: the dataset's seed, ``get_worker_info()``, then ``worker_init_fn``."""
        collate_into_shared_memory()
        rng = torch.Generator()
        self._seed(rng, self.shared_seed)
        utils.worker._worker_info = utils.worker.WorkerInfo(
            id=info.id, num_workers=info.workers, seed=info.seed, dataset=self.dataset
        )
        where = f"in DataLoader worker process {info.id}"
        keeper = Keeper(self.dataset, self.every, self.places[info.id] if self.places else None)
        fetcher: Any = None
        broken: Any = None
        try:
            if self.init_fn is not None:
                self.init_fn(info.id)
            fetcher = keeper.open(self._fetcher)
        except Exception:
            broken = utils.ExceptionWrapper(where=where)
        ended = False

        def do(task: Any) -> Any:
            nonlocal fetcher, ended
            if isinstance(task, Resume):
                ended = False
                self._seed(rng, task.seed)
                try:
                    fetcher = keeper.open(self._fetcher)
                except Exception:
                    return utils.ExceptionWrapper(where=where)
                return Told(keeper.initial)
            if isinstance(task, Report):
                return Told(keeper.initial)
            if broken is not None:
                return broken
            if ended:
                return Ended(info.id)
            try:
                data = fetcher.fetch(task)
                return keeper.carry(data) if keeper.is_stateful else data
            except Exception as error:
                if isinstance(error, StopIteration) and self.kind == torch.utils.data._DatasetKind.Iterable:
                    ended = True
                    return Ended(info.id, keeper.take() if keeper.is_stateful else None)
                return utils.ExceptionWrapper(where=where)

        return do

    def _fetcher(self) -> Any:
        return _create_fetcher(self.kind, self.dataset, self.auto_collation, self.collate_fn, self.drop_last)

    def _seed(self, rng: torch.Generator, seed: int | None) -> None:
        if isinstance(self.dataset, IterDataPipe) and seed is not None:
            rng.manual_seed(seed)
            self.dataset = apply_random_seed(self.dataset, rng)


def collate_into_shared_memory() -> None:
    """Make torch's ``default_collate`` write to shared memory in this process. A user's own entry in its table stays."""
    table = utils.collate.default_collate_fn_map
    if table.get(torch.Tensor) is utils.collate.collate_tensor_fn:
        table[torch.Tensor] = _collate_tensors


def _collate_tensors(batch: Any, *, collate_fn_map: Any = None) -> Any:
    first = batch[0]
    plain = type(first) is torch.Tensor and first.layout is torch.strided and first.device.type == "cpu"
    if not plain or first.requires_grad or first.is_quantized or first.is_nested:
        if type(first) is not torch.Tensor and first.layout is torch.strided:
            return torch.stack(batch, 0)
        return utils.collate.collate_tensor_fn(batch, collate_fn_map=collate_fn_map)
    nbytes = len(batch) * first.numel() * first.element_size()
    if nbytes < SMALL:
        return torch.stack(batch, 0, out=torch.empty((len(batch), *first.shape), dtype=first.dtype))
    memory = torch.from_numpy(allocate(nbytes, "u1")).view(first.dtype)
    return torch.stack(batch, 0, out=memory.view(len(batch), *first.shape))
