"""JSON lines, CSV and text: against Python's own json and csv, compressed and not, and what is wrong with bad files."""

from __future__ import annotations

import bz2
import csv
import gzip
import itertools
import json
import lzma
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import infeed

lz4 = pytest.importorskip("lz4.frame")
zstandard = pytest.importorskip("zstandard")

PACK = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "lz4": lz4.compress,
}


def rows_of(pipeline: infeed.Pipeline, batch: int = 7, **how) -> list[dict]:
    """All rows, as dicts of plain Python values."""
    out = []
    for part in pipeline.batch(batch).to_numpy(**how):
        names = [name for name in part if not name.startswith("__")]
        count = len(part[names[0]])
        out += [{name: plain(part[name][i]) for name in names} for i in range(count)]
    return out


def flat(lists: list[list]) -> list:
    return list(itertools.chain.from_iterable(lists))


def plain(value):
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


def some_rows(count: int = 60, seed: int = 0) -> list[dict]:
    rng = np.random.default_rng(seed)
    words = ["Grüße", 'a "quote"', "back\\slash", "line\nend", "\t", "\U0001f600", "", "a/b", "\x01"]
    rows = []
    for i in range(count):
        text = " ".join(rng.choice(words, size=int(rng.integers(0, 30))))
        row = {"id": i, "text": text, "score": float(rng.normal()), "good": bool(i % 2), "ids": list(range(i % 5))}
        rows.append({**row, "meta": {"lang": "de" if i % 3 else "en", "more": [{"x": [i, "}"]}]}})
    return rows


