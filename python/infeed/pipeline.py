"""Pipelines: lazy, immutable descriptions of what to read and what to do with it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from . import _core
from .transforms import Transform

if TYPE_CHECKING:
    from .loader import Loader
    from .torch import TorchLoader

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


class Pipeline:
    """What to read and what to do with it. Every method gives a new pipeline; nothing runs until a door is opened.

    The doors are :meth:`to_numpy` and :meth:`to_torch`. A pipeline is a recipe and little else, so it pickles, compares
    and can be written to a file (:attr:`recipe`).
    """

    def __init__(self, recipe: Mapping[str, Any]) -> None:
        self._json = json.dumps(recipe)
        self._plan: _core.Plan | None = None

    @property
    def recipe(self) -> dict[str, Any]:
        """The description as plain data."""
        recipe: dict[str, Any] = json.loads(self._json)
        return recipe

    @property
    def plan(self) -> _core.Plan:
        """The recipe checked against its data. Opens the files when asked for the first time."""
        if self._plan is None:
            self._plan = _core.Plan(self._json)
        return self._plan

    def _then(self, **stage: Any) -> Pipeline:
        recipe = self.recipe
        recipe["stage"].append(stage)
        return Pipeline(recipe)

    def shuffle(self, *, seed: int = 0) -> Pipeline:
        """Shuffle all rows anew each epoch. The order depends on (seed, epoch) alone."""
        return self._then(op="shuffle", seed=_whole("seed", seed))

    def seed(self, seed: int) -> Pipeline:
        """Set the seed of random transforms; without it they use the seed of :meth:`shuffle`."""
        return self._then(op="seed", seed=_whole("seed", seed))

    def select(self, *fields: str) -> Pipeline:
        """Keep only these fields. The others are not even read."""
        return self._then(op="select", fields=list(fields))

    def decode(
        self,
        *,
        exact: bool = False,
        orientation: bool = False,
        max_pixels: int | None = None,
        **fields: str,
    ) -> Pipeline:
        """Decode fields: ``decode(jpg="rgb", cls="int")``. Fields that are not named stay bytes.

        ``infeed list decoders`` shows what there is. For images: ``exact`` forbids the decoder to shrink while it
        decodes, ``orientation`` applies the EXIF orientation, ``max_pixels`` limits the size that is accepted.
        """
        if not fields:
            raise ValueError('decode needs at least one field, for example decode(jpg="rgb")')
        image: dict[str, Any] = {"exact": exact, "orientation": orientation}
        if max_pixels is not None:
            image["max_pixels"] = _whole("max_pixels", max_pixels)
        uses = {}
        for field, name in fields.items():
            if not isinstance(name, str):
                raise TypeError(f"decode({field}=...) takes the name of a decoder, got {name!r}")
            uses[field] = {"name": name, "args": image if name in ("rgb", "gray", "stored") else {}}
        return self._then(op="decode", fields=uses)

    def map(self, *transforms: Transform, on: str | Iterable[str] | None = None) -> Pipeline:
        """Apply transforms of :mod:`infeed.transforms`, one after the other.

        ``on`` names the field or fields; without it every image is meant. Several fields get the same random choices,
        so an image and its mask stay aligned.
        """
        if not transforms:
            raise ValueError("map needs at least one transform")
        fields = [] if on is None else [on] if isinstance(on, str) else list(on)
        out = self
        for transform in transforms:
            if not isinstance(transform, Transform):
                raise TypeError(
                    f"map takes transforms of infeed.transforms, got {transform!r}"
                    " (Python functions cannot be mapped yet)"
                )
            out = out._then(op="map", name=transform.name, on=fields, args=transform.args)
        return out

    def batch(self, size: int, *, drop_last: bool = False, ragged: str = "list", pad_value: float = 0) -> Pipeline:
        """Make batches of ``size`` samples.

        Fields of one shape become one array. Fields whose shape varies become lists of arrays, or with
        ``ragged="pad"`` one array in which each sample is padded at its end with ``pad_value``.
        """
        if ragged not in ("list", "pad"):
            raise ValueError(f'ragged must be "list" or "pad", got {ragged!r}')
        size = _whole("batch size", size)
        return self._then(op="batch", size=size, drop_last=bool(drop_last), ragged=ragged, pad_value=float(pad_value))

    def to_tuple(self, *fields: str) -> Pipeline:
        """Hand batches out as tuples of these fields instead of dicts; other fields are not read."""
        return self._then(op="tuple", fields=list(fields))

    def to_numpy(self, **options: Any) -> Loader:
        """Open the NumPy door: a :class:`~infeed.loader.Loader` whose batches are dicts of arrays.

        See :class:`~infeed.loader.Loader` for the options (threads, memory, on_error, ...).
        """
        from .loader import Loader

        return Loader(self, **options)

    def to_torch(self, **options: Any) -> TorchLoader:
        """Open the PyTorch door: a :class:`~infeed.torch.TorchLoader` whose batches are dicts of tensors.

        Tensors share the batch's memory. See :class:`~infeed.loader.Loader` for the options.
        """
        from .torch import TorchLoader

        return TorchLoader(self, **options)

    def explain(self) -> str:
        """Stages and specs in words. Opens the data but reads no sample."""
        return self.plan.explain()

    @property
    def classes(self) -> list[str]:
        """Class names of an image folder or manifest; empty where there are none."""
        return self.plan.classes

    def rows(self) -> int:
        """How many samples an epoch has."""
        return self.plan.rows

    def __len__(self) -> int:
        return self.plan.batches(0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipeline) and self._json == other._json

    def __hash__(self) -> int:
        return hash(self._json)

    def __repr__(self) -> str:
        recipe = self.recipe
        stages = [s["name"] if s["op"] == "map" else s["op"] for s in recipe["stage"]]
        return " -> ".join([f"infeed.open({recipe['source']['paths']})", *stages])

    def __reduce__(self) -> tuple[Any, ...]:
        return Pipeline, (self.recipe,)

    def __iter__(self) -> Any:
        raise TypeError("a pipeline only describes; iterate over pipeline.to_numpy() or pipeline.to_torch()")


def _whole(what: str, value: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{what} must be a whole number, got {value!r}")
    number = value.__index__()
    if number < 0:
        raise ValueError(f"{what} must not be negative, got {number}")
    return number


def _open(paths: Paths, format: str, args: dict[str, Any]) -> Pipeline:
    many = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    return Pipeline({"source": {"paths": [os.fspath(p) for p in many], "format": format, "args": args}, "stage": []})


def open(paths: Paths) -> Pipeline:
    """Read shards or images; the format is detected.

    ``paths`` may be one path, a list, a glob, a folder, a brace expansion (``train-{000000..000127}.tar``), several of
    them joined with ``::``, or a ``file:`` URL.
    """
    return _open(paths, "auto", {})


def tar(paths: Paths, *, lenient: bool = False, index: str = "auto") -> Pipeline:
    """Read WebDataset tars.

    ``lenient`` steps over damaged parts instead of refusing the shard. ``index`` says where the table of members is kept
    between runs: ``"auto"`` (the user's cache folder, when making it took long), ``"off"``, ``"beside"`` the shard, or a
    folder.
    """
    return _open(paths, "tar", {"lenient": lenient, "index": os.fspath(index)})


def folder(path: str | os.PathLike[str]) -> Pipeline:
    """Read an image folder. With class sub-folders, order and labels are those of torchvision's ``ImageFolder``.

    Fields: ``image`` and, with classes, ``label``.
    """
    return _open(path, "folder", {})


def files(paths: Paths) -> Pipeline:
    """Read image files one by one, in the given order. Field: ``image``."""
    return _open(paths, "files", {})


def manifest(path: str | os.PathLike[str]) -> Pipeline:
    """Read the files that a text file lists, one ``path label`` a line. Fields: ``image`` and ``label``."""
    return _open(path, "manifest", {})
