"""The arguments of ``batch`` for fields of varying shape, checked and as a recipe holds them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from .._typing import Ragged, one_of
from ..recipes import whole


def ragged_stage(
    ragged: Ragged | Mapping[str, Ragged],
    pad_value: float | Mapping[str, float],
    pad_mask: bool | str | Mapping[str, str],
    *,
    pad_multiple: int | None,
    pad_length: int | None,
    collates: bool,
) -> dict[str, Any]:
    """The part of the batch stage that says how fields of varying shape are laid out."""
    each = ragged if isinstance(ragged, Mapping) else {"": ragged}
    for field, how in each.items():
        one_of(f"ragged[{field!r}]" if field else "ragged", how, Ragged)
    pads, flat = "pad" in each.values(), "flat" in each.values()
    if collates and (flat or pad_mask is not False):
        raise ValueError('collate= makes the batches itself: ragged="flat" and pad_mask= do not go with it')
    stage: dict[str, Any] = {"ragged": dict(ragged) if isinstance(ragged, Mapping) else ragged}
    given = {
        "pad_multiple": pad_multiple is not None,
        "pad_length": pad_length is not None,
        "pad_mask": pad_mask is not False,
        "pad_value of fields": isinstance(pad_value, Mapping),
    }
    for name, is_given in given.items():
        if is_given and not pads:
            raise ValueError(f'{name}= belongs to ragged="pad"')
    for name, number in (("pad_multiple", pad_multiple), ("pad_length", pad_length)):
        if number is not None:
            stage[name] = whole(name, number)
    if isinstance(pad_value, Mapping):
        stage["pad_value"] = {field: _number(value) for field, value in pad_value.items()}
    else:
        stage["pad_value"] = _number(pad_value)
    if pad_mask is not False:
        stage["pad_mask"] = _mask(pad_mask)
    return stage


def _number(value: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise TypeError(f"pad_value must be a number, or a dict of numbers by field, got {value!r}") from None
    if not math.isfinite(number):
        raise ValueError(f"pad_value must be finite, got {value!r}")
    return number


def _mask(wanted: bool | str | Mapping[str, str]) -> Any:
    if "" in ((wanted,) if isinstance(wanted, str) else wanted.values() if isinstance(wanted, Mapping) else ()):
        raise ValueError("pad_mask has an empty name: a mask is a field of the batch and needs one")
    if wanted is True or isinstance(wanted, str):
        return wanted
    if isinstance(wanted, Mapping) and all(isinstance(name, str) for name in wanted.values()):
        return dict(wanted)
    raise TypeError(f"pad_mask must be True, a name, or a dict of names by field, got {wanted!r}")
