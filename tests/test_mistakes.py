"""Mistakes that are easily made: each is refused, or warned about, with words that say what to do."""

from __future__ import annotations

import gc
import subprocess
import sys
import warnings

import numpy as np
import pytest

import infeed
from infeed import transforms as T

PIXELS = np.zeros((4, 8, 8, 3), np.uint8)


def images():
    return infeed.arrays(image=PIXELS, y=np.arange(4), images=["image"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: images().map(T.Resize),
        lambda: images().map(T.RandomHorizontalFlip(), T.Normalize, on="image"),
        lambda: images().views("image", 2, T.RandomCrop),
        lambda: images().batch(2).map_batch(T.MixUp),
        lambda: images().map(T.MixUp),
    ],
)
def test_the_class_of_a_transform(make):
    with pytest.raises(TypeError, match=r"is the class of one: give T\.\w+\(\.\.\.\)"):
        make()


def test_the_class_of_another_library():
    v2 = pytest.importorskip("torchvision.transforms.v2")
    with pytest.raises(TypeError, match=r"RandomRotation is the class of one: give RandomRotation\(\.\.\.\)"):
        images().map(v2.RandomRotation, on="image")
    # Other classes are functions as any other.
    (batch,) = images().map(np.float32, on="y").batch(4).to_numpy()
    assert batch["y"].dtype == np.float32


def forgets(sample):
    sample["y"] = 3


def ignores(value):
    pass


@pytest.mark.parametrize("options", [{}, {"workers": "processes", "num_workers": 1}])
@pytest.mark.parametrize(
    "make, what",
    [
        (lambda: images().map(forgets).batch(2), "map(forgets) failed on shard 'arrays', row 0"),
        (lambda: images().map(ignores, on="y").batch(2), "map(ignores) failed on shard 'arrays', row 0"),
        (lambda: images().map(ignores, on=["image", "y"]).batch(2), "map(ignores) failed on shard 'arrays', row 0"),
        (lambda: images().batch(2).map_batch(forgets), "map_batch(forgets) failed"),
    ],
)
def test_a_function_that_returns_nothing(make, what, options):
    with make().to_numpy(**options) as loader, pytest.raises(TypeError, match="returned None: return the") as caught:
        next(iter(loader))
    assert any(what in note for note in caught.value.__notes__)


