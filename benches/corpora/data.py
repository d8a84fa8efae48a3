"""Makes the data of the works, once: run in the environment `corpora`, the TFRecords in `tensorflow`.

python -m corpora.data FOLDER full|quick WORK [FOLDER_WITH_TEXT ...]
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

from . import works
from .works import FULL, QUICK, Sizes

PARTS = 4
#: What each work reads.
NEEDS = {
    "tokens": "tokens",
    "text": "text",
    "tokenize": "text",
    "jsonl": "text",
    "table": "table",
    "fields": "table",
    "tfrecord": "tfrecord",
}


def tokens(out: Path, sizes: Sizes) -> None:
    """One raw file of u16."""
    import numpy as np

    np.random.default_rng(0).integers(0, 50_000, sizes.tokens, dtype=np.uint16).tofile(out / "tokens.bin")


def table(out: Path, sizes: Sizes) -> None:
    """Parquet files of noise, which nothing can compress away."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    (out / "table").mkdir(exist_ok=True)
    rows = sizes.table_rows // works.TABLE_FILES
    for k in range(works.TABLE_FILES):
        rng = np.random.default_rng(k)
        columns = {f"f{i:02d}": rng.standard_normal(rows, np.float32) for i in range(works.TABLE_COLUMNS)}
        columns["label"] = rng.integers(0, 2, rows)
        path = out / "table" / f"part-{k:02d}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=works.ROW_GROUP, compression="snappy")


def text(out: Path, sizes: Sizes, more: list[Path]) -> None:
    """Natural text as Parquet and as JSON lines, and a tokenizer trained on it."""
    import pyarrow as pa
    import pyarrow.parquet as pq
    import zstandard

    from .natural import documents

    made = documents(sizes.text_bytes, more)
    (out / "text").mkdir(exist_ok=True)
    rng = random.Random(2)
    json_bytes = 0
    for k in range(PARTS):
        part = made[k::PARTS]
        pq.write_table(
            pa.table({"text": part}), out / "text" / f"part-{k}.parquet", compression="zstd", row_group_size=1000
        )
        lines = "".join(line(i * PARTS + k, document, rng) for i, document in enumerate(part)).encode()
        json_bytes += len(lines)
        (out / "text" / f"part-{k}.jsonl.zst").write_bytes(zstandard.compress(lines, 3))
    train(made[::2], out / "tokenizer.json")
    size = sum(len(document.encode()) for document in made)
    meta = {"documents": len(made), "text_bytes": size, "json_bytes": json_bytes}
    (out / "meta.json").write_text(json.dumps(meta))


def line(number: int, document: str, rng: random.Random) -> str:
    """One line as crawls have them: the text and more beside it."""
    row = {
        "id": number,
        "url": f"https://example.org/{rng.getrandbits(64):016x}/{number}.html",
        "date": f"20{rng.randint(10, 26)}-{rng.randint(1, 12):02d}-{rng.randint(1, 28):02d}",
        "text": document,
        "length": len(document),
        "hash": f"{rng.getrandbits(128):032x}",
        "tags": rng.sample(["code", "doc", "news", "forum", "licence", "faq"], 2),
        "meta": {"lang": "en", "score": round(rng.random(), 6), "source": {"name": "docs", "part": number % 7}},
    }
    return json.dumps(row, ensure_ascii=False) + "\n"


def train(documents: list[str], path: Path) -> None:
    """A byte-level BPE."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=works.VOCABULARY,
        special_tokens=[works.END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(documents, trainer, length=len(documents))
    made.save(str(path))


def tfrecord(out: Path, sizes: Sizes) -> None:
    """Examples of random bytes and a label, written by tensorflow itself."""
    import numpy as np
    import tensorflow as tf

    (out / "tfrecord").mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    for k in range(works.RECORD_FILES):
        with tf.io.TFRecordWriter(str(out / "tfrecord" / f"part-{k}.tfrecord")) as writer:
            for i in range(sizes.records // works.RECORD_FILES):
                image = tf.train.Feature(bytes_list=tf.train.BytesList(value=[rng.bytes(works.RECORD_BYTES)]))
                label = tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 1000]))
                features = tf.train.Features(feature={"image": image, "label": label})
                writer.write(tf.train.Example(features=features).SerializeToString())


def main() -> None:
    """Make one kind of data and note that it is there."""
    out, sizes, kind = Path(sys.argv[1]), {"full": FULL, "quick": QUICK}[sys.argv[2]], sys.argv[3]
    out.mkdir(parents=True, exist_ok=True)
    if kind == "text":
        text(out, sizes, [Path(p) for p in sys.argv[4:]])
    else:
        {"tokens": tokens, "table": table, "tfrecord": tfrecord}[kind](out, sizes)
    (out / f"{kind}.done").touch()


if __name__ == "__main__":
    main()
