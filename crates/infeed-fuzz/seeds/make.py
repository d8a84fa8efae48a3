"""Makes the seeds of all fuzz targets: small good files of every kind, with the libraries that own the formats.

Run it when a format learns something new: python crates/infeed-fuzz/seeds/make.py (needs the test environment).
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import struct
import tarfile
import zipfile
import zlib
from pathlib import Path

import h5py
import lz4.block
import numcodecs
import numpy as np
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import torch
from PIL import Image

HERE = Path(__file__).parent
RNG = np.random.default_rng(7)


def write(target: str, name: str, data: bytes) -> None:
    folder = HERE / target
    folder.mkdir(exist_ok=True)
    (folder / name).write_bytes(data)


def picture(mode: str, width: int = 24, height: int = 18) -> Image.Image:
    ramp = np.add.outer(np.arange(height) * 5, np.arange(width) * 7)[..., None] + np.arange(3) * 60
    pixels = (ramp + RNG.integers(0, 20, ramp.shape)).astype(np.uint8)
    return Image.fromarray(pixels).convert(mode)


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def images() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    exif[0x010E] = "a picture"
    write("exif", "little", exif.tobytes()[6:])
    write("exif", "big", b"MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0")
    for name, options in {
        "444": {"subsampling": 0},
        "422": {"subsampling": 1},
        "420": {"subsampling": 2, "optimize": True},
        "progressive": {"progressive": True},
        "restarts": {"restart_marker_blocks": 2},
        "exif": {"exif": exif.tobytes()},
    }.items():
        write("jpeg", name, saved(picture("RGB", 40, 33), "JPEG", quality=70, **options))
    write("jpeg", "gray", saved(picture("L", 33, 40), "JPEG", quality=70))
    write("jpeg", "cmyk", saved(picture("CMYK"), "JPEG", quality=70))
    for mode in ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]:
        image = Image.fromarray(np.arange(400, dtype=np.uint16).reshape(20, 20)) if mode == "I;16" else picture(mode)
        write("png", mode.replace(";", ""), saved(image, "PNG"))
    write("png", "exif", saved(picture("RGB"), "PNG", exif=exif))
    for name, mode, options in [
        ("lossless", "RGB", {"lossless": True}),
        ("lossy", "RGB", {"quality": 50}),
        ("alpha", "RGBA", {"quality": 50, "exif": exif}),
    ]:
        write("webp", name, saved(picture(mode), "WEBP", **options))
    frames = [picture("RGBA"), picture("RGBA")]
    write("webp", "animated", saved(frames[0], "WEBP", save_all=True, append_images=frames[1:], lossless=True))
    for compression in ["raw", "tiff_lzw", "packbits", "tiff_adobe_deflate", "group4"]:
        mode = "1" if compression == "group4" else "RGB"
        write("tiff", compression, saved(picture(mode), "TIFF", compression=compression))
    write("tiff", "alpha", saved(picture("RGBA"), "TIFF"))
    write("tiff", "gray16", saved(Image.fromarray(np.arange(400, dtype=np.uint16).reshape(20, 20)), "TIFF"))
    write("tiff", "big", saved(picture("L"), "TIFF", big_tiff=True))
    for mode in ["1", "L", "P", "RGB", "RGBA"]:
        write("bmp", mode, saved(picture(mode), "BMP"))
    write("bmp", "rle8", bitmap(8, 1, bytes([2, 1, 0, 0, 0, 2, 1, 0, 0, 3, 1, 2, 1, 0, 4, 1, 0, 0, 0, 1])))
    write("bmp", "rle4", bitmap(4, 2, bytes([3, 0x12, 0, 2, 0, 1, 1, 0x20, 0, 0, 0, 3, 0x12, 0x10, 0, 1])))
    write("bmp", "565", bitmap(16, 3, struct.pack("<3I", 0xF800, 0x7E0, 0x1F) + bytes(range(24)), palette=0))
    write("gif", "plain", saved(picture("P"), "GIF"))
    write("gif", "moving", saved(picture("P"), "GIF", save_all=True, append_images=[picture("P")], transparency=3))
    write("gif", "small", small_gif())
    write("pnm", "ppm", saved(picture("RGB", 6, 5), "PPM"))
    write("pnm", "text", b"P3\n# a comment\n2 2\n15\n0 1 2 3 4 5 6 7 8 9 10 11\n")
    write("pnm", "bits", b"P4\n10 3\n" + bytes(range(6)))
    write("pnm", "pam", b"P7\nWIDTH 2\nHEIGHT 1\nDEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\1\2\3\4")


def bitmap(bits: int, compression: int, data: bytes, palette: int = 4) -> bytes:
    start = 54 + palette * 4
    size = struct.pack("<IiiHHIIiiII", 40, 4, 3, 1, bits, compression, len(data), 2835, 2835, palette, 0)
    head = b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start)
    return head + size + bytes(range(palette * 4)) + data


def small_gif() -> bytes:
    """A frame of 2x1 on a canvas of 5x4, with a palette of its own."""
    image = saved(Image.new("P", (2, 1), 1), "GIF")
    return image[:6] + struct.pack("<HH", 5, 4) + image[10:]


def tables() -> None:
    columns = {
        "i": pa.array([1, None, 3, 4], pa.int32()),
        "f": pa.array([0.5, 1.5, 2.5, 3.5], pa.float64()),
        "t": pa.array(["a", "bb", None, "dddd"]),
        "b": pa.array([b"x" * 600, b"y", b"", b"z"]),
        "l": pa.array([[1, 2], [], None, [3]], pa.list_(pa.int64())),
        "s": pa.array([{"x": 1, "y": "a"}] * 4),
        "d": pa.array(["u", "v", "u", "u"]).dictionary_encode(),
    }
    table = pa.table(columns)
    for name, options in {
        "plain": {"compression": "none", "use_dictionary": False},
        "dictionary": {"compression": "snappy"},
        "second": {"data_page_version": "2.0", "compression": "zstd"},
        "groups": {"row_group_size": 2, "compression": "gzip"},
    }.items():
        out = io.BytesIO()
        pq.write_table(table, out, **options)
        write("parquet", name, out.getvalue())
    numbers = pa.table({"x": pa.array(range(20), pa.int32()), "y": pa.array(np.arange(20, dtype=np.float32))})
    out = io.BytesIO()
    pq.write_table(numbers, out, compression="none", use_dictionary=False, write_statistics=False)
    write("parquet", "numbers", out.getvalue())
    for name, make in {"file": pa.ipc.new_file, "stream": pa.ipc.new_stream}.items():
        out = io.BytesIO()
        with make(out, table.schema) as writer:
            writer.write_table(table)
        write("arrow", name, out.getvalue())
    write("avro", "records", avro())


def avro() -> bytes:
    schema = {
        "type": "record",
        "name": "row",
        "fields": [
            {"name": "i", "type": "long"},
            {"name": "t", "type": ["null", "string"]},
            {"name": "l", "type": {"type": "array", "items": "double"}},
            {"name": "m", "type": {"type": "map", "values": "int"}},
            {"name": "e", "type": {"type": "enum", "name": "letter", "symbols": ["A", "B"]}},
            {"name": "x", "type": {"type": "fixed", "name": "four", "size": 4}},
        ],
    }

    def number(n: int) -> bytes:
        n = n * 2 if n >= 0 else -n * 2 - 1
        out = b""
        while n > 127:
            out += bytes([n & 127 | 128])
            n >>= 7
        return out + bytes([n])

    def text(data: bytes) -> bytes:
        return number(len(data)) + data

    row = number(7) + number(1) + text(b"abc") + number(2) + struct.pack("<dd", 0.5, 1.5) + number(0)
    row += number(1) + text(b"k") + number(3) + number(0) + number(1) + b"wxyz"
    meta = number(2) + text(b"avro.schema") + text(json.dumps(schema).encode())
    meta += text(b"avro.codec") + text(b"null") + number(0)
    sync = bytes(range(16))
    return b"Obj\x01" + meta + sync + number(3) + text(row * 3) + sync


def tars() -> None:
    members = [("a.txt", b"hello"), ("a.cls", b"1"), ("dir/b.txt", b"x" * 700), ("dir/b.cls", b"22")]
    long = "d/" * 60 + "long-name.txt"
    for name, form, extra in [
        ("ustar", tarfile.USTAR_FORMAT, []),
        ("gnu", tarfile.GNU_FORMAT, [(long, b"gnu")]),
        ("pax", tarfile.PAX_FORMAT, [(long + "é", b"pax")]),
    ]:
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w", format=form) as tar:
            for member, data in members + extra:
                info = tarfile.TarInfo(member)
                info.size = len(data)
                if form == tarfile.PAX_FORMAT:
                    info.mtime = 1.5
                tar.addfile(info, io.BytesIO(data))
        write("tar", name, out.getvalue())


def arrays() -> None:
    for name, array in {
        "floats": np.arange(6, dtype=np.float32).reshape(2, 3),
        "fortran": np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3)),
        "number": np.float64(3.5),
        "empty": np.zeros((3, 0), np.uint8),
    }.items():
        out = io.BytesIO()
        np.save(out, array)
        write("npy", name, out.getvalue())
    pair = np.zeros(2, [("x", "<f4", (2,)), ("name", "U3")])
    out = io.BytesIO()
    np.save(out, pair)
    write("npy", "structured", out.getvalue())
    for name, save in {"stored": np.savez, "deflated": np.savez_compressed}.items():
        out = io.BytesIO()
        save(out, x=np.arange(6, dtype=np.float32).reshape(2, 3), y=pair)
        write("npz", name, out.getvalue())
    tensors = {
        "__metadata__": {"format": "pt"},
        "x": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "y": {"dtype": "BF16", "shape": [2], "data_offsets": [24, 28]},
        "none": {"dtype": "I64", "shape": [0, 4], "data_offsets": [28, 28]},
        "f8": {"dtype": "F8_E4M3", "shape": [3], "data_offsets": [28, 31]},
    }
    for name, some in {"several": tensors, "empty": {}}.items():
        head = json.dumps(some).encode()
        data = bytes(range(31)) if some else b""
        write("safetensors", name, struct.pack("<Q", len(head)) + head + data)
    x = torch.arange(6.0).reshape(2, 3)
    state = {
        "x": x,
        "in": {"t": x.t(), "u": x.to(torch.uint16)},
        "pair": [x[1:], (1, 0.5, "a", None)],
        "shape": x.shape,
    }
    for name, value, protocol in (("tensor", x, 2), ("state", state, 2), ("state-4", state, 4)):
        out = io.BytesIO()
        torch.save(value, out, pickle_protocol=protocol)
        with zipfile.ZipFile(out) as archive:
            write("pickle", name, archive.read("archive/data.pkl"))


def texts() -> None:
    recipe = {
        "source": {"paths": ["train-{000..007}.tar"], "format": "tar", "args": {"index": "off"}},
        "stage": [
            {"op": "shuffle", "seed": 7},
            {"op": "decode", "fields": {"jpg": {"name": "rgb"}}},
            {"op": "batch", "size": 4},
        ],
    }
    write("recipe", "json", json.dumps(recipe).encode())
    write(
        "recipe",
        "toml",
        b'[source]\npaths = ["a.tar"]\n\n[[stage]]\nop = "shuffle"\n\n[[stage]]\nop = "batch"\nsize = 4\n',
    )
    for name, text in {
        "compare": "width >= 256 and height >= 256",
        "text": 'key in ("a", "b") or not (shard like "x*" and n % 2 == 0)',
        "numbers": "-1.5e3 < a.b.c * 2 - 7 / 3",
        "nothing": "x is none or y is not none",
    }.items():
        write("filter", name, text.encode())
    for name, text in {
        "range": "a/b-{0..1}.tar",
        "choice": "{a,b{1..2},}x",
        "glob": "a/**/*.tar",
        "class": "a/b-[0-9].tar",
        "several": "a/b-0.tar::a/c/d.tar",
        "url": "file://localhost/a/b",
    }.items():
        write("paths", name, text.encode())
    write("json", "object", b'\xef\xbb\xbf{"a": [1, -2.5e3, true, null, "\\u00e9"], "b": {"c": {}}}')
    states = json.loads((HERE.parent.parent.parent / "tests" / "states" / "6347d00.json").read_text())
    for name in ["tar shuffled", *sorted(states)[:3]]:
        write("state", name.replace(" ", "-"), json.dumps(states[name]["state"]).encode())
    segment = {
        "epoch": 0,
        "from": 0,
        "to": 12,
        "global": 4,
        "last": "short",
        "rank": 0,
        "size": 1,
        "steps": 3,
        "rows": 9,
        "hash": "eeeb87cb8cc275c674e9c986e51b811f",
        "pads": 0,
        "stand_ins": 0,
        "left_out": {
            "bad": 3,
            "filtered": 0,
            "hash": "d1cc5b4657b3ce6193d418a701ebdbf7",
            "rows": [[3, "bad"], [7, "bad"], [11, "bad"]],
        },
        "given": "AAEBAgEBAgEB",
    }
    ledger = {
        "version": 1,
        "recipe": {"hash": "00ff", "data": "11", "order": "shuffle(seed=7)"},
        "segments": [segment],
    }
    write("ledger", "one", json.dumps(ledger).encode())


def records() -> None:
    write("csv", "plain", b'a,b,c\n1,"x, ""y""",3\n4,,6\n')
    write("split", "lines", b"one\ntwo\r\nthree")
    write("jsonl", "rows", b'{"a": 1, "b": "x"}\n{"a": [1, 2], "b": null}\n')
    example = b"\x0a\x14\x0a\x12\x0a\x01k\x12\x0d\x1a\x0b\x0a\x09\x01\x02\x03\x04\x05\x06\x07\x08\x09"
    write("example", "one", example)
    write("tfrecord", "one", struct.pack("<Q", len(example)) + b"\0" * 4 + example + b"\0" * 4)
    write("mds", "one", struct.pack("<III", 1, 12, 20) + struct.pack("<I", 4) + b"abcd")
    write("lmdb", "zeros", bytes(16) + struct.pack("<I", 0xBEEFC0DE) + bytes(200))
    write(
        "idx",
        "megatron",
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 4, 2, 3) + struct.pack("<2i2q3q", 3, 4, 0, 12, 0, 1, 2),
    )
    counts = struct.pack("<5Q", 1, 1, 1, 0, 1)
    arrays_ = struct.pack("<I3sI", 3, b"txt", 0) + struct.pack("<4I", 1, 1, 1, 5) + struct.pack("<H", 0) + b"a"
    write("index", "tar", counts + arrays_)
    write("index", "rows", struct.pack("<4Q", 0, 1, 0, 2) + struct.pack("<2I", 10, 20))


