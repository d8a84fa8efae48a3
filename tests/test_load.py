"""Files that columns name: tables of paths beside folders of files."""

from __future__ import annotations

import csv
import gzip
import json
import os
import sqlite3
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
from conftest import jpeg

import infeed
from infeed import transforms as T
from infeed.testing import Faults

ROWS = 40
FORMATS = ("csv", "jsonl", "parquet", "arrow", "sqlite")


def name_of(row: int) -> str:
    return f"{row % 3}/img {row:03}.jpg"


def write_table(folder: Path, kind: str, columns: dict[str, list]) -> infeed.Pipeline:
    """A table of these columns, and a pipeline over it."""
    rows = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    path = folder / f"t.{kind}"
    if kind == "csv":
        with path.open("w", newline="") as file:
            out = csv.DictWriter(file, columns)
            out.writeheader()
            out.writerows(rows)
        return infeed.csv(path)
    if kind == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return infeed.jsonl(path)
    if kind == "parquet":
        pq.write_table(pa.table(columns), path, row_group_size=7)
        return infeed.parquet(path)
    if kind == "arrow":
        feather.write_feather(pa.table(columns), path, chunksize=9)
        return infeed.arrow(path)
    with sqlite3.connect(path) as base:
        base.execute("drop table if exists t")
        base.execute(f"create table t ({', '.join(columns)})")
        base.executemany(f"insert into t values ({', '.join('?' * len(columns))})", [tuple(r.values()) for r in rows])
    base.close()
    return infeed.sqlite(path, table="t")


@pytest.fixture
def images(tmp_path: Path) -> list[bytes]:
    """Files in sub-folders of `images`, in the order of the rows."""
    files = [jpeg(row, 40 + row, 50) for row in range(ROWS)]
    for row, file in enumerate(files):
        path = tmp_path / "images" / name_of(row)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file)
    return files


def captions(folder: Path, kind: str) -> infeed.Pipeline:
    paths = [name_of(row) for row in range(ROWS)]
    return write_table(folder, kind, {"path": paths, "caption": [f"photo {row}" for row in range(ROWS)]})


def skipping(pipeline: infeed.Pipeline, field: str, **options) -> tuple[list[bytes], list[str]]:
    """The files of one epoch, and the errors of the rows that were left out."""
    with pipeline.batch(1).to_numpy(threads=1, on_error="skip", error_limit=10**6, **options) as loader:
        files = [bytes(file) for batch in loader for file in batch[field]]
        return files, [bad["error"] for bad in loader.stats()["bad"]]


@pytest.mark.parametrize("kind", FORMATS)
def test_files_take_the_place_of_paths(tmp_path, images, kind):
    pipe = captions(tmp_path, kind).load("path", root=tmp_path / "images").batch(7)
    batches = list(pipe.to_numpy(threads=2))
    assert [bytes(file) for batch in batches for file in batch["path"]] == images
    assert [text for batch in batches for text in batch["caption"]] == [f"photo {row}" for row in range(ROWS)]
    assert list(batches[0])[:2] == ["path", "caption"]


@pytest.mark.parametrize("kind", FORMATS)
def test_shuffle_decode_and_resume(tmp_path, images, kind):
    def pipe() -> infeed.Pipeline:
        data = captions(tmp_path, kind).load("path", root=tmp_path / "images", to="image").shuffle(seed=5)
        return data.decode(image="rgb").map(T.RandomResizedCrop(16), on="image").batch(8)

    with pipe().to_numpy(threads=2) as loader:
        want = [next(it := iter(loader))]
        state = json.loads(json.dumps(loader.state_dict()))
        want += list(it)
    for batch in want:
        # The path stays text, and the row of a batch is that of its file.
        assert batch["path"] == [name_of(row) for row in batch["__row__"]]
        assert batch["caption"] == [f"photo {row}" for row in batch["__row__"]]
    assert sorted(row for batch in want for row in batch["__row__"].tolist()) == list(range(ROWS))
    with pipe().to_numpy(threads=1) as again:
        again.load_state_dict(state)
        rest = list(again)
    assert len(rest) == len(want) - 1
    for one, other in zip(rest, want[1:], strict=True):
        assert np.array_equal(one["image"], other["image"]) and one["path"] == other["path"]


