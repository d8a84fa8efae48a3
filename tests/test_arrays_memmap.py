"""Files without a header as rows, compared with numpy.memmap."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_arrays_numpy import DTYPES, read, same, values

import infeed


def fails(path: Path, **options: Any) -> str:
    with pytest.raises(ValueError) as caught:
        list(infeed.memmap(path, **options).batch(2).to_numpy())
    return str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES)
def test_rows_are_those_of_numpy(tmp_path: Path, dtype: str) -> None:
    path = tmp_path / "x.bin"
    for shape in ((17,), (17, 3), (17, 1, 2, 5)):
        for order in ("C", "F"):
            mapped = np.memmap(path, dtype, "w+", shape=shape, order=order)
            mapped[...] = values(dtype, shape)
            mapped.flush()
            code = np.dtype(dtype).str
            for how in ("mmap", "pread"):
                same(
                    read(infeed.memmap(path, dtype=code, shape=shape[1:], order=order, read=how))["data"],
                    values(dtype, shape),
                )
            (tmp_path / "x.json").write_text(json.dumps({"dtype": code, "shape": [-1, *shape[1:]], "order": order}))
            same(read(infeed.memmap(path))["data"], values(dtype, shape))


def test_names_of_types(tmp_path: Path) -> None:
    array = values("<f4", (6, 2))
    array.tofile(tmp_path / "x.bin")
    for name in ("float32", "f32", "<f4", "f4", "torch.float32"):
        same(read(infeed.memmap(tmp_path / "x.bin", dtype=name, shape=[2]))["data"], array)
    assert "say" in fails(tmp_path / "x.bin", dtype="i8")
    assert "must be one of" in fails(tmp_path / "x.bin", dtype="complex64")


def test_a_head_is_skipped(tmp_path: Path) -> None:
    array = values("<i4", (6, 2))
    (tmp_path / "x.dat").write_bytes(b"head!" + array.tobytes())
    same(read(infeed.memmap(tmp_path / "x.dat", dtype="int32", shape=[-1, 2], offset=5))["data"], array)
    (tmp_path / "x.json").write_text(json.dumps({"dtype": "int32", "shape": [6, 2], "offset": 5}))
    same(read(infeed.memmap(tmp_path / "x.dat"))["data"], array)


def test_several_files(tmp_path: Path) -> None:
    parts = [values("u2", (n, 4), n) for n in (3, 1, 5)]
    for k, part in enumerate(parts):
        part.tofile(tmp_path / f"{k}.bin")
    pipeline = infeed.memmap(tmp_path, dtype="uint16", shape=[4])
    same(read(pipeline)["data"], np.concatenate(parts))
    window = next(iter(infeed.memmap(tmp_path / "2.bin", dtype="uint16", shape=[4], window=3).batch(1).to_numpy()))
    same(window["data"][0], parts[2][:3])


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(bytes(100))
    assert "take 12 bytes each, and there are 100: 8 rows and 4 bytes" in fails(path, dtype="float32", shape=[3])
    assert "x.json` beside it; give dtype= and shape=" in fails(path)
    assert "goes with dtype=" in fails(path, shape=[3])
    assert "sides of at least 1" in fails(path, dtype="uint8", shape=[0])
    (tmp_path / "x.json").write_text('{"dtype": "uint8", "shape": [7, 10]}')
    assert "7 rows of u8[10] take 70 bytes, and there are 100" in fails(path)
    (tmp_path / "x.json").write_text("{")
    assert "x.json" in fails(path)
    (tmp_path / "x.memmap").write_bytes(bytes(100))
    with pytest.raises(ValueError, match="cannot tell the format"):
        infeed.open(tmp_path / "x.memmap").rows()
