"""A drop-in replacement for torch's ``DataLoader``: only the import changes."""

from __future__ import annotations

import multiprocessing
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, Protocol, Self, TypeVar

from .._typing import OnDeadWorker
from ..errors import PlanError

try:
    import torch.utils.data
except ImportError as error:  # pragma: no cover - depends on the environment
    raise ImportError("infeed.torch needs PyTorch: pip install torch") from error

from .adopt import announce
from .candidates import is_candidate
from .processes import PoolIterator
from .state import Resumable
from .state.local import LocalIterator
from .threads import wants_threads

__all__ = ["DataLoader", "Takeover"]


class Takeover(Protocol):
    """The native run of a loader, as :func:`infeed.torch.recognise.take_over` gives it for what it recognises."""

    def iterate(self, loader: DataLoader[Any], skip: int = 0) -> Iterator[Any]:
        """The batches of one epoch, without the first ``skip``."""

    def explain(self) -> str:
        """What runs natively and what is left in Python."""

    def stats(self) -> Any:
        """What the threads did."""

    def close(self) -> None:
        """Release threads and memory."""


T_co = TypeVar("T_co", covariant=True)


class DataLoader(Resumable, torch.utils.data.DataLoader[T_co]):
    """A drop-in replacement for ``torch.utils.data.DataLoader``: the same arguments, the same batches in the same order.

    With ``num_workers > 0`` the batches come from worker processes, which write them into shared memory that is reused,
    instead of into new files in ``/dev/shm``. A worker that dies is raised as :class:`~infeed.WorkerDied`. What infeed
    can do without Python code per sample runs natively, in threads. ``docs/dataloader.md`` describes all arguments.
    Those that torch does not have:

    ``native``: ``"auto"`` runs natively if possible, ``False`` never does, ``True`` raises if it is not possible.
    ``threads``: threads of a native run (default: the number of usable CPUs).
    ``share_lists``: long lists in the dataset are packed once for all workers, which see a
    :class:`~infeed.work.SharedList` until they change it; ``False`` leaves them as they are.
    ``on_dead_worker``: ``"replace"`` starts a new worker for one that died instead of raising.
    ``workers``: ``"threads"`` instead of processes, which share one dataset; ``"auto"`` uses them on a Python without
    the GIL.
    ``snapshot_every_n_steps``: as torchdata's StatefulDataLoader has it. How often a worker with an iterable dataset that
    has a state sends it along; from fewer snapshots a loader that continues reads further.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
        native: bool | Literal["auto"] = "auto",
        threads: int | None = None,
        share_lists: bool = True,
        on_dead_worker: OnDeadWorker = "raise",
        workers: Literal["auto", "processes", "threads"] = "auto",
        snapshot_every_n_steps: int = 1,
    ) -> None:
        if workers not in ("auto", "processes", "threads"):
            raise ValueError(f'workers should be "auto", "processes" or "threads", not {workers!r}')
        if workers == "threads" and isinstance(dataset, torch.utils.data.IterableDataset):
            raise ValueError('workers="threads" needs a map-style dataset: threads cannot copy an iterable one')
        if workers == "threads" and worker_init_fn is not None:
            raise ValueError('workers="threads" has no worker processes that worker_init_fn could set up')
        if native not in (True, False, "auto"):
            raise ValueError(f'native should be True, False or "auto", not {native!r}')
        if on_dead_worker not in ("raise", "replace"):
            raise ValueError(f'on_dead_worker should be "raise" or "replace", not {on_dead_worker!r}')
        if on_dead_worker == "replace" and isinstance(dataset, torch.utils.data.IterableDataset):
            raise ValueError(
                'on_dead_worker="replace" needs a map-style dataset: the position of an iterable is lost with its worker'
            )
        if threads is not None and threads < 1:
            raise ValueError(f"threads should be at least 1, not {threads}")
        if snapshot_every_n_steps < 0:
            raise ValueError(f"snapshot_every_n_steps should be 0 or more, not {snapshot_every_n_steps}")
        # Older versions of torch do not know the argument.
        more: dict[str, Any] = {} if in_order else {"in_order": False}
        super().__init__(
            dataset,
            batch_size,
            shuffle,
            sampler,
            batch_sampler,
            num_workers,
            collate_fn,
            pin_memory,
            drop_last,
            timeout,
            worker_init_fn,
            multiprocessing_context,
            generator,
            prefetch_factor=prefetch_factor,
            persistent_workers=persistent_workers,
            pin_memory_device=pin_memory_device,
            **more,
        )
        self.in_order = in_order
        self.native = native
        self.threads = threads
        self.share_lists = share_lists
        self.on_dead_worker = on_dead_worker
        self.workers = workers
        self.snapshot_every_n_steps = snapshot_every_n_steps
        self._running: list[weakref.ref[PoolIterator]] = []
        self._takeover: Takeover | None = None
        self._reason: str | None = "native=False was asked for"
        self._asked = False

    def _native(self) -> Takeover | None:
        """The native run, if there is one; determined once."""
        if self._asked:
            return self._takeover
        if self.native is not False and not is_candidate(self.dataset):
            # In words only if somebody asks.
            self._reason = None
        elif self.native is not False:
            self._recognise()
        self._asked = True
        return self._takeover

    def _recognise(self) -> None:
        from .recognise import Refusal, take_over

        found = take_over(self)
        if isinstance(found, Refusal):
            self._reason = found.reason
        else:
            self._takeover = found

    def _why(self) -> str:
        """Why it does not run natively."""
        if self._reason is None:
            self._recognise()
        return self._reason or "it was not recognised when it began"

    def __iter__(self) -> Any:
        return self._begin()

    def _iterate(self, skip: int) -> Any:
        takeover = self._native()
        if takeover is not None:
            from .recognise import Unknown

            try:
                return takeover.iterate(self, skip)
            except Unknown as why:
                # Changed since the last epoch: from now on as torch does it.
                takeover.close()
                self._takeover, self._reason = None, str(why)
        return self._as_torch()

    def _as_torch(self) -> Any:
        """An iterator that makes no batch natively."""
        if self.native is True:
            raise PlanError(f"native=True, but this loader cannot run natively.\n{self.explain()}")
        if self._iterator is not None and isinstance(self._iterator, PoolIterator) and not self._iterator.is_alive():
            self._iterator = None
        return super().__iter__()

    def _get_iterator(self) -> Any:
        if self.num_workers == 0:
            return LocalIterator(self)
        self.check_worker_number_rationality()
        iterator = PoolIterator(self)
        self._running = [ref for ref in self._running if ref() is not None] + [weakref.ref(iterator)]
        return iterator

    @property
    def _is_accelerate_prepared(self) -> bool:
        # Accelerate asks for this before it rebuilds a loader.
        announce(self)
        return False

    @property
    def _in_threads(self) -> bool:
        return wants_threads(self.workers, self.dataset, self.worker_init_fn)

    def explain(self) -> str:
        """How this loader runs and why, in words."""
        takeover = self._native()
        if takeover is not None:
            return takeover.explain()
        reason = self._why()
        if self.num_workers == 0:
            return f"Not native ({reason}): samples are made in this process, as torch does with num_workers=0."
        if self._in_threads:
            return f"Not native ({reason}): samples are made by {self.num_workers} threads over the one dataset."
        context: Any = self.multiprocessing_context or multiprocessing.get_context()
        lines = [
            f"Not native ({reason}): samples are made by {self.num_workers} worker processes "
            f"(start method {context.get_start_method()}), {self.prefetch_factor} batches ahead each.",
            "Batches come back through memory that both processes map; it is used again when a batch is let go.",
            "Long lists in the dataset are shared by the workers (share_lists)."
            if self.share_lists
            else "Lists in the dataset are left as they are (share_lists=False).",
            "A worker that dies is replaced once per task." if self.on_dead_worker == "replace" else "",
        ]
        return "\n".join(line for line in lines if line)

    def stats(self) -> Any:
        """A native run: what its threads did, as :meth:`infeed.Loader.stats`. Otherwise a dict about this epoch."""
        takeover = self._native()
        if takeover is not None:
            return takeover.stats()
        progress = self._progress
        iterator = None if progress is None else progress.pool()
        return {
            "native": False,
            "reason": self._why(),
            "workers": "none" if self.num_workers == 0 else "threads" if self._in_threads else "processes",
            "num_workers": self.num_workers,
            "batches": 0 if progress is None else progress.count,
            "finished": progress is not None and progress.finished,
            **({} if iterator is None else iterator.stats()),
        }

    def close(self) -> None:
        """End workers and threads of all iterators. The loader can be iterated again."""
        for ref in self._running:
            if (iterator := ref()) is not None:
                iterator.close()
        self._running = []
        self._iterator = None
        if self._takeover is not None:
            self._takeover.close()
            self._takeover = None
            self._asked = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        # Processes and threads belong to this process; a copy elsewhere starts its own.
        none = {"_takeover": None, "_progress": None, "_prepared": None}
        return {**self.__dict__, **none, "_running": [], "_asked": False}
