"""safetensors files as rows, compared with the library that owns the format."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from format_writers import SAFETENSORS_TYPES, safetensors_bytes
from test_arrays_numpy import read, same, values

import infeed


def written(path: Path, header: dict[str, Any], data: bytes) -> Path:
    """A file as its parts say."""
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def save(path: Path, arrays: dict[str, np.ndarray]) -> Path:
    path.write_bytes(safetensors_bytes(arrays))
    return path


def fails(path: Path, **options: Any) -> str:
    with pytest.raises((ValueError, infeed.SampleError)) as caught:
        list(infeed.safetensors(path, **options).batch(2).to_numpy())
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("dtype", SAFETENSORS_TYPES)
def test_every_type(tmp_path: Path, dtype: str) -> None:
    arrays = {"x": values(dtype, (7, 3, 2)), "odd": values("u1", (7,)), "y": values(dtype, (7,), 1)}
    path = save(tmp_path / "a.safetensors", arrays)
    whole = read(infeed.open(path))
    rows = read(infeed.safetensors(path, rows="axis"))
    assert set(whole) == set(rows) == set(arrays)
    for name, array in arrays.items():
        same(whole[name], array[None])
        same(rows[name], array)
    last = read(infeed.safetensors(path, rows="axis", axis=-1, fields=["x"], read="pread"))
    same(last["x"], np.moveaxis(arrays["x"], -1, 0))


def test_files_of_the_library(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.torch")
    torch.manual_seed(0)
    sets = []
    for k in range(5):
        one = {"x": torch.randn(4, 3), "b": torch.randn(2).bfloat16(), "n": torch.tensor(k), "m": torch.arange(3) > k}
        library.save_file(one, tmp_path / f"{k}.safetensors", metadata={"format": "pt"})
        sets.append(library.load_file(tmp_path / f"{k}.safetensors"))
    batches = list(infeed.open(tmp_path).batch(5).to_torch())
    assert len(batches) == 1
    for name in sets[0]:
        assert torch.equal(batches[0][name], torch.stack([one[name] for one in sets]))


def test_files_of_different_lengths(tmp_path: Path) -> None:
    for k in range(3):
        save(tmp_path / f"{k}.safetensors", {"x": values("f4", (k + 1, 2), k)})
    batch = next(iter(infeed.safetensors(tmp_path).batch(3, ragged="list").to_numpy()))
    for k, array in enumerate(batch["x"]):
        same(np.asarray(array), values("float32", (k + 1, 2), k))
    joined = read(infeed.safetensors(tmp_path, rows="axis"))["x"]
    same(joined, np.concatenate([values("float32", (k + 1, 2), k) for k in range(3)]))


def test_a_long_header(tmp_path: Path) -> None:
    """Longer than what is read at first."""
    arrays = {f"layer.{k}.{'w' * 50}": np.full(2, k, "i8") for k in range(1500)}
    path = save(tmp_path / "a.safetensors", arrays)
    wanted = list(arrays)[1234]
    assert read(infeed.safetensors(path, fields=[wanted]))[wanted].tolist() == [[1234, 1234]]


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    one = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    assert "type F8_E4M3" in fails(written(path, {"x": {**one, "dtype": "F8_E4M3", "shape": [8]}}, bytes(8)))
    assert "takes 12 bytes, and it has 8" in fails(written(path, {"x": {**one, "shape": [3]}}, bytes(8)))
    assert "cut short" in fails(written(path, {"x": one}, bytes(7)))
    assert "tensors take 8 bytes, and there are 9" in fails(written(path, {"x": one}, bytes(9)))
    assert "leaves a hole" in fails(written(path, {"x": {**one, "data_offsets": [4, 12]}}, bytes(12)))
    assert "overlaps" in fails(written(path, {"x": one, "y": {**one, "data_offsets": [4, 12]}}, bytes(12)))
    assert "no tensor" in fails(written(path, {}, b""))
    assert "cannot be read" in fails(written(path, {"x": 3}, b""))
    path.write_bytes(struct.pack("<Q", 1 << 60) + b"{}")
    assert "at most 100000000" in fails(path)
    path.write_bytes(b"short")
    assert "no safetensors file" in fails(path)


def test_tensors_that_are_left_out_may_be_of_any_type(tmp_path: Path) -> None:
    header = {
        "f8": {"dtype": "F8_E5M2", "shape": [4], "data_offsets": [0, 4]},
        "x": {"dtype": "U8", "shape": [3], "data_offsets": [4, 7]},
    }
    path = written(tmp_path / "a.safetensors", header, bytes(range(7)))
    assert read(infeed.safetensors(path, fields=["x"]))["x"].tolist() == [[4, 5, 6]]
    assert "did you mean `x`?" in fails(path, fields=["X"])
