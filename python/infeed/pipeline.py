"""Pipelines: lazy, immutable descriptions of what to read and what to do with it."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
import numpy.typing as npt

from . import _core
from ._typing import BalanceMode, Decoder, LastBatch, Ragged, ShuffleKind, one_of
from .doors.options import ON_DEVICE, DeviceOptions, LoaderOptions, refuse_unknown
from .functions import Function
from .recipes import integers, is_wrapped, names, reals, short, whole
from .reports import Quality, Verdict
from .sequences import SequenceStages
from .transforms import BatchTransform, Transform

if TYPE_CHECKING:
    import jax.sharding
    import torch

    from .doors.arrow import ArrowLoader
    from .doors.jax import JaxLoader
    from .doors.loader import Loader
    from .torch import DeviceLoader, TorchLoader


class Pipeline(SequenceStages):
    """What to read and what to do with it. Every method gives a new pipeline; nothing runs until a door is opened.

    The doors are :meth:`to_numpy`, :meth:`to_torch`, :meth:`to_jax`, :meth:`to_tf` and :meth:`to_arrow`. A
    pipeline is a recipe and little else, so it pickles, compares and can be written to a file (:attr:`recipe`).
    """

    def __init__(
        self,
        recipe: Mapping[str, Any],
        given: Mapping[str, Any] | None = None,
        functions: Sequence[Function] = (),
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> None:
        self._json = json.dumps(recipe)
        # What a recipe cannot hold, by the name that stands in its place: iterators, arrays, wrapped data sets.
        self._given = dict(given or {})
        # Nor functions: the recipe has their names.
        self._functions = tuple(functions)
        self._collate = collate
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
            self._plan = _core.Plan(self._json, {name: item.given for name, item in self._given.items()})
        return self._plan

    def _then(self, **stage: Any) -> Pipeline:
        recipe = self.recipe
        recipe["stage"].append(stage)
        return Pipeline(recipe, self._given, self._functions, self._collate)

    def _call(self, *functions: Function) -> Pipeline:
        """With Python functions at its end."""
        recipe = self.recipe
        recipe["stage"] += [{"op": "python", "what": function.name} for function in functions]
        return Pipeline(recipe, self._given, (*self._functions, *functions), self._collate)

    @property
    def _runs_python(self) -> bool:
        """Whether a part of every sample is made in Python."""
        return bool(self._functions) or self._collate is not None or any(is_wrapped(g) for g in self._given.values())

    @property
    def _collation(self) -> dict[str, Any]:
        """How samples that Python made become batches."""
        stage: dict[str, Any] = next((s for s in self.recipe["stage"] if s["op"] == "batch"), {})
        return {
            "ragged": stage.get("ragged", "list"),
            "pad_value": stage.get("pad_value", 0.0),
            "collate": self._collate,
        }

    def shuffle(
        self,
        *,
        seed: int = 0,
        kind: ShuffleKind = "auto",
        window: int | None = None,
        block: int | None = None,
        buffer: int | None = None,
        initial: int | None = None,
    ) -> Pipeline:
        """Shuffle the rows anew each epoch. The order depends on (seed, epoch) alone.

        ``kind`` is

        * ``"global"``: every row can come anywhere; the default wherever rows can be addressed one by one
        * ``"block"``: shards in random order, rows mixed inside a ``window`` of so many shards. That many shards feed one
          batch, which is kind to disks that seek and to remote stores. ``block`` cuts shards into blocks of at most so
          many rows. The default for tables, whose row groups are decoded as a whole: about a million rows are mixed
        * ``"buffer"``: through a buffer of ``buffer`` rows that gives its first row when ``initial`` are in it, as
          WebDataset does; the default for streams
        * ``"none"``: not at all

        Giving ``window`` or ``buffer`` says the kind. :meth:`quality` measures how well a choice mixes.
        """
        one_of("kind", kind, ShuffleKind)
        stage: dict[str, Any] = {"seed": whole("seed", seed)}
        if kind != "auto":
            stage["kind"] = kind
        for name, value in (("window", window), ("block", block), ("buffer", buffer), ("initial", initial)):
            if value is not None:
                stage[name] = whole(name, value)
        return self._then(op="shuffle", **stage)

    def take(self, n: int) -> Pipeline:
        """Keep the first ``n`` rows of the order so far."""
        return self._then(op="slice", stop=whole("n", n))

    def skip(self, n: int) -> Pipeline:
        """Leave out the first ``n`` rows of the order so far."""
        return self._then(op="slice", start=whole("n", n))

    def subset(self, which: slice | float | Iterable[int] | Iterable[bool]) -> Pipeline:
        """Keep some rows: indices (in the order given), a slice, a boolean mask, or a fraction such as ``0.1``."""
        if isinstance(which, slice):
            given = {"start": which.start, "stop": which.stop, "step": which.step}
            return self._then(op="slice", **{k: operator.index(v) for k, v in given.items() if v is not None})
        if isinstance(which, float):
            return self._then(op="fraction", fraction=which)
        array = np.asarray(which if isinstance(which, np.ndarray | list | tuple) else list(which))
        if array.ndim != 1:
            raise ValueError(f"subset takes a flat list of indices or a mask, got an array of shape {array.shape}")
        if array.dtype == bool:
            if len(array) != self.rows():
                raise ValueError(f"the mask has {len(array)} entries for {self.rows()} rows")
            array = np.flatnonzero(array)
        elif array.size and not np.issubdtype(array.dtype, np.integer):
            raise TypeError(f"subset takes whole numbers, a slice, a mask or a fraction, got {array.dtype}")
        return self._then(op="pick", places=integers(array))

    def __getitem__(self, which: slice) -> Pipeline:
        if not isinstance(which, slice):
            raise TypeError("a pipeline takes slices, pipeline[:1000]; subset([...]) takes indices")
        return self.subset(which)

    def random_split(self, lengths: Sequence[int] | Sequence[float], *, seed: int = 0) -> list[Pipeline]:
        """Split at random into parts of these lengths: counts, or fractions that add up to at most 1.

        >>> train, val = data.random_split([0.9, 0.1], seed=7)
        """
        given = list(lengths)
        if not given:
            raise ValueError("random_split needs at least one length")
        how = "fractions" if any(isinstance(x, float) for x in given) else "counts"
        numbers = [float(x) if how == "fractions" else whole("length", int(x)) for x in given]
        return [
            self._then(op="split", lengths={how: numbers}, index=i, seed=whole("seed", seed))
            for i in range(len(given))
        ]

    def kfold(self, folds: int, *, seed: int | None = None) -> list[tuple[Pipeline, Pipeline]]:
        """Pairs (train, validation) for cross-validation. Without a seed folds are neighbours, as in scikit-learn."""
        stage: dict[str, Any] = {"op": "fold", "folds": whole("folds", folds)}
        if seed is not None:
            stage["seed"] = whole("seed", seed)
        return [
            (self._then(**stage, fold=i, held_out=False), self._then(**stage, fold=i, held_out=True))
            for i in range(folds)
        ]

    def repeat(self, times: int) -> Pipeline:
        """Go through the rows so many times in one epoch; a shuffle before it differs each time."""
        return self._then(op="repeat", times=whole("times", times))

    def weighted(
        self,
        weights: str | Sequence[float],
        *,
        length: int | None = None,
        replacement: bool = True,
        seed: int = 0,
    ) -> Pipeline:
        """Draw rows by weight, as torch's ``WeightedRandomSampler``: one number per row, or the name of a field."""
        stage: dict[str, Any] = {"weights": weights if isinstance(weights, str) else reals(weights)}
        if length is not None:
            stage["length"] = whole("length", length)
        return self._then(op="weighted", **stage, replacement=bool(replacement), seed=whole("seed", seed))

    def balance(self, by: str | Sequence[int] = "label", *, mode: BalanceMode = "over", seed: int = 0) -> Pipeline:
        """Let classes take turns, so that each has the same share of every batch.

        ``by`` is one class number per row, or the name of a field that holds it (``"label"`` of an image folder is known,
        other fields are read once). ``mode="over"`` repeats rows of small classes until the largest is through;
        ``mode="under"`` stops when the smallest is, and the next epoch goes on with what was left over.
        """
        one_of("mode", mode, BalanceMode)
        column = by if isinstance(by, str) else integers(np.asarray(by))
        return self._then(op="balance", by=column, mode=mode, seed=whole("seed", seed))

    def group_by_length(
        self,
        by: str | Sequence[int] = "bytes",
        *,
        window: int = 10_000,
        group: int | None = None,
        seed: int = 0,
    ) -> Pipeline:
        """Bring rows of similar length together, so that little is padded (bucketing).

        Inside each ``window`` of rows they are sorted by length and cut into groups of ``group`` rows (default: the batch
        size), and the groups are shuffled. ``by`` is one length per row, ``"bytes"``, or a field that holds a number. Put
        it after :meth:`shuffle`, directly before :meth:`batch`.
        """
        stage: dict[str, Any] = {"by": by if isinstance(by, str) else integers(np.asarray(by))}
        if group is not None:
            stage["group"] = whole("group", group)
        return self._then(op="by_length", **stage, window=whole("window", window), seed=whole("seed", seed))

    def filter(
        self,
        expr: str | Callable[..., Any],
        *,
        on: str | Iterable[str] | None = None,
        seeded: bool = True,
    ) -> Pipeline:
        """Keep the rows for which an expression is true: ``filter("label in (3, 5) and bytes < 2MB")``.

        Over ``row``, ``key``, ``shard``, ``bytes`` and the ``label`` of image folders it is applied before anything is
        read: the length is known and batches are full. Over decoded fields (``cls``, ``json.width``, ``jpg.height``) it
        is applied to samples: a row that does not fit is left out of its batch, which gets shorter.

        A Python function takes a sample, or the value of the fields ``on``, and says whether it is kept; batches get
        shorter, too.
        """
        if callable(expr):
            return self._call(Function("filter", expr, names(on), seeded, len(self._functions)))
        if not isinstance(expr, str):
            raise TypeError(f"filter takes an expression as text, or a function, got {expr!r}")
        if self._functions:
            raise ValueError("an expression filters what infeed reads: put it before the Python functions")
        return self._then(op="filter", expr=expr)

    def __add__(self, other: Pipeline) -> Pipeline:
        from .sources.joins import concat

        return concat([self, other])

    def seed(self, seed: int) -> Pipeline:
        """Set the seed of random transforms; without it they use the seed of :meth:`shuffle`."""
        return self._then(op="seed", seed=whole("seed", seed))

    def select(self, *fields: str) -> Pipeline:
        """Keep only these fields. The others are not even read."""
        return self._then(op="select", fields=list(fields))

    def decode(
        self,
        *,
        exact: bool = False,
        orientation: bool = False,
        max_pixels: int | None = None,
        **fields: Decoder,
    ) -> Pipeline:
        """Decode fields: ``decode(jpg="rgb", cls="int")``. Fields that are not named stay bytes.

        ``infeed list decoders`` shows what there is. For images: ``exact`` forbids the decoder to shrink while it
        decodes, ``orientation`` applies the EXIF orientation, ``max_pixels`` limits the size that is accepted.
        """
        if not fields:
            raise ValueError('decode needs at least one field, for example decode(jpg="rgb")')
        image: dict[str, Any] = {"exact": exact, "orientation": orientation}
        if max_pixels is not None:
            image["max_pixels"] = whole("max_pixels", max_pixels)
        uses = {}
        for field, name in fields.items():
            if not isinstance(name, str):
                raise TypeError(f"decode({field}=...) takes the name of a decoder, got {name!r}")
            uses[field] = {"name": name, "args": image if name in ("rgb", "gray", "stored") else {}}
        return self._then(op="decode", fields=uses)

    def map(
        self,
        *transforms: Transform | Callable[..., Any],
        on: str | Iterable[str] | None = None,
        seeded: bool = True,
    ) -> Pipeline:
        """Apply transforms of :mod:`infeed.transforms`, or Python functions, one after the other.

        ``on`` names the field or fields. Transforms without it work on every image; several fields get the same random
        choices, so an image and its mask stay aligned.

        A Python function takes a sample (a dict of arrays) and gives one; with ``on`` it takes and gives the value of
        that field, or a tuple of values. Transforms of torchvision and albumentations are such functions. Who runs them
        is said to the door: ``to_torch(workers="threads" | "processes" | "consumer", num_workers=...)``. A function with
        a parameter ``rng`` gets a NumPy generator of its own for each row. For others the generators of ``random``,
        ``numpy.random`` and torch are seeded per row, unless ``seeded=False`` or they run in threads, where nothing
        global can be seeded.
        """
        if not transforms:
            raise ValueError("map needs at least one transform or function")
        fields = names(on)
        out = self
        for transform in transforms:
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

    def flat_map(self, function: Callable[..., Iterable[Any]], *, seeded: bool = True) -> Pipeline:
        """Apply a Python function that makes any number of samples of one: it gives an iterable of samples.

        ``batch(64)`` counts rows: a batch holds all samples that its 64 rows became.
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
    ) -> Pipeline:
        """Make ``count`` views of one image, each with random choices of its own, as SimCLR and DINO want them.

        The views are fields of their own: ``jpg_0``, ``jpg_1``, ..., or with ``to="global"`` ``global_0``, ``global_1``.
        ``transforms`` are applied to each; :meth:`map` with ``on="jpg_0"`` does more to one of them. The image is decoded
        once for all its views. Several fields (``views(["jpg", "mask"], 2, ...)``) share the choices inside each view.

        The field itself can go into more views, and otherwise is not there any more, unless ``keep=True`` says so:

        >>> data = data.views("jpg", 2, T.RandomResizedCrop(224), to="global")
        >>> data = data.views("jpg", 6, T.RandomResizedCrop(96), to="local")
        """
        fields = [field] if isinstance(field, str) else list(field)
        names = fields if to is None else [to] if isinstance(to, str) else list(to)
        if not fields or len(names) != len(fields):
            raise ValueError(f"views needs one name in to= for each field, got {names} for {fields}")
        if whole("count", count) == 0:
            raise ValueError("views needs a count of at least 1")
        out = self
        for source, name in zip(fields, names, strict=True):
            copies = [f"{name}_{i}" for i in range(count)]
            out = out._then(op="copy", field=source, to=copies, keep=bool(keep))
        if transforms:
            for i in range(count):
                out = out.map(*transforms, on=[f"{name}_{i}" for name in names])
        return out

    def batch(
        self,
        size: int | None = None,
        *,
        global_size: int | None = None,
        drop_last: bool = False,
        last: LastBatch = "short",
        ragged: Ragged = "list",
        pad_value: float = 0,
        pad_multiple: int | None = None,
        pad_length: int | None = None,
        collate: Callable[[list[Any]], Any] | None = None,
    ) -> Pipeline:
        """Make batches of ``size`` samples on every rank, or of ``global_size`` samples over all ranks together.

        ``last`` says what becomes of rows that do not fill a batch: ``"short"`` (a smaller batch, shared evenly by the
        ranks), ``"drop"`` (the same as ``drop_last=True``) or ``"pad"`` (rows from the epoch's start fill it up; they are
        marked in ``batch["__pad__"]``). Every rank has the same number of steps in each case.

        Fields of one shape become one array. Fields whose shape varies become lists of arrays, or with
        ``ragged="pad"`` one array in which each sample is padded at its end with ``pad_value``: to the longest of the
        batch, to a multiple of ``pad_multiple``, or to ``pad_length``. ``collate`` is a Python function that makes
        a batch of a list of samples instead.
        """
        one_of("ragged", ragged, Ragged)
        one_of("last", last, LastBatch)
        if drop_last and last == "pad":
            raise ValueError('drop_last=True and last="pad" contradict each other')
        if (size is None) == (global_size is None):
            raise ValueError("batch takes either size (per rank) or global_size (over all ranks)")
        stage: dict[str, Any] = {}
        if size is not None:
            stage["size"] = whole("batch size", size)
        if global_size is not None:
            stage["global_size"] = whole("global_size", global_size)
        for name, value in (("pad_multiple", pad_multiple), ("pad_length", pad_length)):
            if value is not None:
                if ragged != "pad":
                    raise ValueError(f'{name}= belongs to ragged="pad"')
                stage[name] = whole(name, value)
        last = "drop" if drop_last else last
        out = self._then(op="batch", **stage, last=last, ragged=ragged, pad_value=float(pad_value))
        if collate is None:
            return out
        if not callable(collate):
            raise TypeError(f"collate takes a function, got {collate!r}")
        return Pipeline(out.recipe, self._given, self._functions, collate)

    def map_batch(
        self,
        *transforms: BatchTransform | Callable[..., Any],
        on: str | Iterable[str] | None = None,
        seeded: bool = True,
    ) -> Pipeline:
        """Apply transforms to whole batches, after :meth:`batch`: ``MixUp``, ``CutMix``, ``RandomMix``, or functions.

        ``on`` names the fields; without it transforms mean every image, and functions take and give the whole batch. The
        labels of a mixed batch become shares of classes, ``float32[batch, num_classes]``. Each batch is mixed by the
        thread that finishes it; its random choices depend on (seed, epoch, first row of the batch), and so does the
        generator that a function with a parameter ``rng`` gets. Functions run where those of :meth:`map` run.
        """
        if not transforms:
            raise ValueError("map_batch needs at least one transform or function")
        fields = names(on)
        out = self
        for transform in transforms:
            if isinstance(transform, BatchTransform):
                if out._runs_python:
                    raise ValueError(
                        f"{transform.name} works on what infeed makes: put it before Python functions, or use"
                        " to_torch(on_device=[...])"
                    )
                out = out._then(op="map_batch", name=transform.name, on=list(fields), args=transform.args)
            elif isinstance(transform, Transform):
                raise TypeError(f"{transform.name} works on samples: use map({transform!r}) before batch()")
            elif callable(transform):
                out = out._call(Function("map_batch", transform, fields, seeded, len(out._functions)))
            else:
                raise TypeError(f"map_batch takes batch transforms and functions, got {transform!r}")
        return out

    def to_tuple(self, *fields: str) -> Pipeline:
        """Hand batches out as tuples of these fields instead of dicts; other fields are not read."""
        if self._runs_python:
            return self._call(Function("tuple", fields))
        return self._then(op="tuple", fields=list(fields))

    def to_numpy(self, **options: Unpack[LoaderOptions]) -> Loader:
        """Open the NumPy door: a :class:`~infeed.loader.Loader` whose batches are dicts of arrays.

        See :class:`~infeed.loader.Loader` for the options (threads, memory, on_error, ...).
        """
        from .doors.loader import Loader

        refuse_unknown("to_numpy", options)
        return Loader(self, **options)

    @overload
    def to_torch(self, *, device: None = None, **options: Unpack[LoaderOptions]) -> TorchLoader: ...
    @overload
    def to_torch(self, *, device: str | int | torch.device, **options: Unpack[DeviceOptions]) -> DeviceLoader: ...
    def to_torch(self, *, device: str | int | torch.device | None = None, **options: Any) -> TorchLoader:
        """Open the PyTorch door: a :class:`~infeed.torch.TorchLoader` whose batches are dicts of tensors.

        Tensors share the batch's memory. With ``device`` they are on that device already when they are handed out, and
        there are more options (``on_device``, ``dtype``, ``channels_last``, ...): see
        :class:`~infeed.torch.DeviceLoader`. For the others see :class:`~infeed.loader.Loader`.
        """
        from .torch import DeviceLoader, TorchLoader

        refuse_unknown("to_torch", options, DeviceOptions, "device")
        if device is not None:
            return DeviceLoader(self, device=device, **options)
        lost = ON_DEVICE & options.keys()
        if lost:
            raise TypeError(
                f'{min(lost)}= is an option of the way to a device: give device="cuda" (or "cpu") with it'
            )
        return TorchLoader(self, **options)

    def to_jax(
        self,
        *,
        sharding: jax.sharding.Sharding | None = None,
        device: Any = None,
        ahead: int = 2,
        **options: Unpack[LoaderOptions],
    ) -> JaxLoader:
        """Open the JAX door: a :class:`~infeed.jax.JaxLoader` whose batches are dicts of ``jax.Array``.

        With ``sharding`` they are global arrays over the devices of all processes. The next ``ahead`` batches are on
        their way to the device before they are asked for. See :class:`~infeed.loader.Loader` for the other options.
        """
        from .doors.jax import JaxLoader

        refuse_unknown("to_jax", options, LoaderOptions, "sharding", "device", "ahead")
        return JaxLoader(self, sharding=sharding, device=device, ahead=ahead, **options)

    def to_tf(self, *, state: Mapping[str, Any] | None = None, **options: Unpack[LoaderOptions]) -> Any:
        """Open the TensorFlow door: a ``tf.data.Dataset`` whose elements are batches. Each pass is the next epoch.

        Numeric arrays share the batch's memory; texts, JSON and bytes are ``tf.string``; arrays of varying shape are
        ``tf.RaggedTensor``. ``state`` begins where a :meth:`~infeed.Loader.state_dict` says;
        :func:`infeed.tf.loader_of` finds the loader behind the dataset. See :class:`~infeed.loader.Loader` for the
        options.
        """
        from .doors.tf import dataset

        refuse_unknown("to_tf", options, LoaderOptions, "state")
        return dataset(self, state=state, **options)

    def to_arrow(self, *, meta: bool = False, **options: Unpack[LoaderOptions]) -> ArrowLoader:
        """Open the Arrow door: an :class:`~infeed.arrow_door.ArrowLoader` whose batches are ``pyarrow.RecordBatch``.

        Polars, pandas, DuckDB and all that speak Arrow take them. ``meta=True`` adds the columns ``__key__``, ``__row__``
        and ``__url__``. See :class:`~infeed.loader.Loader` for the other options.
        """
        from .doors.arrow import ArrowLoader

        refuse_unknown("to_arrow", options, LoaderOptions, "meta")
        return ArrowLoader(self, meta=meta, **options)

    def explain(self) -> str:
        """Stages and specs in words. Opens the data but reads no sample."""
        return self.plan.explain()

    @property
    def classes(self) -> list[str]:
        """Class names of an image folder or manifest; empty where there are none."""
        return self.plan.classes

    def rows(self) -> int:
        """How many samples an epoch has."""
        if self.plan.is_stream:
            raise TypeError("nobody knows how many rows a stream has before it ends")
        return self.plan.places

    def order(self, epoch: int = 0, start: int = 0, stop: int | None = None) -> npt.NDArray[np.int64]:
        """The row numbers of an epoch in their order, without reading: those of ``batch["__row__"]``."""
        stop = self.rows() if stop is None else stop
        return np.asarray(self.plan.order(epoch, start, stop), dtype=np.int64)

    def quality(self, *, epoch: int = 0, batch: int | None = None) -> Quality:
        """How well the order mixes, measured: against a global shuffle, and how many shards feed one batch."""
        self.rows()
        numbers, text = self.plan.quality(epoch, batch)
        return Quality(json.loads(numbers), text)

    def verify(self, ledgers: Iterable[Mapping[str, Any]], epoch: int | None = None) -> Verdict:
        """Hold the :meth:`~infeed.Loader.ledger` of all ranks and all restarts against the order of an epoch, or of every
        epoch they know. ``infeed verify-epoch`` does the same with files.
        """
        exact, text = self.plan.verify([json.dumps(dict(ledger)) for ledger in ledgers], epoch)
        return Verdict(exact, text)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the recipe to a file that ``infeed bench`` and ``infeed verify-epoch`` read."""
        if self._given or self._runs_python:
            raise ValueError("what Python hands over (iterators, arrays, functions) has no recipe to be written down")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.recipe, file, indent=1)

    def __len__(self) -> int:
        self.rows()
        return self.plan.batches

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pipeline) and self._parts() == other._parts()

    def _parts(self) -> tuple[Any, ...]:
        return self._json, self._given, self._functions, self._collate

    def __hash__(self) -> int:
        return hash(self._json)

    def __repr__(self) -> str:
        recipe = self.recipe
        return short(recipe)

    def __reduce__(self) -> tuple[Any, ...]:
        return Pipeline, (self.recipe, self._given, self._functions, self._collate)

    def __iter__(self) -> Any:
        raise TypeError("a pipeline only describes; iterate over pipeline.to_numpy() or another door")