def write_jsonl(path: Path, rows: list[dict], **how) -> str:
    path.write_text("".join(json.dumps(row, **how) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def same(found: list[dict], rows: list[dict]) -> bool:
    for a, b in zip(found, rows, strict=True):
        for name, value in a.items():
            want = b.get(name)
            value = json.loads(value) if isinstance(value, str) and isinstance(want, dict) else value
            if value != want:
                return False
    return True


@pytest.mark.parametrize("ascii", [True, False])
def test_json_lines_are_those_of_python(tmp_path, ascii):
    rows = some_rows()
    files = [write_jsonl(tmp_path / f"{i}.jsonl", rows[i * 20 : i * 20 + 20], ensure_ascii=ascii) for i in range(3)]
    for pipeline in (infeed.jsonl(files), infeed.open(tmp_path), infeed.open(str(tmp_path / "*.jsonl"))):
        assert same(rows_of(pipeline), rows)
    found = rows_of(infeed.jsonl(files, fields=["meta.lang", "id", "meta"]))
    assert [(r["meta.lang"], r["id"]) for r in found] == [(r["meta"]["lang"], r["id"]) for r in rows]
    batch = next(iter(infeed.jsonl(files).batch(4).to_numpy()))
    assert batch["id"].dtype == np.int64 and batch["score"].dtype == np.float64 and batch["good"].dtype == np.bool_
    assert batch["ids"][3].dtype == np.int64


def test_fields_that_are_not_everywhere(tmp_path):
    rows = [{"a": "x"}, {"a": None, "b": [1, 2.5]}, {"b": []}, {"a": "y", "c": {}}]
    found = rows_of(infeed.jsonl(write_jsonl(tmp_path / "a.jsonl", rows)))
    assert [r["a"] for r in found] == ["x", None, None, "y"]
    assert [r["b"] for r in found] == [None, [1.0, 2.5], [], None]


def test_whole_numbers_and_fractions(tmp_path):
    one = write_jsonl(tmp_path / "a.jsonl", [{"x": 1}, {"x": 2}])
    two = write_jsonl(tmp_path / "b.jsonl", [{"x": 0.5}])
    assert [r["x"] for r in rows_of(infeed.jsonl([one, two]))] == [1.0, 2.0, 0.5]
    text = write_jsonl(tmp_path / "c.jsonl", [{"x": "t"}])
    with pytest.raises(infeed.PlanError, match=r"`x` is a number in shard .*b.jsonl` but text in shard .*c.jsonl`"):
        infeed.jsonl([two, text]).explain()


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("format", ["jsonl", "csv", "text"])
def test_compressed_files_are_their_plain_ones(tmp_path, format, kind):
    rows = some_rows(300)
    names = {"jsonl": "a.jsonl", "csv": "a.csv", "text": "a.txt"}
    path = tmp_path / names[format]
    if format == "csv":
        with open(path, "w", newline="") as out:
            writer = csv.DictWriter(out, ["id", "text", "score"], extrasaction="ignore")
            writer.writeheader()
            writer.writerows(rows)
    else:
        write_jsonl(path, rows)
    packed = path.with_name(f"{path.name}.{kind}")
    packed.write_bytes(PACK[kind](path.read_bytes()))
    open_it = getattr(infeed, format)
    want = rows_of(open_it(path))
    assert len(want) == 300
    assert rows_of(open_it(packed)) == want
    assert rows_of(infeed.open(packed)) == want
    assert "stream" in infeed.open(packed).batch(3).explain()


def test_streams_shuffle_resume_and_share(tmp_path):
    files = []
    for i in range(3):
        data = "".join(json.dumps({"id": i * 100 + k}) + "\n" for k in range(100)).encode()
        files.append(tmp_path / f"{i}.jsonl.zst")
        files[-1].write_bytes(PACK["zst"](data))
    pipeline = infeed.jsonl(files).shuffle(seed=3, buffer=40).batch(8)
    loader = pipeline.to_numpy()
    batches, states = [], []
    for batch in loader:
        batches.append(batch["id"].tolist())
        states.append(loader.state_dict())
    assert sorted(flat(batches)) == list(range(300)) and flat(batches) != list(range(300))
    other = pipeline.to_numpy(threads=1)
    other.load_state_dict(states[9])
    assert [b["id"].tolist() for b in other] == batches[10:]
    plain = infeed.jsonl(files).batch(8)
    loader = plain.to_numpy()
    for _, batch in zip(range(20), loader, strict=False):
        last = batch["id"].tolist()
    state = loader.state_dict()
    again = plain.to_numpy()
    again.load_state_dict(state)
    assert next(iter(again))["id"].tolist() == [x + 8 for x in last]
    ranks = [[x for b in plain.to_numpy(rank=r, world_size=2) for x in b["id"].tolist()] for r in range(2)]
    assert sorted(ranks[0] + ranks[1]) == list(range(300))


@pytest.mark.parametrize("make", ["jsonl", "csv", "text"])
def test_plain_files_shuffle_resume_and_share(tmp_path, make):
    count = 101
    lines = {"jsonl": '{{"id": {}}}', "csv": "{}", "text": "{}"}[make]
    for part in range(3):
        head = "id\n" if make == "csv" else ""
        text = head + "".join(lines.format(i) + "\n" for i in range(count) if i % 3 == part)
        (tmp_path / f"{part}.{make if make != 'text' else 'txt'}").write_text(text)
    field = "text" if make == "text" else "id"
    pipeline = getattr(infeed, make)(str(tmp_path)).shuffle(seed=5).batch(8)

    def ids(batch):
        return [int(x) for x in batch[field]]

    loader = pipeline.to_numpy(threads=3)
    batches, states = [], []
    for batch in loader:
        batches.append(ids(batch))
        states.append(loader.state_dict())
    assert sorted(flat(batches)) == list(range(count)) and flat(batches) != list(range(count))
    assert [ids(b) for b in pipeline.to_numpy(threads=1)] == batches
    other = pipeline.to_numpy()
    other.load_state_dict(states[4])
    assert [ids(b) for b in other] == batches[5:]
    shares = [[x for b in pipeline.to_numpy(rank=r, world_size=3) for x in ids(b)] for r in range(3)]
    assert set(flat(shares)) == set(range(count))


def test_csv_is_that_of_python(tmp_path):
    rng = np.random.default_rng(4)
    words = ["a", "b,c", 'say "x"', "two\nlines", "", "ü", "x;y", "end\r\n"]
    rows = [[str(i), f"{rng.normal():.6g}", str(rng.choice(words)), ["true", "false"][i % 2]] for i in range(200)]
    for dialect, ending in (("excel", ".csv"), ("excel-tab", ".tsv"), ("unix", ".csv")):
        path = tmp_path / f"{dialect}{ending}"
        with open(path, "w", newline="", encoding="utf-8-sig" if dialect == "excel" else "utf-8") as out:
            writer = csv.writer(out, dialect=dialect)
            writer.writerow(["n", "x", "t", "b"])
            writer.writerows(rows)
        found = rows_of(infeed.open(path))
        assert [r["n"] for r in found] == list(range(200))
        assert [r["x"] for r in found] == [float(r[1]) for r in rows]
        assert [r["t"] for r in found] == [r[2] for r in rows]
        assert [r["b"] for r in found] == [r[3] == "true" for r in rows]
    batch = next(iter(infeed.csv(path, columns={"n": "int16", "x": "float32"}).batch(5).to_numpy()))
    assert batch["n"].dtype == np.int16 and batch["x"].dtype == np.float32
    names = infeed.csv(path, header=False, columns=["column_2"])
    assert [r["column_2"] for r in rows_of(names)][1:] == [r[2] for r in rows]
    renamed = infeed.csv(path, names=["p", "q", "r", "s"], columns=["r"])
    assert [r["r"] for r in rows_of(renamed)] == [r[2] for r in rows]


def test_csv_columns_in_another_order_and_empty_fields(tmp_path):
    (tmp_path / "a.csv").write_text("x,y\n1,2\n,3\n")
    (tmp_path / "b.csv").write_text("y,x\n4,5\n")
    found = rows_of(infeed.csv(str(tmp_path)))
    assert [r["y"] for r in found] == [2, 3, 4]
    assert [r["x"] for r in found][::2] == [1.0, 5.0] and math.isnan(found[1]["x"])
    (tmp_path / "c.csv").write_text("y,z\n4,5\n")
    with pytest.raises(infeed.PlanError, match=r"there is no column `(x|z)`, which other files have"):
        infeed.csv(str(tmp_path)).explain()


def test_text_by_line_paragraph_and_file(tmp_path):
    body = "\ufefffirst\r\n\n\nsecond\nthird\n \nlast"
    path = tmp_path / "a.txt"
    path.write_bytes(body.encode())
    lines = ["first", "", "", "second", "third", " ", "last"]
    assert [r["text"] for r in rows_of(infeed.text(path))] == lines
    assert [r["text"] for r in rows_of(infeed.text(path, by="paragraph"))] == ["first", "second\nthird", "last"]
    (tmp_path / "b.txt").write_text("")
    assert [r["text"] for r in rows_of(infeed.text(str(tmp_path), by="file"))] == [body[1:], ""]
    with pytest.raises(ValueError, match="must be line, paragraph or file"):
        infeed.text(path, by="word").explain()


def test_text_that_is_no_utf8(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"good\nb\xffd\ngood\n")
    with pytest.raises(infeed.SampleError, match=r"a.txt`, row 1, .*field `text`: line 2: byte 1 of the row is 0xff"):
        rows_of(infeed.text(path))
    assert [r["text"] for r in rows_of(infeed.text(path, errors="replace"))][1] == "b\ufffdd"
    assert [r["text"] for r in rows_of(infeed.text(path, errors="ignore"))][1] == "bd"
    assert len(rows_of(infeed.text(path), on_error="skip")) == 2
    packed = tmp_path / "b.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(infeed.SampleError, match=r"b.txt.gz`, row 1, .*line 2: byte 1 of the row is 0xff"):
        rows_of(infeed.text(packed))
    assert len(rows_of(infeed.text(packed), on_error="skip")) == 2


@pytest.mark.parametrize("packed", [False, True])
def test_bad_json_lines(tmp_path, packed):
    good = [json.dumps({"a": i, "t": "x" * 50}) for i in range(200)]
    bad = list(good)
    bad[150] = good[150][:20]
    bad[160] = json.dumps({"a": "text", "t": "x"})
    path = tmp_path / ("a.jsonl.gz" if packed else "a.jsonl")
    data = ("\n".join(bad) + "\n").encode()
    path.write_bytes(gzip.compress(data) if packed else data)
    with pytest.raises(infeed.SampleError, match=r"a.jsonl.*row 150, .*line 151: JSON ends in the middle"):
        rows_of(infeed.jsonl(path))
    loader = infeed.jsonl(path).batch(7).to_numpy(on_error="skip")
    found = [x for batch in loader for x in batch["a"].tolist()]
    assert found == [i for i in range(200) if i not in (150, 160)]
    with pytest.raises(
        infeed.SampleError, match=r"row 160, .*field `a`: line 161: expected a whole number.*found text"
    ):
        rows_of(infeed.jsonl(path).skip(151))


def test_bad_tables(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + "1,2\n" * 1500 + "1,2,3\n")
    with pytest.raises(
        infeed.SampleError, match=r"row 1500.*line 1502: the row has 3 fields, and there are 2 columns"
    ):
        rows_of(infeed.csv(path))
    path.write_text('a,b\n1,2\n3,"x\n')
    with pytest.raises(infeed.FormatError, match=r"a.csv.*opened in line 3 and never closed"):
        infeed.csv(path).explain()


def test_a_bomb_does_not_fill_memory(tmp_path):
    """A row that unpacks to half a gigabyte is an error, and never half a gigabyte."""
    part = zstandard.ZstdCompressor().compress(b"a" * (64 << 20))
    path = tmp_path / "bomb.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(b'{"a": 1}\n') + part * 8)
    code = f"""
import infeed, resource, sys
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    for batch in infeed.jsonl({str(path)!r}, max_row=1 << 20).batch(1).to_numpy():
        pass
except infeed.FormatError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    said, grown = done.stdout.strip().rsplit("\n", 1)
    assert "bomb.jsonl.zst" in said and "row 1: it has more than 1048576 bytes" in said
    assert int(grown) < 100


@pytest.mark.parametrize("kind", PACK)
def test_cut_off_data(tmp_path, kind):
    data = PACK[kind]("".join(json.dumps(r) + "\n" for r in some_rows(2000)).encode())
    path = tmp_path / f"a.jsonl.{kind}"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(infeed.FormatError, match=r"a.jsonl.*data is cut off here"):
        rows_of(infeed.jsonl(path))


def test_pipes_and_standard_input(tmp_path):
    path = tmp_path / "a.jsonl"
    write_jsonl(path, [{"a": i} for i in range(50)])
    assert [r["a"] for r in rows_of(infeed.jsonl(f"pipe:cat {path}"))] == list(range(50))
    code = "import infeed; print(sum(b['a'].sum() for b in infeed.jsonl('-').batch(7).to_numpy()))"
    with open(path) as rows:
        done = subprocess.run([sys.executable, "-c", code], stdin=rows, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(sum(range(50)))


def test_found_rows_are_kept(tmp_path):
    path = tmp_path / "a.jsonl"
    write_jsonl(path, [{"a": i} for i in range(50)])
    assert len(rows_of(infeed.jsonl(path, index="beside"))) == 50
    kept = tmp_path / "a.jsonl.infeed-rows"
    assert kept.stat().st_size < 50 * 5 + 200
    os.utime(path, ns=(1, 1))
    write_jsonl(path, [{"a": i} for i in range(60)])
    assert len(rows_of(infeed.jsonl(path, index="beside"))) == 60
    kept.write_bytes(b"nonsense")
    assert len(rows_of(infeed.jsonl(path, index="beside"))) == 60


def test_wrong_arguments(tmp_path):
    path = write_jsonl(tmp_path / "a.jsonl", [{"a": 1}])
    with pytest.raises(infeed.PlanError, match="no field `b`"):
        infeed.jsonl(path, fields=["b"]).explain()
    with pytest.raises(ValueError, match="names `a` twice"):
        infeed.jsonl(path, fields=["a", "a"]).explain()
    recipe = {"source": {"paths": [path], "format": "jsonl", "args": {"field": ["a"]}}, "stage": []}
    with pytest.raises(ValueError, match="did you mean `fields`"):
        infeed.Pipeline(recipe).explain()
    document = tmp_path / "b.json"
    document.write_text(json.dumps([{"a": 1}]))
    with pytest.raises(ValueError, match="is one JSON document, not JSON lines"):
        infeed.open(document).explain()
    with pytest.raises(infeed.PlanError, match="one JSON document"):
        infeed.jsonl(document).explain()
    (tmp_path / "empty.txt").write_text("")
    with pytest.raises(infeed.PlanError, match="no rows"):
        infeed.text(tmp_path / "empty.txt").explain()
