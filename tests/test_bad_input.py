"""Bad input never panics, hangs or silently loses data: each error names its location or follows the policy."""

from __future__ import annotations

import io
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from conftest import encode, jpeg, photo, write_shards

import infeed
from infeed import transforms as T

pytestmark = pytest.mark.timeout(60)


def write_tar(path, samples) -> str:
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for key, fields in samples:
            for field, data in fields.items():
                info = tarfile.TarInfo(f"{key}.{field}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    return str(path)


def pipeline(path, **decode) -> infeed.Pipeline:
    return infeed.open(path).decode(jpg="rgb", cls="int", **decode).map(T.Resize((32, 32))).batch(4)


def good(i: int) -> dict[str, bytes]:
    return {"jpg": jpeg(i), "cls": b"%d" % i}


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def huge_jpeg() -> bytes:
    data = bytearray(jpeg(0))
    at = data.index(b"\xff\xc0")
    data[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    return bytes(data)


def png_bomb() -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 50_000, 50_000, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", header)
        + chunk(b"IDAT", zlib.compress(b"\0" * 10_000_000))
        + chunk(b"IEND", b"")
    )


BAD = {
    "cut in half": (half(jpeg(5)), "truncated|ends early"),
    "claims 65535 x 65535": (huge_jpeg(), "65535.*max_pixels"),
    "png bomb": (png_bomb(), "50000.*max_pixels"),
    "text": (b"this is not a picture at all", "text"),
    "html": (b"<!DOCTYPE html><html>404</html>", "HTML"),
    "zero-length": (b"", "zero-length|empty"),
    "noise": (bytes(range(256)) * 10, "not an image|format|known"),
    "cut png": (half(encode(photo(50, 50, 1), "PNG")), "(?i)truncated|ends early|cut"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_image(tmp_path, case):
    data, message = BAD[case]
    path = write_tar(
        tmp_path / "t.tar", [(f"k{i}", good(i) if i != 5 else {"jpg": data, "cls": b"5"}) for i in range(9)]
    )
    with pytest.raises(infeed.SampleError, match=message) as caught:
        list(pipeline(path).to_numpy(threads=2))
    assert (caught.value.row, caught.value.key, caught.value.field) == (5, "k5", "jpg")
    assert caught.value.shard == path and "row 5" in str(caught.value) and "t.tar" in str(caught.value)

    skipping = pipeline(path).to_numpy(threads=2, on_error="skip")
    labels = np.concatenate([b["cls"] for b in skipping])
    assert labels.tolist() == [0, 1, 2, 3, 4, 6, 7, 8]
    stats = skipping.stats()
    assert stats["bad_samples"] == 1 and stats["bad"][0]["row"] == 5

    replacing = pipeline(path).to_numpy(threads=2, on_error="replace")
    batches = list(replacing)
    assert [len(b["cls"]) for b in batches] == [4, 4, 1] and 5 not in np.concatenate([b["cls"] for b in batches])
    assert replacing.stats()["bad_samples"] >= 1


def test_max_pixels_can_be_set(tmp_path):
    path = write_tar(tmp_path / "t.tar", [("k", good(0))])
    with pytest.raises(infeed.SampleError, match="max_pixels"):
        list(pipeline(path, max_pixels=1000).to_numpy())
    assert len(list(pipeline(path, max_pixels=120 * 100).to_numpy())) == 1


def test_missing_label(tmp_path):
    path = write_tar(tmp_path / "t.tar", [("a", good(0)), ("b", {"jpg": jpeg(1)}), ("c", good(2))])
    with pytest.raises(infeed.SampleError, match="no such field") as caught:
        list(pipeline(path).to_numpy())
    assert (caught.value.key, caught.value.field) == ("b", "cls")
    (batch,) = pipeline(path).to_numpy(on_error="skip")
    assert batch["__key__"] == ["a", "c"]
    (raw,) = infeed.open(path).batch(3).to_numpy()
    assert raw["cls"][1] is None and bytes(raw["cls"][2]) == b"2"


def test_label_that_is_no_number(tmp_path):
    path = write_tar(tmp_path / "t.tar", [("a", {"jpg": jpeg(0), "cls": b"cat"})])
    with pytest.raises(infeed.SampleError, match="cat"):
        list(pipeline(path).to_numpy())


def test_zero_length_member_is_zero_bytes(tmp_path):
    path = write_tar(tmp_path / "t.tar", [("a", {"bin": b""}), ("b", {"bin": b"x"})])
    (batch,) = infeed.open(path).batch(2).to_numpy()
    assert [bytes(b) for b in batch["bin"]] == [b"", b"x"]


@pytest.mark.parametrize("cut", [100, 700, 3000, -600, -1100])
def test_truncated_tar(tmp_path, cut):
    path = write_tar(tmp_path / "t.tar", [(f"k{i}", good(i)) for i in range(5)])
    size = os.path.getsize(path)
    end = size - 10240 + cut if cut < 0 else cut
    with open(path, "r+b") as f:
        f.truncate(end)
    try:
        rows = infeed.tar(path, index="off").rows()
    except infeed.FormatError as error:
        assert path in str(error) and str(error.shard) == path
    except infeed.PlanError as error:
        assert "no rows" in str(error)
    else:
        # Only a cut between members may pass, and then nothing that is there is lost.
        with tarfile.open(path, ignore_zeros=True) as tar:
            assert rows == len({m.name.split(".")[0] for m in tar})


def test_corrupt_header_in_the_middle(tmp_path):
    path = write_tar(tmp_path / "t.tar", [(f"k{i}", good(i)) for i in range(5)])
    with tarfile.open(path) as tar:
        third = tar.getmember("k2.jpg").offset
    with open(path, "r+b") as f:
        f.seek(third)
        f.write(b"\x07" * 512)
    with pytest.raises(infeed.FormatError, match="damaged at byte") as caught:
        infeed.open(path).rows()
    assert caught.value.offset == third
    lenient = infeed.tar(path, lenient=True, index="off").batch(10)
    # The sample before the damage may lack a member, so it is left out too, and all of that is reported.
    (batch,) = lenient.to_numpy()
    assert {"k0", "k3", "k4"} <= set(batch["__key__"])
    assert "k1" not in batch["__key__"] and "k1" in lenient.explain()
    assert "k1" in lenient.to_numpy().stats()["damage"][0]


def test_concatenated_archives_are_read_to_the_end(tmp_path):
    a = write_tar(tmp_path / "a.tar", [("a", good(0))])
    b = write_tar(tmp_path / "b.tar", [("b", good(1))])
    both = tmp_path / "both.tar"
    both.write_bytes(Path(a).read_bytes() + Path(b).read_bytes())
    assert infeed.open(both).rows() == 2


def test_folder_without_images(tmp_path):
    (tmp_path / "notes.md").write_text("hello")
    with pytest.raises((FileNotFoundError, ValueError), match=str(tmp_path.name)):
        infeed.open(tmp_path).rows()
    (tmp_path / "empty").mkdir()
    with pytest.raises((FileNotFoundError, ValueError), match="empty"):
        infeed.open(tmp_path / "empty").rows()


def test_missing_paths_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tar"):
        infeed.open(tmp_path / "nowhere.tar").rows()
    with pytest.raises(FileNotFoundError, match=r"x-\*\.tar"):
        infeed.open(str(tmp_path / "x-*.tar")).rows()
    write_tar(tmp_path / "s-00.tar", [("a", good(0))])
    with pytest.raises(FileNotFoundError, match=r"s-01\.tar"):
        infeed.open(str(tmp_path / "s-{00..01}.tar")).rows()


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file_as_user(tmp_path):
    path = tmp_path / "x.jpg"
    path.write_bytes(jpeg(0))
    path.chmod(0)
    with pytest.raises((PermissionError, infeed.SampleError), match=r"x\.jpg"):
        list(infeed.files(path).batch(1).to_numpy())


def test_unreadable_file(tmp_path):
    """A file that cannot be read, even by root: a folder where an image was."""
    for i in range(6):
        (tmp_path / f"{i}.jpg").write_bytes(jpeg(i))
    pipe = infeed.files([tmp_path / f"{i}.jpg" for i in range(6)]).decode(image="rgb").batch(2)
    assert pipe.rows() == 6
    (tmp_path / "3.jpg").unlink()
    (tmp_path / "3.jpg").mkdir()
    with pytest.raises(infeed.SampleError, match=r"3\.jpg"):
        list(pipe.to_numpy())
    assert sum(len(b["image"]) for b in pipe.to_numpy(on_error="skip")) == 5


def test_directory_vanishes_mid_epoch(tmp_path):
    root = tmp_path / "images"
    root.mkdir()
    for i in range(200):
        (root / f"{i:02d}.jpg").write_bytes(jpeg(i))
    pipe = infeed.folder(root).decode(image="rgb").batch(2)
    loader = pipe.to_numpy(threads=1, io_threads=1, prefetch=1, memory=1_100_000)
    it = iter(loader)
    next(it)
    shutil.rmtree(root)
    with pytest.raises(infeed.SampleError, match=r"\.jpg"):
        list(it)
    loader = pipe.to_numpy(on_error="skip", error_limit=10)
    with pytest.raises(infeed.TooManyBadSamples, match="limit of 10"):
        list(loader)


def test_shard_shrinks_mid_epoch(tmp_path):
    pattern = write_shards(tmp_path, 64, per_shard=64)
    (path,) = tmp_path.glob("*.tar")
    loader = (
        infeed.open(pattern).decode(jpg="rgb").batch(2).to_numpy(threads=1, io_threads=1, prefetch=1, memory=200_000)
    )
    it = iter(loader)
    next(it)
    os.truncate(path, 20_000)
    with pytest.raises(infeed.SampleError, match=r"changed|shorter|ends"):
        list(it)


def test_error_limit(tmp_path):
    path = write_tar(tmp_path / "t.tar", [(f"k{i}", {"jpg": b"bad", "cls": b"1"}) for i in range(30)])
    with pytest.raises(infeed.TooManyBadSamples) as caught:
        list(pipeline(path).to_numpy(on_error="skip", error_limit=7))
    assert caught.value.limit == 7
    with pytest.raises(infeed.SampleError, match="no replacement"):
        list(pipeline(path).to_numpy(on_error="replace"))


def test_images_of_other_shape_than_promised(tmp_path):
    path = write_tar(tmp_path / "t.tar", [("a", {"png": encode(photo(8, 8, 1), "PNG")})])
    pipe = infeed.open(path).decode(png="stored").map(T.Normalize([0.5] * 3, [0.5] * 3)).batch(1)
    assert len(list(pipe.to_numpy())) == 1
    gray = write_tar(tmp_path / "g.tar", [("a", {"png": encode(photo(8, 8, 1)[..., 0], "PNG")})])
    pipe = infeed.open(gray).decode(png="stored").map(T.Normalize([0.5] * 3, [0.5] * 3)).batch(1)
    with pytest.raises(infeed.SampleError, match="1 channels"):
        list(pipe.to_numpy())


WRITER = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR)
data = mmap.mmap(file, 0)
places = [int(place) for place in sys.argv[2].split(",")]
while True:
    for size in (bytes([0x40, 0]), bytes([0, 64])):
        for at in places:
            data[at : at + 2] = size
"""

READER = """
import sys, time
import infeed
pipe = infeed.open(sys.argv[1]).decode(jpg="rgb", max_pixels=5000).batch(64, ragged="list")
loader = pipe.to_numpy(threads=1, io_threads=1, on_error="skip", error_limit=10**12, endless=True)
end = time.monotonic() + 4
for _ in loader:
    if time.monotonic() > end:
        break
print("alive", loader.stats()["bad_samples"])
"""


def test_images_in_a_mapped_file_that_is_written_to(tmp_path):
    """Headers that change between two looks at them: libjpeg-turbo wrote past its buffer, within seconds."""
    pa = pytest.importorskip("pyarrow")
    pixels = np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8)
    image = encode(pixels, "JPEG", progressive=True, quality=60)
    height = image.index(b"\xff\xc2") + 5
    assert image[height : height + 2] == b"\0\x40"
    table = pa.table({"jpg": pa.array([image] * 64, pa.binary())})
    path = tmp_path / "t.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    raw, places = path.read_bytes(), []
    while (found := raw.find(image, places[-1] if places else 0)) >= 0:
        places.append(found + height)
    assert len(places) == 64
    writes = subprocess.Popen([sys.executable, "-c", WRITER, str(path), ",".join(map(str, places))])
    try:
        done = subprocess.run([sys.executable, "-c", READER, str(path)], capture_output=True, text=True, timeout=60)
    finally:
        writes.kill()
        writes.wait()
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.startswith("alive")


def test_a_sliver_that_resize_makes_a_giant_is_a_bad_sample(tmp_path):
    sliver = encode(np.zeros((65500, 1, 3), np.uint8), "JPEG")
    (tmp_path / "a.jpg").write_bytes(sliver)
    (tmp_path / "b.jpg").write_bytes(encode(np.zeros((60, 50, 3), np.uint8), "JPEG"))
    pipe = infeed.files([tmp_path / "a.jpg", tmp_path / "b.jpg"]).decode(image="rgb").map(T.Resize(256))
    loader = pipe.batch(1, ragged="list").to_numpy(on_error="skip")
    assert [image.shape for batch in loader for image in batch["image"]] == [(307, 256, 3)]
    assert "of memory, more than the" in loader.stats()["bad"][0]["error"]
