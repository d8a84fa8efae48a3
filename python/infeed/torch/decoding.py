"""Images that a device decodes: their place in a batch, and how it is filled."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from .. import _core
from .._typing import OnError
from ..batch import Made
from .delivery import Delivery, Following, Pulled

if TYPE_CHECKING:
    from .lanes import Lane

#: For tests: the processor stands in for a GPU, on ``device="cpu"``.
STAND_IN = False


#: Batches that are decoded at a time. The engines are busy with one; what nvJPEG does on the host is done for the next
#: meanwhile.
_AT_ONCE = 2

#: Batches that are asked about before they are drawn, beside the one that is drawn.
_AHEAD = 2

#: Batches whose pixels are on the device.
_SLOTS = _AHEAD + 2


class Waiting:
    """A field of a batch whose images are made on their way to the device."""

    def __init__(self, batch: _core.Batch, name: str, turned: bool) -> None:
        self.batch = batch
        self.name = name
        #: Whether the axes are given as N x C x H x W, a view.
        self.turned = turned
        #: The images under way on the device.
        self.work: _core.DeviceWork | None = None
        self.decoded: Future[None] | None = None


def waiting_in(batch: Any) -> Iterator[Waiting]:
    """The fields of a batch that wait for the device."""
    for value in batch.values() if isinstance(batch, dict) else batch:
        if isinstance(value, Waiting):
            yield value


def libraries() -> tuple[list[str], int | None]:
    """The folders in which PyTorch keeps NVIDIA's libraries, and the version of CUDA that it was built for."""
    beside = Path(torch.__file__).resolve().parent
    folders = [beside / "lib", *sorted((beside.parent / "nvidia").glob("*/lib"))]
    version = torch.version.cuda
    return [str(folder) for folder in folders if folder.is_dir()], int(version.split(".")[0]) if version else None


def impossible(device: torch.device) -> str | None:
    """Why images cannot be decoded on a device, in words. Touches no device."""
    if device.type == "cuda":
        return _core.missing_for_device(*libraries())
    if device.type == "cpu" and STAND_IN:
        return None
    return f'device="{device}" is no CUDA device'


class Decoding:
    """Makes the images that the loader left to a device.

    Without the device's decoders, because they cannot be opened after all, threads of this process take their place.
    """

    def __init__(self, lane: Lane, counts: dict[str, int], *, on_error: OnError) -> None:
        self._lane = lane
        #: Rows that the device decoded, rows that threads had decoded, and rows that the device refused.
        self._counts = counts
        self._strict = on_error != "skip"
        self._here = lane.device.type != "cuda"
        self._renderer = self._open()
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="infeed-decoding")
        #: For checks: compares every batch with the same drawn by the processor from the same decoded pixels.
        self.audits = False
        self.audited = (0, 0, 0.0)

    def _open(self) -> _core.DeviceRenderer:
        if self._here:
            return _core.DeviceRenderer(None)
        folders, major = libraries()
        try:
            return _core.DeviceRenderer(
                self._lane.device.index, folders=folders, major=major, slots=_SLOTS, threads=_core.usable_cpus()
            )
        except RuntimeError as error:
            warnings.warn(f"images are decoded on the CPU: {error}", stacklevel=2)
            self._here = True
            return _core.DeviceRenderer(None, takes=False, threads=_core.usable_cpus())

    def describe(self) -> str:
        """Who decodes, in words."""
        return self._renderer.describe()

    def seconds(self) -> dict[str, float]:
        """What the host's time was spent on."""
        return dict(self._renderer.seconds())

    def ahead(self, source: Pulled) -> Pulled:
        """The same batches, of which some are asked about and decoded already, in threads of their own."""
        return Following(Delivery(source, self._begin, _AHEAD))

    def _begin(self, item: Made, _: int) -> None:
        for waiting in waiting_in(item.batch):
            waiting.work = self._renderer.ask(waiting.batch, waiting.name)
            waiting.decoded = self._threads.submit(waiting.work.decode)

    def complete(self, waiting: Waiting) -> tuple[torch.Tensor, list[tuple[int, int, str]]]:
        """Starts drawing the images of a batch, on the current stream. Also gives the rows that could not be made: index,
        row and reason.
        """
        found = waiting.batch.deferred(waiting.name)
        if found is None:
            raise RuntimeError(f"the images of {waiting.name!r} are there already")
        shape, dtype = found
        out = torch.empty(shape, dtype=_DTYPES[dtype], device="cpu" if self._here else self._lane.device)
        work, stream = waiting.work or self._renderer.ask(waiting.batch, waiting.name), self._lane.stream()
        if waiting.decoded is not None:
            waiting.decoded.result()
        # Its memory on the device is free for another batch once this is gone.
        waiting.work = None
        counts, bad = work.draw(out.data_ptr(), stream, self._strict)
        for name, count in zip(self._counts, counts, strict=True):
            self._counts[name] += count
        if self.audits:
            values, different, largest, _ = work.audit(out.data_ptr(), stream)
            before = self.audited
            self.audited = (before[0] + values, before[1] + different, max(before[2], largest))
        if self._here:
            out = self._lane.upload(out)
        return (out.movedim(-1, -3) if waiting.turned else out), bad

    def close(self) -> None:
        """Gives the memory of the device back."""
        self._threads.shutdown(cancel_futures=True)
        self._renderer.close()


def only(batch: dict[str, Any], kept: list[int]) -> dict[str, Any]:
    """A batch of some of its rows."""

    def of(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            return value[torch.as_tensor(kept, device=value.device, dtype=torch.long)]
        return [value[at] for at in kept] if isinstance(value, list) else value

    return {name: of(value) for name, value in batch.items()}


_DTYPES = {"u8": torch.uint8, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
