"""Lanes: what a device has to offer so that batches can reach it while it computes.

Everything that names CUDA is here. The rest (slots, order, stopping) knows lanes only, so it can be tested with a lane
that pretends to be a slow device.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from ..launch import World

# Events and streams have no types of their own in some versions of PyTorch.
_cuda: Any = torch.cuda


class Mark:
    """A point in the work of a lane. This one is reached when it is made: of lanes that do their work at once."""

    def finish(self) -> None:
        """Wait, on the host, until the work before the mark is done."""

    def join(self, tensors: Iterable[torch.Tensor]) -> None:
        """Let what the caller does with these tensors wait for the work before the mark. The host does not wait."""


class Lane:
    """The way to a device that takes copies one after the other, with the host waiting: ``mps`` and others."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        #: Whether copies go on while the host does other things, so that they need memory that stays as it is.
        self.staged = False

    def memory(self, nbytes: int) -> torch.Tensor:
        """Host memory that the device can copy from."""
        return torch.empty(nbytes, dtype=torch.uint8)

    def work(self) -> AbstractContextManager[Any]:
        """Inside of it operations on the device belong to the lane."""
        return nullcontext()

    def copying(self, nbytes: int) -> AbstractContextManager[Any]:
        """Around the copies of one batch."""
        return nullcontext()

    def upload(self, host: torch.Tensor) -> torch.Tensor:
        """Begin a copy to the device."""
        return host.to(self.device)

    def mark(self) -> Mark:
        """Behind all that was begun so far."""
        return Mark()

    def copies(self) -> tuple[int, float]:
        """Bytes and seconds of the copies that were timed."""
        return 0, 0.0


class CudaMark(Mark):
    """An event on the side stream."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        # Blocking: the thread that waits sleeps instead of keeping a core busy that could decode.
        self._event = _cuda.Event(blocking=True)
        self._event.record(stream)
        self._device = stream.device

    def finish(self) -> None:
        """Wait on the host."""
        self._event.synchronize()

    def join(self, tensors: Iterable[torch.Tensor]) -> None:
        """The stream of the caller waits, and the allocator learns that it uses the tensors."""
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(self._event)
        for tensor in tensors:
            if tensor.is_cuda:
                tensor.record_stream(stream)


class CudaLane(Lane):
    """A side stream: copies and transforms run beside the consumer's own work."""

    def __init__(self, device: torch.device, *, pin: bool = True, timed: bool = False) -> None:
        super().__init__(device)
        self.staged = pin
        self._timed = timed
        self._times: list[tuple[Any, Any, int]] = []
        # Higher priority than the consumer's: these kernels are few and short, and somebody will wait for them.
        self._stream = _cuda.Stream(device, priority=-1)

    def memory(self, nbytes: int) -> torch.Tensor:
        """Page-locked: the copy engine takes it at full speed, without the host."""
        try:
            return torch.empty(nbytes, dtype=torch.uint8, pin_memory=True)
        except RuntimeError as error:
            raise RuntimeError(
                f"{nbytes} bytes could not be page-locked for copies to {self.device}: use smaller batches, a smaller"
                f" ahead=, or pin=False ({error})"
            ) from error

    def work(self) -> AbstractContextManager[Any]:
        """The side stream is the current one of this thread."""
        return torch.cuda.stream(self._stream)

    def upload(self, host: torch.Tensor) -> torch.Tensor:
        """On the current stream, which is the side stream inside :meth:`work`."""
        # Without a slot the memory goes back to the loader right after this, so the copy must be done by then.
        return host.to(self.device, non_blocking=self.staged)

    def mark(self) -> Mark:
        """An event."""
        return CudaMark(self._stream)

    @contextlib.contextmanager
    def copying(self, nbytes: int) -> Iterator[None]:
        """With ``timed``, events on both sides."""
        if not self._timed:
            yield
            return
        # The stream is held up for some milliseconds, so that the copies are queued when it gets to them: the time
        # between the events is then that of the copies, not that of this thread waiting for the interpreter.
        _cuda._sleep(20_000_000)
        start, end = _cuda.Event(enable_timing=True), _cuda.Event(enable_timing=True)
        start.record(self._stream)
        yield
        end.record(self._stream)
        self._times.append((start, end, nbytes))

    def copies(self) -> tuple[int, float]:
        """Bytes and seconds, waiting for the last of them. The first three allocate memory and are left out."""
        self._stream.synchronize()
        times = self._times[3:]
        return sum(n for _, _, n in times), sum(start.elapsed_time(end) for start, end, _ in times) / 1e3


class HostLane(Lane):
    """No way at all: batches stay where they are. Transforms run in the thread that delivers."""

    def upload(self, host: torch.Tensor) -> torch.Tensor:
        """The tensor itself."""
        return host


def lane_to(device: torch.device, *, pin: bool, timed: bool = False) -> Lane:
    """The lane for a device."""
    if device.type == "cpu":
        return HostLane(device)
    if device.type == "cuda":
        return CudaLane(device, pin=pin, timed=timed)
    return Lane(device)


def settle(device: str | int | torch.device, world: World) -> torch.device:
    """The device that is meant. ``"cuda"`` alone is the one of this rank."""
    found = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    if found.type != "cuda":
        return found
    count = torch.cuda.device_count()
    if count == 0:
        raise RuntimeError(
            f'device="{found}", and PyTorch sees none here: check torch.cuda.is_available(), or use device="cpu"'
        )
    if found.index is None:
        # Asking for the current device would take memory on it, so it is asked only if somebody did already.
        current = torch.cuda.current_device() if torch.cuda.is_initialized() else 0
        found = torch.device("cuda", of_rank(current, world.local_rank, count))
    if found.index >= count:
        raise RuntimeError(f'device="{found}", and PyTorch sees {count} here: 0 to {count - 1}')
    return found


def of_rank(current: int, local_rank: int, count: int) -> int:
    """Which of ``count`` devices ``"cuda"`` means: the one that was chosen, else the one of the rank."""
    if current != 0:
        return current
    # A launcher that shows each rank one device only has chosen already.
    return local_rank if local_rank < count else 0
