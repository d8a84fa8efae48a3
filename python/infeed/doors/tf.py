"""The TensorFlow door: a pipeline as ``tf.data.Dataset`` with one element per batch."""

from __future__ import annotations

import itertools
import json
import math
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from ..batch import Batch
from .loader import Loader
from .options import LoaderOptions
from .specs import Spec, specs

try:
    import tensorflow as tf
except ImportError as error:  # pragma: no cover - depends on the environment
    raise ImportError("infeed.tf needs TensorFlow: pip install infeed[tf]") from error

if TYPE_CHECKING:
    from ..pipeline import Pipeline


class TfLoader(Loader):
    """The :class:`~infeed.loader.Loader` behind a dataset; :func:`loader_of` returns it.

    A batch counts as received when TensorFlow takes it. If TensorFlow prefetches, it has taken more batches than your
    model has seen: ``state_dict(after=k)`` is the state after ``k`` batches of the current pass.
    """

    KEPT = 1024

    def __init__(self, pipeline: Pipeline, **options: Unpack[LoaderOptions]) -> None:
        super().__init__(pipeline, **options)
        self._taken = 0
        self._states: deque[str] = deque(maxlen=self.KEPT)
        self._counted = False

    def state_dict(self, *, after: int | None = None) -> dict[str, Any]:
        """The state; see :meth:`infeed.Loader.state_dict`. ``after`` is the number of batches your model has seen."""
        if after is None:
            return super().state_dict()
        back = self._taken - after
        if not 0 <= back < len(self._states):
            first = self._taken - len(self._states) + 1
            raise ValueError(
                f"there is no state after {after} batches: TensorFlow has taken {self._taken} in this pass, and states"
                f" are kept from {max(first, 0)} on"
            )
        state: dict[str, Any] = json.loads(self._states[-1 - back])
        return state

    def load_state_dict(self, state_dict: Mapping[str, Any], *, strict: bool = True) -> None:
        """Resume from a state between epochs. For a state inside an epoch use ``to_tf(state=...)``."""
        if self._counted and self._partial(state_dict):
            raise RuntimeError(
                "this dataset has promised TensorFlow as many batches as an epoch has, and from this state there are"
                " fewer: make a new one with pipeline.to_tf(state=state)"
            )
        super().load_state_dict(state_dict, strict=strict)

    def _partial(self, state: Mapping[str, Any]) -> bool:
        return self._core.steps is not None and int(state.get("step", 0)) > 0

    def passes(self) -> Iterator[Any]:
        """One epoch, with a state kept for each batch."""
        self._taken = 0
        self._states.clear()
        self._states.append(self._core.state())
        for batch in self:
            self._taken += 1
            self._states.append(self._core.state())
            yield batch

    def _convert(self, column: Any, kind: str, array: Any = None) -> Any:
        # Tensors hold no JSON objects: JSON stays text.
        return column if kind == "json" else super()._convert(column, kind, array)


def dataset(
    pipeline: Pipeline, *, state: Mapping[str, Any] | None = None, **options: Unpack[LoaderOptions]
) -> tf.data.Dataset:
    """The pipeline as a ``tf.data.Dataset``: see :meth:`infeed.Pipeline.to_tf`."""
    loader = TfLoader(pipeline, **options)
    partial = False
    if state is not None:
        partial = loader._partial(state)
        loader.load_state_dict(state)
    known, as_tuple = specs(pipeline)
    fields = [_Field(spec, ragged=spec.varies and spec.layout in ("list", "stack")) for spec in known]

    def structure(values: Any) -> Any:
        if as_tuple:
            return tuple(values)
        return {field.spec.name: value for field, value in zip(fields, values, strict=True)}

    def batches() -> Iterator[Any]:
        for batch in loader.passes():
            columns = batch.values() if isinstance(batch, Batch) else batch
            yield structure(field.parts(column) for field, column in zip(fields, columns, strict=True))

    def joined(*given: Any) -> Any:
        columns = given if as_tuple else [given[0][field.spec.name] for field in fields]
        return structure(field.join(value) for field, value in zip(fields, columns, strict=True))

    out = tf.data.Dataset.from_generator(batches, output_signature=structure(field.signature for field in fields))
    if any(field.ragged for field in fields):
        out = out.map(joined)
    steps = loader._core.steps
    if steps is not None and not partial:
        out = out.apply(tf.data.experimental.assert_cardinality(steps))
        loader._counted = True
    elif loader._options["endless"]:
        out = out.apply(tf.data.experimental.assert_cardinality(tf.data.INFINITE_CARDINALITY))
    settings = tf.data.Options()
    # infeed gives each rank its own rows.
    settings.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
    # infeed prefetches already, and batches that TensorFlow prefetches would count as received.
    settings.experimental_optimization.inject_prefetch = False
    out = out.with_options(settings)
    out.infeed_loader = loader
    return out


