"""What people have in their hands: data frames, tables, arrays and data sets, opened as they are."""

from __future__ import annotations

import contextlib
import gc
import pickle

import numpy as np
import pytest
from in_hand import COLUMNS, as_rows, rows

import infeed
from infeed.sources import arrow_tables

pa = pytest.importorskip("pyarrow")


def tables():
    """The same table in every form: name, object, what explain() calls it."""
    table = pa.table(COLUMNS)
    many = pa.concat_tables([table.slice(0, 2), table.slice(2, 3)])
    made = [("table", table), ("batch", table.to_batches()[0]), ("chunks", many), ("dict", COLUMNS)]
    for library in ("pandas", "polars"):
        with contextlib.suppress(ImportError):
            made.append((library, __import__(library).DataFrame(COLUMNS)))
    return made


@pytest.mark.parametrize("opened", [infeed.open, infeed.wrap, infeed.arrays])
@pytest.mark.parametrize("data", [data for _, data in tables()], ids=[name for name, _ in tables()])
def test_columns_are_fields(opened, data):
    assert rows(opened(data)) == as_rows(COLUMNS)


@pytest.mark.parametrize("data", [data for _, data in tables()], ids=[name for name, _ in tables()])
def test_explain_says_what_was_done(data):
    given = infeed.open(data).explain().splitlines()[0]
    assert given.startswith("given   a") and "-> its" in given
    if not isinstance(data, dict):
        assert type(data).__name__ in given and "5 rows" in given


def test_everything_works_on_them():
    """Shuffles, splits, functions and worker processes, as on files."""
    data = infeed.open(pa.table(COLUMNS))
    assert sorted(r["x"] for r in rows(data.shuffle(seed=3))) == [1, 2, 3, 5, 7]
    assert [r["x"] for r in rows(data.filter("row > 1").map(twice, on="x"), workers="processes", num_workers=1)] == [
        4,
        14,
        10,
    ]
    first, second = data.random_split([0.6, 0.4], seed=1)
    assert len(first) == 3 and len(second) == 2


def twice(x):
    return x * 2


def odd_table():
    """Columns that cannot be used in place: missing values, lists of any length, dates."""
    return pa.table(
        {
            "n": pa.array([1, 2, 3]),
            "s": pa.array(["a", None, "c"]),
            "l": pa.array([[1], [2, 3], []], pa.list_(pa.int32())),
            "day": pa.array([0, 1, 2], pa.date32()),
            "meta": pa.array([{"k": 1}, {"k": 2}, {"k": 3}]),
        }
    )


def test_other_tables_are_kept_as_arrow(tmp_path):
    table = odd_table()
    pipeline = infeed.open(table)
    assert "the column 's' has missing values" in pipeline.explain()
    with pa.OSFile(str(tmp_path / "t.arrow"), "wb") as out, pa.ipc.new_file(out, table.schema) as file:
        file.write_table(table)
    assert rows(pipeline, 3) == rows(infeed.arrow(tmp_path / "t.arrow"), 3)
    assert rows(pipeline, 3)[1] == {"n": 2, "s": None, "l": [2, 3], "day": 1, "meta.k": 2}


def test_a_kept_table_lives_as_long_as_its_pipeline():
    pipeline = infeed.open(odd_table())
    (name,) = pipeline.recipe["source"]["paths"]
    copy = pickle.loads(pickle.dumps(pipeline))
    again = infeed.open(odd_table())
    assert copy == pipeline == again, "equal tables have one name"
    del copy, again
    gc.collect()
    assert len(rows(pipeline)) == 3
    loader = pipeline.batch(3).to_numpy()
    del pipeline
    gc.collect()
    assert next(iter(loader))["n"].tolist() == [1, 2, 3]
    loader.close()
    del loader
    gc.collect()
    assert not infeed.stores.remove(name), "nothing is left behind"


def test_equal_lists_are_stacked_and_nested_ones_too():
    table = pa.table({"v": [[1.0, 2.0], [3.0, 4.0]], "m": [[[1, 2, 3]], [[4, 5, 6]]]})
    (batch,) = infeed.open(table).batch(2).to_numpy()
    assert batch["v"].tolist() == [[1.0, 2.0], [3.0, 4.0]] and batch["m"].shape == (2, 1, 3)
    fixed = pa.table({"v": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.int16(), 2))})
    (batch,) = infeed.open(fixed.slice(1)).batch(2).to_numpy()
    assert batch["v"].dtype == np.int16 and batch["v"].tolist() == [[3, 4], [5, 6]]
    with_nulls = pa.table({"v": [[1.0, 2.0], None]})
    assert "the column 'v' has missing values" in infeed.open(with_nulls).explain()


def test_slices_and_large_tables_are_not_copied(monkeypatch):
    monkeypatch.setattr(arrow_tables, "MOST_COPIED", 0)
    table = pa.table(COLUMNS)
    many = pa.concat_tables([table.slice(0, 2), table.slice(2, 3)])
    assert rows(infeed.open(many)) == as_rows(COLUMNS)
    assert rows(infeed.open(many.slice(1, 3))) == as_rows(COLUMNS)[1:4]
    lists = [pa.table({"v": [[1], [2]]}), pa.table({"v": [[1, 2]]})]
    pipeline = infeed.open(pa.concat_tables(lists))
    assert "lists of the column 'v' differ in length" in pipeline.explain()
    assert [r["v"] for r in rows(pipeline)] == [[1], [2], [1, 2]]
    numbers = np.arange(5)
    assert infeed.open({"x": numbers})._given["dict"].fields["x"] is numbers


