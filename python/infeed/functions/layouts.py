"""How fields that Python made are laid out in a batch, where fields differ in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._typing import Ragged
from .collate import New, Pad, as_array, collate, same_structure, too_long


@dataclasses.dataclass(frozen=True, slots=True)
class FieldLayouts:
    """What ``batch`` says about fields of varying shape.

    ``flat`` and ``padded`` are fields that the engine would lay end to end or pad if no function saw them before: a
    function gets samples as they are. ``padded`` has the value that pads each; masks of ``whole_masks`` have all axes.
    """

    ragged: Ragged | Mapping[str, Ragged] = "list"
    pad_value: float | Mapping[str, float] = 0.0
    multiple: int = 1
    length: int | None = None
    masks: Mapping[str, str] = dataclasses.field(default_factory=dict)
    flat: Sequence[str] = ()
    padded: Mapping[str, float] = dataclasses.field(default_factory=dict)
    whole_masks: Sequence[str] = ()

    @property
    def alike(self) -> bool:
        """Whether all fields are treated alike."""
        each = isinstance(self.ragged, Mapping) or isinstance(self.pad_value, Mapping)
        return not (each or self.masks or self.flat or self.padded or self._cuts)

    @property
    def _cuts(self) -> bool:
        """Whether padding is more than to the longest sample."""
        return self.multiple != 1 or self.length is not None

    def how(self, field: str) -> str:
        """The layout of a field."""
        if field in self.flat:
            return "flat"
        if field in self.padded:
            return "pad"
        how = self.ragged.get(field, "list") if isinstance(self.ragged, Mapping) else self.ragged
        return "list" if how == "flat" and not isinstance(self.ragged, Mapping) else how

    def _named(self, field: str) -> bool:
        """Whether it is said of this very field that it is padded."""
        return field in self.padded or isinstance(self.ragged, Mapping)

    def _pad(self, field: str, most: int | None) -> Pad:
        value = self.pad_value.get(field, 0.0) if isinstance(self.pad_value, Mapping) else self.pad_value
        value = self.padded.get(field, value)
        return Pad(value, self.multiple, self.length, always=self._cuts and self._named(field), most=most)

    def misfit(self, sample: Any) -> str | None:
        """Why a sample cannot be in a batch, whatever the others are."""
        if self.length is None or not isinstance(sample, Mapping):
            return None
        for name, value in sample.items():
            if self.how(name) == "pad" and self._named(name) and _axes(value) and len(value) > self.length:
                return f"field {name!r}: {too_long(len(value), self.length)}"
        return None

    def batch(self, samples: Sequence[Any], new: New, most: int | None = None) -> Any:
        """The batch of these samples. No array that is padded has more than ``most`` bytes."""
        if self.alike:
            return collate(samples, pad=self._pad("", most) if self.ragged == "pad" else None, new=new)
        first = samples[0]
        if not isinstance(first, Mapping):
            raise TypeError(
                f"batch() says what happens to single fields, and functions gave a {type(first).__name__}: make samples"
                " dicts"
            )
        same_structure(samples)
        self._check(first)
        out: dict[str, Any] = {}
        more: dict[str, Any] = {}
        for name in first:
            column = [sample[name] for sample in samples]
            how = self.how(name)
            if how == "flat":
                out[name], more[f"{name}_offsets"] = _end_to_end(name, column, new)
                continue
            if how == "pad" and self._cuts and not self._named(name) and _axes(column[0]):
                raise ValueError(
                    f"a Python function made the field {name!r}: say whether pad_length= and pad_multiple= are for it,"
                    f' ragged={{{name!r}: "pad"}}'
                )
            out[name] = collate(column, pad=self._pad(name, most) if how == "pad" else None, new=new)
            if name in self.masks:
                more[self.masks[name]] = _mask(name, column, out[name], new, whole=name in self.whole_masks)
        for name in more:
            if name in out:
                raise ValueError(f"two fields would be called {name!r}: rename the field, or choose another pad_mask")
        return out | more

    def emptied(self, batch: Any) -> Any:
        """A batch without samples, of which the offsets of fields still say that nothing begins at 0 and ends there."""
        if isinstance(batch, dict):
            for name in [f"{name}_offsets" for name in batch if self.how(name) == "flat"]:
                batch[name] = np.zeros(1, np.int64)
        return batch

    def _check(self, first: Mapping[str, Any]) -> None:
        mine = {field: name for field, name in self.masks.items() if field not in self.padded}
        for said in (self.ragged, self.pad_value, mine):
            for name in said if isinstance(said, Mapping) else ():
                if name not in first:
                    raise ValueError(
                        f"batch() names the field {name!r}, and the fields are {', '.join(map(str, first))}"
                    )


def _axes(value: Any) -> int:
    return len(getattr(value, "shape", ()))


def _end_to_end(name: str, column: Sequence[Any], new: New) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    arrays = [as_array(item) for item in column]
    first = arrays[0]
    for at, array in enumerate(arrays):
        if not array.ndim or array.dtype.kind in "OUS":
            raise ValueError(f"the field {name!r} of sample {at} is not an array: it cannot be laid end to end")
        if array.shape[1:] != first.shape[1:] or array.dtype != first.dtype:
            raise ValueError(
                f"the field {name!r} of sample {at} is {array.dtype}{list(array.shape)}, and that of the first"
                f" {first.dtype}{list(first.shape)}: arrays laid end to end may differ in their length only"
            )
    ends = new((len(arrays) + 1,), np.dtype(np.int64))
    ends[0] = 0
    np.cumsum([len(array) for array in arrays], out=ends[1:])
    out = new((int(ends[-1]), *first.shape[1:]), first.dtype)
    np.concatenate(arrays, out=out)
    return out, ends


def _mask(name: str, column: Sequence[Any], padded: Any, new: New, *, whole: bool) -> npt.NDArray[Any]:
    shapes = [tuple(as_array(item).shape) for item in column]
    if isinstance(padded, list) or not shapes[0]:
        raise ValueError(f"the field {name!r} is not padded: it has no mask")
    if whole:
        every = new(tuple(padded.shape), np.dtype(bool))
        every[...] = False
        for place, shape in zip(every, shapes, strict=True):
            place[tuple(slice(n) for n in shape)] = True
        return every
    if len({shape[1:] for shape in shapes}) > 1:
        raise ValueError(
            f"the samples of {name!r} differ in more than their first axis: they have no mask of one axis"
        )
    out = new((len(shapes), padded.shape[1]), np.dtype(bool))
    out[...] = np.arange(padded.shape[1]) < np.array([shape[0] for shape in shapes])[:, None]
    return out