def test_pixels_are_those_of_a_list_of_files(tmp_path, images):
    loaded = captions(tmp_path, "csv").load("path", root=tmp_path / "images").decode(path="rgb")
    listed = infeed.files([tmp_path / "images" / name_of(row) for row in range(ROWS)]).decode(image="rgb")
    crop = (T.Resize(24), T.CenterCrop(24))
    ours, theirs = loaded.map(*crop, on="path").batch(ROWS), listed.map(*crop).batch(ROWS)
    (ours,), (theirs,) = ours.to_numpy(), theirs.to_numpy()
    assert np.array_equal(ours["path"], theirs["image"])


def test_paths_are_relative_to_their_own_table(tmp_path):
    for part in "ab":
        (tmp_path / part).mkdir()
        (tmp_path / part / "x.bin").write_text(part)
        (tmp_path / part / "t.csv").write_text("path,n\nx.bin,1\n./x.bin,2\n")
    paths = [tmp_path / part / "t.csv" for part in "ab"]
    files, _ = skipping(infeed.csv(paths).load("path"), "path")
    assert files == [b"a", b"a", b"b", b"b"]
    both = infeed.concat([infeed.csv(path).load("path", to="file") for path in paths])
    assert skipping(both, "file")[0] == files
    after = infeed.concat([infeed.csv(path) for path in paths]).load("path", to="file")
    assert skipping(after, "file")[0] == files
    # The same table with two roots is two parts with rows of their own.
    one = [infeed.csv(paths[0]).load("path", root=tmp_path / part) for part in "ab"]
    assert skipping(infeed.concat(one), "path")[0] == files


@pytest.mark.parametrize("kind", FORMATS)
def test_a_pattern_makes_paths_of_ids(tmp_path, kind):
    (tmp_path / "train").mkdir()
    for number in (3, 14, 159):
        (tmp_path / "train" / f"{number}.png").write_text(f"image {number}")
        (tmp_path / "train" / f"{number}_mask.png").write_text(f"mask {number}")
    pipe = write_table(tmp_path, kind, {"id": [14, 3, 159], "name": ["14", "3", "159"]})
    for column in ("id", "name"):
        loaded = pipe.load(column, to="image", pattern="train/{}.png").load(
            column, root=tmp_path / "train", to="mask", pattern="{}_mask.png"
        )
        (batch,) = loaded.batch(3).to_numpy()
        assert [bytes(x) for x in batch["image"]] == [b"image 14", b"image 3", b"image 159"]
        assert [bytes(x) for x in batch["mask"]] == [b"mask 14", b"mask 3", b"mask 159"]
        assert [str(name) for name in batch["name"]] == ["14", "3", "159"]


def test_records_of_tars_and_tfrecords_name_files(tmp_path):
    from format_writers import example, tfrecords

    (tmp_path / "x.bin").write_text("x")
    with infeed.ShardWriter(tmp_path / "a-%03d.tar") as out:
        out.write({"__key__": "0", "json": {"file": {"name": "x.bin"}}, "txt": "x.bin\n"})
    tar = infeed.open(tmp_path / "a-000.tar")
    assert skipping(tar.load("json.file.name", to="file"), "file")[0] == [b"x"]
    assert skipping(tar.load("txt"), "txt")[0] == [b"x"]
    (tmp_path / "a.tfrecord").write_bytes(tfrecords([example({"path": b"x.bin"})]))
    assert skipping(infeed.tfrecord(tmp_path / "a.tfrecord", features={"path": "bytes"}).load("path"), "path")[0] == [
        b"x"
    ]


