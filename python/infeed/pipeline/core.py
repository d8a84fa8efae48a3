"""The pipeline class: all stages, the doors, and information about the order."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
import numpy.typing as npt

from ..doors.options import ON_DEVICE, DeviceOptions, LoaderOptions, TorchOptions, refuse_unknown
from ..reports import Quality, Verdict
from .batches import BatchStages
from .lookalikes import warn_of_masks
from .looking import Looks
from .order import OrderStages
from .sequences import SequenceStages
from .stores import Reaches

if TYPE_CHECKING:
    import jax.sharding
    import torch

    from ..doors.arrow import ArrowLoader
    from ..doors.jax import JaxLoader
    from ..doors.loader import Loader
    from ..torch import DeviceLoader, TorchLoader


class Pipeline(Looks, Reaches, OrderStages, SequenceStages, BatchStages):
    """What to read and what to do with it. Every method gives a new pipeline; nothing runs until a door is opened.

    The doors are :meth:`to_numpy`, :meth:`to_torch`, :meth:`to_jax`, :meth:`to_tf` and :meth:`to_arrow`. A
    pipeline is a recipe and little else, so it pickles, compares and can be written to a file (:attr:`recipe`).
    """

    def to_numpy(self, **options: Unpack[LoaderOptions]) -> Loader:
        """Open the NumPy door: a :class:`~infeed.loader.Loader` whose batches are dicts of arrays.

        See :class:`~infeed.loader.Loader` for the options (threads, memory, on_error, ...).
        """
        from ..doors.loader import Loader

        refuse_unknown("to_numpy", options)
        warn_of_masks(self)
        return Loader(self, **options)

    @overload
    def to_torch(self, *, device: None = None, **options: Unpack[TorchOptions]) -> TorchLoader: ...
    @overload
    def to_torch(self, *, device: str | int | torch.device, **options: Unpack[DeviceOptions]) -> DeviceLoader: ...
    def to_torch(self, *, device: str | int | torch.device | None = None, **options: Any) -> TorchLoader:
        """Open the PyTorch door: a :class:`~infeed.torch.TorchLoader` whose batches are dicts of tensors.

        Tensors share the batch's memory. Images are N x C x H x W, as torch's layers expect: a view, so that they are
        ``channels_last`` in memory. ``layout="nhwc"`` leaves them as N x H x W x C.

        With ``device`` batches are on that device already when they are handed out, and there are more options
        (``on_device``, ``dtype``, ``channels_last``, ...): see :class:`~infeed.torch.DeviceLoader`. For the others see
        :class:`~infeed.loader.Loader`.
        """
        from ..torch import DeviceLoader, TorchLoader

        refuse_unknown("to_torch", options, DeviceOptions, "device")
        warn_of_masks(self)
        if device is not None:
            return DeviceLoader(self, device=device, **options)
        lost = ON_DEVICE & options.keys()
        if lost:
            raise TypeError(
                f'{min(lost)}= needs a device that batches are delivered to: give device="cuda" (or "cpu") with it'
            )
        return TorchLoader(self, **options)

    def to_jax(
        self,
        *,
        sharding: jax.sharding.Sharding | None = None,
        device: Any = None,
        ahead: int = 2,
        **options: Unpack[LoaderOptions],
    ) -> JaxLoader:
        """Open the JAX door: a :class:`~infeed.jax.JaxLoader` whose batches are dicts of ``jax.Array``.

        With ``sharding`` they are global arrays over the devices of all processes. Transfers of the next ``ahead``
        batches are started before they are asked for. See :class:`~infeed.loader.Loader` for the other options.
        """
        from ..doors.jax import JaxLoader

        refuse_unknown("to_jax", options, LoaderOptions, "sharding", "device", "ahead")
        warn_of_masks(self)
        return JaxLoader(self, sharding=sharding, device=device, ahead=ahead, **options)

    def to_tf(self, *, state: Mapping[str, Any] | None = None, **options: Unpack[LoaderOptions]) -> Any:
        """Open the TensorFlow door: a ``tf.data.Dataset`` whose elements are batches. Each pass is the next epoch.

        Numeric arrays share the batch's memory; texts, JSON and bytes are ``tf.string``; arrays of varying shape are
        ``tf.RaggedTensor``. ``state`` resumes from a :meth:`~infeed.Loader.state_dict`;
        :func:`infeed.tf.loader_of` returns the loader behind the dataset. See :class:`~infeed.loader.Loader` for the
        options.
        """
        from ..doors.tf import dataset

        refuse_unknown("to_tf", options, LoaderOptions, "state")
        warn_of_masks(self)
        return dataset(self, state=state, **options)

    def to_arrow(self, *, meta: bool = False, **options: Unpack[LoaderOptions]) -> ArrowLoader:
        """Open the Arrow door: an :class:`~infeed.arrow_door.ArrowLoader` whose batches are ``pyarrow.RecordBatch``.

        Polars, pandas, DuckDB and other Arrow libraries accept them. ``meta=True`` adds the columns ``__key__``,
        ``__row__`` and ``__url__``. See :class:`~infeed.loader.Loader` for the other options.
        """
        from ..doors.arrow import ArrowLoader

        refuse_unknown("to_arrow", options, LoaderOptions, "meta")
        warn_of_masks(self)
        return ArrowLoader(self, meta=meta, **options)

    def explain(self) -> str:
        """Stages and specs in words, and what was made of objects in memory. Opens the data but reads no sample."""
        words = dict.fromkeys(item.words for item in self._given.values() if item.words)
        return "".join(f"given   {line}\n" for line in words) + self.plan.explain()

    def order(self, epoch: int = 0, start: int = 0, stop: int | None = None) -> npt.NDArray[np.int64]:
        """The row numbers of an epoch in order, as in ``batch["__row__"]``, without reading the rows."""
        stop = self.rows() if stop is None else stop
        return np.asarray(self.plan.order(epoch, start, stop), dtype=np.int64)

    def quality(self, *, epoch: int = 0, batch: int | None = None) -> Quality:
        """How well the order shuffles, compared with a global shuffle, and how many shards contribute to one batch."""
        self.rows()
        numbers, text = self.plan.quality(epoch, batch)
        return Quality(json.loads(numbers), text)

    def verify(self, ledgers: Iterable[Mapping[str, Any]], epoch: int | None = None) -> Verdict:
        """Check the :meth:`~infeed.Loader.ledger` of all ranks and restarts against the order of an epoch, or of every
        epoch they contain. ``infeed verify-epoch`` does the same with files.
        """
        exact, text = self.plan.verify([json.dumps(dict(ledger)) for ledger in ledgers], epoch)
        return Verdict(exact, text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recipe to a file that ``infeed bench`` and ``infeed verify-epoch`` read."""
        if self._given or self._runs_python:
            raise ValueError("a pipeline with Python objects (iterators, arrays, functions) cannot be saved")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.recipe, file, indent=1)

    def __add__(self, other: Pipeline) -> Pipeline:
        from ..sources.joins import concat

        return concat([self, other])

    def __iter__(self) -> Any:
        raise TypeError("a pipeline is only a description; iterate over pipeline.to_numpy() or another door")
