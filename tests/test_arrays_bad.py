"""Arrays that are damaged, cut short, or not what others are: errors that say what, where and what to do."""

from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest

import infeed

h5py = pytest.importorskip("h5py")


def fails(pipeline: infeed.Pipeline, error: type[Exception] = ValueError) -> str:
    with pytest.raises(error) as caught:
        list(pipeline.batch(2).to_numpy())
    return str(caught.value)


def saved(path: Path, array: np.ndarray) -> Path:
    np.save(path, array, allow_pickle=True)
    return path


def test_files_that_are_cut_short(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.arange(1000.0))
    np.savez(tmp_path / "a.npz", x=np.arange(1000.0))
    np.savez_compressed(tmp_path / "c.npz", x=np.arange(1000.0))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.arange(100_000.0), chunks=(1000,), compression="gzip")
    for name in ("a.npy", "a.npz", "c.npz", "a.h5"):
        whole = (tmp_path / name).read_bytes()
        for keep in (0, 1, 5, 11, 30, 100, len(whole) // 2, len(whole) - 100, len(whole) - 1):
            path = tmp_path / f"cut-{name}"
            path.write_bytes(whole[:keep])
            opened = {"npy": infeed.npy, "npz": infeed.npz}.get(name[-3:], infeed.hdf5)(path)
            with pytest.raises((ValueError, infeed.SampleError)) as caught:
                list(opened.batch(2).to_numpy())
            assert path.name in str(caught.value), (name, keep, str(caught.value))


def test_other_files(tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(b"neither of them" * 100)
    assert "not a NumPy array" in fails(infeed.npy(path))
    assert "no end of a ZIP archive" in fails(infeed.npz(path))
    assert "not an HDF5 file" in fails(infeed.hdf5(path))
    np.savez(tmp_path / "a.npz", x=np.arange(3))
    assert "it looks like an .npz archive" in fails(infeed.npy(tmp_path / "a.npz"))


def test_objects_are_refused(tmp_path: Path) -> None:
    path = saved(tmp_path / "o.npy", np.array([{"a": 1}, None], object))
    assert "Python objects: reading them would run code" in fails(infeed.npy(path))
    path = saved(tmp_path / "s.npy", np.zeros(3, [("x", "f4"), ("y", object)]))
    assert "field `y`: NumPy array of dtype `|O`" in fails(infeed.npy(path))
    np.savez(tmp_path / "o.npz", x=np.array([None], object))
    assert "member `x.npy`" in fails(infeed.npz(tmp_path / "o.npz"))
    assert "complex numbers" in fails(infeed.npy(saved(tmp_path / "c.npy", np.zeros(3, "c8"))))


def test_headers_that_claim_too_much(tmp_path: Path) -> None:
    out = io.BytesIO()
    np.save(out, np.zeros((4, 4), "<f4"))
    for claim in ("(4, 400000000000)", "(99999999999999999, 99999999999999999)", "(4, 5)"):
        text = out.getvalue().replace(b"(4, 4)", claim.encode())
        head = text[10 : text.index(b"\n")].rstrip()
        path = tmp_path / "x.npy"
        path.write_bytes(text[:8] + struct.pack("<H", len(head) + 1) + head + b"\n" + bytes(64))
        assert "cut short" in fails(infeed.npy(path))
    path.write_bytes(out.getvalue()[:6] + b"\x02\x00" + struct.pack("<I", 2**32 - 1) + bytes(100))
    assert "truncated in its header" in fails(infeed.npy(path))


def test_archives_that_lie(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(100.0))
    whole = path.read_bytes()
    at = whole.rindex(b"PK\x01\x02")

    def changed(offset: int, new: bytes) -> str:
        path.write_bytes(whole[: at + offset] + new + whole[at + offset + len(new) :])
        return fails(infeed.npz(path), Exception)

    assert "method 12" in changed(10, struct.pack("<H", 12))
    assert "encrypted" in changed(8, struct.pack("<H", 1))
    assert "impossible" in changed(24, struct.pack("<I", 2**31))
    assert "checksum" in changed(16, struct.pack("<I", 1234))
    assert "not where the directory says" in changed(42, struct.pack("<I", 7))
    end = whole.rindex(b"PK\x05\x06")
    path.write_bytes(whole[: end + 8] + struct.pack("<HH", 9999, 9999) + whole[end + 12 :])
    assert "claims 9999 members" in fails(infeed.npz(path), Exception)
    # A byte of the data: found by the checksum where all of it is read.
    path.write_bytes(whole[:500] + bytes([whole[500] ^ 1]) + whole[501:])
    assert "checksum (CRC-32)" in fails(infeed.npz(path), Exception)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("readme.txt", "hello")
    assert "no array" in fails(infeed.npz(path), Exception)
    np.savez_compressed(path, x=np.arange(1000.0))
    packed = bytearray(path.read_bytes())
    packed[200] ^= 255
    path.write_bytes(packed)
    assert "member `x.npy`" in fails(infeed.npz(path), Exception)


def test_files_that_do_not_go_together(tmp_path: Path) -> None:
    a = saved(tmp_path / "a.npy", np.zeros((4, 3), "f4"))
    b = saved(tmp_path / "b.npy", np.zeros((4, 5), "f4"))
    c = saved(tmp_path / "c.npy", np.zeros((4, 3), "f8"))
    d = saved(tmp_path / "d.npy", np.zeros((4, 3, 1), "f4"))
    text = fails(infeed.npy([a, b]))
    assert "b.npy" in text and "a.npy" in text and "[5] a row" in text and "[3] a row" in text
    assert "is f64, and in" in fails(infeed.npy([a, c]))
    assert "[4, 3, 1]" in fails(infeed.npy([a, d], rows="file"))
    assert "no axis 0" in fails(infeed.npy(saved(tmp_path / "n.npy", np.float32(3))))
    assert "no axis 2" in fails(infeed.npy(a, axis=2))
    assert "there are no rows" in fails(infeed.npy(saved(tmp_path / "e.npy", np.zeros((0, 3)))))
    np.savez(tmp_path / "a.npz", x=np.zeros(3))
    np.savez(tmp_path / "b.npz", y=np.zeros(3))
    assert "`x`, which other files have; it has y" in fails(infeed.npz(tmp_path / "*.npz"))
    np.savez(tmp_path / "b.npz", x=np.zeros(3), y=np.zeros(3))
    assert "has `y`, which other files do not have" in fails(infeed.npz(tmp_path / "*.npz"))
    np.savez(tmp_path / "b.npz", x=np.array(["a", "b"]))
    assert "is text, and in" in fails(infeed.npz(tmp_path / "*.npz"))
    assert "has [2] texts, and fields of text have one a row: read other fields" in fails(
        infeed.npz(tmp_path / "b.npz")
    )


def test_data_sets_that_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["good"] = np.arange(4)
        file.create_dataset("ref", (4,), h5py.ref_dtype)
        file.create_dataset("list", (4,), h5py.vlen_dtype("i4"))
        file["link"] = h5py.ExternalLink("other.h5", "/x")
        layout = h5py.VirtualLayout((4,), "i8")
        layout[:] = h5py.VirtualSource(path, "good", (4,))
        file.create_virtual_dataset("virtual", layout)
    for name, what in {
        "ref": "references",
        "list": "lists of variable length",
        "link": "external links",
        "virtual": "virtual data set",
    }.items():
        text = fails(infeed.hdf5(path, variables=[name]))
        assert what in text and "a.h5" in text, text
    assert infeed.hdf5(path, variables=["good"]).rows() == 4


def test_filters_that_are_not_here_are_named(tmp_path: Path) -> None:
    plugin = pytest.importorskip("hdf5plugin")
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", data=np.zeros((16, 16), "f4"), chunks=(4, 16), **plugin.Zfp())
    text = fails(infeed.hdf5(tmp_path / "a.h5"))
    assert "filter 32013" in text and "/x" in text and "a.h5" in text, text


def test_a_damaged_chunk_is_a_bad_sample(tmp_path: Path) -> None:
    """Only the rows of the damaged block are lost, and their place is named."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        data = np.random.default_rng(0).integers(0, 255, (40, 100), "u1")
        set_ = file.create_dataset("x", data=data, chunks=(10, 100), compression="gzip")
        place = set_.id.get_chunk_info(2).byte_offset
    whole = bytearray(path.read_bytes())
    whole[place + 50 : place + 90] = bytes(40)
    path.write_bytes(whole)
    with pytest.raises(infeed.SampleError, match=r"a\.h5.*row 2\d.*field `x`.*deflate"):
        list(infeed.hdf5(path).batch(5).to_numpy())
    loader = infeed.hdf5(path).batch(5).to_numpy(on_error="skip")
    assert sum(len(batch["x"]) for batch in loader) == 30
    assert len(loader.stats()["bad"]) == 10


def test_rows_larger_than_all_memory(tmp_path: Path) -> None:
    """Chunks that were never written take no room in the file, whatever the shape says."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (3, 1 << 40), "f8", chunks=(1, 1 << 20))
        file.create_dataset("y", (3, 1 << 62), "u1", chunks=(1, 1 << 20))
    fails(infeed.hdf5(tmp_path / "a.h5", variables=["x"]), Exception)
    assert "no memory can hold" in fails(infeed.hdf5(tmp_path / "a.h5", variables=["y"]))


def test_arguments(tmp_path: Path) -> None:
    path = saved(tmp_path / "a.npy", np.zeros((4, 3)))
    assert 'read must be "mmap" or "pread"' in fails(infeed.npy(path, read="fast"))  # type: ignore[arg-type]
    assert "axis must be a whole number" in fails(infeed.npy(path, axis="x"))  # type: ignore[arg-type]
    assert "must name at least one" in fails(infeed.npy(path, fields=[]))
    assert "twice" in fails(infeed.npy(path, fields=["data", "data"]))
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"there is no \.npy file in it"):
        infeed.npy(tmp_path / "empty").rows()
