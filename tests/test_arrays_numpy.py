"""NumPy files as rows, compared with NumPy."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infeed

DTYPES = ["?", "u1", "i1", "<u2", ">u2", "<i2", "<u4", ">i4", "<i8", ">u8", "<f2", ">f2", "<f4", ">f4", "<f8", ">f8"]


def values(dtype: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "?b":
        return rng.integers(0, 2, shape).astype(dtype)
    low = 0 if np.dtype(dtype).kind == "u" else -100
    return rng.integers(low, 100, shape).astype(dtype)


def read(pipeline: infeed.Pipeline, batch: int = 5, **options: Any) -> dict[str, Any]:
    """All rows, one behind the other."""
    batches = list(pipeline.batch(batch).to_numpy(threads=2, **options))
    return {
        name: np.concatenate([b[name] for b in batches])
        if isinstance(batches[0][name], np.ndarray)
        else [row for b in batches for row in b[name]]
        for name in batches[0]
    }


def same(found: np.ndarray, wanted: np.ndarray) -> None:
    assert found.dtype == wanted.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_those_of_numpy(tmp_path: Path, dtype: str) -> None:
    for number, shape in enumerate([(17,), (17, 3), (17, 1, 2, 5), (1, 4)]):
        for order in "CF":
            array = np.asarray(values(dtype, shape, number), order=order)
            path = tmp_path / f"{number}{order}.npy"
            np.save(path, array)
            for axis in range(-1, len(shape)):
                for how in ("mmap", "pread"):
                    got = read(infeed.npy(path, axis=axis, read=how))["data"]
                    same(got, np.moveaxis(array, axis, 0))


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_header(tmp_path: Path, version: tuple[int, int]) -> None:
    array = values("<f4", (9, 4))
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array(file, array, version=version)
    same(read(infeed.npy(tmp_path / "a.npy"))["data"], array)


def test_structures_become_fields(tmp_path: Path) -> None:
    inner = np.dtype([("u", ">i2"), ("v", "<f4", (2, 2))])
    dtype = np.dtype([("id", "<i8"), ("flag", "?"), ("in", inner), ("name", "S6"), ("wide", ">U4")], align=True)
    array = np.zeros(11, dtype)
    array["id"] = np.arange(11)
    array["flag"] = np.arange(11) % 3 == 0
    array["in"]["u"] = -np.arange(11)
    array["in"]["v"] = np.arange(44).reshape(11, 2, 2)
    array["name"] = [f"n{i}".encode() for i in range(11)]
    array["wide"] = [f"ü{i}" for i in range(11)]
    np.save(tmp_path / "a.npy", array)
    got = read(infeed.npy(tmp_path / "a.npy"))
    assert list(got) == ["id", "flag", "in.u", "in.v", "name", "wide"]
    for name in ("id", "flag"):
        same(got[name], array[name])
    same(got["in.u"], array["in"]["u"])
    same(got["in.v"], array["in"]["v"])
    assert got["name"] == [f"n{i}" for i in range(11)]
    assert got["wide"] == [f"ü{i}" for i in range(11)]
    some = read(infeed.npy(tmp_path / "a.npy", fields=["in.v", "id"]))
    assert list(some) == ["in.v", "id"]
    with pytest.raises(ValueError, match=r"has no `in\.w`; did you mean `in\.u`\?"):
        infeed.npy(tmp_path / "a.npy", fields=["in.w"]).rows()


def test_what_a_row_is(tmp_path: Path) -> None:
    """Files that are named have rows along their axis; those of folders and patterns are rows."""
    arrays = [values("<i4", (4, 3), seed) for seed in range(6)]
    paths = [tmp_path / f"{k}.npy" for k in range(6)]
    for path, array in zip(paths, arrays, strict=True):
        np.save(path, array)
    assert infeed.npy(paths[0]).rows() == 4
    assert infeed.open(paths[0]).rows() == 4
    same(read(infeed.npy(paths))["data"], np.concatenate(arrays))
    for many in (tmp_path, tmp_path / "*.npy"):
        same(read(infeed.npy(many))["data"], np.stack(arrays))
        assert infeed.open(many).rows() == 6
        same(read(infeed.npy(many, rows="axis"))["data"], np.concatenate(arrays))
    same(read(infeed.npy(paths, rows="file"))["data"], np.stack(arrays))
    same(read(infeed.npy(paths[2], rows="file"))["data"], arrays[2][None])
    with pytest.raises(ValueError, match=r'rows must be one of axis, file; did you mean "file"\?'):
        infeed.npy(paths, rows="files").rows()  # type: ignore[arg-type]


def test_whole_files_may_differ_in_their_lengths(tmp_path: Path) -> None:
    arrays = [values("<f4", (k + 1, 2), k) for k in range(5)]
    for k, array in enumerate(arrays):
        np.save(tmp_path / f"{k}.npy", array)
    pipeline = infeed.npy(tmp_path)
    got = [row for batch in pipeline.batch(2).to_numpy() for row in batch["data"]]
    for a, b in zip(got, arrays, strict=True):
        same(a, b)
    padded = next(iter(pipeline.batch(5, ragged="pad").to_numpy()))["data"]
    assert padded.shape == (5, 5, 2)


def test_shuffled_rows_and_resume(tmp_path: Path) -> None:
    array = np.arange(1000 * 7, dtype="<u2").reshape(1000, 7)
    np.save(tmp_path / "a.npy", array)
    np.save(tmp_path / "f.npy", np.asfortranarray(array))
    for name in ("a.npy", "f.npy"):
        pipeline = infeed.npy(tmp_path / name).shuffle(seed=1).batch(32)
        loader = pipeline.to_numpy()
        first = np.concatenate([b["data"] for b in loader])
        assert not np.array_equal(first, array)
        np.testing.assert_array_equal(first[np.argsort(first[:, 0])], array)
        loader = pipeline.to_numpy()
        start = iter(loader)
        for _ in range(5):
            next(start)
        state = loader.state_dict()
        again = pipeline.to_numpy()
        again.load_state_dict(state)
        np.testing.assert_array_equal(np.concatenate([b["data"] for b in again]), first[5 * 32 :])


def test_one_dimension_of_integers_is_named_by_hand(tmp_path: Path) -> None:
    np.save(tmp_path / "labels.npy", np.arange(10))
    with pytest.raises(ValueError, match=r"infeed\.tokens.* and infeed\.npy\(path\) as one number a row"):
        infeed.open(tmp_path / "labels.npy").rows()
    same(read(infeed.npy(tmp_path / "labels.npy"))["data"], np.arange(10))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
def test_archives_are_those_of_numpy(tmp_path: Path, save: Any, order: str) -> None:
    sets = []
    for k in range(4):
        x = np.asarray(values(">f4", (6, 5, 3), k), order=order)
        s = np.zeros(6, [("a", "<i4"), ("b", "S3")])
        s["a"], s["b"] = np.arange(6) + k, b"xy"
        sets.append({"x": x, "y": values("<i8", (6,), k), "s": s, "one": np.float64(k)})
        save(tmp_path / f"{k}.npz", **sets[-1])
    whole = infeed.npz(tmp_path, fields=["x", "y", "one", "s.a"])
    assert whole.rows() == infeed.npz(tmp_path / "*.npz", fields=["x"]).rows() == 4
    got = read(whole, 3)
    same(got["x"], np.stack([s["x"] for s in sets]))
    same(got["one"], np.array([s["one"] for s in sets]))
    same(got["s.a"], np.stack([s["s"]["a"] for s in sets]))
    rows = read(infeed.npz(tmp_path, rows="axis", fields=["y", "x", "s.a", "s.b"]))
    same(rows["x"], np.concatenate([s["x"] for s in sets]))
    same(rows["y"], np.concatenate([s["y"] for s in sets]))
    assert rows["s.b"] == ["xy"] * 24
    last = read(infeed.npz(tmp_path, rows="axis", axis=-1, fields=["x"]))
    same(last["x"], np.concatenate([np.moveaxis(s["x"], -1, 0) for s in sets]))


def test_many_and_long_members(tmp_path: Path) -> None:
    """A directory that does not fit into the last bytes of a file, and headers that do not fit into the first."""
    arrays = {f"a{'x' * 60}{k}": np.full((2,), k, "<i4") for k in range(1500)}
    np.savez(tmp_path / "many.npz", **arrays)
    got = read(infeed.npz(tmp_path / "many.npz", fields=[f"a{'x' * 60}1499", f"a{'x' * 60}3"]))
    assert [array.tolist() for array in got.values()] == [[[1499, 1499]], [[3, 3]]]
    wide = np.zeros(3, [(f"field{'y' * 30}{k}", "<i2") for k in range(300)])
    wide[f"field{'y' * 30}299"] = [1, 2, 3]
    np.save(tmp_path / "wide.npy", wide)
    assert read(infeed.npy(tmp_path / "wide.npy"))[f"field{'y' * 30}299"].tolist() == [1, 2, 3]
    np.savez_compressed(tmp_path / "wide.npz", w=wide)
    assert read(infeed.npz(tmp_path / "wide.npz", rows="axis"))[f"w.field{'y' * 30}299"].tolist() == [1, 2, 3]


def test_archives_with_comments_and_other_members(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        out = io.BytesIO()
        np.save(out, np.arange(6).reshape(2, 3))
        archive.writestr("x.npy", out.getvalue())
        archive.writestr("folder/", b"")
        archive.writestr("README.txt", b"not an array")
        archive.comment = b"PK\x05\x06 a comment that looks like an end" * 20
    assert read(infeed.npz(path))["x"].tolist() == [[[0, 1, 2], [3, 4, 5]]]


def test_from_memory_and_together_with_others(tmp_path: Path) -> None:
    array = values("<f4", (20, 3))
    np.save(tmp_path / "a.npy", array)
    infeed.stores.put("mem:arrays/a.npy", (tmp_path / "a.npy").read_bytes())
    try:
        same(read(infeed.npy("mem:arrays/a.npy"))["data"], array)
        both = infeed.concat([infeed.npy("mem:arrays/a.npy"), infeed.npy(tmp_path / "a.npy")])
        same(read(both)["data"], np.concatenate([array, array]))
    finally:
        infeed.stores.remove("mem:arrays/a.npy")


def test_transforms_follow(tmp_path: Path) -> None:
    array = values("<f4", (20, 3))
    np.save(tmp_path / "a.npy", array)
    doubled = infeed.npy(tmp_path / "a.npy").map(lambda row: {"data": row["data"] * 2})
    same(np.concatenate([np.stack(b["data"]) for b in doubled.batch(5).to_numpy()]), array * 2)
