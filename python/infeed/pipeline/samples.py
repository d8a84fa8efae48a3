"""The stages that work on single samples: decode, transform, copy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self

from .._typing import CacheTier
from .._typing import Decoder as DecoderName
from ..decoders import Decoder
from ..functions import Function
from ..functions.adapt import refuse_class
from ..recipes import names, whole
from ..transforms import BatchTransform, Transform
from .description import Description


class SampleStages(Description):
    """What :class:`~infeed.Pipeline` does with samples."""

    def seed(self, seed: int) -> Self:
        """Set the seed of random transforms; without it they use the seed of :meth:`shuffle`."""
        return self._then(op="seed", seed=whole("seed", seed))

    def select(self, *fields: str) -> Self:
        """Keep only these fields. The others are not read."""
        return self._then(op="select", fields=list(fields))

    def load(
        self,
        column: str,
        *,
        root: str | os.PathLike[str] | None = None,
        to: str | None = None,
        pattern: str | None = None,
    ) -> Self:
        """Read the files that a column names: ``infeed.csv("captions.csv").load("path", root="images/")``.

        ``column`` holds paths relative to the folder ``root``, by default the folder of the table itself. The bytes
        of the file take the place of the path; with ``to="image"`` they are a new field, and the path stays. With
        ``pattern="{}.jpg"`` values are parts of paths: names without an ending, or numbers. The column may be a part of a
        field of JSON: ``load("json.path", to="image")``.

        Paths come from data and are not trusted. A path that does not lead to a regular file below ``root``, once links
        are followed, is a bad sample, and so is a file that is not there.
        """
        stage: dict[str, Any] = {"column": column}
        if to is not None and to != column:
            stage["to"] = to
        if root is not None:
            stage["root"] = os.fspath(root)
        if pattern is not None:
            if pattern.count("{}") != 1:
                raise ValueError(
                    f'pattern takes {{}} once, where the value stands, as in "{{}}.jpg"; got {pattern!r}'
                )
            stage["pattern"] = pattern
        return self._then(op="load", **stage)

    def decode(
        self,
        auto: Literal["auto"] | None = None,
        /,
        *,
        exact: bool = False,
        orientation: bool = False,
        max_pixels: int | None = None,
        optional: bool = False,
        **fields: DecoderName | Decoder,
    ) -> Self:
        """Decode fields: ``decode(jpg="rgb", cls="int")``. Fields that are not named stay bytes.

        ``infeed list decoders`` shows all decoders. Those with arguments are in :mod:`infeed.decoders`:
        ``decode(embedding=D.npy(shape=(512,), dtype="float32"))``. For images: ``exact`` forbids downscaling during
        decoding, ``orientation`` applies the EXIF orientation, ``max_pixels`` limits the size that is accepted.

        With ``optional=True`` a sample may lack these fields: the field is then None, transforms leave it alone, and in
        a batch it is a list. That is how documents with different numbers of images are read:
        ``decode(optional=True, **{f"{i:02d}.jpg": "rgb" for i in range(16)})``.

        ``decode("auto")`` decodes every field that is still bytes, as its contents in up to 256 rows suggest: images,
        NumPy arrays, JSON, numbers, text. It opens the data and reads these rows now, and puts the decoders that it
        chose into the recipe: :meth:`explain` shows them. ``decode("auto", cls="text")`` sets some of them by hand.
        """
        if auto not in (None, "auto"):
            raise ValueError(f'decode takes "auto" or fields, for example decode(jpg="rgb"), got {auto!r}')
        if not fields and auto is None:
            raise ValueError('decode needs at least one field, for example decode(jpg="rgb"), or decode("auto")')
        image: dict[str, Any] = {"exact": exact, "orientation": orientation}
        if max_pixels is not None:
            image["max_pixels"] = whole("max_pixels", max_pixels)
        wanted: dict[str, Any] = dict(fields)
        if auto is not None:
            wanted = {**{name: made for name, made in self._guessed().items() if name not in fields}, **fields}
        uses = {}
        for field, decoder in wanted.items():
            refuse_class("decode", decoder)
            if not isinstance(decoder, str | Decoder):
                raise TypeError(
                    f"decode({field}=...) takes the name of a decoder, or one of infeed.decoders, got {decoder!r}"
                )
            name, own = (decoder, {}) if isinstance(decoder, str) else (decoder.name, decoder.args)
            uses[field] = {"name": name, "args": {**(image if name in ("rgb", "gray", "stored") else {}), **own}}
        how = {"optional": True} if optional else {}
        return self._then(op="decode", fields=uses, **how) if uses else self

    def _guessed(self) -> dict[str, str]:
        from .guess import decoders_of

        if self._runs_python:
            raise ValueError('decode("auto") stands before Python functions: infeed decodes what it reads')
        if any(stage["op"] in ("batch", "tuple") for stage in self.recipe["stage"]):
            raise ValueError('decode("auto") stands before batch()')
        return decoders_of(self)

    def map(
        self,
        *transforms: Transform | Callable[..., Any],
        on: str | Iterable[str] | None = None,
        seeded: bool = True,
    ) -> Self:
        """Apply transforms of :mod:`infeed.transforms`, or Python functions, one after the other.

        ``on`` names the field or fields. Transforms without it work on every image; several fields get the same random
        choices, so an image and its mask stay aligned.

        A Python function takes and returns a sample (a dict of arrays); with ``on`` it takes and returns the value of
        that field, or a tuple of values. Transforms of torchvision and albumentations are such functions. The door
        decides where they run: ``to_torch(workers="threads" | "processes" | "consumer", num_workers=...)``. A function
        with a parameter ``rng`` gets a NumPy generator of its own for each row. For others the generators of ``random``,
        ``numpy.random`` and torch are seeded per row, unless ``seeded=False`` or they run in threads, where global
        generators cannot be seeded.
        """
        if not transforms:
            raise ValueError("map needs at least one transform or function")
        fields = names(on)
        out = self
        for transform in transforms:
            refuse_class("map", transform)
            if isinstance(transform, BatchTransform):
                raise TypeError(f"{transform.name} works on batches: use map_batch({transform!r}) after batch()")
            if isinstance(transform, Transform):
                if not out._functions:
                    out = out._then(op="map", name=transform.name, on=list(fields), args=transform.args)
                    continue
                function = Function("native", (transform,), fields, number=len(out._functions))
            elif callable(transform):
                function = Function("map", transform, fields, seeded, len(out._functions))
            else:
                raise TypeError(f"map takes transforms of infeed.transforms and functions, got {transform!r}")
            out = out._call(function)
        return out

    def cache(
        self,
        tier: CacheTier,
        *,
        path: str | os.PathLike[str] | None = None,
        limit: int | str | None = None,
    ) -> Self:
        """Keep what the stages before make, so that the next epoch and other processes need not make it again.

        ``cache("memory")`` keeps samples in memory that all processes of the machine share (``/dev/shm``), until the last
        pipeline that uses them is gone. ``cache("disk", path="/nvme/cache")`` keeps them in a folder, for later runs too.
        ``limit`` is the most that all processes together may take, in bytes or as ``"8GB"``; without it half of the free
        memory, or most of the free space. Data larger than the limit keeps a part of the rows, the same in every epoch.

        >>> data = infeed.open("train-*.tar").decode(jpg="rgb", cls="int").map(T.Resize(256))
        >>> data = data.cache("memory", limit="8GB").map(T.RandomCrop(224), T.RandomHorizontalFlip())

        What comes out is the same with and without. Random transforms and Python functions stand behind it. Data or
        stages that have changed are never mixed with what was kept before, and a state taken with a cache resumes
        without it. A folder that is full or read-only turns it off with a warning, and the epoch goes on.
        ``stats()["sample_caches"]`` counts hits and misses; ``infeed cache ls``, ``verify`` and ``clean`` look after
        the folder.

        A JPEG that was not resized yet is kept encoded: a resize behind the cache may decode it smaller.
        ``decode(exact=True)`` forbids that, and then its pixels are kept.
        """
        if tier not in ("memory", "disk"):
            raise ValueError(f'cache takes "memory" or "disk", got {tier!r}; a folder is cache("disk", path=...)')
        if self._functions:
            raise ValueError(
                f"cache stands after the Python function `{self._functions[0].name}`, whose results it cannot keep:"
                " put cache() before it"
            )
        if tier == "disk" and path is None:
            raise ValueError('cache("disk") needs a folder: cache("disk", path="/nvme/cache")')
        if tier == "memory" and path is not None:
            raise ValueError('cache("memory") takes no path: cache("disk", path=...) keeps samples in a folder')
        from ..doors.memory import in_bytes

        stage: dict[str, Any] = {"tier": tier}
        if path is not None:
            stage["path"] = os.fspath(path)
        if limit is not None:
            stage["limit"] = whole("limit", in_bytes(limit, "limit") or 0)
        return self._then(op="cache", **stage)

    def flat_map(self, function: Callable[..., Iterable[Any]], *, seeded: bool = True) -> Self:
        """Apply a Python function that turns one sample into any number of samples: it returns an iterable.

        ``batch(64)`` counts rows: a batch holds all samples made of its 64 rows.
        """
        if not callable(function):
            raise TypeError(f"flat_map takes a function, got {function!r}")
        return self._call(Function("flat_map", function, (), seeded, len(self._functions)))

    def views(
        self,
        field: str | Sequence[str],
        count: int,
        *transforms: Transform,
        to: str | Sequence[str] | None = None,
        keep: bool = False,
    ) -> Self:
        """Make ``count`` views of one image, each with its own random choices, as SimCLR and DINO need.

        The views are fields of their own: ``jpg_0``, ``jpg_1``, ..., or with ``to="global"`` ``global_0``, ``global_1``.
        ``transforms`` are applied to each; :meth:`map` with ``on="jpg_0"`` adds more to one of them. The image is decoded
        once for all its views. Several fields (``views(["jpg", "mask"], 2, ...)``) share the choices inside each view.

        The field itself can be used for more views. It is otherwise removed, unless ``keep=True``:

        >>> data = data.views("jpg", 2, T.RandomResizedCrop(224), to="global")
        >>> data = data.views("jpg", 6, T.RandomResizedCrop(96), to="local")
        """
        fields = [field] if isinstance(field, str) else list(field)
        names = fields if to is None else [to] if isinstance(to, str) else list(to)
        if not fields or len(names) != len(fields):
            raise ValueError(f"views needs one name in to= for each field, got {names} for {fields}")
        if whole("count", count) == 0:
            raise ValueError("views needs a count of at least 1")
        for transform in transforms:
            refuse_class("views", transform)
        out = self
        for source, name in zip(fields, names, strict=True):
            copies = [f"{name}_{i}" for i in range(count)]
            out = out._then(op="copy", field=source, to=copies, keep=bool(keep))
        if transforms:
            for i in range(count):
                out = out.map(*transforms, on=[f"{name}_{i}" for name in names])
        return out
