"""WebDataset reads our shards, we read its: same keys, same bytes."""

from __future__ import annotations

import json
import tarfile

import numpy as np
import pytest
import webdataset
from conftest import jpeg

import infeed

# webdataset leaves the shards it read open until they are collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

SAMPLES = [
    {
        "__key__": f"dir/sub/n{i:04d}",
        "jpg": jpeg(i),
        "cls": i,
        "txt": f"caption {i} ü",
        "json": {"i": [i, None]},
    }
    for i in range(23)
]


def raw(sample):
    return {
        "jpg": sample["jpg"],
        "cls": str(sample["cls"]).encode(),
        "txt": sample["txt"].encode(),
        "json": json.dumps(sample["json"]).encode(),
    }


def ours(pattern) -> dict[str, dict[str, bytes]]:
    """Everything infeed reads, as bytes by key and field."""
    out = {}
    for batch in infeed.open(pattern).batch(4).to_numpy(threads=2):
        for i, key in enumerate(batch["__key__"]):
            out[key] = {f: bytes(batch[f][i]) for f in batch if batch[f][i] is not None}
    return out


def test_it_reads_our_shards(tmp_path):
    with infeed.ShardWriter(tmp_path / "a-%06d.tar", maxcount=10) as out:
        for sample in SAMPLES:
            out.write(sample)
    files = sorted(str(p) for p in tmp_path.glob("*.tar"))
    assert [f[-12:] for f in files] == ["a-000000.tar", "a-000001.tar", "a-000002.tar"]
    read = list(webdataset.WebDataset(files, shardshuffle=False, empty_check=False))
    assert [s["__key__"] for s in read] == [s["__key__"] for s in SAMPLES]
    for got, sample in zip(read, SAMPLES, strict=True):
        assert {k: v for k, v in got.items() if not k.startswith("__")} == raw(sample)
    decoded = next(iter(webdataset.WebDataset(files, shardshuffle=False, empty_check=False).decode()))
    assert decoded["cls"] == 0 and decoded["json"] == {"i": [0, None]}


@pytest.mark.parametrize("mtime", [None, 1_700_000_000])
def test_we_read_its_shards(tmp_path, mtime):
    # Without mtime its writer stores a float, and tarfile puts a PAX header before every member.
    path = str(tmp_path / "b.tar")
    options = {} if mtime is None else {"mtime": mtime}
    with webdataset.TarWriter(path, encoder=False, **options) as out:
        for sample in SAMPLES:
            out.write({"__key__": sample["__key__"], **raw(sample)})
    if mtime is None:
        with tarfile.open(path) as tar:
            assert any(member.pax_headers for member in tar), "the case this test is about"
    assert ours(path) == {s["__key__"]: raw(s) for s in SAMPLES}


def test_both_read_the_same_of_odd_archives(tmp_path):
    """Names that WebDataset drops, groups or lower-cases."""
    path = tmp_path / "odd.tar"
    members = [
        ("./a/x.JPG", b"1"),
        ("./a/x.cls", b"2"),
        ("a/y.seg.png", b"3"),
        ("a/y.txt", b"4"),
        ("noextension", b"5"),
        ("__meta__/z.txt", b"6"),
        ("long/" + "d" * 150 + "/" + "k" * 90 + ".txt", b"7"),
        ("uml/ü.txt", "ä".encode()),
        ("last.bin", b""),
    ]
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT) as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            import io

            tar.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("a/link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "x.cls"
        tar.addfile(link)
    theirs = {}
    for sample in webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False):
        theirs[sample["__key__"]] = {k: v for k, v in sample.items() if not k.startswith("__")}
    assert ours(str(path)) == theirs


def test_numpy_arrays_and_numbers_go_through(tmp_path):
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    with infeed.ShardWriter(tmp_path / "n-%d.tar") as out:
        for i in range(6):
            out.write({"__key__": str(i), "npy": array + i, "score": 0.5 * i, "txt": "t", "json": {"k": i}})
    pipe = infeed.open(tmp_path / "n-0.tar").decode(npy="npy", score="float", txt="text", json="json").batch(6)
    (batch,) = pipe.to_numpy()
    assert np.array_equal(np.stack(batch["npy"]), np.stack([array + i for i in range(6)]))
    assert batch["score"].dtype == np.float64 and batch["score"].tolist() == [0, 0.5, 1, 1.5, 2, 2.5]
    assert batch["txt"] == ["t"] * 6 and batch["json"] == [{"k": i} for i in range(6)]


def test_the_writer_refuses_what_would_not_come_back(tmp_path):
    out = infeed.ShardWriter(tmp_path / "w-%03d.tar")
    with pytest.raises(ValueError, match="__key__"):
        out.write({"jpg": b""})
    with pytest.raises(ValueError, match="key"):
        out.write({"__key__": "a.b", "jpg": b""})
    with pytest.raises(TypeError, match="cannot write"):
        out.write({"__key__": "a", "obj": object()})
    with pytest.raises(ValueError):
        infeed.ShardWriter(tmp_path / "no-number.tar", maxcount=0)


def test_an_exception_leaves_no_half_shard(tmp_path):
    with pytest.raises(KeyError), infeed.ShardWriter(tmp_path / "x-%03d.tar") as out:
        out.write({"__key__": "a", "txt": "t"})
        raise KeyError
    assert list(tmp_path.glob("x-*")) == []
