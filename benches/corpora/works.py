"""The works: what is measured, in which ways, and the ratios that infeed has to reach.

Standard library only: this module is imported in every environment, beside very different packages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

#: One pass over the data of a work; returns how many units were delivered.
Pass = Callable[[], int]


@dataclass(frozen=True)
class Sizes:
    """How much data there is."""

    name: str
    tokens: int
    text_bytes: int
    table_rows: int
    records: int


FULL = Sizes("full", tokens=200_000_000, text_bytes=64_000_000, table_rows=10_000_000, records=4_000)
QUICK = Sizes("quick", tokens=20_000_000, text_bytes=8_000_000, table_rows=1_000_000, records=800)

SEQUENCE, TOKEN_BATCH = 2_049, 16
VOCABULARY = 32_000
PACKED, PACKED_BATCH = 1_024, 16
TABLE_BATCH, TABLE_FILES, TABLE_COLUMNS, ROW_GROUP, BUFFERED_GROUPS = 4_096, 10, 20, 131_072, 8
JSON_BATCH = 256
RECORD_BYTES, RECORD_FILES, RECORD_BATCH = 110_000, 8, 64
END = "<|endoftext|>"


@dataclass(frozen=True)
class Task:
    """What a way is asked to do."""

    data: Path
    threads: int

    def files(self, pattern: str) -> list[str]:
        """Files of the data, sorted."""
        found = sorted(str(p) for p in self.data.glob(pattern))
        if not found:
            raise FileNotFoundError(f"no {pattern} in {self.data}")
        return found

    @property
    def tokenizer(self) -> str:
        """The trained tokenizer."""
        return str(self.data / "tokenizer.json")


@dataclass(frozen=True)
class Way:
    """One way of doing a work: a function of a module, in an environment."""

    name: str
    module: str
    function: str
    #: Environment of `envs.py`; None: the interpreter that runs the benchmark.
    env: str | None = "corpora"
    #: Distributions whose versions are reported.
    packages: tuple[str, ...] = ()
    #: How it differs from what the others do.
    note: str = ""
    #: Handed to the function as it is.
    options: tuple[tuple[str, int | str], ...] = ()
    #: Whether environment variables let the tokenizers library use its own threads in this process.
    parallel: bool = True


@dataclass(frozen=True)
class Target:
    """`ours` over the best of `theirs` must reach `ratio`."""

    ours: str
    theirs: tuple[str, ...]
    ratio: float
    text: str


@dataclass(frozen=True)
class Work:
    """One line of the comparison."""

    name: str
    about: str
    unit: str
    #: The rate is shown in units divided by this.
    scale: float
    ways: tuple[Way, ...]
    targets: tuple[Target, ...] = field(default=())


def ours(function: str, name: str = "infeed", **rest: object) -> Way:
    """A way of infeed's; all of them are in `ours.py`."""
    return Way(name, "ours", function, env=None, packages=("infeed",), **rest)  # type: ignore[arg-type]


def over(theirs: tuple[str, ...], ratio: float, text: str, by: str = "infeed") -> Target:
    """A target in a few words."""
    return Target(by, theirs, ratio, text)


LOOPS = ("NumPy loop", "NumPy loop, torch.stack", "NumPy fancy index")
COPIES = (
    "memcpy, large, 1 thread",
    "memcpy, large, 2 threads",
    "memcpy, batches, 1 thread",
    "memcpy, batches, 2 threads",
)

TOKENS = Work(
    "tokens",
    f"u16 tokens in a file, sequences of {SEQUENCE:,} at shuffled places, batch {TOKEN_BATCH}, int64 out",
    "M tokens/s",
    1e6,
    (
        ours("tokens"),
        Way(LOOPS[0], "tokens", "numpy_loop", packages=("numpy",), note="slice, widen, copy into the batch"),
        Way(LOOPS[1], "tokens", "torch_stack", packages=("torch",), note="as nanoGPT: torch.stack of widened slices"),
        Way(
            LOOPS[2], "tokens", "fancy_index", packages=("numpy",), note="one gather by an index matrix, then widened"
        ),
        *(
            Way(
                name,
                "tokens",
                "memcpy",
                packages=("numpy",),
                note=note,
                options=(("kind", kind), ("threads", threads)),
            )
            for name, kind, threads, note in (
                (COPIES[0], "large", 1, "int64 copied in pieces of 256 MiB, counted as tokens of 8 bytes"),
                (COPIES[1], "large", 2, "the same"),
                (COPIES[2], "batch", 1, "whole batches copied out of a large int64 array, in shuffled order"),
                (COPIES[3], "batch", 2, "the same"),
            )
        ),
    ),
    (
        over((LOOPS[1],), 4.0, "over the memmap loop as nanoGPT has it"),
        over((LOOPS[0], LOOPS[2]), 4.0, "over the best loop of NumPy alone"),
        over((COPIES[1],), 0.5, "over memcpy of 256 MiB pieces, 2 threads, in output bytes"),
        over((COPIES[3],), 0.5, "over memcpy of batches, 2 threads, in output bytes"),
    ),
)

