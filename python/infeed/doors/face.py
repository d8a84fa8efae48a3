"""How a door presents batches. The base class gives NumPy arrays; each door overrides what differs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .. import _core
from ..batch import Batch
from .dummy import random_array
from .memory import as_numpy, bfloat16

if TYPE_CHECKING:
    from ..pipeline.sights import Sight


class Face:
    """Turns what the engine made, and what Python functions made of it, into what the consumer gets."""

    _tuple: list[str] | None
    """Fields of a batch that is a tuple."""
    _kinds: dict[str, str]
    """The kind of each field: image, array, text, bytes or json."""
    _sights: Mapping[str, Sight]
    """How each field is drawn."""

    def _hand_out(self, batch: _core.Batch) -> Any:
        if self._tuple is not None:
            return tuple(self._field(batch, name) for name in self._tuple)
        out = Batch()
        out._core, out._sights = batch, self._sights
        for name in self._kinds:
            out[name] = self._field(batch, name)
        return out

    def _field(self, batch: _core.Batch, name: str) -> Any:
        """One field of a batch of the engine."""
        return self._convert(batch.column(name), self._kinds[name])

    def _convert(self, column: Any, kind: str, array: Callable[[_core.Array], Any] | None = None) -> Any:
        array = array or self._array
        if isinstance(column, list):
            if kind == "json":
                return [None if item is None else json.loads(item) for item in column]
            if kind == "text":
                return column
            return [None if item is None else array(item) for item in column]
        return array(column)

    def _array(self, array: _core.Array) -> Any:
        """An array of the engine as this door gives it."""
        return as_numpy(array)

    def _arranged(self, value: Any) -> Any:
        """A whole batch that Python functions made, with the axes of its arrays in the order that this door gives."""
        return value

    def _leaf(self, value: Any) -> Any:
        """An array that a Python function made, as this door gives it."""
        return value.detach().cpu().numpy() if hasattr(value, "detach") else value

    def _item(self, value: Any) -> Any:
        """Like :meth:`_leaf`, for an array in a list."""
        return self._leaf(value)

    def _whole(self, value: Any, batch: _core.Batch) -> Any:
        """A whole batch that Python functions made, as this door gives it."""
        return value

    def _numpy_columns(self, batch: _core.Batch) -> dict[str, Any]:
        """The columns that the engine made, as NumPy arrays for Python functions."""
        return {name: Face._convert(self, batch.column(name), kind, as_numpy) for name, kind in self._kinds.items()}

    def _dummy_array(self, name: str, dtype: str, shape: tuple[int, ...]) -> Any:
        """A dummy array of a field, for :meth:`dummy`."""
        array = random_array(dtype, shape, image=self._kinds[name] == "image")
        return array.view(bfloat16()) if dtype == "bf16" else array

    def _dummy_placed(self, batch: Any) -> Any:
        """A dummy batch in the memory where the consumer expects it, for :meth:`dummy`."""
        return batch
