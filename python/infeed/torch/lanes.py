"""Lanes: the interface to a device for copying batches to it while it computes.

All CUDA-specific code is here. The rest (slots, order, stopping) uses only lanes, so it can be tested with a lane that
simulates a slow device.
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
    """A point in the work of a lane. This one is reached at once: it is for lanes that work synchronously."""

    def finish(self) -> None:
        """Wait, on the host, until the work before the mark is done."""

    def join(self, tensors: Iterable[torch.Tensor]) -> None:
        """Make the caller's work on these tensors wait for the work before the mark. The host does not wait."""


class Lane:
    """A lane to a device with synchronous copies: ``mps`` and others."""

    def __init__(self, device: torch.device) -> None:
        self.device = device
        #: Whether copies are asynchronous, so that their source memory must not change meanwhile.
        self.staged = False

    def memory(self, nbytes: int) -> torch.Tensor:
        """Host memory that the device can copy from."""
        return torch.empty(nbytes, dtype=torch.uint8)

    def work(self) -> AbstractContextManager[Any]:
        """A context in which operations on the device belong to the lane."""
        return nullcontext()

    def copying(self, nbytes: int) -> AbstractContextManager[Any]:
        """A context for the copies of one batch."""
        return nullcontext()

    def upload(self, host: torch.Tensor) -> torch.Tensor:
        """Start a copy to the device."""
        return host.to(self.device)

    def stream(self) -> int:
        """The handle of the stream that work is queued on, for code outside of PyTorch."""
        return 0

    def mark(self) -> Mark:
        """A mark after everything that was started so far."""
        return Mark()

    def copies(self) -> tuple[int, float]:
        """Bytes and seconds of the copies that were timed."""
        return 0, 0.0


class CudaMark(Mark):
    """An event on the side stream."""

    def __init__(self, stream: torch.cuda.Stream) -> None:
        # Blocking: a waiting thread sleeps instead of spinning on a core that could decode.
        self._event = _cuda.Event(blocking=True)
        self._event.record(stream)
        self._device = stream.device

    def finish(self) -> None:
        """Wait on the host."""
        self._event.synchronize()

    def join(self, tensors: Iterable[torch.Tensor]) -> None:
        """Make the caller's stream wait, and record for the allocator that it uses the tensors."""
        stream = torch.cuda.current_stream(self._device)
        stream.wait_event(self._event)
        for tensor in tensors:
            if tensor.is_cuda:
                tensor.record_stream(stream)


class CudaLane(Lane):
    """A side stream: copies and transforms overlap with the consumer's own work."""

    def __init__(self, device: torch.device, *, pin: bool = True, timed: bool = False) -> None:
        super().__init__(device)
        self.staged = pin
        self._timed = timed
        self._times: list[tuple[Any, Any, int]] = []
        # Higher priority than the consumer's: these kernels are few and short, and the consumer will wait for them.
        self._stream = _cuda.Stream(device, priority=-1)

    def memory(self, nbytes: int) -> torch.Tensor:
        """Page-locked memory: the copy engine reads it at full speed, without the host."""
        try:
            return torch.empty(nbytes, dtype=torch.uint8, pin_memory=True)
        except RuntimeError as error:
            raise RuntimeError(
                f"{nbytes} bytes could not be page-locked for copies to {self.device}: use smaller batches, a smaller"
                f" ahead=, or pin=False ({error})"
            ) from error

    def work(self) -> AbstractContextManager[Any]:
        """A context in which the side stream is the current stream of this thread."""
        return torch.cuda.stream(self._stream)

    def upload(self, host: torch.Tensor) -> torch.Tensor:
        """Copy on the current stream, which is the side stream inside :meth:`work`."""
        # Without a slot, the memory is returned to the loader right after this, so the copy must be finished.
        return host.to(self.device, non_blocking=self.staged)

    def stream(self) -> int:
        """The side stream."""
        return int(self._stream.cuda_stream)

    def mark(self) -> Mark:
        """An event on the side stream."""
        return CudaMark(self._stream)

    @contextlib.contextmanager
    def copying(self, nbytes: int) -> Iterator[None]:
        """With ``timed``, record events before and after the copies."""
        if not self._timed:
            yield
            return
        # The stream is delayed for some milliseconds, so that all copies are queued before it reaches them: the time
        # between the events is then that of the copies and does not include waiting for the GIL.
        _cuda._sleep(20_000_000)
        start, end = _cuda.Event(enable_timing=True), _cuda.Event(enable_timing=True)
        start.record(self._stream)
        yield
        end.record(self._stream)
        self._times.append((start, end, nbytes))

    def copies(self) -> tuple[int, float]:
        """Bytes and seconds; waits for the last copy. The first three copies allocate memory and are left out."""
        self._stream.synchronize()
        times = self._times[3:]
        return sum(n for _, _, n in times), sum(start.elapsed_time(end) for start, end, _ in times) / 1e3


class HostLane(Lane):
    """Copies nothing: batches stay in host memory. Transforms run in the delivery thread."""

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
    """Resolve a device argument. ``"cuda"`` alone is the device of this rank."""
    found = torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
    if found.type != "cuda":
        return found
    count = torch.cuda.device_count()
    if count == 0:
        raise RuntimeError(
            f'device="{found}", and PyTorch sees none here: check torch.cuda.is_available(), or use device="cpu"'
        )
    if found.index is None:
        # Asking for the current device initialises CUDA, which takes memory on it, so ask only if that is done already.
        current = torch.cuda.current_device() if torch.cuda.is_initialized() else 0
        found = torch.device("cuda", of_rank(current, world.local_rank, count))
    if found.index >= count:
        raise RuntimeError(f'device="{found}", and PyTorch sees {count} here: 0 to {count - 1}')
    return found


def of_rank(current: int, local_rank: int, count: int) -> int:
    """Which of ``count`` devices ``"cuda"`` means: the current one if it was set, else the one of the rank."""
    if current != 0:
        return current
    # A launcher may make only one device visible to each rank.
    return local_rank if local_rank < count else 0
