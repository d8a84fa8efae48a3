"""Files of torch.save as rows, compared with torch.load."""

from __future__ import annotations

import io
import os
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infeed

torch = pytest.importorskip("torch")

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]


def rows_of(pipeline: infeed.Pipeline) -> dict[str, Any]:
    """All rows, one behind the other."""
    batches = list(pipeline.batch(4).to_torch(threads=2))
    return {name: torch.cat([batch[name] for batch in batches]) for name in batches[0]}


def same(found: Any, wanted: Any) -> None:
    assert found.dtype == wanted.dtype and found.shape == wanted.shape
    assert torch.equal(found.view(torch.uint8) if found.numel() else found, as_bytes(wanted))


def as_bytes(tensor: Any) -> Any:
    return tensor.contiguous().view(torch.uint8) if tensor.numel() else tensor


def fails(path: Path, **options: Any) -> str:
    with pytest.raises((ValueError, infeed.SampleError)) as caught:
        list(infeed.pt(path, **options).batch(2).to_numpy())
    assert path.name in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("protocol", [2, 4])
def test_every_type(tmp_path: Path, dtype: str, protocol: int) -> None:
    kind = getattr(torch, dtype)
    x = (torch.arange(42) % 2).reshape(7, 3, 2).to(kind)
    torch.save(x, tmp_path / "a.pt", pickle_protocol=protocol)
    same(rows_of(infeed.open(tmp_path / "a.pt"))["data"], x[None])
    for how in ("mmap", "pread"):
        same(rows_of(infeed.pt(tmp_path / "a.pt", rows="axis", read=how))["data"], x)
    same(rows_of(infeed.pt(tmp_path / "a.pt", rows="axis", axis=1))["data"], x.movedim(1, 0))


def views() -> dict[str, Any]:
    """Tensors of 6 rows that share one storage, or lie in it in other ways than C order."""
    base = torch.arange(120.0)
    x = base[:60].reshape(6, 10)
    return {
        "x": x,
        "behind": base[60:].reshape(6, 2, 5),
        "turned": base[:60].reshape(10, 6).t(),
        "inner": base.reshape(6, 4, 5).permute(0, 2, 1),
        "part": x[:, 2:7],
        "steps": base[::20],
        "same": torch.ones(1, 3).expand(6, 3),
        "ones": x[:, None, :1],
        "overlap": base.as_strided((6, 4), (2, 1)),
        "one": torch.arange(6),
    }


def test_views_and_shared_elements(tmp_path: Path) -> None:
    torch.save(views(), tmp_path / "a.pt")
    loaded = torch.load(tmp_path / "a.pt")
    whole = rows_of(infeed.pt(tmp_path / "a.pt"))
    rows = rows_of(infeed.pt(tmp_path / "a.pt", rows="axis"))
    shuffled = infeed.pt(tmp_path / "a.pt", rows="axis").shuffle(seed=3).batch(6)
    (batch,) = shuffled.to_torch()
    order = batch["one"]
    assert list(whole) == list(rows) == list(loaded)
    for name, tensor in loaded.items():
        same(whole[name], tensor[None])
        same(rows[name], tensor)
        same(batch[name], tensor[order])


def test_dicts_lists_and_modules(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.randn(4, 3)).sum().backward()
    optimizer.step()
    state = {
        "model": model.state_dict(),
        "parameters": OrderedDict(model.named_parameters()),
        "optimizer": optimizer.state_dict(),
        "pair": (torch.arange(3), [torch.zeros(2, 0), torch.tensor(7)]),
        "epoch": 3,
        "name": "run",
        "rates": [0.1, 0.2, None, True, 1 << 80, b"bytes"],
        "shape": torch.Size([1, 2]),
        "device": torch.device("cpu"),
        "dtype": torch.float16,
    }
    torch.save(state, tmp_path / "a.pth")
    got = rows_of(infeed.open(tmp_path / "a.pth"))
    wanted = {f"model.{name}": tensor for name, tensor in model.state_dict().items()}
    wanted |= {f"parameters.{name}": tensor.detach() for name, tensor in model.named_parameters()}
    for number, slot in optimizer.state_dict()["state"].items():
        wanted |= {f"optimizer.state.{number}.{name}": tensor for name, tensor in slot.items()}
    wanted |= {"pair.0": torch.arange(3), "pair.1.0": torch.zeros(2, 0), "pair.1.1": torch.tensor(7)}
    assert list(got) == list(wanted)
    for name, tensor in wanted.items():
        same(got[name], tensor[None])
    told = infeed.pt(tmp_path / "a.pth").batch(1).explain()
    assert "no tensors, left out: optimizer.param_groups, epoch, name, rates, shape, device, dtype" in told
    one = rows_of(infeed.pt(tmp_path / "a.pth", fields=["pair.1.1"]))
    assert list(one) == ["pair.1.1"]
    assert "did you mean `pair.0`?" in fails(tmp_path / "a.pth", fields=["pair0"])