def hdf5() -> None:
    for version in ("earliest", "latest"):
        out = io.BytesIO()
        with h5py.File(out, "w", libver=version) as file:
            grid = np.arange(30, dtype=">i2").reshape(5, 6)
            file.create_dataset("a", data=grid, chunks=(2, 4), compression="gzip", shuffle=True, fletcher32=True)
            file.create_dataset("b", data=grid, chunks=(2, 6), maxshape=(None, 6), compression="lzf", fillvalue=3)
            file["c/d"] = np.array([(1, b"x")], [("n", "<f4"), ("s", "S2")])
            file["c/d"].attrs["units"] = "K"
            file["e"] = ["", "text"]
            file["f"] = h5py.SoftLink("/c/d")
        write("hdf5", version, out.getvalue())


def chunks() -> None:
    """Chunks of the codecs of arrays: the first byte says which one of `infeed_codecs::fuzz_codecs`."""
    data = (np.arange(500, dtype="<i4") // 7).tobytes()
    deflated = zlib.compress(data)
    blocks = lz4.block.compress(data, store_size=False)
    packed = {
        "zlib": (0, deflated),
        "gzip": (1, gzip.compress(data)),
        "deflate": (2, deflated[2:-4]),
        "zstd": (3, numcodecs.Zstd(3).encode(data)),
        "lz4": (4, blocks),
        "lz4sized": (5, numcodecs.LZ4().encode(data)),
        "lz4blocks": (6, struct.pack(">QII", len(data), len(data), len(blocks)) + blocks),
        "bzip2": (7, bz2.compress(data)),
        "fletcher32": (9, numcodecs.Fletcher32().encode(np.frombuffer(data, "u1"))),
        "bits": (12, struct.pack(">QII", 1984, 1984, len(blocks)) + blocks),
        "shuffle": (13, data),
        "xz": (14, lzma.compress(data)),
    }
    for name in ("blosclz", "lz4", "zlib", "zstd"):
        packed[f"blosc-{name}"] = (10, numcodecs.Blosc(name, 5, numcodecs.Blosc.SHUFFLE).encode(data))
    for name, (choice, chunk) in packed.items():
        write("codecs", name, bytes([choice]) + bytes(chunk))


def netcdf3() -> None:
    """The golden files of `infeed-netcdf3`."""
    for version in ("v1", "v2", "v5"):
        golden = HERE.parent.parent / "infeed-netcdf3" / "golden" / f"{version}.nc"
        write("netcdf3", version, golden.read_bytes())


def root() -> None:
    """The golden files of `infeed-root`."""
    for name in ("handmade", "lz4", "ntuple", "rntuple", "small", "zstd"):
        golden = HERE.parent.parent / "infeed-root" / "golden" / f"{name}.root"
        write("root", name, golden.read_bytes())


def zarrs() -> None:
    """Stores of both versions, as the golden files of `infeed-zarr` have them."""
    golden = HERE.parent.parent / "infeed-zarr" / "golden"
    for version in ("v2", "v3"):
        write("zarr", version, (golden / f"{version}.store").read_bytes())
        write("zarr", f"{version}-consolidated", (golden / f"{version}-consolidated.store").read_bytes())


def annotations() -> None:
    runs = {"size": [9, 12], "counts": [20, 5, 4, 6, 73]}
    packed = {"size": [9, 12], "counts": "d0541U2"}
    polygons = [[1.5, 2, 7.25, 1, 9, 8.5, 2, 7], [0, 0, 3, 0, 3, 3]]
    note = {"image_id": 3, "category_id": 1, "bbox": [1, 2, 3.5, 4], "area": 14, "iscrowd": 0}
    instances = {
        "info": {"description": "caf\u00e9"},
        "images": [
            {"id": 3, "file_name": "a.jpg", "width": 12, "height": 9},
            {"id": 1, "file_name": "b/c.jpg", "width": 12, "height": 9},
        ],
        "annotations": [
            {"id": 1, "segmentation": polygons, **note, "keypoints": [1, 2, 2, 0, 0, 0], "num_keypoints": 1},
            {"id": 2, "segmentation": runs, **note, "iscrowd": 1},
            {"id": 3, "segmentation": polygons, **note, "image_id": 1},
        ],
        "categories": [{"id": 1, "name": "cat"}, {"id": 7, "name": "dog"}],
    }
    write("coco", "instances", json.dumps(instances).encode())
    captions = {"images": instances["images"], "annotations": [{"id": 1, "image_id": 3, "caption": "a cat"}]}
    write("coco", "captions", json.dumps(captions).encode())
    masks = {"size": [9, 12], "ids": [1, 2], "segmentations": [polygons, runs]}
    write("masks", "both", json.dumps(masks).encode())
    write("masks", "packed", json.dumps({"size": [9, 12], "ids": [1], "segmentations": [packed]}).encode())
    write(
        "voc",
        "one",
        b"<annotation><size><width>50</width><height>40</height></size><segmented>0</segmented><object><name>dog</name>"
        b"<truncated>1</truncated><difficult>0</difficult><bndbox><xmin>1</xmin><ymin>2.5</ymin><xmax>30</xmax>"
        b"<ymax>40</ymax></bndbox></object></annotation>",
    )
    write("yolo", "boxes", b"0 0.5 0.5 0.25 0.75\n17 0.1 0.2 0.05 0.1\n")
    write("yolo", "polygon", b"3 0.1 0.2 0.5 0.25 0.4 0.9 0.1 0.8\n")
    write("yolo", "pose", b"0 0.5 0.5 0.25 0.75 0.4 0.4 2 0 0 0\n")
    write("yaml", "map", b"path: ../data # root\ntrain: images/train\nnames:\n  0: person\n  1: 'traffic light'\n")
    write("yaml", "list", b"train: [a, 'b']\nkpt_shape: [17, 3]\nnames: [\"cat\",\n  dog]\n")


if __name__ == "__main__":
    images()
    tables()
    tars()
    arrays()
    texts()
    records()
    hdf5()
    chunks()
    netcdf3()
    root()
    zarrs()
    annotations()
