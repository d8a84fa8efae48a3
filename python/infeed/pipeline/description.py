"""The data of a pipeline: a recipe, and the Python objects that a recipe cannot hold."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from .. import _core
from ..functions import Function
from ..functions.layouts import FieldLayouts
from ..recipes import is_wrapped, short


class Description:
    """A recipe built stage by stage. Immutable: every stage makes a new one."""

    def __init__(
        self,
        recipe: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        functions: Sequence[Function] = (),
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        self._json = json.dumps(recipe)
        # Objects that a recipe cannot hold (iterators, arrays, wrapped data sets), by the name used in the recipe.
        self._given = dict(given or {})
        # Python functions; the recipe has only their names.
        self._functions = tuple(functions)
        self._collate = collate
        self._plan: _core.Plan | None = None
        self._plan_forks = 0

    @property
    def recipe(self) -> dict[str, Any]:
        """The description as plain data."""
        recipe: dict[str, Any] = json.loads(self._json)
        return recipe

    @property
    def plan(self) -> _core.Plan:
        """The recipe checked against its data. The first access opens the files."""
        # After a fork that could not wait for busy threads, the parent's plan may hold locks that nobody releases.
        if self._plan is None or self._plan_forks != _core.lost_forks():
            self._plan_forks = _core.lost_forks()
            self._plan = _core.Plan(self._json, {name: item.given for name, item in self._given.items()})
        return self._plan

    def _then(self, **stage: Any) -> Self:
        recipe = self.recipe
        recipe["stage"].append(stage)
        return type(self)(recipe, self._given, self._functions, self._collate)

    def _call(self, *functions: Function) -> Self:
        """This description with Python functions appended."""
        recipe = self.recipe
        recipe["stage"] += [{"op": "python", "what": function.name} for function in functions]
        return type(self)(recipe, self._given, (*self._functions, *functions), self._collate)

    @property
    def _runs_python(self) -> bool:
        """Whether Python code runs for samples or batches."""
        return bool(self._functions) or self._collate is not None or any(is_wrapped(g) for g in self._given.values())

    @property
    def _collation(self) -> dict[str, Any]:
        """How samples that Python made become batches."""
        stage: dict[str, Any] = next((s for s in self.recipe["stage"] if s["op"] == "batch"), {})
        plan, masks = self.plan, stage.get("pad_mask")
        padded = plan.padded_in_python
        layouts = FieldLayouts(
            ragged=stage.get("ragged", "list"),
            pad_value=stage.get("pad_value", 0.0),
            multiple=stage.get("pad_multiple", 1),
            length=stage.get("pad_length"),
            masks={
                **(masks if isinstance(masks, dict) else {}),
                **{field: mask[0] for field, (_, mask) in padded.items() if mask is not None},
            },
            flat=plan.flat_in_python,
            padded={field: value for field, (value, _) in padded.items()},
            whole_masks=[field for field, (_, mask) in padded.items() if mask is not None and mask[1]],
        )
        if layouts.ragged == "flat" and not layouts.flat:
            raise ValueError(
                'ragged="flat" finds no field of varying length that infeed makes: name those that Python makes,'
                ' ragged={"boxes": "flat"}'
            )
        return {"layouts": layouts, "collate": self._collate}

    @property
    def classes(self) -> list[str]:
        """Class names of an image folder or manifest; empty where there are none."""
        return self.plan.classes

    def rows(self) -> int:
        """The number of rows of an epoch, over all ranks: the same as ``len(pipeline)``.

        A pipeline corresponds to a ``Dataset`` of PyTorch or Hugging Face, so its length counts rows, before and after
        :meth:`batch`. ``len(loader)`` counts batches, as for a ``DataLoader``: the steps of one rank.

        Rows are counted after ``take``, ``subset``, ``balance`` and filters that need no decoding. A row that comes twice
        counts twice. A row that is dropped only when its sample is made (by a filter over decoded fields, by a Python
        function, as a bad sample) counts too: it makes a batch shorter. ``pipeline.plan.rows`` is the number of rows in
        the files.

        A stream has no length: this raises ``TypeError``.
        """
        if self.plan.is_stream:
            raise TypeError("a stream has no length: it is not known how many rows it has before it ends")
        return self.plan.places

    def __len__(self) -> int:
        """Rows of an epoch: :meth:`rows`. ``len(loader)`` counts batches."""
        return self.rows()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Description) and self._parts() == other._parts()

    def _parts(self) -> tuple[Any, ...]:
        return self._json, self._given, self._functions, self._collate

    def __hash__(self) -> int:
        return hash(self._json)

    def __repr__(self) -> str:
        return short(self.recipe)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.recipe, self._given, self._functions, self._collate)