def test_folders_of_samples(tmp_path: Path) -> None:
    for k in range(9):
        torch.save({"x": torch.full((2, 3), float(k)), "y": torch.tensor(k)}, tmp_path / f"{k}.pt")
    (batch,) = infeed.open(tmp_path).batch(9).to_torch()
    assert batch["y"].tolist() == list(range(9)) and batch["x"].shape == (9, 2, 3)
    for k in range(3):
        torch.save(torch.arange(k + 1), tmp_path / f"{k}.pth")
    (batch,) = infeed.pt(tmp_path / "*.pth").batch(3).to_numpy()
    assert [len(row) for row in batch["data"]] == [1, 2, 3]


def test_archives_that_others_have_packed(tmp_path: Path) -> None:
    """Deflated, in the other byte order, and without checksums."""
    x = torch.arange(60, dtype=torch.int32).reshape(6, 10)
    torch.save({"x": x, "t": x.t()[:, 1:]}, tmp_path / "a.pt")
    with (
        zipfile.ZipFile(tmp_path / "a.pt") as old,
        zipfile.ZipFile(tmp_path / "b.pt", "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            data = old.read(name)
            if name.endswith("byteorder"):
                data = b"big"
            if "/data/" in name:
                data = np.frombuffer(data, "<i4").astype(">i4").tobytes()
            new.writestr(name, data)
    got = rows_of(infeed.pt(tmp_path / "b.pt"))
    same(got["x"], x[None])
    same(got["t"], x.t()[None, :, 1:])
    if hasattr(torch.serialization, "set_crc32_options"):
        torch.serialization.set_crc32_options(False)
        try:
            torch.save(x, tmp_path / "c.pt")
        finally:
            torch.serialization.set_crc32_options(True)
        same(rows_of(infeed.pt(tmp_path / "c.pt"))["data"], x[None])


class Runs:
    """Would make a file if its pickle were run."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def test_nothing_is_run(tmp_path: Path) -> None:
    torch.save({"x": torch.zeros(3), "bad": Runs(tmp_path / "made")}, tmp_path / "a.pt")
    text = fails(tmp_path / "a.pt")
    assert "mkdir" in text and "is not run" in text and not (tmp_path / "made").exists()
    torch.save({"x": np.zeros(3)}, tmp_path / "a.pt")
    assert "numpy" in fails(tmp_path / "a.pt")
    torch.save(torch.nn.Linear(2, 2), tmp_path / "a.pt")
    assert "torch.nn.modules.linear.Linear" in fails(tmp_path / "a.pt")
    torch.save(torch.zeros(3).to_sparse(), tmp_path / "a.pt")
    assert "_rebuild_sparse_tensor" in fails(tmp_path / "a.pt")


def test_what_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.pt"
    torch.save(torch.zeros(3), path, _use_new_zipfile_serialization=False)
    assert "torch before 1.6" in fails(path)
    with zipfile.ZipFile(path, "w") as archive:
        # What torch.jit.save writes, among others.
        for name in ("data.pkl", "constants.pkl"):
            archive.writestr(f"a/{name}", pickle.dumps(None, 2))
    assert "TorchScript" in fails(path)
    torch.save({"c": torch.zeros(3, dtype=torch.complex64), "x": torch.zeros(3)}, path)
    assert "`c` is of type complex64" in fails(path)
    assert rows_of(infeed.pt(path, fields=["x"]))["x"].shape == (1, 3)
    torch.save({"f": torch.zeros(3).to(torch.float8_e4m3fn)}, path)
    assert "float8_e4m3fn" in fails(path)
    torch.save({"a": {"b": torch.zeros(1)}, "a.b": torch.zeros(1)}, path)
    assert "two tensors are called `a.b`" in fails(path)
    torch.save({(1, 2): torch.zeros(1)}, path)
    assert "no text and no number" in fails(path)
    torch.save({"n": 1}, path)
    assert "there is no tensor in" in fails(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "torch.save did not write it" in fails(path)
    path.write_bytes(pickle.dumps([1, 2, 3]))
    assert "no end of a ZIP archive" in fails(path)


def test_damaged_files(tmp_path: Path) -> None:
    out = io.BytesIO()
    torch.save({"x": torch.arange(1000.0)}, out)
    whole = out.getvalue()
    path = tmp_path / "a.pt"
    for keep in (0, 1, 10, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:keep])
        fails(path)
    at = whole.index(np.arange(10, 20, dtype="<f4").tobytes())
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    assert "checksum (CRC-32)" in fails(path)
