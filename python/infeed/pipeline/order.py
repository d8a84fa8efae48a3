"""The stages that select and order rows."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Never, Self

import numpy as np

from .._typing import BalanceMode, ShuffleKind, one_of
from ..functions import Function
from ..recipes import integers, names, reals, whole
from .description import Description


class OrderStages(Description):
    """What :class:`~infeed.Pipeline` does with the order of rows."""

    def shuffle(
        self,
        *positional: Never,
        seed: int = 0,
        kind: ShuffleKind = "auto",
        window: int | None = None,
        block: int | None = None,
        buffer: int | None = None,
        initial: int | None = None,
    ) -> Self:
        """Shuffle the rows anew each epoch. The order depends on (seed, epoch) alone.

        ``kind`` is

        * ``"global"``: every row can come at any place; the default wherever rows can be addressed one by one
        * ``"block"``: shards in random order, rows shuffled within a ``window`` of that many shards. A batch reads from
          that many shards only, which suits hard disks and remote stores. ``block`` splits shards into blocks of at most
          that many rows. The default for tables, whose row groups are decoded as a whole: about a million rows are
          shuffled at a time
        * ``"sliding"``: shards (or blocks) in random order, ``window`` of them open at a time. Rows come from all open
          ones, and when the rows of the oldest are used up, the next opens. Needs blocks at an even rate; the default
          for data in remote stores, in blocks of about 2 MiB
        * ``"buffer"``: through a buffer of ``buffer`` rows that gives its first row when it holds ``initial`` rows, as
          in WebDataset; the default for streams
        * ``"none"``: no shuffling

        Giving ``window`` or ``buffer`` implies the kind. :meth:`quality` measures how well a choice shuffles.
        """
        if positional:
            _refuse_size(positional)
        one_of("kind", kind, ShuffleKind)
        stage: dict[str, Any] = {"seed": whole("seed", seed)}
        if kind != "auto":
            stage["kind"] = kind
        for name, value in (("window", window), ("block", block), ("buffer", buffer), ("initial", initial)):
            if value is not None:
                stage[name] = whole(name, value)
        return self._then(op="shuffle", **stage)

    def take(self, n: int) -> Self:
        """Keep the first ``n`` rows of the order so far."""
        return self._then(op="slice", stop=whole("n", n))

    def skip(self, n: int) -> Self:
        """Leave out the first ``n`` rows of the order so far."""
        return self._then(op="slice", start=whole("n", n))

    def subset(self, which: slice | float | Iterable[int] | Iterable[bool]) -> Self:
        """Keep some rows: indices (in the order given), a slice, a boolean mask, or a fraction such as ``0.1``."""
        if isinstance(which, slice):
            given = {"start": which.start, "stop": which.stop, "step": which.step}
            return self._then(op="slice", **{k: operator.index(v) for k, v in given.items() if v is not None})
        if isinstance(which, float):
            return self._then(op="fraction", fraction=which)
        array = np.asarray(which if isinstance(which, np.ndarray | list | tuple) else list(which))
        if array.ndim != 1:
            raise ValueError(f"subset takes a flat list of indices or a mask, got an array of shape {array.shape}")
        if array.dtype == bool:
            if len(array) != self.rows():
                raise ValueError(f"the mask has {len(array)} entries for {self.rows()} rows")
            array = np.flatnonzero(array)
        elif array.size and not np.issubdtype(array.dtype, np.integer):
            raise TypeError(f"subset takes whole numbers, a slice, a mask or a fraction, got {array.dtype}")
        return self._then(op="pick", places=integers(array))

    def random_split(self, lengths: Sequence[int] | Sequence[float], *, seed: int = 0) -> list[Self]:
        """Split at random into parts of these lengths: counts, or fractions that add up to at most 1.

        >>> train, val = data.random_split([0.9, 0.1], seed=7)
        """
        given = list(lengths)
        if not given:
            raise ValueError("random_split needs at least one length")
        how = "fractions" if any(isinstance(x, float) for x in given) else "counts"
        numbers = [float(x) if how == "fractions" else whole("length", int(x)) for x in given]
        return [
            self._then(op="split", lengths={how: numbers}, index=i, seed=whole("seed", seed))
            for i in range(len(given))
        ]

    def kfold(self, folds: int, *, seed: int | None = None) -> list[tuple[Self, Self]]:
        """Pairs (train, validation) for cross-validation. Without a seed, folds are contiguous, as in scikit-learn."""
        stage: dict[str, Any] = {"op": "fold", "folds": whole("folds", folds)}
        if seed is not None:
            stage["seed"] = whole("seed", seed)
        return [
            (self._then(**stage, fold=i, held_out=False), self._then(**stage, fold=i, held_out=True))
            for i in range(folds)
        ]

    def repeat(self, times: int) -> Self:
        """Repeat the rows ``times`` times in one epoch; a shuffle before it differs each time."""
        return self._then(op="repeat", times=whole("times", times))

    def weighted(
        self,
        weights: str | Sequence[float],
        *,
        length: int | None = None,
        replacement: bool = True,
        seed: int = 0,
    ) -> Self:
        """Draw rows by weight, like torch's ``WeightedRandomSampler``: one number per row, or the name of a field."""
        stage: dict[str, Any] = {"weights": weights if isinstance(weights, str) else reals(weights)}
        if length is not None:
            stage["length"] = whole("length", length)
        return self._then(op="weighted", **stage, replacement=bool(replacement), seed=whole("seed", seed))

    def balance(self, by: str | Sequence[int] = "label", *, mode: BalanceMode = "over", seed: int = 0) -> Self:
        """Alternate between classes, so that each has the same share of every batch.

        ``by`` is one class number per row, or the name of a field that holds it (``"label"`` of an image folder is known,
        other fields are read once). ``mode="over"`` repeats rows of small classes until the largest is exhausted;
        ``mode="under"`` stops when the smallest is exhausted, and the next epoch continues with the remaining rows.
        """
        one_of("mode", mode, BalanceMode)
        column = by if isinstance(by, str) else integers(np.asarray(by))
        return self._then(op="balance", by=column, mode=mode, seed=whole("seed", seed))

    def group_by_length(
        self,
        by: str | Sequence[int] = "bytes",
        *,
        window: int = 10_000,
        group: int | None = None,
        seed: int = 0,
    ) -> Self:
        """Group rows of similar length to reduce padding (bucketing).

        Within each ``window``, rows are sorted by length and split into groups of ``group`` rows (default: the batch
        size), and the groups are shuffled. ``by`` is one length per row, ``"bytes"``, or a field that holds a number. Put
        it after :meth:`shuffle`, directly before :meth:`batch`.
        """
        stage: dict[str, Any] = {"by": by if isinstance(by, str) else integers(np.asarray(by))}
        if group is not None:
            stage["group"] = whole("group", group)
        return self._then(op="by_length", **stage, window=whole("window", window), seed=whole("seed", seed))

    def filter(
        self,
        expr: str | Callable[..., Any],
        *,
        on: str | Iterable[str] | None = None,
        seeded: bool = True,
    ) -> Self:
        """Keep the rows for which an expression is true: ``filter("label in (3, 5) and bytes < 2MB")``.

        Expressions over ``row``, ``key``, ``shard``, ``bytes`` and the ``label`` of image folders are applied before
        anything is read: the length is known and batches are full. Expressions over decoded fields (``cls``,
        ``json.width``, ``jpg.height``) are applied to samples: dropped rows make their batch shorter.

        A Python function takes a sample, or the value of the fields ``on``, and returns whether it is kept; dropped rows
        make batches shorter here, too.
        """
        if callable(expr):
            return self._call(Function("filter", expr, names(on), seeded, len(self._functions)))
        if not isinstance(expr, str):
            raise TypeError(f"filter takes an expression as text, or a function, got {expr!r}")
        if self._functions:
            raise ValueError("an expression filters what infeed reads: put it before the Python functions")
        return self._then(op="filter", expr=expr)


def _refuse_size(given: tuple[Any, ...]) -> None:
    """Raise for a shuffle with a number: elsewhere that is a buffer, and here it could be a seed."""
    shown = ", ".join(map(repr, given))
    size = given[0] if isinstance(given[0], int) and not isinstance(given[0], bool) and given[0] > 0 else 1000
    raise TypeError(
        f"shuffle({shown}): its arguments have names. shuffle(seed=17) mixes all rows; shuffle(seed=17, buffer={size})"
        " uses a buffer of that many rows, as WebDataset and tf.data do; shuffle(seed=17, window=8) mixes so many shards"
        " at a time"
    )
