"""ShardWriter encodes values as WebDataset's writer does; the page about it runs as it is written."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
import webdataset
from conftest import jpeg, photo
from PIL import Image

import infeed
from infeed.encoders import encode

torch = pytest.importorskip("torch")

# webdataset leaves the shards it read open until they are collected.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "writing.md"
PIXELS = photo(40, 30, 1)
GRAY = PIXELS[..., 0].copy()
FLOATS = (PIXELS / 255).astype(np.float32)
NESTED = {"a": [1, 2.5, None], "b": "ü"}
#: Field, value: what both writers take.
BOTH = {
    "jpg": PIXELS,
    "b.jpeg": Image.fromarray(PIXELS),
    "gray.jpg": GRAY,
    "image": PIXELS,
    "float.png": FLOATS,
    "double.png": FLOATS.astype(np.float64),
    "png": PIXELS,
    "gray.png": Image.fromarray(GRAY),
    "alpha.png": Image.fromarray(np.dstack([PIXELS, GRAY])),
    "tif": PIXELS,
    "ppm": PIXELS,
    "cls": 7,
    "id": np.int32(9),
    "index": -1,
    "txt": "caption ü",
    "transcript": "spoken",
    "html": "<b>",
    "json": NESTED,
    "text.json": '{"already": "json"}',
    "npy": np.arange(12, dtype=np.float32).reshape(3, 4),
    "npz": {"x": np.arange(3), "y": np.ones((2, 2))},
    "pth": {"t": torch.arange(3)},
    "bin": b"\x00\x01",
    "other": "plain text",
}


def wds_bytes(sample):
    """What WebDataset's writer makes of it."""
    encoder = webdataset.writer.make_encoder(True)
    return {
        name: bytes(value) if not isinstance(value, str) else value.encode()
        for name, value in encoder(sample).items()
    }


@pytest.mark.parametrize("field", BOTH)
def test_the_same_bytes_as_webdataset(field):
    ours, theirs = encode(field, BOTH[field]), wds_bytes({field: BOTH[field]})[field]
    if field in ("npz", "pth"):
        # Archives with the time in them.
        load = (lambda b: dict(np.load(io.BytesIO(b)))) if field == "npz" else (lambda b: torch.load(io.BytesIO(b)))
        first, second = load(ours), load(theirs)
        assert first.keys() == second.keys()
        assert all(np.array_equal(first[name], second[name]) for name in first)
    else:
        assert ours == theirs


def test_round_trip_through_both(tmp_path):
    with infeed.ShardWriter(tmp_path / "ours-%d.tar") as out:
        out.write({"__key__": "a", **BOTH})
    with webdataset.TarWriter(str(tmp_path / "theirs.tar")) as out:
        out.write({"__key__": "a", **BOTH})
    fields = {name: "rgb" for name in BOTH if name.rsplit(".")[-1] in ("jpg", "jpeg", "image", "png", "tif", "ppm")}
    fields |= {
        "cls": "int",
        "id": "int",
        "index": "int",
        "txt": "text",
        "json": "json",
        "npy": "npy",
        "other": "text",
    }
    read = []
    for path in (tmp_path / "ours-0.tar", tmp_path / "theirs.tar"):
        mine = next(iter(infeed.open(path).select(*fields).decode(**fields).to_numpy()))
        (sample,) = webdataset.WebDataset(str(path), shardshuffle=False, empty_check=False).decode("rgb8")
        for name in ("cls", "id", "index", "txt", "json", "transcript"):
            assert sample[name] == BOTH[name]
        assert np.array_equal(sample["npy"], BOTH["npy"]) and np.array_equal(sample["npz"]["y"], np.ones((2, 2)))
        assert np.array_equal(sample["png"], PIXELS) and np.array_equal(sample["float.png"], encoded(FLOATS))
        assert np.array_equal(mine["png"][0], PIXELS) and np.array_equal(mine["jpg"][0], sample["jpg"])
        assert mine["json"] == [NESTED] and mine["index"].tolist() == [-1] and mine["other"] == ["plain text"]
        assert np.array_equal(mine["npy"][0], BOTH["npy"])
        read.append(mine)
    for name in fields:
        assert np.array_equal(np.asarray(read[0][name][0]), np.asarray(read[1][name][0])), name