def test_streams_name_files_too(tmp_path, images):
    lines = "".join(json.dumps({"path": name_of(row), "n": row}) + "\n" for row in range(ROWS))
    with gzip.open(tmp_path / "t.jsonl.gz", "wt") as file:
        file.write(lines)
    (tmp_path / "images" / name_of(11)).unlink()
    pipe = infeed.jsonl(tmp_path / "t.jsonl.gz").load("path", root=tmp_path / "images").shuffle(seed=3, buffer=10)
    with pipe.batch(4).to_numpy(on_error="skip") as loader:
        got = {int(n): bytes(x) for batch in loader for n, x in zip(batch["n"], batch["path"], strict=True)}
        errors = [bad["error"] for bad in loader.stats()["bad"]]
    assert got == {row: file for row, file in enumerate(images) if row != 11}
    assert len(errors) == 1 and name_of(11) in errors[0] and "field `path`" in errors[0]
    seen = []
    for rank in range(2):
        loader = pipe.batch(4).to_numpy(rank=rank, world_size=2, on_error="skip")
        seen += [int(n) for batch in loader for n in batch["n"]]
    assert sorted(seen) == [row for row in range(ROWS) if row != 11]
    with pytest.raises(infeed.PlanError, match=r"give root="):
        infeed.jsonl(f"pipe:zcat {tmp_path}/t.jsonl.gz").load("path").plan  # noqa: B018
    with pytest.raises(infeed.PlanError, match=r"give root="):
        infeed.stream(lambda: iter([{"path": "x"}])).load("path").plan  # noqa: B018
    given = infeed.stream(lambda: iter([{"path": name_of(0)}])).load("path", root=tmp_path / "images")
    assert skipping(given, "path")[0] == [images[0]]


def test_image_and_audio_of_one_row(tmp_path, images):
    for row in range(ROWS):
        (tmp_path / f"{row}.raw").write_bytes(np.full(row + 1, row, np.uint8).tobytes())
    columns = {"image": [f"images/{name_of(row)}" for row in range(ROWS)], "audio": [f"{r}.raw" for r in range(ROWS)]}
    pipe = write_table(tmp_path, "parquet", columns).load("image").load("audio").shuffle(seed=1)
    pipe = pipe.decode(image="rgb").map(T.Resize((8, 8)), on="image").batch(6)
    for batch in pipe.to_numpy():
        assert [len(sound) for sound in batch["audio"]] == [row + 1 for row in batch["__row__"]]
    # Files of fields that are not asked for are not read.
    (tmp_path / "0.raw").unlink()
    without = write_table(tmp_path, "parquet", columns).load("image").load("audio").select("image")
    assert len(skipping(without, "image")[0]) == ROWS
    with pytest.raises(infeed.SampleError, match=r"field `audio`.*`audio` names the file `.*/0\.raw`"):
        list(pipe.to_numpy())


def test_torch(tmp_path, images):
    torch = pytest.importorskip("torch")
    pipe = captions(tmp_path, "csv").load("path", root=tmp_path / "images", to="image").decode(image="rgb")
    batch = next(iter(pipe.map(T.Resize((8, 8)), T.ToCHW()).batch(4).to_torch()))
    assert batch["image"].shape == (4, 3, 8, 8) and batch["image"].dtype == torch.uint8


