"""Opening data that is far away: few requests the first time, and hardly any the second time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infeed

h5py = pytest.importorskip("h5py")


def chunked(path: Path, seed: int = 0, **options: Any) -> np.ndarray[Any, Any]:
    """3,000 chunks that are far apart for their size: reading all of the file would take many requests."""
    rows = np.random.default_rng(seed).integers(0, 250, (3000, 3000), dtype="u1")
    with h5py.File(path, "w", **options) as file:
        # With and without an end of the first axis: other indices of chunks.
        file.create_dataset("x", data=rows, chunks=(1, 3000), compression="gzip", compression_opts=1)
        file.create_dataset("y", data=rows, chunks=(1, 3000), maxshape=(None, 3000), shuffle=True)
        for at in range(40):
            file[f"more/{at}/z"] = np.full(4, at)
    return rows


def opened(proxy: Any, url: str, **arguments: Any) -> tuple[int, int]:
    """Requests and bytes of opening, without those of what was done before."""
    proxy.settle()
    # Nothing is asked for twice, however late it is.
    len(infeed.hdf5(url, **arguments).with_store(hedge=False))
    seen = proxy.stats()
    return seen["requests"], seen["bytes"]


@pytest.mark.parametrize("libver", ["earliest", "latest"])
def test_what_opening_read_is_kept(moto, monkeypatch, tmp_path, proxied, libver):
    rows = chunked(tmp_path / "a.h5", libver=libver)
    size = (tmp_path / "a.h5").stat().st_size
    proxy = proxied(moto, latency_ms=10)
    for name, value in moto.environment(proxy).items():
        monkeypatch.setenv(name, value)
    moto.put(f"{libver}/a.h5", (tmp_path / "a.h5").read_bytes())
    url = f"s3://{moto.bucket}/{libver}/a.h5"
    requests, fetched = opened(proxy, url, variables=["x", "y"])
    assert requests < 120, "nodes of a tree are asked for together"
    requests, again = opened(proxy, url, variables=["x", "y"])
    assert requests <= 3, "the object is looked up"
    assert again < 10_000 < fetched < size
    pipeline = infeed.hdf5(url, variables=["x", "y"])
    for batch in pipeline.shuffle(seed=1).take(200).batch(50).to_numpy():
        np.testing.assert_array_equal(batch["x"], batch["y"])
        np.testing.assert_array_equal(batch["x"], rows[batch["__row__"]])
    # Another object under the same name: nothing that was kept is used.
    rows = chunked(tmp_path / "b.h5", seed=1, libver=libver)
    moto.put(f"{libver}/a.h5", (tmp_path / "b.h5").read_bytes())
    requests, fetched = opened(proxy, url, variables=["x", "y"])
    assert requests > 3 and fetched > 10_000
    batch = next(iter(infeed.hdf5(url, variables=["x", "y"]).shuffle(seed=2).batch(50).to_numpy()))
    np.testing.assert_array_equal(batch["x"], rows[batch["__row__"]])
    kept = list((tmp_path / "infeed-cache" / "index").glob("*.opened"))
    assert len(kept) == 1 and b"s3://" not in kept[0].read_bytes()


def test_groups_are_looked_at_together(moto, monkeypatch, tmp_path, proxied):
    with h5py.File(tmp_path / "groups.h5", "w") as file:
        for at in range(400):
            file[f"{at:03}/x"], file[f"{at:03}/y"] = np.full((60, 60), at), at
    proxy = proxied(moto, latency_ms=10)
    for name, value in moto.environment(proxy).items():
        monkeypatch.setenv(name, value)
    moto.put("groups.h5", (tmp_path / "groups.h5").read_bytes())
    url = f"s3://{moto.bucket}/groups.h5"
    requests, _ = opened(proxy, url, rows="group", variables=["x", "y"])
    got = [
        int(y)
        for batch in infeed.hdf5(url, rows="group", variables=["x", "y"]).batch(50).to_numpy()
        for y in batch["y"]
    ]
    assert got == list(range(400))
    assert requests < 100
    assert opened(proxy, url, rows="group", variables=["x", "y"])[0] <= 3


@pytest.mark.parametrize("kind", ["npz", "parquet", "zarr"])
def test_all_formats(moto, monkeypatch, tmp_path, proxied, kind):
    proxy = proxied(moto, latency_ms=10)
    for name, value in moto.environment(proxy).items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / kind
    folder.mkdir()
    for at in range(30):
        part = np.arange(3) + 3 * at
        if kind == "npz":
            np.savez(folder / f"{at:02}.npz", x=part, y=at)
        elif kind == "zarr":
            pytest.importorskip("zarr").create_array(str(folder / f"{at:02}.zarr"), data=part)
        else:
            table = pytest.importorskip("pyarrow").table({"x": part})
            pytest.importorskip("pyarrow.parquet").write_table(table, folder / f"{at:02}.parquet")
    moto.put_folder(folder, f"{kind}/")
    url = f"s3://{moto.bucket}/{kind}/"
    len(infeed.open(url))
    proxy.reset()
    batches = infeed.open(url).batch(1000).to_numpy()
    assert proxy.stats()["requests"] <= 5, "listings, and no header"
    rows = next(iter(batches))["data" if kind == "zarr" else "x"]
    assert np.concatenate([np.ravel(row) for row in rows]).tolist() == list(range(90))
