"""The PyTorch door for a device: the next batches are on the device before they are asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, cast

import torch

from .. import _core
from .._typing import Decode, one_of
from ..batch import Batch, GivenRun, Made
from ..doors.options import TorchOptions
from ..reports import Stats
from .decoding import Decoding, Waiting, impossible, only
from .delivery import Delivery, Placed, Pulled
from .lanes import Lane, Mark, lane_to, settle
from .loader import TorchLoader
from .on_device import Stages, ToLayout
from .staging import Staging, leaves

if TYPE_CHECKING:
    from ..pipeline import Pipeline


class DeviceLoader(TorchLoader):
    """A :class:`~infeed.torch.TorchLoader` whose batches are already on a device when they are handed out.

    A thread copies each batch into page-locked memory and from there, on its own CUDA stream, to the device, up to
    ``ahead`` batches early. The consumer's stream waits for a copy, the host does not. Fields without tensors
    (text, keys) stay on the host.

    * ``device``: ``"cuda"`` (the device of this rank), ``"cuda:1"``, a number, ``"cpu"``, ``"mps"`` or a ``torch.device``
    * ``channels_last``: images come as N x C x H x W in that memory format, whichever layout the pipeline gave them and
      whatever ``layout`` says; without ``ToCHW`` and ``Normalize`` in the pipeline they are that anyway
    * ``dtype``: of images and floating point fields, or ``{field: dtype}``; converted on the device
    * ``on_device``: callables on the images of a batch, see :mod:`infeed.torch.on_device`
    * ``on``: the fields they work on (default: the images), ``label``: the field that holds the classes
    * ``ahead``: how many batches are prefetched to the device
    * ``pin``: copy through page-locked memory
    * ``decode``: ``"gpu"`` leaves JPEGs to the decoders of the device, ``"hybrid"`` some of them; threads decode what
      these do not take, and all images that a transform needs the pixels of. ``"cpu"`` is the default
    * ``share``: with ``"hybrid"``, the share of the rows that threads decode (default: by their number)
    """

    def __init__(
        self,
        pipeline: Pipeline,
        *,
        device: str | int | torch.device,
        channels_last: bool = False,
        dtype: torch.dtype | Mapping[str, torch.dtype] | None = None,
        on_device: Iterable[Callable[..., Any]] | None = None,
        on: str | Iterable[str] | None = None,
        label: str | None = None,
        ahead: int = 2,
        pin: bool = True,
        decode: Decode = "cpu",
        share: float | None = None,
        **options: Unpack[TorchOptions],
    ) -> None:
        # An index alone is a CUDA device.
        self._device_kind = "cuda" if isinstance(device, int) else torch.device(device).type
        one_of("decode", decode, Decode)
        self._decode: tuple[Decode, float | None] = (decode, share)
        if decode != "cpu" and (why := impossible(torch.device(self._device_kind))) is not None:
            warnings.warn(f'decode="{decode}": images are decoded on the CPU, because {why}', stacklevel=3)
            self._decode = ("cpu", None)
        super().__init__(pipeline, **options)
        if ahead < 1:
            raise ValueError(f"ahead must be at least 1, got {ahead}")
        self.device = settle(device, self.world)
        # The fields that Python functions return are not known before they run.
        self._free = pipeline._runs_python
        tuples = [function.call for function in pipeline._functions if function.op == "tuple"]
        self._names = list(self._tuple or (tuples[-1] if tuples else self._kinds))
        self._is_tuple = self._tuple is not None or bool(tuples)
        self._images = [name for name in self._names if self._kinds.get(name) == "image"]
        fields = self._images if on is None else [on] if isinstance(on, str) else list(on)
        steps = list(on_device or ())
        self._known("on", fields)
        self._known("label", [] if label is None else [label])
        self._stages = Stages(
            steps, on=fields, label=label, seed=pipeline.plan.seed, place=(self.world.rank, self.world.size)
        )
        self._dtypes = self._wanted(dtype)
        self._last = ToLayout("channels_last") if channels_last else None
        self._slots, self._pin = ahead + 1, pin
        self._ahead_by = ahead
        #: For measurements: times every copy, at the cost of a short pause before it. Set before iterating.
        self._time_copies = False
        self._lane: Lane | None = None
        #: The fields whose images are left to the device, and what makes them.
        self._left = set(self._core.deferred())
        self._decoding: Decoding | None = None
        self._decoded = {"device": 0, "threads": 0, "refused": 0}
        self._resting: list[Staging] = []
        self._deliveries: list[Delivery[tuple[Any, Mark]]] = []
        # Part of the pickled loader.
        self._options = self._options | {
            "device": str(device) if isinstance(device, torch.device) else device,
            "channels_last": channels_last,
            "dtype": dtype,
            "on_device": steps,
            "on": fields,
            "label": label,
            "ahead": ahead,
            "pin": pin,
            "decode": decode,
            "share": share,
        }

    def _known(self, what: str, names: Sequence[str]) -> None:
        for name in names:
            if name not in self._names and not self._free:
                raise ValueError(f"{what}= names {name!r}; the fields of a batch are {', '.join(self._names)}")

    def _wanted(self, dtype: torch.dtype | Mapping[str, torch.dtype] | None) -> dict[str, torch.dtype]:
        if dtype is None:
            return {}
        if isinstance(dtype, torch.dtype):
            floats = [name for name, _, kind in self.pipeline.plan.fields if kind in ("f16", "bf16", "f32", "f64")]
            return {name: dtype for name in self._names if name in self._images or name in floats}
        self._known("dtype", list(dtype))
        return dict(dtype)

    @property
    def _feeds_device(self) -> bool:
        return self._device_kind != "cpu"

    @property
    def _decodes(self) -> tuple[Decode, float | None]:
        return self._decode

    @property
    def _looks_ahead(self) -> bool:
        return True

    def _field(self, batch: _core.Batch, name: str) -> Any:
        return Waiting(batch, name, name in self._turned) if name in self._left else super()._field(batch, name)

    def __iter__(self) -> Iterator[Any]:
        run = self._core.start()
        state = self.state_dict()
        return self._batches(cast(_core.Run, Placed(run, (state["epoch"], state["step"]))))

    def over(self, batches: Iterable[Sequence[int]], *, epoch: int | None = None) -> Iterator[Any]:
        """One pass over rows that you choose, see :meth:`infeed.Loader.over`."""
        epoch = self.epoch if epoch is None else epoch
        run = Placed(self._core.start_given(epoch), (epoch, 0))
        return self._batches(GivenRun(cast(_core.Run, run), batches))

    def _made(self, run: _core.Run | GivenRun) -> Iterator[Made]:
        placed = cast(Placed, run._run if isinstance(run, GivenRun) else run)
        return Pulled(super()._made(run), placed)

    def _ahead(self, made: Iterator[Made]) -> Iterator[Made]:
        pulled = cast(Pulled, made)
        lane = self._lane_now()
        staging = self._resting.pop() if self._resting else Staging(lane, self._slots)
        if self._left:
            pulled = self._decoding_now(lane).ahead(pulled)

        def bring(item: Made, number: int) -> tuple[Any, Mark]:
            epoch, step = pulled.at
            batch = self._bring(item.batch, lane, staging, (epoch, step + number), item.bad)
            # Releases the loader's memory.
            item.batch = None
            return batch, lane.mark()

        delivery = Delivery(pulled, bring, self._ahead_by)
        self._deliveries.append(delivery)
        try:
            for item, (batch, mark) in delivery:
                mark.join(leaves(batch))
                item.batch = batch
                del batch
                yield item
                del item
        finally:
            if delivery.stop():
                self._resting.append(staging)
            if delivery in self._deliveries:
                self._deliveries.remove(delivery)

    def _dummy_placed(self, batch: Any) -> Any:
        lane = self._lane_now()
        placed = self._bring(batch, lane, Staging(lane, 1), (0, 0))
        lane.mark().join(leaves(placed))
        return placed

    def _lane_now(self) -> Lane:
        # Not in the constructor: the process may still fork, and must not have touched the device before.
        if self._lane is None:
            self._lane = lane_to(self.device, pin=self._pin, timed=self._time_copies)
        return self._lane

    def _bring(
        self, batch: Any, lane: Lane, staging: Staging, at: tuple[int, int], bad: list[tuple[int, str]] | None = None
    ) -> Any:
        """Move a batch to the device, transform it, and convert it to the wanted dtype and layout. Rows that turn out to
        be bad only now are left out of it, and added to ``bad``.
        """
        kept = None
        named = isinstance(batch, tuple) and self._is_tuple
        with lane.work(), torch.no_grad():
            moved = staging.send(dict(zip(self._names, batch, strict=True)) if named else batch)
            if isinstance(moved, dict):
                if self._left:
                    moved, kept = self._completed(moved, lane, bad)
                self._stages(moved, at, self.device)
                for name, dtype in [(n, d) for n, d in self._dtypes.items() if n in moved]:
                    moved[name] = _each(moved[name], lambda x, to=dtype: x.to(to))  # type: ignore[misc]
                for name in [n for n in self._images if n in moved] if self._last is not None else ():
                    moved[name] = _each(moved[name], self._lies_last)
        if named:
            return tuple(moved[name] for name in self._names)
        if not isinstance(batch, Batch):
            return moved
        out = Batch(moved)
        out._core, out._kept, out._sights = batch._core, kept or batch._kept, batch._sights
        return out

    def _completed(
        self, batch: dict[str, Any], lane: Lane, bad: list[tuple[int, str]] | None
    ) -> tuple[dict[str, Any], list[int] | None]:
        """The batch with the images that were left to the device, and the rows that are still there if some are not."""
        decoding = self._decoding_now(lane)
        lost: dict[int, tuple[int, str]] = {}
        rows = 0
        for name, value in [(n, v) for n, v in batch.items() if isinstance(v, Waiting)]:
            rows = len(value.batch)
            batch[name], found = decoding.complete(value)
            lost.update((place, (row, why)) for place, row, why in found)
        if not lost:
            return batch, None
        if bad is not None:
            bad.extend(lost[place] for place in sorted(lost))
        kept = [place for place in range(rows) if place not in lost]
        return only(batch, kept), kept

    def _decoding_now(self, lane: Lane) -> Decoding:
        # As late as the lane: it opens the device.
        if self._decoding is None:
            self._decoding = Decoding(lane, self._decoded, on_error=self._options["on_error"])
        return self._decoding

    def explain(self) -> str:
        """The pipeline and the threads of the loader in words, and where images are decoded."""
        text = super().explain()
        if not self._left:
            return text
        share = self._core.share
        rest = "the rest" if share is None else f"the rest and {share:.0%} of all rows"
        names = ", ".join(sorted(self._left))
        return f"{text}decode  {names}: on {self.device}, what its decoders take; threads decode {rest}\n"

    def stats(self) -> Stats:
        """Rates, waits, the stage that limits the loader, and the bad samples so far."""
        found = super().stats()
        if not self._left:
            return found
        counts = self._decoded
        line = "decoded {device} images on the device, {threads} by threads before, {refused} that the device refused"
        return Stats({**found, "device_decode": dict(counts)}, f"{str(found).rstrip()}\n{line.format(**counts)}\n")

    def _lies_last(self, images: torch.Tensor) -> torch.Tensor:
        if self._last is None or images.ndim not in (3, 4):
            return images
        return self._last(images) if images.ndim == 4 else self._last(images.unsqueeze(0)).squeeze(0)

    def _copies(self) -> tuple[int, float]:
        """Bytes and seconds of all copies so far, with ``_time_copies``."""
        return (0, 0.0) if self._lane is None else self._lane.copies()

    def close(self) -> None:
        """Stop all running iterations and their threads, and release page-locked memory."""
        super().close()
        for delivery in list(self._deliveries):
            delivery.stop()
        self._deliveries.clear()
        self._resting.clear()
        if self._decoding is not None:
            self._decoding.close()
            self._decoding = None


def _each(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Apply a function to the tensor of a field, or to each tensor of its list."""
    if isinstance(value, list):
        return [change(item) if isinstance(item, torch.Tensor) else item for item in value]
    return change(value) if isinstance(value, torch.Tensor) else value
