"""docs/trust.md says what the code does: its numbers are those of the code, and its files exist."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import pytest

import infeed

ROOT = Path(__file__).parent.parent
TRUST = (ROOT / "docs" / "trust.md").read_text()
SECURITY = (ROOT / "SECURITY.md").read_text()


@pytest.mark.parametrize(
    "file, constant, words",
    [
        (
            "infeed-core/src/memory.rs",
            "DEFAULT_LIMIT: u64 = 2 << 30",
            "one sample, with all that is made of it | 2 GiB",
        ),
        ("infeed-core/src/memory.rs", "SMALL: u64 = 64 << 20", "samples above 64 MiB"),
        ("infeed/src/engine/options.rs", "self.memory.map_or(DEFAULT_LIMIT, |memory| memory / 2)", "half of it"),
        ("infeed/src/engine/options.rs", "self.memory.unwrap_or(4 * DEFAULT_LIMIT)", "from streams) | 8 GiB"),
        ("infeed/src/layout/rows/mod.rs", "LARGEST: i64 = 256 << 20", "CSV, text, TFRecord | 256 MiB"),
        ("infeed/src/stream/tar/mod.rs", "LARGEST: u64 = 2 << 30", "| 2 GiB; 4 GiB |"),
        ("infeed/src/stream/tar/mod.rs", "LARGEST_ROW: u64 = 4 << 30", "| 2 GiB; 4 GiB |"),
        ("infeed/src/format/tar/scan.rs", "LONGEST: u64 = 1 << 20", "headers of a tar | 1 MiB"),
        ("infeed/src/format/mds/store.rs", "LARGEST: u64 = 4 << 30", "MDS shard, unpacked | 4 GiB"),
        ("infeed/src/stream/compress/engine.rs", "XZ_MEMORY: u64 = 512 << 20", "ask for | 512 MiB"),
        ("infeed-table/src/shard/depth.rs", "DEEPEST: usize = 100", "and of JSON | 100"),
        ("infeed-records/src/json/scan.rs", "DEEPEST: u32 = 100", "and of JSON | 100"),
        ("infeed-records/src/json/limits.rs", "DIGITS: usize = 4300", "| 4,300, as in Python"),
        ("infeed-table/src/shard/avro/schema.rs", "MOST: u64 = 100_000", "written out | 100,000"),
        ("infeed-records/src/npy/mod.rs", "MOST_DIMENSIONS: usize = 32", "NumPy array | 32"),
        ("infeed-jpeg/src/header.rs", "MAX_DIMENSION: u32 = 65_500", "JPEG | 65,500"),
        ("infeed/src/store/paths/braces.rs", "MOST: usize = 10_000_000", "10 million, 1 GiB, 100 levels"),
        ("infeed/src/store/paths/braces.rs", "MOST_BYTES: usize = 1 << 30", "10 million, 1 GiB, 100 levels"),
        ("infeed/src/store/paths/braces.rs", "DEPTH: usize = 100", "10 million, 1 GiB, 100 levels"),
        ("infeed/src/engine/threads.rs", "JOIN: Duration = Duration::from_millis(1500)", "at most 1.5 seconds"),
        ("infeed-table/src/shard/sqlite/guarded.rs", "SQLITE_DBCONFIG_TRUSTED_SCHEMA, false", "`trusted_schema` off"),
        ("infeed-table/src/shard/sqlite/guarded.rs", "SQLITE_DBCONFIG_DEFENSIVE, true", "defensive"),
    ],
)
def test_limits_are_those_of_the_code(file, constant, words):
    assert constant in (ROOT / "crates" / file).read_text(), f"{file} has no {constant}: correct docs/trust.md"
    assert words in TRUST


def test_tries_of_reads():
    text = (ROOT / "crates/infeed/src/store/retry.rs").read_text()
    pauses = [int(n) for n in re.search(r"PAUSES: \[u64; \d+\] = \[([\d, ]+)\]", text)[1].split(",")]
    assert len(pauses) + 1 == 10 and 9 <= sum(pauses) / 1000 <= 11 and pauses[0] == 1 and pauses[-1] == 3500
    assert "| 10, in about ten seconds |" in TRUST and "millisecond to 3.5 seconds" in TRUST


def test_options_are_there():
    options = inspect.signature(infeed.Loader).parameters
    for name in re.findall(r"`(\w+)=`", TRUST):
        assert name in options or name in {"max_row", "files", "index", "pickle", "on_error"}, name
    assert options["error_limit"].default == 1000 and options["on_error"].default == "raise"
    assert options["stall_timeout"].default is None


def test_what_it_names_exists():
    for text in (TRUST, SECURITY):
        for name in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text):
            assert (ROOT / name).exists() or (ROOT / "docs" / name).exists(), name
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"`make ([\w-]+)", TRUST + SECURITY)) <= targets
    assert "docs/trust.md" in (ROOT / "README.md").read_text() and "SECURITY.md" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize("name", ["../secret/shard.mds", "/etc/passwd", "a/../../secret/shard.mds"])
def test_an_index_names_shards_below_its_folder_alone(tmp_path, name):
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "shard.mds").write_bytes(b"\0" * 64)
    shard = {
        "format": "mds",
        "samples": 1,
        "column_names": ["x"],
        "column_encodings": ["bytes"],
        "column_sizes": [None],
    }
    shard |= {"raw_data": {"basename": name, "bytes": 64, "hashes": {}}, "zip_data": None, "compression": None}
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "index.json").write_text(json.dumps({"version": 2, "shards": [shard]}))
    with pytest.raises(ValueError, match="outside the folder"):
        infeed.mds(tmp_path / "data").batch(1).to_numpy()
