"""Collates samples made in Python into a batch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._typing import Ragged

New = Callable[[tuple[int, ...], Any], npt.NDArray[Any]]


def collate(samples: Sequence[Any], *, ragged: Ragged = "list", pad_value: float = 0, new: New = np.empty) -> Any:
    """Dicts become a dict of batches, tuples a tuple of batches; arrays, tensors and numbers become one array.

    Arrays whose shapes differ become a list, or with ``ragged="pad"`` one array. Text, bytes and everything else become
    lists. ``new`` allocates the arrays: in a worker process, in memory shared with the consumer.
    """
    first = samples[0]
    if isinstance(first, Mapping):
        same_structure(samples)
        return {k: collate([s[k] for s in samples], ragged=ragged, pad_value=pad_value, new=new) for k in first}
    if isinstance(first, list | tuple):
        same_structure(samples)
        made = [collate(column, ragged=ragged, pad_value=pad_value, new=new) for column in zip(*samples, strict=True)]
        return type(first)(*made) if hasattr(first, "_fields") else tuple(made)
    if _is_tensor(first):
        return _tensors(samples, ragged, pad_value, new)
    if isinstance(first, bool | int | float | complex | np.generic) and not isinstance(first, np.str_ | np.bytes_):
        return _numbers(samples, new)
    if isinstance(first, np.ndarray) or _is_picture(first):
        return _arrays([np.asarray(s) for s in samples], ragged, pad_value, new)
    return list(samples)


def same_structure(samples: Sequence[Any]) -> None:
    """Raise if samples that are dicts or tuples differ in their keys or their length."""
    first = samples[0]
    for i, sample in enumerate(samples):
        if isinstance(first, Mapping):
            same = isinstance(sample, Mapping) and sample.keys() == first.keys()
        else:
            same = isinstance(sample, list | tuple) and len(sample) == len(first)
        if not same:
            raise ValueError(
                f"samples of one batch differ: the first is {_seen(first)}, number {i} is {_seen(sample)}"
            )


def as_array(value: Any) -> npt.NDArray[Any]:
    """An array, a tensor or a list of numbers as an array."""
    return np.asarray(value.detach().cpu().numpy() if _is_tensor(value) else value)


def _seen(sample: Any) -> str:
    if isinstance(sample, Mapping):
        return f"a dict with {', '.join(map(str, sample)) or 'nothing'}"
    if isinstance(sample, list | tuple):
        return f"a {type(sample).__name__} of {len(sample)}"
    return type(sample).__name__


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _is_picture(value: Any) -> bool:
    pil = sys.modules.get("PIL.Image")
    return pil is not None and isinstance(value, pil.Image)


def _numbers(samples: Sequence[Any], new: New) -> Any:
    try:
        made = np.asarray(samples)
    except OverflowError:
        return list(samples)
    if made.dtype == object or made.dtype.kind in "US":
        return list(samples)
    out = new(made.shape, made.dtype)
    out[...] = made
    return out


def _arrays(arrays: Sequence[npt.NDArray[Any]], ragged: str, pad_value: float, new: New) -> Any:
    first = arrays[0]
    if first.dtype.kind in "OUS":
        return list(arrays)
    if all(a.shape == first.shape and a.dtype == first.dtype for a in arrays):
        out = new((len(arrays), *first.shape), first.dtype)
        for place, array in zip(out, arrays, strict=True) if first.ndim else ():
            place[...] = array
        if not first.ndim:
            out[...] = arrays
        return out
    same = all(a.ndim == first.ndim and a.dtype == first.dtype for a in arrays)
    if ragged != "pad":
        return list(arrays)
    if not same:
        raise ValueError('ragged="pad" needs arrays of one element type and one number of dimensions')
    largest = tuple(max(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True))
    out = new((len(arrays), *largest), first.dtype)
    out[...] = pad_value
    for place, array in zip(out, arrays, strict=True):
        place[tuple(slice(n) for n in array.shape)] = array
    return out


def _tensors(tensors: Sequence[Any], ragged: str, pad_value: float, new: New) -> Any:
    import torch

    tensors = [t.detach() if t.requires_grad else t for t in tensors]
    first = tensors[0]
    if first.device.type != "cpu" or first.is_sparse or first.dtype not in _torch_types():
        return torch.stack(list(tensors)) if all(t.shape == first.shape for t in tensors) else list(tensors)
    if all(t.shape == first.shape and t.dtype == first.dtype for t in tensors):
        # Allocated as a NumPy array, which may be in a worker's shared memory; the tensor is a view of it.
        out = torch.from_numpy(new((len(tensors), *first.shape), _torch_types()[first.dtype]))
        return torch.stack([t.as_subclass(torch.Tensor) for t in tensors], out=out)
    if ragged != "pad":
        return [t.as_subclass(torch.Tensor) for t in tensors]
    return torch.from_numpy(_arrays([t.numpy() for t in tensors], ragged, pad_value, new))


_TYPES: dict[Any, np.dtype[Any]] = {}


def _torch_types() -> dict[Any, np.dtype[Any]]:
    """The element types that both torch and NumPy have. A function, because it needs torch."""
    if not _TYPES:
        import torch

        names = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
        _TYPES.update({getattr(torch, name): np.dtype(name) for name in names})
    return _TYPES
