"""`infeed stats` and `infeed.stats`, compared with NumPy in float64.

Means and deviations must agree to 1e-12 of the largest value: NumPy's own sums are no better.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infeed
from infeed import transforms as T


def close(got: Any, wanted: Any, size: float = 1.0) -> None:
    np.testing.assert_allclose(np.asarray(got, "f8"), np.asarray(wanted, "f8"), rtol=1e-12, atol=1e-12 * size)


@pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 3, 5, 4), (2, 1, 3, 5, 4)])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "uint8", "int16", "int64", "bool"])
def test_numbers_are_numpys(shape: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(len(shape))
    x = (rng.normal(size=(50, *shape)) * 20 + 30).clip(0, 100).astype(dtype)
    wide = x.astype("f8")
    found = infeed.stats(infeed.arrays({"x": x}))["fields"]["x"]
    close([found[name] for name in ("mean", "std", "min", "max")], [wide.mean(), wide.std(), wide.min(), wide.max()])
    assert (found["count"], found["nan"]) == (x.size, 0)
    assert found["percentiles_from"] == "all values"
    for name, value in found["percentiles"].items():
        close(value, np.percentile(wide, float(name)))
    for axis in range(-len(shape), len(shape)):
        found = infeed.stats(infeed.arrays({"x": x}), axis=axis)["fields"]["x"]
        assert found["axis"] == axis % len(shape)
        others = tuple(k for k in range(len(shape) + 1) if k != found["axis"] + 1)
        close(found["channels"]["mean"], wide.mean(others))
        close(found["channels"]["std"], wide.std(others))
        close(found["channels"]["percentiles"]["50"], np.percentile(wide, 50, axis=others))
        close([found["mean"], found["std"]], [wide.mean(), wide.std()])


def test_large_offsets_keep_their_digits() -> None:
    """The textbook formula, sum of squares minus square of sums, would lose all of them."""
    x = np.random.default_rng(0).normal(size=(300, 40, 50)) + 1e9
    found = infeed.stats(infeed.arrays({"x": x}))["fields"]["x"]
    np.testing.assert_allclose(found["std"], x.std(), rtol=1e-9)
    close(found["mean"], x.mean())


def test_missing_values_are_counted_and_left_out() -> None:
    x = np.random.default_rng(0).normal(size=(20, 3, 8))
    x[4, 1, 2:5], x[7, 0, 0], x[:, 2] = np.nan, np.inf, np.nan
    found = infeed.stats(infeed.arrays({"x": x}), axis=0)["fields"]["x"]
    assert (found["nan"], found["infinite"], found["count"]) == (163, 1, 20 * 3 * 8 - 164)
    assert found["channels"]["nan"] == [0, 3, 160] and found["channels"]["mean"][2] is None
    finite = np.where(np.isfinite(x), x, np.nan)
    close(found["channels"]["std"][:2], np.nanstd(finite[:, :2], axis=(0, 2)))
    close(found["percentiles"]["25"], np.nanpercentile(finite, 25))


def test_samples_and_drawn_percentiles() -> None:
    x = np.random.default_rng(0).normal(size=(400, 2000)).astype("f4")
    found = infeed.stats(infeed.arrays({"x": x}))
    field = found["fields"]["x"]
    assert "drawn at random" in field["percentiles_from"] and found["rows"] == 400
    for name, value in field["percentiles"].items():
        # The share of values below an estimate from 100,000 of them has a deviation of at most 0.0016.
        assert abs((x <= value).mean() - float(name) / 100) < 0.008, name
    some = infeed.stats(infeed.arrays({"x": x}), sample=50)
    assert (some["rows"], some["of_rows"], some["fields"]["x"]["count"]) == (50, 400, 50 * 2000)


def test_threads_make_no_difference() -> None:
    x = np.random.default_rng(0).normal(size=(500, 3, 70)).astype("f4")
    found = [json.dumps(infeed.stats(infeed.arrays({"x": x}), axis=0, threads=n)) for n in (1, 2, 4)]
    assert found[0] == found[1] == found[2]


def test_normalize_reads_them(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    data = {"t": rng.normal(280, 9, (40, 3, 6)).astype("f4"), "p": rng.normal(1e5, 500, (40, 6)).astype("f4")}
    data["t"][:, 2] = 7
    found = infeed.stats(infeed.arrays({"t": data["t"]}), axis=0, out=tmp_path / "t.json")
    assert json.loads((tmp_path / "t.json").read_text()) == found
    both = {"fields": {**found["fields"], **infeed.stats(infeed.arrays({"p": data["p"]}))["fields"]}}
    for stats in (both, str(tmp_path / "both.json")):
        (tmp_path / "both.json").write_text(json.dumps(both))
        pipeline = infeed.arrays(data).map(T.Normalize(stats), on=["t", "p"]).batch(40)
        (batch,) = list(pipeline.to_numpy())
        np.testing.assert_allclose(batch["p"].mean(), 0, atol=1e-3)
        np.testing.assert_allclose(batch["p"].std(), 1, atol=1e-3)
        np.testing.assert_allclose(batch["t"].std(axis=(0, 2)), [1, 1, 0], atol=1e-3)
    with pytest.raises((ValueError, infeed.PlanError), match="no field `p`; they have t"):
        infeed.arrays(data).map(T.Normalize(str(tmp_path / "t.json")), on="p").batch(4).explain()
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        infeed.arrays(data).map(T.Normalize(str(tmp_path / "none.json")), on="p").batch(4).explain()


def test_stages_come_first_and_mistakes_are_named() -> None:
    data = {"x": np.arange(24.0).reshape(6, 4), "name": ["a", "b", "c", "d", "e", "f"]}
    pipeline = infeed.arrays(data).map(T.Scale(2), on="x").batch(2)
    assert infeed.stats(pipeline)["fields"]["x"]["mean"] == 23.0
    assert infeed.stats(infeed.arrays(data)[:3], fields="x")["rows"] == 3
    for options, words in (
        ({"fields": ["z"]}, "no field `z`"),
        ({"axis": 3}, "axis is 3"),
        ({"sample": 0}, "at least 1"),
    ):
        with pytest.raises((ValueError, infeed.PlanError), match=words):
            infeed.stats(infeed.arrays({"x": data["x"]}), **options)
    with pytest.raises(infeed.PlanError, match="Python functions"):
        infeed.stats(infeed.arrays({"x": data["x"]}).map(lambda s: s))


def command(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "infeed", "stats", *words], capture_output=True, text=True, timeout=120, check=False
    )


def test_the_command(tmp_path: Path) -> None:
    x = np.random.default_rng(0).normal(5, 2, (30, 3, 4))
    np.save(tmp_path / "x.npy", x)
    done = command(str(tmp_path / "x.npy"), "--axis", "0", "--out", str(tmp_path / "s.json"), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found == json.loads((tmp_path / "s.json").read_text())
    close(found["fields"]["data"]["channels"]["mean"], x.mean((0, 2)))
    assert found["fields"]["data"] == infeed.stats(infeed.npy(tmp_path / "x.npy"), axis=0)["fields"]["data"]
    text = command(str(tmp_path / "x.npy"), "--sample", "10").stdout
    assert "10 of 30 rows" in text and "data" in text and "mean" in text
    wrong = command(str(tmp_path / "x.npy"), "--axis", "7")
    assert wrong.returncode == 1 and "axis is 7" in wrong.stderr
    assert command().returncode == 2
    assert "T.Normalize" in command("--help").stdout
