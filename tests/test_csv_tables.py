"""Comma-separated values as matrices: the same numbers as pyarrow, and bad cells that affect only their row."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

import infeed

pa = pytest.importorskip("pyarrow")
import pyarrow.csv as pc  # noqa: E402

#: More than two blocks of 16,384 rows.
ROWS = 40_000


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two files with different column orders; one has integers where the other has floats."""
    folder = tmp_path_factory.mktemp("csv")
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal(ROWS), rng.integers(0, 9, ROWS)
    lands = np.array(["DE", "FR", 'a "quoted", land', "two\nlines"])[rng.integers(0, 4, ROWS)]
    whole = rng.integers(-100, 100, ROWS)
    first = pa.table({"x": x, "land": lands, "n": whole, "y": y})
    second = pa.table({"y": y[:10], "n": whole[:10] + 0.5, "x": x[:10], "land": lands[:10]})
    pc.write_csv(first, folder / "a.csv")
    pc.write_csv(second, folder / "b.csv")
    return [folder / "a.csv", folder / "b.csv"]


def read(files: list[Path]) -> pa.Table:
    options = pc.ParseOptions(newlines_in_values=True)
    kinds = pc.ConvertOptions(column_types={"n": pa.float64()}, include_columns=["x", "n", "y", "land"])
    return pa.concat_tables([pc.read_csv(path, parse_options=options, convert_options=kinds) for path in files])


def stacked(pipeline: infeed.Pipeline, *names: str, size: int = 512, **options) -> list[np.ndarray]:
    batches = list(pipeline.batch(size).to_numpy(threads=2, **options))
    return [np.concatenate([batch[name] for batch in batches]) for name in names]


def test_matrices_are_those_of_pyarrow(files):
    want = read(files)
    data = infeed.table(files, features=["x", "n"], label="y", dtype="float64")
    assert data.rows() == ROWS + 10
    features, labels = stacked(data, "features", "y")
    np.testing.assert_array_equal(features[:, 0], want["x"].to_numpy())
    np.testing.assert_array_equal(features[:, 1], want["n"].to_numpy())
    np.testing.assert_array_equal(labels, want["y"].to_numpy())
    assert labels.dtype == np.int64
    info = infeed.table_info(files)
    assert (info["rows"], info["blocks"]) == (ROWS + 10, 4)
    assert [f["name"] for f in info["fields"] if f["number"]] == ["x", "n", "y"]


def test_shuffles_hold_each_row_once(files):
    data = infeed.table(files, features=["x"], label="y").shuffle(seed=3)
    first, second = (stacked(data.shuffle(seed=seed), "features")[0][:, 0] for seed in (3, 4))
    assert not np.array_equal(first, second)
    np.testing.assert_array_equal(np.sort(first), np.sort(read(files)["x"].to_numpy().astype(np.float32)))
    np.testing.assert_array_equal(np.sort(first), np.sort(second))


def test_conditions_categories_and_operations(files):
    want = read(files).filter(pa.compute.field("n") > 50)
    data = infeed.table(
        files,
        features=["n", "land"],
        label="y",
        where="n > 50",
        categories={"land": "auto"},
        transforms={"n": "standardize"},
        dtype="float64",
    )
    features, labels = stacked(data, "features", "y")
    np.testing.assert_array_equal(labels, want["y"].to_numpy())
    n = want["n"].to_numpy()
    np.testing.assert_allclose(features[:, 0], (n - n.mean()) / n.std())
    lands = sorted(set(want["land"].to_pylist()))
    assert [lands[int(place)] for place in features[:, 1]] == want["land"].to_pylist()
    stats = infeed.column_stats(files, ["x"])["x"]
    assert stats["mean"] == pytest.approx(read(files)["x"].to_numpy().mean())


def test_a_bad_cell_costs_its_row_alone(tmp_path):
    lines = [f"{i},{i * 2}" for i in range(20_000)]
    lines[17_000] = "17000,none"
    lines[17_002] = "17002"
    path = tmp_path / "bad.csv"
    path.write_text("a,b\n" + "\n".join(lines) + "\n")
    data = infeed.table(path, features=["a", "b"], dtype="float64")
    with pytest.raises(infeed.SampleError, match=r"line 17002: column `b`: expected f64, found `none`") as caught:
        stacked(data, "features")
    assert (caught.value.row, caught.value.shard) == (17_000, str(path))
    loader = data.batch(512).to_numpy(threads=2, on_error="skip")
    rows = np.concatenate([batch["features"] for batch in loader])
    assert rows[:, 0].tolist() == [float(i) for i in range(20_000) if i not in (17_000, 17_002)]
    assert len(loader.stats()["bad"]) == 2
    # A column that nobody asks for may say anything, but the row must have its fields.
    assert len(stacked(infeed.table(path, features=["a"]), "features", on_error="skip")[0]) == 19_999