def encoded(floats):
    return (floats * 255).astype(np.uint8)


def opened(data):
    return np.asarray(Image.open(io.BytesIO(data)))


@pytest.mark.parametrize("kind", ["png", "webp", "bmp", "tif", "tiff", "ppm", "pnm"])
def test_lossless_formats(kind, tmp_path):
    assert np.array_equal(opened(encode(kind, PIXELS)), PIXELS)
    with infeed.ShardWriter(tmp_path / "x-%d.tar") as out:
        out.write({"__key__": "a", kind: PIXELS})
    (batch,) = infeed.open(tmp_path / "x-0.tar").decode(**{kind: "rgb"}).to_numpy()
    assert np.array_equal(batch[kind][0], PIXELS)


def test_gray_maps_and_many_bits():
    assert encode("pgm", GRAY).startswith(b"P5") and np.array_equal(opened(encode("pgm", GRAY)), GRAY)
    assert encode("pbm", GRAY > 100).startswith(b"P4")
    deep = (GRAY.astype(np.uint16) * 257) ^ 3
    assert np.array_equal(opened(encode("png", deep)), deep) and np.array_equal(opened(encode("tif", deep)), deep)
    assert np.array_equal(opened(encode("png", GRAY[..., None])), GRAY)
    assert len(encode("jpg", PIXELS, 50)) < len(encode("jpg", PIXELS)) / 2


def test_quality(tmp_path):
    for quality, folder in ((30, "low"), (100, "high")):
        with infeed.ShardWriter(tmp_path / folder / "%d.tar", quality=quality) as out:
            out.write({"__key__": "a", "jpg": PIXELS})
    low, high = ((tmp_path / name / "0.tar").stat().st_size for name in ("low", "high"))
    assert low < high


def test_tensors():
    first = torch.from_numpy(PIXELS).permute(2, 0, 1)
    for tensor in (first, first.contiguous(), first.clone().requires_grad_(False), torch.from_numpy(PIXELS)):
        assert encode("png", tensor) == encode("png", PIXELS)
    assert encode("png", torch.from_numpy(FLOATS).permute(2, 0, 1).requires_grad_()) == encode("png", FLOATS)
    assert encode("png", torch.from_numpy(GRAY)) == encode("png", torch.from_numpy(GRAY)[None]) == encode("png", GRAY)
    small = np.arange(27, dtype=np.uint8).reshape(3, 3, 3)
    assert encode("png", torch.from_numpy(small)) == encode("png", np.moveaxis(small, 0, -1)), "torch's own order"
    assert np.array_equal(np.load(io.BytesIO(encode("npy", torch.ones(2, 3)))), np.ones((2, 3), np.float32))
    assert encode("cls", torch.tensor(3)) == b"3" and encode("score", torch.tensor(0.5)) == b"0.5"
    assert json.loads(encode("json", {"x": torch.arange(2), "y": np.float32(0.5), "z": np.arange(2)})) == {
        "x": [0, 1],
        "y": 0.5,
        "z": [0, 1],
    }


