"""Tools for testing pipelines against storage that fails."""

from __future__ import annotations

from types import TracebackType

from . import _core

__all__ = ["Faults"]


class Faults:
    """Inject faults into stores, by seed, inside a ``with`` block.

    Pipelines that are *opened* inside the block read through faulty stores. Faults begin with :meth:`arm`, so that
    opening is not affected. ``errors``, ``short``, ``bad_blocks``, ``truncated`` and ``delays`` are rates from 0 to 1:
    reads that fail once, reads that give too few bytes, 4 KiB blocks that can never be read, files whose end is missing,
    and reads that take a millisecond longer. The same seed gives the same faults, whatever the number of threads.

    >>> with Faults(seed=7, errors=0.05) as faults:
    ...     loader = pipeline.to_numpy(on_error="skip")
    ...     faults.arm()
    ...     for batch in loader:
    ...         ...
    >>> faults.counts()
    """

    def __init__(
        self,
        *,
        seed: int = 0,
        errors: float = 0.0,
        short: float = 0.0,
        bad_blocks: float = 0.0,
        truncated: float = 0.0,
        delays: float = 0.0,
    ) -> None:
        rates = {
            "errors": errors,
            "short": short,
            "bad_blocks": bad_blocks,
            "truncated": truncated,
            "delays": delays,
        }
        self._plan = _core.FaultPlan(seed, rates)

    def __enter__(self) -> Faults:
        self._plan.inject(True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._plan.inject(False)
        self._plan.arm(False)

    def arm(self, on: bool = True) -> None:
        """Start or stop injecting faults."""
        self._plan.arm(on)

    def counts(self) -> dict[str, int]:
        """How many faults of each kind have been injected."""
        return dict(self._plan.counts())