def test_whole_numbers_may_have_others_further_down(tmp_path):
    """The first 1,000 rows say that a column has whole numbers; in a matrix of floats that does not matter."""
    path = tmp_path / "late.csv"
    path.write_text("a,y\n" + "".join(f"{i},{i}\n" for i in range(2000)) + "0.5,1\n,2\n")
    features, labels = stacked(infeed.table(path, features=["a"], label="y"), "features", "y")
    assert features[-2, 0] == 0.5 and np.isnan(features[-1, 0]) and labels.dtype == np.int64
    with pytest.raises(infeed.SampleError, match=r"line 2002: column `a`: expected i64, found `0.5`"):
        stacked(infeed.table(path, features=["y"], label="a"), "features")
    typed = infeed.table(path, features=["y"], label="a", types={"a": "float32"})
    assert stacked(typed, "a")[0].dtype == np.float32


def test_nulls_follow_the_policy(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a;b\n1;\n;2\n3;4\n")
    features = stacked(infeed.table(path, dtype="float64"), "features")[0]
    np.testing.assert_array_equal(features, [[1, np.nan], [np.nan, 2], [3, 4]])
    filled = stacked(infeed.table(path, fill={"a": -1, "b": "mean"}, dtype="float64"), "features")[0]
    np.testing.assert_array_equal(filled, [[1, 3], [-1, 2], [3, 4]])
    with pytest.raises(infeed.SampleError, match="column `b`"):
        stacked(infeed.table(path, nulls="error"), "features")


def test_other_spellings(tmp_path):
    path = tmp_path / "plain.tsv"
    path.write_bytes(b"\xef\xbb\xbf1\ttrue\r\n\r\n2\tfalse\r\n")
    data = infeed.table(path, features=["n", "b"], header=False, names=["n", "b"])
    np.testing.assert_array_equal(stacked(data, "features")[0], [[1, 1], [2, 0]])
    data = infeed.table(path, features=["column_0"], header=False)
    np.testing.assert_array_equal(stacked(data, "features")[0], [[1], [2]])
    bars = tmp_path / "data.txt"
    bars.write_text("a|b\n1|2")
    data = infeed.table(bars, format="csv", delimiter="|", dtype="int64")
    np.testing.assert_array_equal(stacked(data, "features")[0], [[1, 2]])


def test_what_is_no_table_is_refused(tmp_path):
    def made(content: bytes, name: str = "x.csv", **args) -> int:
        path = tmp_path / name
        path.write_bytes(content)
        return infeed.table(path, **args).rows()

    for content, args, message in [
        (gzip.compress(b"a\n1\n"), {}, "compressed .gzip.*infeed.csv"),
        (b"", {}, "no column|there are no rows|no rows"),
        (b"a,b\n", {"features": ["a"]}, "there are no rows"),
        (b"a,a\n1,2\n", {}, "two columns are called `a`"),
        (b'a,b\n1,"2\n', {}, "a quote is opened in line 2 and never closed"),
        (b"a,b\n1,2,3\n", {}, "line 2: the row has 3 fields, and there are 2 columns"),
        (b"a,b\n1,2\n", {"features": ["c"]}, "no column `c`"),
        (b"a,b\n1,2\n", {"types": {"c": "int64"}}, "types: .* has no column `c`"),
        (b"a,b\n1,2\n", {"types": {"a": "bfloat16"}}, "types: `a` must be text, bool, int64"),
        (b"a,b\n1,2\n", {"delimiter": ",,"}, "delimiter must be one character"),
        (b"a,b\nx,y\n", {}, "no column of numbers is left"),
    ]:
        with pytest.raises((ValueError, infeed.FormatError, infeed.PlanError), match=message):
            made(content, **args)
    with pytest.raises(ValueError, match="is no table that is known"):
        made(b"a,b\n1,2\n", "x.bin")
