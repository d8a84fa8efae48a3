"""Parquet as fields and matrices: columns, nulls, filters, images, orders, and what is refused."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from conftest import jpeg
from PIL import Image

pa = pytest.importorskip("pyarrow")
import pyarrow.parquet as pq  # noqa: E402

import infeed  # noqa: E402

ROWS = 300


def make(rows: int = ROWS, first: int = 0) -> pa.Table:
    rng = np.random.default_rng(first)
    return pa.table(
        {
            "a": rng.standard_normal(rows).astype(np.float32),
            "b": rng.standard_normal(rows),
            "n": pa.array([None if i % 7 == 3 else i for i in range(rows)], pa.int32()),
            "land": [("DE", "FR", "US")[i % 3] for i in range(rows)],
            "y": np.arange(first, first + rows),
        }
    )


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two files of three and two row groups."""
    folder = tmp_path_factory.mktemp("tables")
    pq.write_table(make(), folder / "a.parquet", row_group_size=100)
    pq.write_table(make(200, ROWS), folder / "b.parquet", row_group_size=100)
    return folder


def column(pipeline: infeed.Pipeline, name: str, size: int = 32):
    out = []
    for batch in pipeline.batch(size).to_numpy(threads=2):
        out.extend(batch[name])
    return out


def test_a_null_among_whole_numbers_names_the_cure(files):
    with pytest.raises(infeed.SampleError, match=r"row 3, .*field `n`: expected i32.*null.*fill=.*where=.*on_error"):
        column(infeed.parquet(files, columns=["n"]), "n")
    rows = [
        row for batch in infeed.parquet(files, columns=["n"]).batch(9).to_numpy(on_error="skip") for row in batch["n"]
    ]
    assert len(rows) == sum(i % 7 != 3 for part in (ROWS, 200) for i in range(part))


def test_columns_come_as_they_are(files):
    whole = pa.concat_tables([make(), make(200, ROWS)])
    pipeline = infeed.parquet(files, columns=["a", "b", "land", "y"])
    assert pipeline.rows() == 500
    for name in ("a", "b", "y"):
        np.testing.assert_array_equal(np.array(column(pipeline, name)), whole[name].to_numpy())
    assert column(pipeline, "land") == whole["land"].to_pylist()
    batch = next(iter(pipeline.batch(4).to_numpy()))
    assert (batch["a"].dtype, batch["b"].dtype, batch["y"].dtype) == (np.float32, np.float64, np.int64)
    assert list(batch["__key__"]) == ["0", "1", "2", "3"]


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_every_codec(tmp_path, codec, version):
    table = make()
    pq.write_table(table, tmp_path / "t.parquet", compression=codec, data_page_version=version, row_group_size=128)
    pipeline = infeed.parquet(tmp_path / "t.parquet", fill={"n": -1})
    np.testing.assert_array_equal(np.array(column(pipeline, "b")), table["b"].to_numpy())
    assert column(pipeline, "n") == [-1 if n is None else n for n in table["n"].to_pylist()]
    assert column(pipeline, "land") == table["land"].to_pylist()


@pytest.mark.parametrize(
    ("name", "encoding"), [("a", "BYTE_STREAM_SPLIT"), ("y", "DELTA_BINARY_PACKED"), ("y", "PLAIN"), ("b", "PLAIN")]
)
def test_other_encodings(tmp_path, name, encoding):
    table = make()
    pq.write_table(table, tmp_path / "t.parquet", use_dictionary=False, column_encoding={name: encoding})
    got = np.array(column(infeed.parquet(tmp_path / "t.parquet", columns=[name]), name))
    np.testing.assert_array_equal(got, table[name].to_numpy())