def test_types_that_stand_for_others():
    table = pa.table({"c": pa.array(["u", "v", "u"]).dictionary_encode(), "h": pa.array([1, 2, 3], pa.float16())})
    assert [r["c"] for r in rows(infeed.open(table))] == ["u", "v", "u"]
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"c": polars.Series(["u", "v"], dtype=polars.Categorical), "b": [b"x", b"yy"]})
    assert [(r["c"], bytes(r["b"])) for r in rows(infeed.open(frame))] == [("u", b"x"), ("v", b"yy")]
    with pytest.raises(TypeError, match=r"LazyFrame has no rows yet: give data.collect\(\)"):
        infeed.open(frame.lazy())


def test_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1, 2], 7: [0.5, np.nan]}, index=["p", "q"])
    pipeline = infeed.open(frame)
    assert "without its index: reset_index() makes it a column" in pipeline.explain()
    (batch,) = pipeline.batch(2).to_numpy()
    assert batch["x"].tolist() == [1, 2] and np.isnan(batch["7"][1])
    assert "without" not in infeed.open(frame.reset_index()).explain()
    vectors = pandas.DataFrame({"v": [np.zeros(3, np.float32), np.ones(3, np.float32)]})
    (batch,) = infeed.open(vectors).batch(2).to_numpy()
    assert batch["v"].shape == (2, 3) and batch["v"].dtype == np.float32
    with pytest.raises(TypeError, match="a column of a DataFrame of pandas holds objects that are no table"):
        infeed.open(pandas.DataFrame({"o": [1, object()]}))
    with pytest.raises(ValueError, match="two columns are called 'a'"):
        infeed.open(pa.table([[1], [2]], names=["a", "a"]))
    with pytest.raises(ValueError, match="has no rows"):
        infeed.open(frame[:0])


def test_a_column_of_paths_is_not_read(tmp_path):
    (tmp_path / "a.txt").write_text("words")
    data = infeed.open({"path": ["a.txt"]})
    assert rows(data) == [{"path": "a.txt"}]
    loaded = data.load("path", root=tmp_path, to="text").decode(text="text")
    assert rows(loaded) == [{"path": "a.txt", "text": "words"}]


def test_arrays():
    pixels = np.arange(24).reshape(4, 6)
    for opened in (infeed.open, infeed.arrays):
        (batch,) = opened(pixels).batch(4).to_numpy()
        assert batch["value"].tolist() == pixels.tolist()
    assert "the field 'value'; infeed.arrays(x=data) names it" in infeed.open(pixels).explain()
    pairs = np.array([(1, 0.5), (2, 1.5)], dtype=[("n", "i4"), ("v", "f8")])
    (batch,) = infeed.open(pairs).batch(2).to_numpy()
    assert batch["n"].tolist() == [1, 2] and batch["v"].tolist() == [0.5, 1.5]
    (batch,) = infeed.arrays(words=np.array(["a", "bc"]), more=np.array(["x", "y"], object)).batch(2).to_numpy()
    assert batch["words"] == ["a", "bc"] and batch["more"] == ["x", "y"]
    # Samples by index stay what they were.
    assert next(iter(infeed.wrap(pixels).batch(2).to_numpy())).tolist() == pixels[:2].tolist()
    assert next(iter(infeed.wrap({0: "a", 1: "b"}).batch(2).to_numpy())) == ["a", "b"]


@pytest.mark.parametrize("opened", [infeed.open, infeed.wrap])
def test_data_sets_of_torch(opened):
    torch = pytest.importorskip("torch")
    data = torch.utils.data.TensorDataset(torch.arange(5), torch.ones(5, 2))
    pipeline = opened(data)
    assert "a TensorDataset of torch -> samples made in Python, by data[row]" in pipeline.explain()
    numbers, ones = next(iter(pipeline.batch(5).to_torch()))
    assert numbers.tolist() == [0, 1, 2, 3, 4] and ones.shape == (5, 2)
    assert rows(infeed.open(torch.arange(3))) == [{"value": 0}, {"value": 1}, {"value": 2}]

    class Endless(torch.utils.data.IterableDataset):
        def __iter__(self):
            return iter([(torch.arange(2), i) for i in range(4)])

        def __len__(self):
            return 4

    pipeline = opened(Endless())
    assert "a stream of its samples" in pipeline.explain()
    assert [r["1"] for r in rows(pipeline)] == [0, 1, 2, 3]


def test_resuming_over_a_table():
    data = infeed.open(pa.table(COLUMNS)).shuffle(seed=5).batch(2)
    first = data.to_numpy()
    iterator = iter(first)
    next(iterator)
    second = data.to_numpy()
    second.load_state_dict(first.state_dict())
    assert [b["x"].tolist() for b in iterator] == [b["x"].tolist() for b in second]


def test_pipelines_and_loaders_are_no_data_sets():
    pipeline = infeed.arrays({"x": np.arange(10)}).batch(2)
    with pytest.raises(TypeError, match="a pipeline already"):
        infeed.wrap(pipeline)
    batches = infeed.wrap(pipeline.to_numpy())
    assert "a stream of its batches" in batches.explain()
    assert [batch["x"].tolist() for batch in batches.to_numpy()] == [[[i, i + 1]] for i in range(0, 10, 2)]