def loader_of(dataset: tf.data.Dataset) -> TfLoader:
    """The loader behind a dataset, even through ``prefetch``, ``map`` etc.: for states, statistics and ledgers."""
    open_ends = [dataset]
    while open_ends:
        end = open_ends.pop()
        loader = getattr(end, "infeed_loader", None)
        if isinstance(loader, TfLoader):
            return loader
        inputs: Callable[[], list[Any]] = getattr(end, "_inputs", list)
        open_ends += inputs()
    raise ValueError("there is no infeed pipeline behind this dataset: to_tf() makes one")


class _Field:
    """Turns one field into a tensor: parts that NumPy can hold, joined inside TensorFlow."""

    def __init__(self, spec: Spec, *, ragged: bool) -> None:
        self.spec = spec
        self.text = spec.kind != "array"
        self.ragged = ragged and not self.text
        # Axes up to the last one that varies become row splits; the others belong to the values.
        varying = [axis for axis, size in enumerate(spec.shape) if size is None]
        self.cuts = 1 + varying[-1] if self.ragged else 0
        self.inner = tuple(size or 0 for size in spec.shape[self.cuts :])

    @property
    def signature(self) -> Any:
        """The ``tf.TensorSpec`` of what :meth:`parts` gives."""
        if self.text:
            return tf.TensorSpec((None,), tf.string)
        dtype = tf.as_dtype(self.spec.dtype)
        if not self.ragged:
            return tf.TensorSpec((None, *self.spec.shape), dtype)
        splits = [tf.TensorSpec((None,), tf.int64)] * self.cuts
        return (tf.TensorSpec((None, *self.inner), dtype), *splits)

    def parts(self, column: Any) -> Any:
        """Arrays for TensorFlow, which takes them without a copy if they are aligned, as those of a batch are."""
        if self.text:
            texts = ["" if item is None else item if isinstance(item, str) else bytes(item) for item in column]
            return np.array(texts, dtype=object)
        if not self.ragged:
            return column
        empty = np.zeros([size or 0 for size in self.spec.shape], self.spec.dtype)
        items = [empty if item is None else np.asarray(item) for item in column]
        flat = [item.reshape(-1, *self.inner) for item in items]
        values = np.concatenate(flat) if flat else np.zeros((0, *self.inner), self.spec.dtype)
        return (values, *(self._splits([item.shape for item in items], axis) for axis in range(self.cuts)))

    @staticmethod
    def _splits(shapes: list[tuple[int, ...]], axis: int) -> np.ndarray[Any, Any]:
        lengths = itertools.chain.from_iterable(itertools.repeat(s[axis], math.prod(s[:axis])) for s in shapes)
        return np.cumsum([0, *lengths], dtype=np.int64)

    def join(self, parts: Any) -> Any:
        """The tensor made of the parts; runs inside TensorFlow."""
        if not self.ragged:
            return parts
        values, *splits = parts
        return tf.RaggedTensor.from_nested_row_splits(values, splits, validate=False)