def test_nothing_stays_nothing(tmp_path):
    """A function may hand on a missing value."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"s": ["a", None]}), tmp_path / "x.parquet")
    pipe = infeed.open(tmp_path / "x.parquet").map(lambda s: s, on="s").batch(2)
    assert next(iter(pipe.to_numpy()))["s"] in (["a", None], ["a", ""])


def same_length(folder):
    with infeed.ShardWriter(folder / "s-%d.tar") as out:
        for i in range(4):
            out.write({"__key__": str(i), "bin": bytes([i]) * 16, "cls": i})
    return infeed.open(folder / "s-0.tar").decode(cls="int")


@pytest.mark.parametrize("options", [{}, {"workers": "processes", "num_workers": 1}])
def test_undecoded_bytes_stay_bytes(tmp_path, options):
    want = [bytes([i]) * 16 for i in range(4)]
    data = same_length(tmp_path)
    for pipe in (data.map(dict), data.filter(bool), data.flat_map(twice_less)):
        with pipe.batch(4).to_numpy(**options) as loader:
            assert next(iter(loader))["bin"] == want
    with data.map(renamed).batch(4).to_numpy(**options) as loader:
        bits, numbers = next(iter(loader))
    assert bits == want and numbers.tolist() == [0, 1, 2, 3]
    # What a function makes of them is its own.
    with data.map(as_numbers, on="bin").batch(4).to_numpy(**options) as loader:
        found = next(iter(loader))["bin"]
    assert found.dtype == np.uint8 and found.tolist() == [[i + 1] * 16 for i in range(4)]


def twice_less(sample):
    return [sample]


def renamed(sample):
    return sample["bin"], sample["cls"]


def as_numbers(array):
    assert isinstance(array, np.ndarray)
    return array + np.uint8(1)


def test_undecoded_bytes_in_other_doors(tmp_path):
    pytest.importorskip("pyarrow")
    pytest.importorskip("torch")
    data = same_length(tmp_path).map(dict).batch(4)
    assert next(iter(data.to_torch()))["bin"] == [bytes([i]) * 16 for i in range(4)]
    batch = next(iter(data.to_arrow()))
    assert str(batch.schema.field("bin").type) in ("binary", "large_binary")
    assert batch.column("bin").to_pylist()[1] == bytes([1]) * 16


def test_to_tuple_before_a_function():
    pipe = infeed.arrays(x=np.arange(4), y=np.arange(4) * 2).batch(4).to_tuple("y", "x")
    found = next(iter(pipe.map_batch(lambda pair: (pair[0] + 1, pair[1])).to_numpy()))
    assert isinstance(found, tuple) and found[0].tolist() == [1, 3, 5, 7] and found[1].tolist() == [0, 1, 2, 3]


def unclosed(folder, rows, **options):
    out = infeed.ShardWriter(folder / "u-%d.tar", **options)
    for i in range(rows):
        out.write({"__key__": str(i), "txt": "x" * 600, "cls": i})
    return out


def test_a_writer_that_is_not_closed(tmp_path):
    with pytest.warns(RuntimeWarning, match=r"u-%d.tar' was not closed, and the last 3 samples are lost.*close\(\)"):
        out = unclosed(tmp_path, 3)
        del out
        gc.collect()
    assert list(tmp_path.glob("u-*")) == []
    for options, lost in (({"maxcount": 2}, 1), ({"maxsize": 9000}, None)):
        folder = tmp_path / next(iter(options))
        with pytest.warns(RuntimeWarning) as caught:
            out = unclosed(folder, 7, **options)
            del out
            gc.collect()
        there = len(list(infeed.open(folder / "*.tar").to_numpy()))
        assert f"the last {7 - there} samples" in str(caught[0].message) and lost in (None, 7 - there)


def test_a_writer_that_is_closed_or_empty_says_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unclosed(tmp_path, 3).close()
        unclosed(tmp_path / "none", 0)
        with pytest.raises(KeyError), infeed.ShardWriter(tmp_path / "x-%d.tar") as out:
            out.write({"__key__": "0", "cls": 1})
            raise KeyError
        del out
        gc.collect()


def test_a_writer_that_is_open_at_the_end_of_the_interpreter(tmp_path):
    code = f"out = infeed.ShardWriter({str(tmp_path / 'e-%d.tar')!r}); out.write({{'__key__': 'a', 'cls': 1}})"
    code = f"import infeed; {code}"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "RuntimeWarning" in found.stderr and "the last 1 samples are lost" in found.stderr


class Rows:
    def __getitem__(self, at):
        raise AssertionError("nothing may be read")

    def __len__(self):
        return 3


@pytest.mark.parametrize(
    "data, words",
    [
        ([np.arange(3)], r"a list with a numpy ndarray"),
        ([{"x": 1}], r"a list with a dict: .*infeed.wrap\(data\)"),
        (Rows(), r"infeed.wrap\(data\)"),
        (lambda: iter(()), r"infeed.stream\(data\)"),
        (b"x.tar", "paths are text"),
        ([b"x.tar"], "decode it to str"),
        (3, r"give text"),
        (infeed.arrays(x=np.arange(3)), "a pipeline already"),
    ],
)
@pytest.mark.parametrize("opened", [infeed.open, infeed.tar, infeed.parquet, infeed.table])
def test_data_where_paths_belong(opened, data, words):
    with pytest.raises(TypeError, match=f"a path or a list of paths is expected here, got .*{words}"):
        opened(data)


@pytest.mark.parametrize("opened", [infeed.tar, infeed.parquet, infeed.table])
def test_tables_where_paths_belong(opened):
    """A function that reads files of one format names the one that reads tables in memory."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    pa = pytest.importorskip("pyarrow")
    columns = {"x": [1, 2], "text": ["a", "b"]}
    for frame in (pandas.DataFrame(columns), polars.DataFrame(columns), polars.LazyFrame(columns)):
        with pytest.raises(TypeError, match=r"(pandas|polars) (Data|Lazy)Frame: tables in .*infeed.open\(data\)"):
            opened(frame)
    table = pa.table(columns)
    for data in (table, table.to_batches()[0]):
        with pytest.raises(TypeError, match=r"pyarrow (Table|RecordBatch): tables in .*infeed.open\(data\)"):
            opened(data)
    with pytest.raises(TypeError, match=r"a dict: columns in memory are read by infeed.arrays\(data\)"):
        opened(columns)
    with pytest.raises(TypeError, match=r"a numpy ndarray: arrays in memory are read by infeed.arrays\(x=data\)"):
        opened(np.arange(3))


def test_data_sets_where_paths_belong():
    data = pytest.importorskip("torch.utils.data")
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match=r"a torch TensorDataset: .*infeed.wrap\(data\)"):
        infeed.tar(data.TensorDataset(torch.arange(3)))
    with pytest.raises(TypeError, match=r"a torch Tensor: .*infeed.arrays\(x=data\)"):
        infeed.tar(torch.arange(3))


def test_lists_of_paths_of_any_kind(tmp_path):
    same_length(tmp_path)
    path = tmp_path / "s-0.tar"
    for paths in (path, str(path), [path], (str(path),), np.array([str(path)]), {str(path)}, (p for p in [path])):
        assert len(infeed.open(paths)) == 4
    pandas = pytest.importorskip("pandas")
    assert len(infeed.open(pandas.Series([str(path)]))) == 4
