"""Staging: copies batches from the loader's memory to a device through a ring of slots.

A slot is host memory that is allocated once and reused. The batch is copied into it, which releases the loader's memory,
and the device copies from it while the host continues. A slot is reused only when the device is done with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

from .lanes import Lane, Mark

#: Alignment of the tensors of a list in their common block: fast on devices, and enough for every element type.
_ALIGN = 256


class Slot:
    """Memory for one batch: a block per field, as large as the largest seen so far."""

    def __init__(self, lane: Lane) -> None:
        self._lane = lane
        self._blocks: dict[int, torch.Tensor] = {}
        self.mark: Mark | None = None

    def block(self, number: int, nbytes: int) -> torch.Tensor:
        """Memory for field ``number``."""
        found = self._blocks.get(number)
        if found is None or found.numel() < nbytes:
            found = self._blocks[number] = self._lane.memory(max(nbytes, 1))
        return found[:nbytes]


class Staging:
    """Moves batches over a lane, in order. One thread at a time may use it."""

    def __init__(self, lane: Lane, slots: int) -> None:
        self._lane = lane
        self._slots = [Slot(lane) for _ in range(slots)]
        self._next = 0

    def send(self, batch: Any) -> Any:
        """The same batch on the device: tensors are copied, lists of tensors as one block; other values stay.

        The copies are started, not finished. Call it inside the lane's ``work``.
        """
        if not self._lane.staged:
            return tensors_in(batch, self._lane.upload)
        slot = self._slots[self._next]
        self._next = (self._next + 1) % len(self._slots)
        if slot.mark is not None:
            slot.mark.finish()
            slot.mark = None
        parcels: list[_Parcel] = []
        packed = _pack(batch, slot, parcels)
        with self._lane.copying(sum(parcel.host.nbytes for parcel in parcels)):
            moved = [self._lane.upload(parcel.host) for parcel in parcels]
        slot.mark = self._lane.mark()
        return _unpack(packed, moved)


class _Parcel:
    """One copy: a tensor, or the tensors of a list, concatenated. A placeholder in the batch for what it holds."""

    def __init__(
        self, number: int, host: torch.Tensor, parts: list[Any] | None, order: list[int] | None = None
    ) -> None:
        self.number = number
        self.host = host
        self.parts = parts
        self.order = order


class _Part:
    """A tensor of a list: where it is in the common block, and the tensor with its axes in the order of its memory."""

    def __init__(self, at: int, dense: torch.Tensor, order: list[int] | None) -> None:
        self.at = at
        self.dense = dense
        self.order = order

    def of(self, whole: torch.Tensor) -> torch.Tensor:
        """The same tensor in a copy of the block."""
        dense = whole[self.at : self.at + self.dense.nbytes].view(self.dense.dtype).view(self.dense.shape)
        return _put_back(dense, self.order)


def _pack(value: Any, slot: Slot, parcels: list[_Parcel]) -> Any:
    if isinstance(value, dict):
        return {name: _pack(item, slot, parcels) for name, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_pack(item, slot, parcels) for item in value)
    number = len(parcels)
    if _is_host(value):
        block, (dense, order) = slot.block(number, value.nbytes), _as_it_lies(value)
        _fill(block, dense)
        parcels.append(_Parcel(number, block.view(dense.dtype).view(dense.shape), None, order))
        return parcels[-1]
    if isinstance(value, list) and any(_is_host(item) for item in value):
        # Hundreds of small copies would cost more than one large one.
        at, parts = 0, []
        for item in value:
            parts.append(_Part(at, *_as_it_lies(item)) if _is_host(item) else item)
            at += -(-item.nbytes // _ALIGN) * _ALIGN if _is_host(item) else 0
        block = slot.block(number, at)
        for part in parts:
            if isinstance(part, _Part):
                _fill(block[part.at : part.at + part.dense.nbytes], part.dense)
        parcels.append(_Parcel(number, block, parts))
        return parcels[-1]
    return value


def _unpack(value: Any, moved: list[torch.Tensor]) -> Any:
    if isinstance(value, dict):
        return {name: _unpack(item, moved) for name, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_unpack(item, moved) for item in value)
    if not isinstance(value, _Parcel):
        return value
    whole = moved[value.number]
    if value.parts is None:
        return _put_back(whole, value.order)
    return [part.of(whole) if isinstance(part, _Part) else part for part in value.parts]


def _as_it_lies(tensor: torch.Tensor) -> tuple[torch.Tensor, list[int] | None]:
    """The tensor with its axes in the order of its memory, and that order. So images with channels first that lie as
    channels last are copied as they lie, and are so on the device. None if nothing is moved.
    """
    if tensor.is_contiguous():
        return tensor, None
    strides = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda axis: -strides[axis])
    return tensor.permute(order), order


def _put_back(tensor: torch.Tensor, order: list[int] | None) -> torch.Tensor:
    return tensor if order is None else tensor.permute(sorted(range(len(order)), key=order.__getitem__))


def _is_host(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.device.type == "cpu"


def _fill(block: torch.Tensor, value: torch.Tensor) -> None:
    # NumPy copies in this thread alone and releases the GIL. torch would use a thread per core, and the cores are busy
    # decoding.
    if value.numel():
        source = value.detach().contiguous().reshape(-1).view(torch.uint8)
        np.copyto(block.numpy(), source.numpy())


def tensors_in(value: Any, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Apply a function to every tensor of a batch."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if isinstance(value, dict):
        return {name: tensors_in(item, change) for name, item in value.items()}
    if isinstance(value, list) and any(isinstance(item, torch.Tensor) for item in value):
        return [tensors_in(item, change) for item in value]
    if isinstance(value, tuple):
        return tuple(tensors_in(item, change) for item in value)
    return value


def leaves(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of a batch."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