def test_nulls_and_what_stands_in_for_them(tmp_path):
    table = pa.table({"f": pa.array([1.5, None, 2.5]), "i": pa.array([1, None, 3]), "t": ["x", None, "z"]})
    pq.write_table(table, tmp_path / "t.parquet")
    path = tmp_path / "t.parquet"
    np.testing.assert_array_equal(column(infeed.parquet(path, columns=["f"]), "f"), [1.5, np.nan, 2.5])
    with pytest.raises(infeed.SampleError, match=r"row 1.*field `i`"):
        column(infeed.parquet(path, columns=["i"]), "i")
    filled = infeed.parquet(path, fill={"i": -1, "t": "?", "f": 0})
    assert column(filled, "i") == [1, -1, 3]
    assert column(filled, "t") == ["x", "?", "z"]
    assert column(filled, "f") == [1.5, 0.0, 2.5]
    with pytest.raises(infeed.SampleError, match=r"column `f` is null"):
        column(infeed.parquet(path, columns=["f"], nulls="error"), "f")


def test_a_filter_is_exact(files):
    whole = pa.concat_tables([make(), make(200, ROWS)])
    frame = whole.to_pylist()
    text = "y >= 150 and land == 'FR' and n is not none"
    want = [r["y"] for r in frame if r["y"] >= 150 and r["land"] == "FR" and r["n"] is not None]
    pipeline = infeed.parquet(files, columns=["y"], where=text)
    assert column(pipeline, "y") == want
    assert "left out by their statistics" in pipeline.explain()
    shuffled = pipeline.shuffle(seed=3)
    assert sorted(column(shuffled, "y")) == want != column(shuffled, "y")
    with pytest.raises(ValueError, match="no row fulfils"):
        infeed.parquet(files, where="y < 0").rows()


