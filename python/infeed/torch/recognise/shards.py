"""WebDataset pipelines of the usual shape over local tars.

The stages that choose and shuffle shards and samples run unchanged, on row numbers in place of samples: the order is
WebDataset's own. Reading, decoding, transforms and batches are native.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlparse

from torch.utils.data import DataLoader

from ... import _core, sources
from ...pipeline import Pipeline
from .chain import Chain, Form
from .leaf import Leaf, Tree, unchanged
from .own import is_default_collate, is_default_convert
from .pillow import check_settings
from .transforms import translate
from .words import Unknown, short

NUMBERS = ("cls", "cls2", "index", "inx", "id")
TEXTS = ("txt", "text", "transcript")
IMAGES = {"pil": Form.PIL, "pilrgb": Form.PIL, "rgb8": Form.NUMPY, "torchrgb8": Form.U8}
IMAGES |= {"torch": Form.FLOAT, "torchrgb": Form.FLOAT}


class Stages:
    """The stages of a WebDataset, by their role."""

    def __init__(self, dataset: Any) -> None:
        self.wds = sys.modules["webdataset"]
        unchanged(dataset, self.wds.DataPipeline, "__iter__", "iterator", "iterator1", "invoke")
        if dataset.repetitions != 1 or dataset.nsamples > 0:
            raise Unknown("with_epoch() and repeat() cut the stream in ways that are left in Python")
        self.dataset = dataset
        self.filters = sys.modules["webdataset.filters"]
        self.lists = sys.modules["webdataset.shardlists"]
        first, *stages = dataset.pipeline
        if type(first) is not self.lists.SimpleShardList:
            raise Unknown(f"its shards come from {type(first).__name__}, not from a plain list")
        self.urls: list[str] = list(first.urls)
        self.spec = ""
        self.images: set[str] = set()
        self.fields: tuple[str, ...] = ()
        self.maps: list[tuple[Any, ...]] = []
        self.batch: tuple[int, bool] | None = None
        self.on_shards: list[Any] = [first]
        self.on_rows: list[Any] = []
        opened = 0
        for stage in stages:
            if type(stage).__name__ == "StreamingOpen":
                self._raises(stage.handler)
                opened = 1
            elif opened == 0:
                self._shard_stage(stage)
            else:
                self._row_stage(stage)
        if not self.spec or not self.fields:
            raise Unknown("it has no decode() followed by to_tuple()")

    def _raises(self, handler: Any) -> None:
        if handler is not self.filters.reraise_exception and handler.__name__ != "reraise_exception":
            raise Unknown(f"the handler {short(handler)} is left in Python")

    def _is(self, stage: Any, name: str) -> bool:
        return type(stage) is self.filters.FilterFunction and stage.f is getattr(self.filters, name)

    def _shard_stage(self, stage: Any) -> None:
        plain = (self.lists.single_node_only, self.lists.split_by_node, self.lists.split_by_worker)
        if stage in plain or self._is(stage, "_shuffle") or type(stage) is self.filters.detshuffle:
            self.on_shards.append(stage)
        else:
            raise Unknown(f"the stage {short(stage)} before opening is unknown")

    def _row_stage(self, stage: Any) -> None:
        if self.batch is not None:
            raise Unknown(f"the stage {short(stage)} comes after batched()")
        args: tuple[Any, ...] = getattr(stage, "args", ())
        given: dict[str, Any] = getattr(stage, "kw", {})
        name = getattr(getattr(stage, "f", stage), "__name__", "")
        if name == "tar_file_expander" or name == "group_by_keys":
            self._raises(given["handler"])
            if any(given.get(key) is not None for key in ("select_files", "rename_files")):
                raise Unknown("select_files and rename_files are left in Python")
        elif name == "check_empty":
            return
        elif self._is(stage, "_shuffle") or type(stage) is self.filters.detshuffle:
            self.on_rows.append(stage)
        elif self._is(stage, "_map") and type(args[0]).__name__ == "Decoder":
            self._raises(given["handler"])
            self._decode(args[0])
        elif self._is(stage, "_to_tuple") and not given and not self.fields:
            self.fields = tuple(args[0].split()) if len(args) == 1 else tuple(args)
        elif self._is(stage, "_map_tuple") and self.fields:
            self._raises(given["handler"])
            self.maps.append(args)
        elif self._is(stage, "_batched"):
            if given["collation_fn"] is not self.filters.default_collation_fn:
                raise Unknown("batched() has a collation_fn of its own")
            self.batch = (args[0], given["partial"])
        else:
            raise Unknown(f"the stage {short(stage)} is left in Python")

    def _decode(self, decoder: Any) -> None:
        names = [getattr(handler, "__name__", type(handler).__name__) for handler in decoder.handlers]
        if self.spec or self.fields or names != ["gzfilter", "ImageHandler", "basichandlers"] or decoder.only:
            raise Unknown("only one decode() with the name of an image format, before to_tuple(), is known")
        self.spec, self.images = decoder.handlers[1].imagespec, decoder.handlers[1].extensions
        if self.spec not in IMAGES:
            raise Unknown(f"decode({self.spec!r}) has no native twin; {', '.join(IMAGES)} have one")


def tree(loader: DataLoader[Any]) -> Tree | None:
    """The twin of a WebDataset; None for anything else."""
    module = sys.modules.get("webdataset")
    if module is None or not isinstance(loader.dataset, module.WebDataset):
        return None
    stages = Stages(loader.dataset)
    if loader.batch_size is None:
        if stages.batch is None or not is_default_convert(loader.collate_fn):
            raise Unknown("batch_size=None needs batched() in the WebDataset and no collate_fn")
    elif stages.batch is not None or not is_default_collate(loader.collate_fn):
        raise Unknown("batches of batches, or with a collate_fn of their own, are left in Python")
    size, partial = stages.batch or (loader.batch_size or 1, not loader.drop_last)
    paths = [_local(url) for url in stages.urls]
    if len(set(paths)) != len(paths):
        raise Unknown("a shard is listed twice")
    leaf = _leaf(stages, paths, auto=stages.batch is None)

    def stream(plan: _core.Plan) -> Iterator[list[int]]:
        return _batches(_rows(stages, paths, plan), size, partial)

    return Tree([leaf], None, leaf.words, stream)


def _local(url: str) -> str:
    parsed = urlparse(url)
    if parsed.scheme not in ("", "file"):
        raise Unknown(f"the shard {url} is not a local file")
    if any(letter in parsed.path for letter in "{}*?[]") or "::" in parsed.path:
        raise Unknown(f"the name {parsed.path} would be read as a pattern")
    return parsed.path


def _leaf(stages: Stages, paths: list[str], auto: bool) -> Leaf:
    try:
        there = {name for name, _, _ in sources.tar(paths[0]).plan.fields}
    except (ValueError, OSError) as error:
        raise Unknown(f"its first shard cannot be read natively: {error}") from error
    fields = [_present(names, there) for names in stages.fields]
    if len(set(fields)) != len(fields):
        raise Unknown("a field stands in to_tuple() twice")
    decoders: dict[str, Any] = {}
    chains: dict[str, Chain] = {}
    words: list[str] = []
    after: dict[str, Callable[[Any], Any]] = {}
    for place, field in enumerate(fields):
        functions = [given[place] for given in stages.maps if place < len(given)]
        functions = [f for f in functions if f is not None and getattr(f, "__name__", "") != "identity"]
        extension = field.rsplit(".", 1)[-1]
        if extension.lower() in ("tif", "tiff", "ppm", "pgm", "pbm", "pnm"):
            raise Unknown(f"Pillow reads images of the type {extension} in ways of its own")
        if extension.lower() in stages.images:
            decoders[field] = "rgb"
            chains[field] = _image(stages.spec, functions)
            words += [f"{field}: decoded natively as {stages.spec}", *chains[field].words]
        elif functions:
            raise Unknown(f"map_tuple of {field} with {short(functions[0])} is left in Python")
        elif extension in NUMBERS:
            decoders[field] = "int"
        elif extension in TEXTS:
            decoders[field] = "text"
            after[field] = tuple if auto else list
        else:
            raise Unknown(f"the field {field} has no native decoder that gives what WebDataset's gives")

    if chains:
        check_settings()

    def make(place: str) -> Pipeline:
        pipeline = sources.concat([sources.tar(path) for path in paths]).decode(**decoders)
        for field, chain in chains.items():
            pipeline = pipeline.map(*chain.steps, on=field) if chain.steps else pipeline
        return pipeline.select(*fields)

    head = [f"WebDataset of {len(paths)} shards -> infeed.tar; its own stages choose the order, on row numbers"]
    head.append("shards are not dealt to worker processes: it is one stream, as with num_workers=0")
    random = any(chain.random for chain in chains.values())
    steps = [(field, chain.steps) for field, chain in chains.items()]
    mark = ("tars", paths, fields, decoders, steps, auto)
    return Leaf(0, make, tuple(fields), None, random, head + words, mark, after)


def _present(names: str, there: set[str]) -> str:
    found = [name for name in names.split(";") if name in there]
    if len(found) != 1:
        raise Unknown(f"to_tuple({names!r}) finds {len(found)} of these in the first shard; exactly one is wanted")
    return found[0]


def _image(spec: str, functions: list[Any]) -> Chain:
    form = IMAGES[spec]
    chain = Chain(Form.U8 if form is Form.FLOAT else form)
    if form is Form.FLOAT:
        chain.to_float(scale=True)
    for function in functions:
        translate(function, chain)
    if chain.form is Form.PIL:
        raise Unknown("its samples stay PIL images, which cannot be collated: end with ToImage() or ToTensor()")
    return chain


def _rows(stages: Stages, paths: list[str], plan: _core.Plan) -> Iterator[int]:
    """Row numbers in the order that WebDataset's own stages give."""
    counts = [rows for _, rows in plan.leaves]
    ends = list(itertools.accumulate(counts))
    of = {path: range(end - count, end) for path, count, end in zip(paths, counts, ends, strict=True)}

    def flow(source: Any, more: list[Any]) -> Iterator[Any]:
        for stage in more:
            source = stages.dataset.invoke(stage, source)
        return iter(source)

    shards = flow(stages.dataset.invoke(stages.on_shards[0]), stages.on_shards[1:])
    return flow((row for shard in shards for row in of[_local(shard["url"])]), stages.on_rows)


def _batches(rows: Iterator[int], size: int, partial: bool) -> Iterator[list[int]]:
    while batch := list(itertools.islice(rows, size)):
        if len(batch) == size or partial:
            yield batch
