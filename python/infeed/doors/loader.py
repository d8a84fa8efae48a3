"""Loaders run pipelines. This module is the NumPy door; the others build on it."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .. import _core
from .._typing import Decode, OnDeadWorker, OnError, Priority, StartMethod, Workers
from ..batch import GivenRun, Made
from ..chaos import seed_of
from ..functions.layer import Layer
from ..launch import world
from ..reports import Ledger, Stats
from . import live
from .caches import warn_of_caches
from .dummy import Dummy, made_up
from .face import Face
from .memory import in_bytes
from .numbered import Numbered
from .slowing import StepTimes, with_steps

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    from ..pipeline import Pipeline


class Loader(Numbered, Face):
    """Iterates over the batches of a pipeline: each ``iter(loader)`` starts the next epoch.

    All options have defaults. Threads, prefetch and memory never change which batches come:

    * ``threads``: CPU workers (default: the CPUs this process may use, shared among the ranks of the node). A loader that
      feeds a device leaves one of 4 to 7 CPUs, and two of more, to the training process
    * ``priority``: ``"low"`` lets threads of the training process go first whenever they can run (the default of loaders
      that feed a device), ``"normal"`` is the priority of the process. On Linux
    * ``io_threads``: threads that read
    * ``prefetch``: how many batches are prepared ahead of you
    * ``memory``: limit for batches and read-ahead, in bytes or as ``"2GB"``; one sample may take half of it (2 GiB
      when it is not given), however much its file claims
    * ``on_error``: ``"raise"``, ``"skip"`` (the batch gets shorter) or ``"replace"`` (another row takes its place)
    * ``skip_unreadable``: ``on_error`` also applies to rows that the storage cannot deliver, although it was tried again
      for ten seconds. Off by default: a server that is down must not cost rows, so such errors stop the run
    * ``error_limit``: how many bad samples are allowed
    * ``stall_timeout``: seconds without a batch after which ``TimeoutError`` says what every thread is doing, with shard
      and row; ``None`` waits for ever
    * ``persistent``: keep threads between epochs; they prepare the next epoch while you use the last batches
    * ``ledger_rows``: the :meth:`ledger` also keeps the row numbers
    * ``chaos``: a seed for delays, read faults and deaths of workers on purpose (default: ``INFEED_CHAOS``); the batches
      stay the same, ``stats()["chaos"]`` counts what happened

    For pipelines with Python functions, and for wrapped data sets:

    * ``workers``: ``"threads"`` (nothing is pickled or copied; Python code holds the GIL, NumPy and image libraries
      mostly release it), ``"processes"`` (results come back in shared memory) or ``"consumer"`` (run in your thread when
      you ask for a batch)
    * ``num_workers``: how many (default: the CPUs this process may use, shared among the ranks of the node)
    * ``multiprocessing_context``: ``"fork"``, ``"forkserver"``, ``"spawn"`` or a context; the platform's own by default
    * ``on_dead_worker``: ``"raise"``, or ``"replace"`` a worker process that was killed and continue

    Which part of each global batch is this rank's, and how epochs are counted:

    * ``rank``, ``world_size``: found from the launcher when not given, see :func:`infeed.world`
    * ``epoch``: the first epoch
    * ``endless``: an iteration never ends
    * ``steps_per_epoch``: the number of steps of an iteration; the next iteration continues where it stopped
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        threads: int | None = None,
        priority: Priority | None = None,
        io_threads: int | None = None,
        prefetch: int | None = None,
        memory: int | str | None = None,
        on_error: OnError = "raise",
        skip_unreadable: bool = False,
        error_limit: int = 1000,
        stall_timeout: float | None = None,
        persistent: bool = True,
        ledger_rows: bool = False,
        chaos: int | None = None,
        workers: Workers = "threads",
        num_workers: int | None = None,
        multiprocessing_context: StartMethod | BaseContext | None = None,
        on_dead_worker: OnDeadWorker = "raise",
        rank: int | None = None,
        world_size: int | None = None,
        epoch: int = 0,
        endless: bool = False,
        steps_per_epoch: int | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.world = world(rank, world_size)
        self._options: dict[str, Any] = {
            "threads": threads,
            "priority": priority,
            "io_threads": io_threads,
            "prefetch": prefetch,
            "memory": in_bytes(memory),
            "on_error": on_error,
            "skip_unreadable": skip_unreadable,
            "error_limit": error_limit,
            "stall_timeout": stall_timeout,
            "persistent": persistent,
            "ledger_rows": ledger_rows,
            "chaos": seed_of(chaos),
            "endless": endless,
            "steps_per_epoch": steps_per_epoch,
        }
        self._layer_options: dict[str, Any] = {
            "workers": workers,
            "num_workers": num_workers,
            "multiprocessing_context": multiprocessing_context,
            "on_dead_worker": on_dead_worker,
        }
        plan = pipeline.plan
        self._layer = self._make_layer(on_error) if pipeline._runs_python else None
        if self._layer is not None:
            self._layer.runner.stall = stall_timeout
        if not plan.fields:
            # Nothing to read or decode: the engine only counts.
            self._options |= {"threads": 1, "io_threads": 1}
        place = (self.world.rank, self.world.size, self.world.local_rank, self.world.local_size)
        decode, share = self._decodes
        self._core = _core.Loader(
            plan, place, epoch=epoch, feeds_device=self._feeds_device, decode=decode, share=share, **self._options
        )
        if self._layer is not None:
            self._layer.tail.most = self._core.batch_bytes
        self._tuple = plan.tuple
        self._kinds = {name: kind for name, kind, _ in plan.fields}
        self._sights = pipeline._sights
        self._runs: list[_core.Run | GivenRun] = []
        #: How long the consumer's steps take with this loader, and with its dummy batches.
        self._steps, self._free_steps = StepTimes(), StepTimes()
        live.add(self)

    def _make_layer(self, on_error: OnError) -> Layer:
        options = self._layer_options
        return Layer(
            self.pipeline,
            world=self.world,
            workers=options["workers"],
            num_workers=options["num_workers"],
            context=options["multiprocessing_context"],
            on_dead_worker=options["on_dead_worker"],
            on_error=on_error,
            chaos=self._options["chaos"],
            feeds_device=self._feeds_device,
            priority=self._options["priority"],
        )

    def __len__(self) -> int:
        """The number of batches that this rank gets per epoch, like ``len`` of a ``DataLoader``: equal on every rank.

        With ``steps_per_epoch`` it is that number. Endless loaders and streams have no length and raise ``TypeError``.
        ``len(loader.pipeline)`` is the number of rows.
        """
        steps = self._core.steps
        if steps is None:
            raise TypeError(
                "this loader has no length: it is endless, or a stream whose length is not known before it ends"
            )
        return steps

    @property
    def epoch(self) -> int:
        """The epoch that the next iteration runs."""
        return self._core.epoch

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration runs. Without this call, epochs are counted up.

        Setting the epoch that is current anyway keeps its position, even in the middle: a loop that calls this after
        :meth:`load_state_dict` continues where it was.
        """
        self._core.set_epoch(epoch)

    def state_dict(self) -> dict[str, Any]:
        """The checkpoint: what you have received, not what is prefetched. A few hundred bytes of plain data.

        It is the same on every rank, costs almost nothing, and can be taken at any step. It works where torch expects a
        ``Stateful`` object: in ``torch.distributed.checkpoint`` and as a loader of Lightning.
        """
        state: dict[str, Any] = json.loads(self._core.state())
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], *, strict: bool = True) -> None:
        """Resume from a state: the next batch is the one that would have come, bit for bit.

        Data, order and seed must be those of the state; threads, ranks, batch size and machine need not. With
        ``strict=False`` decoders and transforms may have changed, too.
        """
        self._core.load_state(json.dumps(dict(state_dict)), strict)

    def ledger(self) -> Ledger:
        """What was handed out so far: per epoch, the number of rows and an order-independent hash of them.

        Save it with each checkpoint, on each rank. ``infeed verify-epoch`` merges the ledgers of all ranks and restarts
        and proves that every row came exactly as often as promised, or names those that did not.
        """
        return Ledger(json.loads(self._core.ledger()))

    def __iter__(self) -> Iterator[Any]:
        return self._batches(self._core.start())

    def over(self, batches: Iterable[Sequence[int]], *, epoch: int | None = None) -> Iterator[Any]:
        """One pass over rows that you choose: each entry of ``batches`` lists the rows of one batch.

        Random transforms draw as in ``epoch`` (default: the loader's own). The order, state and ledger of the loader are
        neither used nor changed.
        """
        return self._batches(GivenRun(self._core.start_given(self.epoch if epoch is None else epoch), batches))

    def _batches(self, run: _core.Run | GivenRun) -> Iterator[Any]:
        self._runs.append(run)
        # Also called when the interpreter ends, where names of modules are gone.
        warn = warn_of_caches
        now, steps = time.perf_counter_ns, self._steps
        try:
            if not self._looks_ahead and self._layer is None:
                while (batch := run.next()) is not None:
                    given = now()
                    yield self._hand_out(batch)
                    steps.add(now() - given)
                return
            made = self._ahead(self._made(run))
            while True:
                start = now()
                item = next(made, None)
                if item is None:
                    return
                given = now()
                run.received(given - start, item.filtered, item.bad)
                yield item.batch
                steps.add(now() - given)
        finally:
            # Also reached by `break`, an exception in the loop's body and garbage collection.
            run.close()
            if run in self._runs:
                self._runs.remove(run)
            warn(self)

    @property
    def _feeds_device(self) -> bool:
        """Whether batches go to a device that this process keeps busy: doors that do so say it before anything runs."""
        return False

    @property
    def _decodes(self) -> tuple[Decode, float | None]:
        """Where images are decoded, and the share of the threads beside a device."""
        return "cpu", None

    @property
    def _looks_ahead(self) -> bool:
        """Whether batches are taken before they are handed out: doors that override :meth:`_ahead` say so."""
        return False

    def _made(self, run: _core.Run | GivenRun) -> Iterator[Made]:
        """The batches of this process, in order, not yet counted as received."""
        if self._layer is not None:
            yield from self._layer.made(self, run)
            return
        while (batch := run.take()) is not None:
            yield Made(self._hand_out(batch))

    def _ahead(self, made: Iterator[Made]) -> Iterator[Made]:
        """For doors that prefetch: gives the same batches in the same order, taking some early."""
        return made

    def dummy(self, *, endless: bool = False) -> Dummy:
        """Dummy batches of the same structure: one batch is made and handed out repeatedly.

        Training with them is as fast as training with any loader can be. Values are random (integers that are not images
        are zero, which is a valid class and token for every model); where shapes vary, it is the batch of the first
        rows. An iteration has as many steps as an epoch of the loader, or never ends. Train with them for some steps, and
        :meth:`stats` says how much longer the same steps take with the loader at work.
        """
        steps = None if endless else self._core.steps
        return Dummy(made_up(self), steps, self._free_steps)

    def stats(self) -> Stats:
        """Rates, waits, the stage that limits the loader, and the bad samples so far."""
        numbers, text = json.loads(self._core.stats_json()), self._core.stats_text()
        text = with_steps(numbers, text, self._steps, self._free_steps)
        if self._layer is not None:
            numbers["python"], line = self._layer.stats(numbers["seconds"])
            text = f"{text.rstrip()}\n{line}\n"
        if numbers["chaos"] is not None:
            numbers["chaos"]["deaths"] = 0 if self._layer is None else self._layer.runner.deaths
        return Stats(numbers, text)

    def explain(self) -> str:
        """The pipeline and the threads of the loader in words."""
        return self.pipeline.explain() + self._core.explain_threads()

    def close(self) -> None:
        """Stop all running iterations, and the threads that wait for the next epoch.

        Called automatically when a loop is left early and when the loader is dropped.
        """
        for run in self._runs:
            run.close()
        self._runs.clear()
        if self._layer is not None:
            self._layer.close()
        if isinstance(self._core, _core.Loader):  # not lost in a fork
            self._core.rest()

    def __enter__(self) -> Loader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> tuple[Any, ...]:
        # A loader is pickled as its pipeline, options and state; the copy continues where this one is.
        options = {**self._options, **self._layer_options, "rank": self.world.rank, "world_size": self.world.size}
        return _rebuild, (type(self), self.pipeline, options, self.state_dict())

    def __repr__(self) -> str:
        steps = self._core.steps
        length = "without end" if steps is None else f"{steps} batches per epoch"
        rank = "" if self.world.size == 1 else f", rank {self.world.rank} of {self.world.size}"
        return f"<{type(self).__name__} of {self.pipeline!r}, {length}{rank}>"


def _rebuild(kind: type[Loader], pipeline: Pipeline, options: dict[str, Any], state: dict[str, Any]) -> Loader:
    loader = kind(pipeline, **options)
    loader.load_state_dict(state)
    return loader