TEXT = Work(
    "text",
    f"Parquet (zstd) -> BPE of {VOCABULARY:,} -> packed to {PACKED:,} -> batch {PACKED_BATCH}, int64",
    "M tokens/s",
    1e6,
    (
        ours("text"),
        Way("pyarrow + tokenizers", "text", "pyarrow_tokenizers", packages=("pyarrow", "tokenizers")),
        Way("HF streaming, 0 workers", "text", "hf_streaming", packages=("datasets",), options=(("workers", 0),)),
        Way(
            "HF streaming, 2 workers",
            "text",
            "hf_streaming",
            packages=("datasets",),
            options=(("workers", 2),),
            parallel=False,
        ),
    ),
    (
        over(("pyarrow + tokenizers",), 1.1, "over pyarrow + encode_batch_fast"),
        over(("HF streaming, 0 workers", "HF streaming, 2 workers"), 3.0, "over HF streaming + DataLoader"),
    ),
)

STREAMED = "infeed, streamed"

TABLE = Work(
    "table",
    f"{TABLE_COLUMNS} f32 columns and a label, {TABLE_FILES} Parquet files (snappy), shuffled batches of {TABLE_BATCH:,}",
    "M rows/s",
    1e6,
    (
        ours(
            "table_streamed", STREAMED, note="at most 256 MB of decoded blocks: every epoch decodes all of them again"
        ),
        ours(
            "table",
            "infeed, blocks kept",
            note="as it is by default: 1 GiB of decoded blocks, which here is all of them; from the third epoch on",
        ),
        Way(
            "pyarrow row groups",
            "table",
            "row_groups",
            packages=("pyarrow",),
            note="buffers of 8 shuffled row groups",
        ),
        Way("pyarrow read_table", "table", "read_table", packages=("pyarrow",), note="all in memory, then gathered"),
        Way("polars", "table", "polars_sample", packages=("polars",), note="all in memory, sampled, then sliced"),
    ),
    (
        over(("pyarrow row groups",), 3.0, "over pyarrow streaming", by=STREAMED),
        over(("pyarrow row groups", "pyarrow read_table", "polars"), 3.0, "over the best peer", by=STREAMED),
    ),
)

FIRST = "infeed, first epoch"

FIELDS = Work(
    "fields",
    f"the same files opened plainly: {TABLE_COLUMNS + 1} fields, every setting as it is by default",
    "M rows/s",
    1e6,
    (
        ours("fields_first", FIRST, note="opened anew for every pass: all blocks are decoded"),
        ours(
            "fields", note="one epoch after the other: decoded blocks that fit 1 GiB are kept from the second one on"
        ),
        Way(
            "pyarrow row groups",
            "table",
            "row_group_fields",
            packages=("pyarrow",),
            note="buffers of 8 shuffled row groups, an array per column",
        ),
    ),
    (
        over(("pyarrow row groups",), 3.0, "over pyarrow streaming", by=FIRST),
        over(("pyarrow row groups",), 3.0, "over pyarrow streaming"),
    ),
)

JSONL = Work(
    "jsonl",
    "JSON lines (zstd), three fields of eight, one of them nested",
    "MB/s of JSON",
    1e6,
    (
        ours("jsonl"),
        ours("jsonl_arrow", "infeed to Arrow"),
        Way("pyarrow open_json", "jsonl", "open_json", packages=("pyarrow",), note="Arrow columns, streamed"),
        Way("pyarrow read_json", "jsonl", "read_json", packages=("pyarrow",), note="Arrow columns, whole files"),
        Way("pyarrow to Python", "jsonl", "read_json_pylist", packages=("pyarrow",), note="whole files, to_pylist"),
        Way("HF json streaming", "jsonl", "hf_streaming", packages=("datasets",)),
        Way("Python json", "jsonl", "python_json", packages=("zstandard",)),
    ),
    (
        over(("pyarrow to Python", "HF json streaming", "Python json"), 2.0, "over the best that gives Python texts"),
        over(("pyarrow open_json", "pyarrow read_json"), 2.0, "over the best that gives Arrow", "infeed to Arrow"),
    ),
)

TFRECORD = Work(
    "tfrecord",
    f"tf.train.Examples of {RECORD_BYTES // 1000} KB and a label, crc checked, batch {RECORD_BATCH}",
    "rows/s",
    1.0,
    (
        ours("tfrecord"),
        ours("records", "infeed records", note="not parsed"),
        Way("tf.data parsed", "tfrecord", "parsed", env="tensorflow", packages=("tensorflow-cpu",)),
        Way("tf.data NumPy", "tfrecord", "as_numpy", env="tensorflow", packages=("tensorflow-cpu",)),
        Way(
            "tf.data records",
            "tfrecord",
            "records",
            env="tensorflow",
            packages=("tensorflow-cpu",),
            note="not parsed",
        ),
    ),
    (
        over(("tf.data parsed", "tf.data NumPy"), 5.0, "over tf.data, parsed"),
        over(("tf.data records",), 5.0, "over tf.data, not parsed", "infeed records"),
    ),
)

TOKENIZE = Work(
    "tokenize",
    "`infeed tokenize` Parquet -> .bin/.idx, against tokenizers alone on texts in memory",
    "M tokens/s",
    1e6,
    (
        ours("tokenize", note="the whole command: start, reading and writing included"),
        Way("encode_batch", "text", "encode_batch", packages=("tokenizers",), note="one call, texts in memory"),
        Way("encode_batch_fast", "text", "encode_batch", packages=("tokenizers",), options=(("fast", 1),)),
    ),
    (over(("encode_batch",), 0.9, "over encode_batch"), over(("encode_batch_fast",), 0.9, "over encode_batch_fast")),
)

WORKS = {work.name: work for work in (TOKENS, TEXT, TABLE, FIELDS, JSONL, TFRECORD, TOKENIZE)}