def test_nested_and_dictionary_columns(tmp_path):
    table = pa.table(
        {
            "s": pa.array([{"x": 1, "in": {"t": "a"}}, {"x": 2, "in": {"t": "b"}}]),
            "d": pa.array(["u", "v"]).dictionary_encode(),
            "l": pa.array([[1.0, 2.0], [3.0]], pa.list_(pa.float32())),
            "fixed": pa.array([[1, 2, 3], [4, 5, 6]], pa.list_(pa.int16(), 3)),
            "words": pa.array([["a", "b"], []]),
            "m": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
            "when": pa.array([1, 2], pa.timestamp("us")),
            "half": pa.array(np.array([0.5, 1.5], np.float16)),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    pipeline = infeed.parquet(tmp_path / "t.parquet")
    assert column(pipeline.select("s.x"), "s.x") == [1, 2]
    assert column(pipeline.select("s.in.t"), "s.in.t") == ["a", "b"]
    assert column(pipeline.select("d"), "d") == ["u", "v"]
    lists = column(pipeline.select("l"), "l", 1)
    assert [np.asarray(x).tolist() for x in lists] == [[1.0, 2.0], [3.0]]
    np.testing.assert_array_equal(np.array(column(pipeline.select("fixed"), "fixed")), [[1, 2, 3], [4, 5, 6]])
    assert [json.loads(x) if isinstance(x, str) else x for x in column(pipeline.select("words"), "words")] == [
        ["a", "b"],
        [],
    ]
    assert [json.loads(x) if isinstance(x, str) else x for x in column(pipeline.select("m"), "m")] == [{"k": 1}, {}]
    assert column(pipeline.select("when"), "when") == [1, 2]
    got = np.array(column(pipeline.select("half"), "half"))
    assert got.dtype == np.float16 and got.tolist() == [0.5, 1.5]


def test_images_in_columns_decode_like_tar_fields(tmp_path):
    photos = [jpeg(i) for i in range(6)]
    (tmp_path / "outside.jpg").write_bytes(photos[5])
    image = [{"bytes": b, "path": None} for b in photos[:5]] + [{"bytes": None, "path": "outside.jpg"}]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    pq.write_table(pa.table({"image": pa.array(image, kind), "label": list(range(6))}), tmp_path / "t.parquet")
    pipeline = infeed.parquet(tmp_path / "t.parquet").decode(image="rgb").batch(6)
    batch = next(iter(pipeline.to_numpy()))
    for got, photo in zip(batch["image"], photos, strict=True):
        want = np.asarray(Image.open(io.BytesIO(photo)).convert("RGB"))
        assert np.abs(np.asarray(got).astype(int) - want).max() <= 2
    assert list(batch["label"]) == list(range(6))


def test_ranks_share_and_states_resume(files):
    pipeline = infeed.parquet(files, columns=["y"]).shuffle(seed=5).batch(16)
    whole = [list(batch["y"]) for batch in pipeline.to_numpy()]
    assert sorted(y for batch in whole for y in batch) == list(range(500))
    shares = [[list(b["y"]) for b in pipeline.to_numpy(rank=r, world_size=2)] for r in range(2)]
    assert {y for share in shares for batch in share for y in batch} == set(range(500))
    loader = pipeline.to_numpy()
    run = iter(loader)
    first = [list(next(run)["y"]) for _ in range(5)]
    state = loader.state_dict()
    other = pipeline.to_numpy()
    other.load_state_dict(state)
    assert first + [list(batch["y"]) for batch in other] == whole
    blocks = infeed.parquet(files, columns=["y"]).shuffle(seed=5, window=1, block=100).batch(16)
    assert sorted(y for batch in blocks.to_numpy() for y in batch["y"]) == list(range(500))


def test_whole_numbers_serve_filters_and_balance(tmp_path):
    pq.write_table(pa.table({"y": [0] * 6 + [1] * 2, "x": np.arange(8.0)}), tmp_path / "t.parquet", row_group_size=3)
    pipeline = infeed.parquet(tmp_path / "t.parquet")
    assert column(pipeline.filter("y == 1"), "x") == [6.0, 7.0]
    drawn = column(pipeline.balance("y", seed=1), "y")
    assert drawn.count(0) == drawn.count(1) == 6


def test_mixed_schemas_name_both_files(tmp_path):
    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"x": ["1", "2"]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"`x` is Int64 in .*a\.parquet.* Utf8 in .*b\.parquet"):
        infeed.parquet(tmp_path).rows()
    pq.write_table(pa.table({"z": [1.0]}), tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"(?s)`x` .*missing.*b\.parquet"):
        infeed.parquet(tmp_path).rows()


def test_bad_files_are_named(tmp_path):
    pq.write_table(make(), tmp_path / "t.parquet")
    content = (tmp_path / "t.parquet").read_bytes()
    cut = tmp_path / "cut.parquet"
    cut.write_bytes(content[: len(content) // 2])
    with pytest.raises(infeed.FormatError, match=r"cut\.parquet.*cut off"):
        infeed.parquet(cut).rows()
    (tmp_path / "text.parquet").write_text("this is not a table at all")
    with pytest.raises(infeed.FormatError, match=r"no Parquet file"):
        infeed.parquet(tmp_path / "text.parquet").rows()
    pq.write_table(make(0), tmp_path / "empty.parquet")
    with pytest.raises(ValueError, match="no rows"):
        infeed.parquet(tmp_path / "empty.parquet").rows()
    with pytest.raises(FileNotFoundError):
        infeed.parquet(tmp_path / "nothing.parquet").rows()
    with pytest.raises(ValueError, match="no column `q`"):
        infeed.parquet(tmp_path / "t.parquet", columns=["q"]).rows()


def test_a_damaged_group_is_skipped_by_policy(tmp_path):
    table = pa.table({"x": np.arange(300)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=100, compression="none")
    content = bytearray((tmp_path / "t.parquet").read_bytes())
    content[4:20] = b"\xee" * 16
    (tmp_path / "t.parquet").write_bytes(content)
    pipeline = infeed.parquet(tmp_path / "t.parquet").batch(50)
    loader = pipeline.to_numpy(on_error="skip")
    assert [x for batch in loader for x in batch["x"]] == list(range(100, 300))
    with pytest.raises(infeed.SampleError, match=r"row group 0 of .*t\.parquet"):
        list(pipeline.to_numpy())


# One matrix


def features(pipeline: infeed.Pipeline, name: str = "features") -> np.ndarray:
    return np.concatenate([np.array(batch[name]) for batch in pipeline.batch(64).to_numpy(threads=2)])


def test_a_table_is_a_matrix_and_a_label(files):
    whole = pa.concat_tables([make(), make(200, ROWS)])
    pipeline = infeed.table(files, label="y")
    want = np.stack([whole["a"].to_numpy(), whole["b"].to_numpy(), whole["n"].to_numpy()], 1).astype(np.float32)
    np.testing.assert_array_equal(features(pipeline), want)
    assert np.array(features(pipeline, "y")).dtype == np.int64
    narrow = infeed.table(files, features=["b", "a"], dtype="float16", name="x", label="y", label_dtype="int32")
    np.testing.assert_array_equal(features(narrow, "x"), want[:, [1, 0]].astype(np.float16))
    assert features(narrow, "y").dtype == np.int32
    assert features(infeed.table(files, features=["a"], dtype="bfloat16")).shape == (500, 1)


def test_transforms_with_numbers_worked_out(files):
    whole = pa.concat_tables([make(), make(200, ROWS)])
    b, n = whole["b"].to_numpy(), whole["n"].to_numpy()
    pipeline = infeed.table(
        files,
        features=["b", "n"],
        dtype="float64",
        fill={"n": "mean"},
        transforms={"b": ["standardize"], "n": ["log1p", "minmax", {"op": "clip", "max": 0.5}]},
    )
    got = features(pipeline)
    np.testing.assert_allclose(got[:, 0], (b - b.mean()) / b.std(), rtol=1e-12, atol=1e-12)
    filled = np.log1p(np.where(np.isnan(n), np.nanmean(n), n))
    want = np.minimum((filled - filled.min()) / (filled.max() - filled.min()), 0.5)
    np.testing.assert_allclose(got[:, 1], want, rtol=1e-12, atol=1e-12)
    # The numbers stand in the recipe.
    ops = pipeline.recipe["source"]["args"]["matrix"]["features"]["ops"]
    assert ops["b"][0]["mean"] == pytest.approx(b.mean())
    assert ops["n"][0] == {"op": "fill", "value": pytest.approx(np.nanmean(n))}


def test_categories(files):
    pipeline = infeed.table(files, features=["land", "a"], categories=["land"], label="y")
    lands = [("DE", "FR", "US")[i % 3] for i in range(ROWS)] + [("DE", "FR", "US")[i % 3] for i in range(200)]
    assert features(pipeline)[:, 0].tolist() == [float(["DE", "FR", "US"].index(x)) for x in lands]
    some = infeed.table(files, features=["land"], categories={"land": ["US", "DE"]})
    assert set(features(some)[:, 0].tolist()) == {-1.0, 0.0, 1.0}
    strict = infeed.table(files, features=["land"], categories={"land": ["US", "DE"]}, unknown="error")
    with pytest.raises(infeed.SampleError, match="not among its categories"):
        features(strict)
    labels = infeed.table(files, features=["a"], label="land", categories=["land"])
    assert features(labels, "land").tolist() == [["DE", "FR", "US"].index(x) for x in lands]


def test_column_stats(files):
    whole = pa.concat_tables([make(), make(200, ROWS)])
    stats = infeed.column_stats(files, categories=["land"])
    assert list(stats) == ["a", "b", "n", "y", "land"]
    b = whole["b"].to_numpy()
    assert stats["b"]["mean"] == pytest.approx(b.mean(), rel=1e-12)
    assert stats["b"]["std"] == pytest.approx(b.std(), rel=1e-12)
    assert (stats["b"]["min"], stats["b"]["max"]) == (b.min(), b.max())
    assert (stats["n"]["count"], stats["n"]["nulls"]) == (500 - whole["n"].null_count, whole["n"].null_count)
    assert stats["land"]["values"] == ["DE", "FR", "US"]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ({"features": ["land"]}, "is text"),
        ({"features": ["q"]}, "no column `q`"),
        ({"features": ["a"], "transforms": {"b": ["log"]}}, "none of the features"),
        ({"features": ["a"], "transforms": ["sqrt"]}, "no operation `sqrt`"),
        ({"features": ["a"], "categories": {"b": "auto"}}, "neither a feature nor a label"),
        ({"features": ["a"], "dtype": "float13"}, "no dtype"),
        ({"features": ["a"], "fill": "median"}, "fill must be"),
    ],
)
def test_mistakes_in_tables(files, args, message):
    with pytest.raises(ValueError, match=message):
        infeed.table(files, **args).rows()