def test_every_refused_path(tmp_path):
    root = tmp_path / "root"
    (root / "folder").mkdir(parents=True)
    (root / "own.bin").write_text("own")
    (tmp_path / "secret.bin").write_text("secret")
    (tmp_path / "rootless.bin").write_text("secret")
    os.mkfifo(root / "pipe")
    (root / "link.bin").symlink_to(tmp_path / "secret.bin")
    (root / "up").symlink_to("..")
    (root / "zero").symlink_to("/dev/zero")
    (root / "loop").symlink_to("loop")
    (root / "inside.bin").symlink_to(root / "own.bin")
    good = ["own.bin", "./own.bin", "inside.bin", str(root / "own.bin"), "folder/.././own.bin"]
    bad = {
        "": "no path",
        "..": "outside of",
        "../secret.bin": "outside of",
        "folder/../../secret.bin": "outside of",
        "/etc/passwd": "outside of",
        f"{root}less.bin": "outside of",
        str(root / ".." / "secret.bin"): "outside of",
        "http://host/own.bin": "outside of",
        f"file://{root}/own.bin": "outside of",
        "mem:own.bin": "not found",
        "pipe:cat own.bin": "not found",
        "link.bin": "a link to outside of",
        "up/secret.bin": "a link to outside of",
        "up/root/../secret.bin": "outside of",
        "/dev/zero": "outside of",
        "zero": "no regular file",
        "pipe": "no regular file",
        "folder": "no regular file",
        "folder/": "no regular file",
        ".": "no regular file",
        "loop": "no regular file",
        "lost.bin": "not found",
        "own.bin/x": "no regular file",
        "x" * 300: "no regular file",
        "a\0b": "outside of",
    }
    good.remove("folder/.././own.bin")  # a way up is refused even where it stays inside
    pipe = write_table(tmp_path, "jsonl", {"path": [*good, *bad, None], "n": list(range(len(good) + len(bad) + 1))})
    files, errors = skipping(pipe.load("path", root=root, to="file"), "file")
    assert files == [b"own"] * len(good)
    assert len(errors) == len(bad) + 1
    for row, (error, (path, why)) in enumerate(zip(errors, bad.items(), strict=False), len(good)):
        assert why in error and path in error, (path, error)
        assert f"t.jsonl`, row {row}" in error and "field `file`" in error, error
        assert "pipe:cat PATH" not in error
    assert "no path" in errors[-1]
    with pytest.raises(infeed.SampleError, match=r"row 4.*field `file`.*no path"):
        list(pipe.load("path", root=root, to="file").batch(2).to_numpy())


