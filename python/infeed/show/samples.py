"""What is shown: some samples, with how their fields are drawn, of whatever was given."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping
from typing import Any

from ..batch import Batch, Sample
from ..pipeline.sights import TARGETS, Sight
from .values import is_array, shape_of

#: The smallest side of an array that looks like an image.
_SIDE = 8


@dataclasses.dataclass(slots=True)
class View:
    """Samples to look at. ``whole`` has the fields that are no columns: they belong to the batch as a whole."""

    title: str
    samples: list[Mapping[str, Any]]
    sights: dict[str, Sight]
    names: list[str]
    count: int
    columns: dict[str, Any]
    whole: dict[str, Any]
    keys: list[str]


def view_of(thing: Any, most: int) -> View:
    """At most ``most`` samples of a pipeline, a loader, a batch or a sample."""
    if hasattr(thing, "peek"):
        return view_of(thing.peek(most), most)
    if hasattr(thing, "pipeline") and hasattr(thing, "state_dict"):
        return view_of(thing[0], most)
    if isinstance(thing, Sample):
        return _of_sample(thing)
    if isinstance(thing, Mapping):
        return _of_batch(thing, most)
    if isinstance(thing, tuple | list) and thing and any(_length(column) is not None for column in thing):
        return _of_batch({str(at): column for at, column in enumerate(thing)}, most)
    raise TypeError(f"show takes a pipeline, a loader, a batch or a sample, got {type(thing).__name__}")


def _of_sample(sample: Sample) -> View:
    sights = {name: _sight(name, value, sample._sights) for name, value in sample.items()}
    keys = [] if sample._from is None else [sample["__key__"]]
    return View("Sample", [sample], sights, list(sample), 1, dict(sample), {}, keys)


def _of_batch(batch: Mapping[str, Any], most: int) -> View:
    count = count_of(batch)
    columns = {name: column for name, column in batch.items() if _is_column(batch, name, column, count)}
    samples: list[Mapping[str, Any]] = []
    for at in range(min(count, most)):
        samples.append({name: _item(batch, name, column, at) for name, column in columns.items()})
    known = batch._sights if isinstance(batch, Batch) else None
    first = samples[0] if samples else {}
    sights = {name: _sight(name, first.get(name), known) for name in columns}
    # The offsets of fields that lie end to end have done their work.
    whole = {name: value for name, value in batch.items() if name not in columns and not _offsets(batch, name)}
    keys = batch["__key__"][:most] if isinstance(batch, Batch) and batch._core is not None else []
    return View(f"Batch of {count}", samples, sights, list(columns), count, columns, whole, keys)


def count_of(batch: Mapping[str, Any]) -> int:
    """The number of samples of a batch."""
    if isinstance(batch, Batch) and batch._core is not None:
        return len(batch._core) if batch._kept is None else len(batch._kept)
    ends = [len(column) - 1 for name, column in batch.items() if _offsets(batch, name)]
    if ends:
        return ends[0]
    lengths = [length for column in batch.values() if (length := _length(column)) is not None]
    return Counter(lengths).most_common(1)[0][0] if lengths else 0


def sample_at(batch: Mapping[str, Any], at: int) -> dict[str, Any]:
    """One sample of a batch."""
    count = count_of(batch)
    return {name: _item(batch, name, c, at) for name, c in batch.items() if _is_column(batch, name, c, count)}


def image_of(name: str, view: View) -> str | None:
    """The image that a target lies in: the one it names, the one that is called alike, or the first."""
    images = [other for other, sight in view.sights.items() if sight.kind == "image"]
    said = view.sights[name].image
    if said in images or not images:
        return said if said in images else None
    ending = name.rpartition("_")[2]
    alike = [image for image in images if ending != name and image.rpartition("_")[2] == ending]
    return (alike or images)[0]


def _length(column: Any) -> int | None:
    if is_array(column):
        shape = shape_of(column)
        return shape[0] if shape else None
    if isinstance(column, Mapping):
        inner = {_length(value) for value in column.values()}
        return inner.pop() if len(inner) == 1 else None
    return len(column) if isinstance(column, list | tuple) else None


def _offsets(batch: Mapping[str, Any], name: Any) -> bool:
    """Whether this field says where the samples of another begin."""
    base = name.removesuffix("_offsets") if isinstance(name, str) else name
    return base != name and base in batch and is_array(batch[name]) and len(shape_of(batch[name])) == 1


def _is_column(batch: Mapping[str, Any], name: Any, column: Any, count: int) -> bool:
    if _offsets(batch, name):
        return False
    return _offsets(batch, f"{name}_offsets") if f"{name}_offsets" in batch else _length(column) == count


def _item(batch: Mapping[str, Any], name: Any, column: Any, at: int) -> Any:
    if f"{name}_offsets" in batch:
        ends = batch[f"{name}_offsets"]
        return column[int(ends[at]) : int(ends[at + 1])]
    if isinstance(column, Mapping):
        return {key: value[at] for key, value in column.items()}
    item = column[at]
    real: Any = batch.get(f"{name}_mask")
    if is_array(item) and is_array(real) and len(shape_of(real)) == 2 and str(real.dtype).endswith("bool"):
        # A padded field: what is behind the end of the sample is no data.
        length = int(real[at].sum())
        return item[:length] if shape_of(item)[:1] == shape_of(real)[1:] else item
    return item


def _sight(name: str, value: Any, known: Mapping[str, Sight] | None) -> Sight:
    """How a field is drawn, as the plan says; by its look where no plan knows it."""
    if known is not None and name in known:
        return known[name]
    if not is_array(value):
        return Sight("")
    shape = shape_of(value)
    if len(shape) == 3 and (shape[-1] in (1, 3, 4) or shape[0] in (1, 3, 4)):
        height, width = shape[:2] if shape[-1] in (1, 3, 4) else shape[1:]
        if min(height, width) >= _SIDE:
            return Sight("image")
    word = str(name).lower()
    guessed = {"box": "boxes", "keypoint": "keypoints", "mask": "masks" if len(shape) == 3 else "mask"}
    for part, kind in guessed.items():
        if part in word and _fits(kind, shape):
            return Sight(kind)
    return Sight("")


def _fits(kind: str, shape: tuple[int, ...]) -> bool:
    if kind == "boxes":
        return len(shape) == 2 and shape[1] == 4
    if kind == "keypoints":
        return len(shape) in (2, 3) and shape[-1] in (2, 3)
    return kind in TARGETS and len(shape) in (2, 3) and min(shape[-2:]) >= _SIDE
