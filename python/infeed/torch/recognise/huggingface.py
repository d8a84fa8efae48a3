"""Data sets of Hugging Face ``datasets``: columns of Arrow tables, used in place."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from ... import sources
from ... import transforms as T
from ...pipeline import Pipeline
from ...sources.memory import Cells
from .leaf import Leaf, Rows, Same, Tree, unchanged
from .pillow import check_bytes, check_settings
from .words import Unknown

# Tables with more chunks are refused: they should be rewritten (save_to_disk).
MOST_CHUNKS = 20_000
# If the features do not say the mode of images, every header is read: at most this many.
MOST_HEADERS = 200_000


def tree(dataset: Any) -> Tree | None:
    """The twin of a ``datasets.Dataset``; None for anything else."""
    module = sys.modules.get("datasets")
    if module is None or not isinstance(dataset, module.Dataset):
        return None
    unchanged(dataset, module.Dataset, "_getitem")
    form = dataset._format_type
    if form not in (None, "torch", "numpy"):
        raise Unknown(f"its format is {form!r}; None, 'torch' and 'numpy' are known")
    if any(isinstance(feature, module.Image) for feature in dataset.features.values()):
        check_settings()
    if dataset._format_kwargs:
        raise Unknown("its format has arguments of its own")
    names = list(dataset.column_names)
    if form is not None and dataset._format_columns is not None:
        if dataset._output_all_columns and set(names) != set(dataset._format_columns):
            raise Unknown("output_all_columns=True mixes formats")
        names = [name for name in names if name in dataset._format_columns]
    leaf = _leaf(module, dataset, names, form)
    rows: Rows | None = None
    if dataset._indices is not None:
        rows = dataset._indices.column(0).to_numpy().astype(np.int64)
    return Tree([leaf], rows, leaf.words)


def _leaf(module: Any, dataset: Any, names: list[str], form: str | None) -> Leaf:
    columns = {name: Column(module, name, dataset.features[name], form) for name in names}
    table = dataset._data
    # Fields are named by numbers, because column names may be anything.
    fields = {name: str(at) for at, name in enumerate(names)}
    images = {name: fields[name] for name, column in columns.items() if column.is_image}
    after: dict[str, Callable[[Any], Any]] = {}
    if form == "numpy":
        after = dict.fromkeys(images.values(), _without_channel)

    def make(place: str) -> Pipeline:
        chunks = [{fields[name]: cells for name, cells in chunk.items()} for chunk in _chunks(table, columns)]
        parts = [sources.arrays(chunk, name=f"chunk {at}") for at, chunk in enumerate(chunks)]
        pipeline = sources.concat(parts) if len(parts) > 1 else parts[0]
        for name, field in images.items():
            decoder: dict[str, Any] = {field: columns[name].decoder(table.column(name))}
            pipeline = pipeline.decode(orientation=True, exact=True, **decoder)
            pipeline = pipeline.map(T.ToCHW(), on=field) if form == "torch" else pipeline
        return pipeline

    kinds = ", ".join(f"{name}: {column.kind}" for name, column in columns.items())
    words = [
        f"datasets.Dataset of {table.num_rows} rows, format {form} ({kinds}) -> infeed.arrays on the Arrow buffers"
    ]
    mark = ("arrow", Same(table), form, names)
    return Leaf(table.num_rows, make, tuple(fields.values()), tuple(names), False, words, mark, after)


def _without_channel(column: Any) -> Any:
    """NumPy arrays of gray images have two dimensions."""
    return column[..., 0] if column.shape[-1] == 1 else column


def _chunks(table: Any, columns: dict[str, Column]) -> list[dict[str, Any]]:
    """The table split into contiguous chunks."""
    if not any(column.varies for column in columns.values()):
        return [{name: column.array(table.column(name).combine_chunks()) for name, column in columns.items()}]
    batches = [batch for batch in table.table.select(list(columns)).to_batches() if batch.num_rows]
    if len(batches) > MOST_CHUNKS:
        raise Unknown(f"its table lies in {len(batches)} chunks; .save_to_disk() and load_from_disk() make fewer")
    out = [{name: column.array(batch.column(name)) for name, column in columns.items()} for batch in batches]
    for name, column in columns.items():
        if column.is_list and len({chunk[name].shape[1] for chunk in out}) > 1:
            raise Unknown(f"lists of the column {name!r} differ in length")
    return out


class Column:
    """The type of a column, and what torch would make of it."""

    def __init__(self, module: Any, name: str, feature: Any, form: str | None) -> None:
        self.name = name
        self.form = form
        self.feature = feature
        self.is_image = isinstance(feature, module.Image)
        self.is_list = type(feature).__name__ in ("List", "Sequence", "LargeList")
        inner = feature.feature if self.is_list else feature
        self.kind = "image" if self.is_image else "int64" if isinstance(inner, module.ClassLabel) else ""
        if isinstance(inner, module.Value):
            self.kind = inner.dtype
        self.varies = self.is_image or self.kind in ("string", "large_string")
        self._check()

    def _check(self) -> None:
        if self.is_image:
            if self.form is None:
                raise Unknown(
                    f"the column {self.name!r} gives PIL images in this format: with_format('torch') gives tensors"
                )
            if not self.feature.decode:
                raise Unknown(f"the column {self.name!r} has images that are not to be decoded")
            if self.feature.mode not in (None, "RGB", "L"):
                raise Unknown(f"images of mode {self.feature.mode} have no native twin")
        elif self.kind in ("string", "large_string"):
            if self.form == "numpy" or self.is_list:
                raise Unknown(f"text in the column {self.name!r} is left in Python in this format")
        elif self.kind not in TYPES:
            raise Unknown(f"the column {self.name!r} is {self.feature}, which has no native twin")
        elif self.is_list and self.form is None:
            raise Unknown(f"lists in the column {self.name!r} need the format 'torch' or 'numpy'")

    def array(self, column: Any) -> Any:
        """A chunk of the column as an array for a source: without a copy if the types agree."""
        if column.null_count:
            raise Unknown(f"the column {self.name!r} has missing values")
        if self.is_image:
            column = column.flatten()[0]
            if column.null_count:
                raise Unknown(f"images of the column {self.name!r} lie in files of their own")
        if self.varies:
            return _cells(column, text=not self.is_image)
        if not self.is_list:
            return self._numbers(column)
        values = column.flatten()
        width = len(values) // max(1, len(column))
        if not (np.asarray(column.value_lengths()) == width).all() or width == 0:
            raise Unknown(f"lists of the column {self.name!r} differ in length")
        return self._numbers(values).reshape(len(column), width)

    def _numbers(self, column: Any) -> Any:
        if column.null_count:
            raise Unknown(f"the column {self.name!r} has missing values")
        values = column.to_numpy(zero_copy_only=False)
        kind = TYPES[self.kind]
        # Python's floats are collated to f64; the formatters of datasets make f32.
        kind = np.float64 if kind is np.float32 and self.form is None else kind
        return values.astype(kind, copy=False)

    def decoder(self, column: Any) -> str:
        """The decoder that gives what Pillow gives."""
        if self.feature.mode is not None:
            every = -(-len(column) // MOST_HEADERS) or 1
            stored = (chunk.flatten()[0] for chunk in column.chunks)
            check_bytes(cells[at].as_buffer() for cells in stored for at in range(0, len(cells), every))
            return "rgb" if self.feature.mode == "RGB" else "gray"
        if len(column) > MOST_HEADERS:
            raise Unknown(
                f"cast_column({self.name!r}, Image(mode='RGB')) is needed for more than {MOST_HEADERS} images"
            )
        import PIL.Image

        modes = set()
        for chunk in column.chunks:
            for data in chunk.flatten()[0]:
                with PIL.Image.open(io.BytesIO(data.as_buffer())) as image:
                    modes.add(image.mode)
        if modes not in ({"RGB"}, {"L"}):
            raise Unknown(f"its images are of the modes {', '.join(sorted(modes))}; all RGB or all L are known")
        return "rgb" if modes == {"RGB"} else "gray"


TYPES: dict[str, Any] = {f"{sign}int{bits}": np.int64 for sign in ("", "u") for bits in (8, 16, 32, 64)}
TYPES |= {"bool": np.bool_, "float16": np.float32, "float32": np.float32, "float64": np.float32}
del TYPES["uint64"]


def _cells(column: Any, *, text: bool) -> Cells:
    pa = sys.modules["pyarrow"]
    wide = pa.types.is_large_string(column.type) or pa.types.is_large_binary(column.type)
    if not wide and not pa.types.is_string(column.type) and not pa.types.is_binary(column.type):
        raise Unknown(f"a column is stored as {column.type}, which has no native twin")
    _, offsets, data = column.buffers()
    places = np.frombuffer(offsets, dtype=np.int64 if wide else np.int32)[column.offset :][: len(column) + 1]
    return Cells(data if data is not None else b"", places.astype(np.uint64), text=text)
