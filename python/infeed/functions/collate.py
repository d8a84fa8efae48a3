"""Collates samples made in Python into a batch."""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

New = Callable[[tuple[int, ...], Any], npt.NDArray[Any]]


@dataclasses.dataclass(frozen=True, slots=True)
class Pad:
    """How arrays of different shapes become one array.

    The first axis becomes as long as the longest, or a multiple of ``multiple``, or ``length``. ``always`` says that it
    does so also where all arrays have one shape. The array has at most ``most`` bytes.
    """

    value: float = 0.0
    multiple: int = 1
    length: int | None = None
    always: bool = False
    most: int | None = None

    def reach(self, longest: int) -> int:
        """The padded length of the first axis."""
        if self.length is None:
            return -(-longest // self.multiple) * self.multiple
        if longest > self.length:
            raise ValueError(too_long(longest, self.length))
        return self.length


def too_long(found: int, most: int) -> str:
    """Why a sample cannot be padded to a length."""
    return f"a sample is {found} long, and pad_length is {most}: cut it before, for example with T.Truncate({most})"


def collate(samples: Sequence[Any], *, pad: Pad | None = None, new: New = np.empty) -> Any:
    """Dicts become a dict of batches, tuples a tuple of batches; arrays, tensors and numbers become one array.

    Arrays whose shapes differ become a list, or with ``pad`` one array. Text, bytes and everything else become lists.
    ``new`` allocates the arrays: in a worker process, in memory shared with the consumer.
    """
    first = samples[0]
    if isinstance(first, Mapping):
        same_structure(samples)
        return {k: collate([s[k] for s in samples], pad=pad, new=new) for k in first}
    if isinstance(first, list | tuple):
        same_structure(samples)
        made = [collate(column, pad=pad, new=new) for column in zip(*samples, strict=True)]
        return type(first)(*made) if hasattr(first, "_fields") else tuple(made)
    if _is_tensor(first):
        return _tensors(samples, pad, new)
    if isinstance(first, bool | int | float | complex | np.generic) and not isinstance(first, np.str_ | np.bytes_):
        return _numbers(samples, new)
    if isinstance(first, np.ndarray) or _is_picture(first):
        return _arrays([np.asarray(s) for s in samples], pad, new)
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


def _arrays(arrays: Sequence[npt.NDArray[Any]], pad: Pad | None, new: New) -> Any:
    first = arrays[0]
    if first.dtype.kind in "OUS":
        return list(arrays)
    alike = all(a.shape == first.shape and a.dtype == first.dtype for a in arrays)
    fits = pad is None or not pad.always or not first.ndim or pad.reach(len(first)) == len(first)
    if alike and fits:
        out = new((len(arrays), *first.shape), first.dtype)
        for place, array in zip(out, arrays, strict=True) if first.ndim else ():
            place[...] = array
        if not first.ndim:
            out[...] = arrays
        return out
    same = all(a.ndim == first.ndim and a.dtype == first.dtype for a in arrays)
    if pad is None:
        return list(arrays)
    if not same:
        raise ValueError('ragged="pad" needs arrays of one element type and one number of dimensions')
    largest = [max(sizes) for sizes in zip(*(a.shape for a in arrays), strict=True)]
    largest[0] = pad.reach(largest[0])
    size = len(arrays) * math.prod(largest) * first.itemsize
    if pad.most is not None and size > max(pad.most, max(a.nbytes for a in arrays)):
        raise ValueError(
            f"padding would make an array of {len(arrays)} x {largest}, {size:,} bytes, more than {pad.most:,}; raise"
            " memory=, lower the batch size, or group samples by length"
        )
    out = new((len(arrays), *largest), first.dtype)
    out[...] = pad.value
    for place, array in zip(out, arrays, strict=True):
        place[tuple(slice(n) for n in array.shape)] = array
    return out


def _tensors(tensors: Sequence[Any], pad: Pad | None, new: New) -> Any:
    import torch

    tensors = [t.detach() if t.requires_grad else t for t in tensors]
    first = tensors[0]
    if first.device.type != "cpu" or first.is_sparse or first.dtype not in _torch_types():
        return torch.stack(list(tensors)) if all(t.shape == first.shape for t in tensors) else list(tensors)
    alike = all(t.shape == first.shape and t.dtype == first.dtype for t in tensors)
    if alike and (pad is None or not pad.always):
        # Allocated as a NumPy array, which may be in a worker's shared memory; the tensor is a view of it.
        out = torch.from_numpy(new((len(tensors), *first.shape), _torch_types()[first.dtype]))
        return torch.stack([t.as_subclass(torch.Tensor) for t in tensors], out=out)
    if pad is None:
        return [t.as_subclass(torch.Tensor) for t in tensors]
    return torch.from_numpy(_arrays([t.numpy() for t in tensors], pad, new))


_TYPES: dict[Any, np.dtype[Any]] = {}


def _torch_types() -> dict[Any, np.dtype[Any]]:
    """The element types that both torch and NumPy have. A function, because it needs torch."""
    if not _TYPES:
        import torch

        names = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
        _TYPES.update({getattr(torch, name): np.dtype(name) for name in names})
    return _TYPES
