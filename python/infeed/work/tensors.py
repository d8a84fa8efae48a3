"""Tensors as bytes in shared memory. Only used if torch is imported already."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pickle import PickleBuffer
from typing import Any


def is_tensor(obj: Any) -> bool:
    """Whether this is a torch tensor; does not import torch."""
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    return tensor is not None and isinstance(obj, tensor)


def reduce(tensor: Any, reserve: Callable[[int], Any]) -> Any:
    """Reduce a CPU tensor for pickling: its bytes are out of band.

    ``NotImplemented`` for tensors that are not plain memory of this process (sparse, quantised, on a device, part of a
    graph, subclasses): torch pickles these itself, or raises.
    """
    import torch

    kind: Any = type(tensor)
    if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_quantized or tensor.is_nested:
        return NotImplemented
    if tensor.requires_grad and not tensor.is_leaf:
        return NotImplemented
    state = None
    plain = tensor
    if kind is not torch.Tensor:
        own_rules = (
            kind.__reduce_ex__ is not torch.Tensor.__reduce_ex__
            or kind.__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
            or isinstance(tensor, torch.nn.Parameter)
        )
        if own_rules:
            return NotImplemented
        state = tensor.__dict__
        plain = tensor.as_subclass(torch.Tensor)
    plain = plain.detach().resolve_conj().resolve_neg()

    order = None
    if not plain.is_contiguous():
        strides = plain.stride()
        order = sorted(range(plain.dim()), key=lambda axis: -strides[axis])
        if not plain.permute(order).is_contiguous():
            order = None
        packed = plain if order is None else plain.permute(order)
        if not packed.is_contiguous():
            packed = _packed(packed, reserve)
    else:
        packed = plain
    data = PickleBuffer(packed.reshape(-1).view(torch.uint8).numpy())
    return rebuild, (data, packed.dtype, tuple(packed.shape), order, tensor.requires_grad, kind, state)


def _packed(tensor: Any, reserve: Callable[[int], Any]) -> Any:
    """A contiguous copy, in the memory that it is sent from."""
    import torch

    nbytes = tensor.numel() * tensor.element_size()
    if nbytes == 0:
        return tensor.contiguous()
    out = torch.frombuffer(reserve(nbytes), dtype=tensor.dtype).view(tensor.shape)
    return out.copy_(tensor)


def rebuild(
    data: Any, dtype: Any, shape: tuple[int, ...], order: list[int] | None, grad: bool, kind: Any, state: Any
) -> Any:
    """Rebuild the tensor over the received bytes, without a copy."""
    import torch

    if len(memoryview(data)) == 0:
        tensor = torch.empty(shape, dtype=dtype)
    else:
        tensor = torch.frombuffer(data, dtype=dtype).view(shape)
    if order is not None:
        back = sorted(range(len(order)), key=lambda axis: order[axis])
        tensor = tensor.permute(back)
    if kind is not torch.Tensor:
        tensor = tensor.as_subclass(kind)
        tensor.__dict__.update(state)
    return tensor.requires_grad_() if grad else tensor
