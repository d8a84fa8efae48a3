"""``torch.utils.data.TensorDataset``: rows of tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils.data import TensorDataset

from ... import sources
from ...pipeline import Pipeline
from .leaf import Leaf, Same, unchanged
from .words import Unknown

KNOWN = {torch.bool, torch.uint8, torch.int8, torch.uint16, torch.int16, torch.uint32, torch.int32, torch.uint64}
KNOWN |= {torch.int64, torch.float16, torch.bfloat16, torch.float32, torch.float64}


def leaf(dataset: Any) -> Leaf | None:
    """The twin of a TensorDataset; None for anything else."""
    if not isinstance(dataset, TensorDataset):
        return None
    unchanged(dataset, TensorDataset)
    tensors = dataset.tensors
    for tensor in tensors:
        _check(tensor)
    names = tuple(str(place) for place in range(len(tensors)))
    after: dict[str, Callable[[Any], Any]] = {}
    fields: dict[str, torch.Tensor] = {}
    for name, tensor in zip(names, tensors, strict=True):
        # NumPy has no bfloat16: pass the same bits as int16.
        fields[name] = tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor
        if tensor.dtype == torch.bfloat16:
            after[name] = _as_bfloat16

    def make(place: str) -> Pipeline:
        return sources.arrays(fields, name="TensorDataset")

    kinds = ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape[1:])}" for t in tensors)
    words = [f"TensorDataset of {len(dataset)} rows ({kinds}) -> infeed.arrays on the same memory"]
    # A tensor can get other memory (`.data = ...`) and stay the same object.
    mark = ("tensors", [(Same(t), t.data_ptr(), t.shape, t.dtype) for t in tensors])
    return Leaf(len(dataset), make, names, None, False, words, mark, after, version=lambda: _versions(tensors))


def _versions(tensors: Sequence[torch.Tensor]) -> list[int]:
    """torch's own counts of writes in place."""
    return [0 if tensor.is_inference() else tensor._version for tensor in tensors]


def _check(tensor: torch.Tensor) -> None:
    if type(tensor) is not torch.Tensor:
        raise Unknown(f"a tensor of it is a {type(tensor).__name__}")
    if tensor.device.type != "cpu" or tensor.layout is not torch.strided:
        raise Unknown("a tensor of it is not a dense tensor in the CPU's memory")
    if tensor.requires_grad:
        raise Unknown("a tensor of it requires a gradient, which a copy would lose")
    if tensor.dtype not in KNOWN or tensor.is_conj() or tensor.is_neg():
        raise Unknown(f"a tensor of it is {tensor.dtype}, which has no native twin")
    if tensor.numel() == 0:
        raise Unknown("a tensor of it is empty")
    if tensor.is_shared():  # type: ignore[no-untyped-call]
        raise Unknown(
            "a tensor of it is in shared memory, which a native run would read further ahead than torch does"
        )
    if not tensor.is_contiguous():
        raise Unknown("a tensor of it is not contiguous: .contiguous() makes it so")


def _as_bfloat16(column: Any) -> Any:
    return column.view(torch.bfloat16)
