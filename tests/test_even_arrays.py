"""Arrays that happen to have one shape are one array per batch; those that differ are what `ragged=` says."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import infeed
from infeed import decoders as D
from infeed import transforms as T


def npy(array: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def tar(path: Path, arrays: list[np.ndarray]) -> Path:
    with tarfile.open(path, "w") as shard:
        for at, array in enumerate(arrays):
            data = npy(array)
            member = tarfile.TarInfo(f"{at:05}.npy")
            member.size = len(data)
            shard.addfile(member, io.BytesIO(data))
    return path


def same(rows: int, dtype: str = "f4") -> list[np.ndarray]:
    return [np.full((3, 2), at, dtype) for at in range(rows)]


class TestNpy:
    @pytest.mark.parametrize("dtype", ["u1", ">i2", "f2", "f8"])
    def test_one_shape_is_one_array(self, tmp_path, dtype):
        arrays = same(40, dtype)
        data = infeed.tar(tar(tmp_path / "a.tar", arrays)).decode(npy="npy").batch(16)
        assert f"{np.dtype(dtype).name[0]}" in data.explain() and "[3, 2]" in data.explain()
        batches = [batch["npy"] for batch in data.to_numpy()]
        assert [batch.shape for batch in batches] == [(16, 3, 2), (16, 3, 2), (8, 3, 2)]
        np.testing.assert_array_equal(np.concatenate(batches), np.stack(arrays))
        assert batches[0].dtype == np.dtype(dtype).newbyteorder("=")

    def test_other_shapes_are_lists_or_padded(self, tmp_path):
        arrays = [np.arange(n % 4 + 1) for n in range(40)]
        data = infeed.tar(tar(tmp_path / "a.tar", arrays)).decode(npy="npy")
        found = [row for batch in data.batch(16).to_numpy() for row in batch["npy"]]
        assert [row.tolist() for row in found] == [row.tolist() for row in arrays]
        assert next(iter(data.batch(16, ragged="pad").to_numpy()))["npy"].shape == (16, 4)

    def test_a_list_takes_shapes_that_nobody_looked_at(self, tmp_path):
        arrays = [np.zeros((n % 3 + 1, 2), "f4") for n in range(1000)]
        arrays[501] = np.zeros((2, 5, 1), "f4")
        data = infeed.tar(tar(tmp_path / "a.tar", arrays)).decode(npy="npy").batch(100)
        assert [row.shape for batch in data.to_numpy() for row in batch["npy"]] == [row.shape for row in arrays]

    def test_large_arrays_of_other_shapes_are_found_without_reading_them_all(self, tmp_path):
        arrays = [np.full((3, 1 << 20), at, "u1") for at in range(16)]
        arrays[9] = np.zeros((2, 1 << 20), "u1")
        data = infeed.tar(tar(tmp_path / "a.tar", arrays)).decode(npy="npy").batch(16)
        (batch,) = data.to_numpy()
        assert [row.shape for row in batch["npy"]] == [row.shape for row in arrays]

    def test_ranks_and_types_that_differ_are_lists(self, tmp_path):
        for name, odd in (("rank", np.zeros((3, 2, 1), "f4")), ("type", np.zeros((3, 2), "f8"))):
            data = infeed.tar(tar(tmp_path / f"{name}.tar", [*same(9), odd])).decode(npy="npy").batch(10)
            (batch,) = data.to_numpy()
            assert isinstance(batch["npy"], list) and batch["npy"][9].shape == odd.shape

    def test_the_one_that_nobody_looked_at_is_named(self, tmp_path):
        arrays = same(1000)
        arrays[501] = np.zeros((3, 1), "f4")
        path = tar(tmp_path / "a.tar", arrays)
        data = infeed.tar(path).decode(npy="npy")
        with pytest.raises(
            infeed.SampleError, match=r'00501.*shape \[3, 1\], not that of f32\[3, 2\].*ragged=\{FIELD: "list"\}'
        ):
            list(data.batch(100).to_numpy())
        assert sum(len(batch["npy"]) for batch in data.batch(100).to_numpy(on_error="skip")) == 999
        # Who says that arrays vary is not second-guessed.
        for ragged in ({"npy": "list"}, "pad", {"npy": "pad"}):
            assert sum(len(batch["npy"]) for batch in data.batch(100, ragged=ragged).to_numpy()) == 1000
        vary = infeed.tar(path).decode(npy=D.npy(shape=(3, -1))).batch(100)
        assert sum(len(batch["npy"]) for batch in vary.to_numpy()) == 1000

    def test_several_sources_and_stages(self, tmp_path):
        a = infeed.tar(tar(tmp_path / "a.tar", same(30))).decode(npy="npy")
        b = infeed.tar(tar(tmp_path / "b.tar", same(20))).decode(npy="npy")
        joined = infeed.concat([a, b]).shuffle(seed=1)
        shapes = {batch["npy"].shape for batch in joined.batch(25).to_numpy()}
        assert shapes == {(25, 3, 2)}
        flat = a.map(T.Normalize(mean=[0.0], std=[2.0]), on="npy").batch(30).to_numpy()
        np.testing.assert_allclose(next(iter(flat))["npy"][:, 0, 0], np.arange(30) / 2)
        stream = infeed.tar(tmp_path / "a.tar", stream=True).decode(npy="npy").batch(30)
        assert isinstance(next(iter(stream.to_numpy()))["npy"], list)


def table(path: Path, lists: list[list[float] | None], kind: pa.DataType | None = None, **options: int) -> Path:
    made = pa.table({"x": pa.array(lists, kind or pa.list_(pa.float32())), "n": range(len(lists))})
    if path.suffix == ".parquet":
        pq.write_table(made, path, **options)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, made.schema) as writer:
            writer.write_table(made, max_chunksize=options.get("row_group_size", 1000))
    return path


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
class TestTables:
    @pytest.mark.parametrize("kind", [pa.list_(pa.float32()), pa.large_list(pa.float32())], ids=["list", "large"])
    @pytest.mark.parametrize("rows", [10, 6000])
    def test_one_length_is_one_array(self, tmp_path, ending, kind, rows):
        lists = [[float(n), n + 0.5, -1.0] for n in range(rows)]
        path = table(tmp_path / f"a.{ending}", lists, kind, row_group_size=1000)
        data = infeed.open(path)
        assert "f32[3]" in data.explain()
        order = [batch["n"] for batch in data.shuffle(seed=1).batch(7).to_numpy()]
        found = [batch["x"] for batch in data.shuffle(seed=1).batch(7).to_numpy()]
        assert found[0].shape == (7, 3) and found[0].dtype == np.float32
        np.testing.assert_array_equal(np.concatenate(found), np.asarray(lists, "f4")[np.concatenate(order)])

    def test_others_are_lists(self, tmp_path, ending):
        # The mean length is a whole number in each of them.
        for at, lists in enumerate(([[1.0], [2.0, 3.0, 4.0]], [[1.0, 2.0], None], [[], [1.0] * 4], [[1.0], [2.0]])):
            path = table(tmp_path / f"{at}.{ending}", lists)
            (batch,) = infeed.open(path).batch(2).to_numpy()
            assert isinstance(batch["x"], list)
            assert [None if row is None else row.tolist() for row in batch["x"]] == lists

    def test_files_that_differ_are_lists(self, tmp_path, ending):
        table(tmp_path / f"a.{ending}", [[1.0, 2.0]] * 5)
        table(tmp_path / f"b.{ending}", [[1.0, 2.0, 3.0]] * 5)
        batch = next(iter(infeed.open(tmp_path).batch(10).to_numpy()))
        assert [len(row) for row in batch["x"]] == [2] * 5 + [3] * 5
        (both,) = infeed.open(tmp_path).batch(10, ragged="pad").to_numpy()
        assert both["x"].shape == (10, 3)

    def test_the_one_that_nobody_looked_at_is_named(self, tmp_path, ending):
        lists = [[1.0, 2.0]] * 6000
        # As many items as if all had two.
        lists[3100], lists[3200] = [1.0], [1.0, 2.0, 3.0]
        path = table(tmp_path / f"a.{ending}", lists, row_group_size=1000)
        data = infeed.open(path).batch(500)
        with pytest.raises(
            infeed.SampleError, match=r'column `x` has 1 items, and those of the others have 2; say lists="vary"'
        ):
            list(data.to_numpy())
        rows = [n for batch in data.to_numpy(on_error="skip") for n in batch["n"]]
        assert sorted(set(range(6000)) - set(rows)) == [3100, 3200]
        opener = infeed.parquet if ending == "parquet" else infeed.arrow
        found = [row for batch in opener(path, lists="vary").batch(500).to_numpy() for row in batch["x"]]
        assert [row.tolist() for row in found] == lists


def test_words_of_lists():
    with pytest.raises(ValueError, match="lists"):
        infeed.parquet("x.parquet", lists="even").explain()