def test_files_larger_than_memory_are_not_read(tmp_path):
    with (tmp_path / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    (tmp_path / "small.bin").write_bytes(b"small")
    pipe = write_table(tmp_path, "csv", {"path": ["huge.bin", "small.bin"], "n": [1, 2]}).load("path")
    files, errors = skipping(pipe, "path")
    assert files == [b"small"] and "1.0 TiB" in errors[0] and "memory=" in errors[0]
    (tmp_path / "huge.bin").write_bytes(bytes(3 << 20))
    files, errors = skipping(pipe, "path", memory="4MB")
    assert files == [b"small"] and "3.0 MiB" in errors[0]
    assert [len(file) for file in skipping(pipe, "path")[0]] == [3 << 20, 5]


def test_files_that_grow_and_shrink_between_epochs(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"first")
    pipe = write_table(tmp_path, "csv", {"path": ["x.bin"], "n": [1]}).load("path").batch(1)
    with pipe.to_numpy(prefetch=1, persistent=False) as loader:
        for content in (b"first", b"longer than before", b"", b"x"):
            path.write_bytes(content)
            assert [bytes(x) for batch in loader for x in batch["path"]] == [content]


def test_a_file_that_is_written_to_is_whole_or_an_error(tmp_path):
    """A writer replaces the content all the time: what comes is one of its versions, or the run says that it changed."""
    path = tmp_path / "x.bin"
    versions = [bytes([n]) * (n * 40_000) for n in range(1, 5)]
    path.write_bytes(versions[0])
    table = write_table(tmp_path, "csv", {"path": ["x.bin"] * 400, "n": list(range(400))}).load("path")
    done = threading.Event()

    def write() -> None:
        while not done.is_set():
            for version in versions:
                path.write_bytes(version)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        files, errors = skipping(table, "path", skip_unreadable=True)
    finally:
        done.set()
        writer.join()
    assert all("changed while it was being read" in error for error in errors)
    assert len(files) + len(errors) == 400
    for file in files:
        # Writing is not atomic: a prefix is what the file was for a moment, but versions are never mixed.
        assert len(set(file)) <= 1


def test_another_root_is_other_data(tmp_path, images):
    def loader(**given) -> infeed.Loader:
        return captions(tmp_path, "csv").load("path", **{"root": tmp_path / "images", **given}).batch(4).to_numpy()

    with loader() as first:
        next(iter(first))
        state = first.state_dict()
    (tmp_path / "other").symlink_to(tmp_path / "images")
    for given in ({"root": tmp_path / "other"}, {"pattern": "./{}"}, {"to": "image"}):
        with loader(**given) as other:
            with pytest.raises(infeed.StateError, match="where load\\(\\) finds files"):
                other.load_state_dict(state)
            other.load_state_dict(state, strict=False)
            assert len(list(other)) == ROWS // 4 - 1
    plain = infeed.csv(tmp_path / "t.csv")
    assert plain.load("path").recipe["stage"] == [{"op": "load", "column": "path"}]
    assert infeed.Pipeline(plain.load("path").recipe) == plain.load("path")


def test_what_cannot_be_planned(tmp_path, images):
    pipe = captions(tmp_path, "csv")
    images_folder = tmp_path / "images"

    def refused(pipeline: infeed.Pipeline, match: str) -> None:
        with pytest.raises(infeed.PlanError, match=match):
            pipeline.plan  # noqa: B018

    refused(pipe.load("lost"), "no field `lost`; the fields are path, caption")
    refused(pipe.load("path", to="caption"), "a field `caption` already")
    refused(pipe.load("path").load("path"), "loaded before")
    views = pipe.load("path", to="image").decode(image="rgb").views("image", 2)
    refused(views.load("path", to="image"), "cannot be called `image`")
    refused(pipe.filter("path == 'x'").load("path"), "a filter needs `path`")
    refused(pipe.batch(2).load("path"), "batch")
    refused(pipe.map(len, on="path").load("path"), "Python functions come after")
    refused(pipe.select("caption").load("path", to="image"), "no field `path`")
    refused(pipe.load("path", root=tmp_path / "t.csv"), "is not a folder")
    refused(pipe.load("path").filter("bytes < 100"), "not known before it is read")
    refused(write_table(tmp_path, "parquet", {"x": [0.5]}).load("x"), "float|f64|a column that names files")
    refused(infeed.arrays({"path": np.array([1, 2])}).load("path"), "give root=")
    with pytest.raises(FileNotFoundError):
        pipe.load("path", root=tmp_path / "lost").plan  # noqa: B018
    for pattern in ("x", "{}{}", ""):
        with pytest.raises(ValueError, match="once"):
            pipe.load("path", pattern=pattern)
    # With to= the path is still there for filters.
    kept = pipe.filter("path != '0/img 000.jpg'").load("path", root=images_folder, to="image")
    assert skipping(kept, "image")[0] == images[1:]
    selected = pipe.select("path").load("path", root=images_folder, to="image").select("image")
    assert skipping(selected, "image")[0] == images
    assert "file named by path" in selected.explain() and "files that `path` names" in selected.explain()
    with pytest.raises(infeed.PlanError):
        pipe.load("path").group_by_length("bytes").batch(4).plan  # noqa: B018
    two = infeed.arrays({"id": np.arange(3)}).load("id", root=tmp_path, to="file", pattern="{}.bin")
    for number in range(3):
        (tmp_path / f"{number}.bin").write_text(str(number))
    assert skipping(two, "file")[0] == [b"0", b"1", b"2"]


def test_faults_of_the_storage_are_tried_again(tmp_path, images):
    pipe = captions(tmp_path, "csv").load("path", root=tmp_path / "images").batch(5)
    with Faults(seed=4, errors=0.05, short=0.05) as faults:
        with pipe.to_numpy(threads=2) as loader:
            faults.arm()
            got = [bytes(file) for batch in loader for file in batch["path"]]
            retries = loader.stats()["retries"]
        assert got == images and retries > 0