@pytest.mark.parametrize(
    "field, value, words",
    [
        ("jpg", None, "field 'jpg': None cannot be written; leave the field out"),
        ("jpg", "photo.jpg", r"got text, 'photo.jpg'; .*read_bytes\(\)"),
        ("npy", Path("x.npy"), "got text"),
        (
            "jpg",
            np.moveaxis(PIXELS, -1, 0),
            r"height x width x channels or height x width, got \(3, 30, 40\); np.moveaxis",
        ),
        ("jpg", np.zeros((2, 4, 4, 3), np.uint8), r"got \(2, 4, 4, 3\)"),
        ("jpg", torch.zeros(5, 8, 8, dtype=torch.uint8), "channels x height x width"),
        ("jpg", np.zeros((0, 4, 3), np.uint8), "an image is"),
        ("jpg", FLOATS * 255, r"go from 0 to 1, and these from .*astype\(np.uint8\)"),
        ("jpg", FLOATS * 2 - 1, "go from 0 to 1"),
        ("jpg", FLOATS * np.nan, "go from 0 to 1"),
        ("jpg", PIXELS.astype(np.int64), r"pixels are u8, got int64; use astype\(np.uint8\)"),
        ("jpg", Image.fromarray(np.dstack([PIXELS, GRAY])), r'mode RGBA cannot be written as JPEG.*convert\("RGB"\)'),
        ("pgm", PIXELS, r"\.pgm holds images of mode L, got RGB; convert\('L'\)"),
        ("jpg", 3, "an image of Pillow, an array or a tensor"),
        ("cls", 1.5, r"a whole number is expected, got 1.5; use int\(value\)"),
        ("cls", [1], "a whole number"),
        ("txt", ["a"], "text is expected, got list"),
        ("json", "no json", r"'no json' is no JSON; use json.dumps\(value\)"),
        ("json", {"x": float("nan")}, "cannot be written as JSON"),
        ("json", {"x": object()}, "there is a object in it"),
        ("npy", [object()], "no array of numbers"),
        ("npy", torch.ones(2, dtype=torch.bfloat16), r"NumPy has no torch.bfloat16; .*\.float\(\)"),
        ("npz", np.ones(3), "npz holds a dict of arrays"),
        ("pyd", {"x": 1}, r"runs code.*pickle.dumps\(value\)"),
        ("pickle", 3, "runs code"),
        ("msgpack", {"x": 1}, r"msgpack.packb\(value\)"),
        ("txt.gz", "text", r"gzip.compress\(data\)"),
        ("x", {"a": 1}, "cannot write dict under this extension; arrays need the extension npy, other values json"),
        ("x", np.ones(3), "cannot write ndarray under this extension"),
        ("x", Image.fromarray(GRAY), "an image needs the extension jpg or png"),
    ],
)
def test_refused(field, value, words):
    with pytest.raises((TypeError, ValueError), match=words) as caught:
        encode(field, value)
    assert f"field {field!r}" in str(caught.value)


def test_without_pillow(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(ImportError, match="field 'jpg': images are encoded by Pillow: pip install pillow"):
        encode("jpg", PIXELS)
    assert encode("jpg", b"bytes") == b"bytes"


def test_numbers():
    values = [3, 2.5, True, False, np.float32(0.5), np.bool_(True), np.int64(-4)]
    assert [encode("score", value) for value in values] == [b"3", b"2.5", b"1", b"0", b"0.5", b"1", b"-4"]
    assert encode("cls", True) == b"1" and encode("txt", 3) == b"3"


def test_what_was_not_decoded_is_written_as_it_was(tmp_path):
    array = np.arange(6, dtype=np.uint8)
    with infeed.ShardWriter(tmp_path / "a-%d.tar") as out:
        out.write({"__key__": "k", "jpg": jpeg(1), "cls": 3, "npy": array, "json": NESTED})
    for door in ("to_numpy", "to_torch"):
        (batch,) = getattr(infeed.open(tmp_path / "a-0.tar"), door)()
        with infeed.ShardWriter(tmp_path / f"{door}-%d.tar") as out:
            out.write({"__key__": "k", **{name: column[0] for name, column in batch.items()}})
        assert (tmp_path / f"{door}-0.tar").read_bytes() == (tmp_path / "a-0.tar").read_bytes()


def test_the_page_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 3
    for block in blocks:
        exec(compile(block, "writing.md", "exec"), {})


def test_the_page_names_every_extension():
    from infeed.encoders import _OTHERS
    from infeed.encoders.images import FORMATS
    from infeed.encoders.values import ENCODERS

    text = PAGE.read_text(encoding="utf-8")
    aliases = {"jpe", "jfif", "tiff", "pnm", "msg"}
    assert [kind for kind in {*FORMATS, *ENCODERS, *_OTHERS} - aliases if f"`{kind}`" not in text] == []
