"""The operations of a matrix on its columns, with all their parameters computed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from .. import _core

Op = str | Mapping[str, Any]


def stats(
    paths: list[str],
    format: str,
    args: dict[str, Any],
    columns: list[str],
    categories: list[str],
    ops: dict[str, Any],
) -> dict[str, dict[str, Any]]:
    """Statistics of columns after operations, and distinct values of others."""
    text = _core.column_stats(format, paths, json.dumps(args), columns, categories, json.dumps(ops))
    found: dict[str, dict[str, Any]] = json.loads(text)
    return {name: found[name] for name in dict.fromkeys([*columns, *categories])}


def category_lists(
    given: Mapping[str, Sequence[str] | Sequence[int] | str] | Sequence[str] | None,
) -> dict[str, list[Any] | None]:
    """Category values by column; None where they are still to be found."""
    if given is None:
        return {}
    if isinstance(given, str):
        return {given: None}
    if not isinstance(given, Mapping):
        return {column: None for column in given}
    out: dict[str, list[Any] | None] = {}
    for column, values in given.items():
        if isinstance(values, str):
            if values != "auto":
                raise ValueError(f'categories of {column!r} must be a list or "auto", got {values!r}')
            out[column] = None
        else:
            out[column] = [v if isinstance(v, str) else v.__index__() for v in values]
    return out


_NEEDS = {"standardize": ("mean", "std"), "minmax": ("min", "max")}


class Settle:
    """Completes operations: computes the parameters that are not given."""

    def __init__(self, paths: list[str], kind: str, base: dict[str, Any], unknown: int | str) -> None:
        self.paths, self.kind, self.base, self.unknown = paths, kind, base, unknown

    def all(
        self,
        features: list[str],
        fill: float | str | Mapping[str, float | str] | None,
        transforms: Mapping[str, Op | Sequence[Op]] | Sequence[Op] | str | None,
        lists: Mapping[str, list[Any] | None],
    ) -> dict[str, list[dict[str, Any]]]:
        """The complete operations of every column that has any."""
        fills = fill if isinstance(fill, Mapping) else {"*": fill}
        steps = transforms if isinstance(transforms, Mapping) else {"*": transforms or []}
        for what, given in (("fill", fills), ("transforms", steps)):
            for column in given:
                if column != "*" and column not in features:
                    raise ValueError(f"{what}: {column!r} is none of the features {features}")
        chains: dict[str, list[dict[str, Any]]] = {}
        for column in features:
            chain: list[dict[str, Any]] = []
            if column in lists:
                chain.append({"op": "categories", "values": lists[column], "unknown": self.unknown})
            value = fills.get(column, fills.get("*") if column not in lists else None)
            if value is not None:
                chain.append({"op": "fill", "value": value})
            # Defaults for all columns ("*") do not apply to category indices.
            own = steps.get(column, steps.get("*", []) if column not in lists else [])
            many = [own] if isinstance(own, str | Mapping) else list(own)
            chain += [{"op": step} if isinstance(step, str) else dict(step) for step in many]
            if chain:
                chains[column] = chain
        self._numbers(chains)
        return chains

    def _numbers(self, chains: dict[str, list[dict[str, Any]]]) -> None:
        """Compute missing parameters, for the same step of all columns in one pass."""
        while True:
            before: dict[str, list[dict[str, Any]]] = {}
            for column, chain in chains.items():
                at = next((i for i, step in enumerate(chain) if _open_step(step)), None)
                if at is not None:
                    if any(step["op"] == "categories" for step in chain[:at]):
                        raise ValueError(f"{column!r} is a category: {chain[at]['op']} needs its numbers given")
                    before[column] = chain[:at]
            if not before:
                return
            found = stats(self.paths, self.kind, self.base, list(before), [], before)
            for column, done in before.items():
                step, own = chains[column][len(done)], found[column]
                if own["mean"] is None:
                    raise ValueError(f"{column!r} has no numbers to compute {step['op']} from")
                if step["op"] == "fill":
                    step["value"] = own[step["value"]]
                else:
                    for key in _NEEDS[step["op"]]:
                        if step.get(key) is None:
                            step[key] = own[key]


def _open_step(step: Mapping[str, Any]) -> bool:
    if step.get("op") == "fill":
        value = step.get("value")
        if isinstance(value, str) and value not in ("mean", "min", "max"):
            raise ValueError(f'fill must be a number, "mean", "min" or "max", got {value!r}')
        return isinstance(value, str)
    return any(step.get(key) is None for key in _NEEDS.get(str(step.get("op")), ()))
