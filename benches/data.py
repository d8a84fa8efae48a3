"""The data every loader reads, made once from a folder of photographs.

Layout of a data folder (made by `python data.py IMAGES OUT`, in the "tools" environment):

    distinct/NNNN.jpg                   the photographs themselves, for the decoding floor
    photos/train-{000000..000007}.tar   4,000 samples, jpg + cls
    raw/train-{000000..000063}.tar      links to the shards above, eight times over: undecoded reading is so
                                        fast that one pass over 4,000 rows is over before it can be timed
    folder/CLASS/NNNNNN.jpg             the same samples as files. Copies, not links: twenty links to one file
                                        would keep file readers inside the processor's cache
    small/train-{000000..000009}.tar    50,000 PNGs of 32x32, png + cls
    smallfolder/CLASS/NNNNNN.png        the same as files
    meta.json                           counts and sizes

What only one loader reads (TFRecord, beton, MDS, ...) is written by that loader's own `prepare`.
"""

from __future__ import annotations

import io
import json
import os
import random
import shutil
import sys
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path

SAMPLES, SHARDS = 4_000, 8
SMALL_SAMPLES, SMALL_SHARDS, SMALL_SIDE = 50_000, 10, 32
RAW_COPIES = 8
CLASSES = 100

Record = tuple[bytes, int]


def once(path: Path, make: Callable[[Path], None]) -> Path:
    """Run `make(temporary path)` unless `path` exists. An interrupted run leaves nothing at `path`."""
    if not path.exists():
        part = path.with_name(path.name + ".part")
        if part.is_dir():
            shutil.rmtree(part)
        part.unlink(missing_ok=True)
        make(part)
        part.rename(path)
    return path


def shards(data: Path, source: str) -> list[Path]:
    """The tar shards of a source: photos, raw or small."""
    return sorted((data / source).glob("*.tar"))


def files(data: Path, source: str) -> list[tuple[str, int]]:
    """(path, label) of every sample as a file, in a fixed shuffled order."""
    root = data / ("smallfolder" if source == "small" else "folder")
    found = [(str(f), int(d.name)) for d in sorted(root.iterdir()) for f in sorted(d.iterdir())]
    random.Random(0).shuffle(found)
    return found


def records(data: Path, source: str) -> Iterator[Record]:
    """(encoded image, label) of every sample, for peers that convert the data to their own format."""
    for shard in shards(data, source):
        with tarfile.open(shard) as tar:
            image = b""
            for member in tar:
                body = tar.extractfile(member).read()  # type: ignore[union-attr]
                if member.name.endswith(".cls"):
                    yield image, int(body)
                else:
                    image = body


def write_tar(path: Path, extension: str, items: list[tuple[str, bytes, int]]) -> None:
    """One WebDataset shard of (key, image, label)."""
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as tar:
        for key, image, label in items:
            for suffix, body in ((extension, image), ("cls", str(label).encode())):
                info = tarfile.TarInfo(f"{key}.{suffix}")
                info.size = len(body)
                tar.addfile(info, io.BytesIO(body))


def write_source(out: Path, name: str, folder: str, extension: str, items: list[Record], count: int) -> None:
    """Shards and class folders of one list of samples."""

    def tars(part: Path) -> None:
        part.mkdir(parents=True)
        for k in range(count):
            numbered = [
                (f"{i:08d}", *items[i]) for i in range(k * len(items) // count, (k + 1) * len(items) // count)
            ]
            write_tar(part / f"train-{k:06d}.tar", extension, numbered)

    def tree(part: Path) -> None:
        for i, (image, label) in enumerate(items):
            path = part / f"{label:04d}" / f"{i:08d}.{extension}"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(image)

    once(out / name, tars)
    once(out / folder, tree)


def photographs(images: Path | None) -> list[bytes]:
    """The photographs to start from; made up when there are none."""
    if images is None:
        return synthesise(200)
    return [p.read_bytes() for p in sorted(images.iterdir()) if p.suffix.lower() in (".jpg", ".jpeg")]


def synthesise(count: int, side: int = 450) -> list[bytes]:
    """JPEGs about as large as photographs of that size: smooth shapes, edges and grain, about 100 KB."""
    import numpy as np
    from PIL import Image

    rng = np.random.default_rng(0)
    made = []
    y, x = np.mgrid[0:side, 0:side] / side
    for _ in range(count):
        a, b, c, d = rng.uniform(1, 9, 4)
        base = np.stack([np.sin(a * x + k) * np.cos(b * y - k) for k in range(3)], -1) * 60 + 120
        base += ((np.sin(c * 6 * x * y) > np.cos(d * 5 * (x - y)))[..., None]) * rng.uniform(-50, 50, 3)
        coarse = rng.normal(0, 18, (side // 4 + 1, side // 4 + 1, 3)).repeat(4, 0).repeat(4, 1)[:side, :side]
        grain = rng.normal(0, rng.uniform(8, 16), (side, side, 1))
        body = io.BytesIO()
        pixels = np.clip(base + coarse + grain, 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(body, "JPEG", quality=88, subsampling=2)
        made.append(body.getvalue())
    return made


def small_images(photos: list[bytes], count: int) -> list[Record]:
    """Random crops of the photographs, brought to 32x32, as PNG."""
    from PIL import Image

    rng = random.Random(0)
    made: list[Record] = []
    for number, body in enumerate(photos):
        image = Image.open(io.BytesIO(body)).convert("RGB")
        side = min(image.size)
        for _ in range(-(-count // len(photos))):
            cut = rng.randint(min(48, side), min(224, side))
            left, top = rng.randint(0, image.width - cut), rng.randint(0, image.height - cut)
            tile = image.crop((left, top, left + cut, top + cut))
            tile = tile.resize((SMALL_SIDE, SMALL_SIDE), Image.Resampling.BILINEAR)
            tile.info.clear()  # or every tile would carry the photograph's colour profile
            png = io.BytesIO()
            tile.save(png, "PNG")
            made.append((png.getvalue(), number % CLASSES))
    rng.shuffle(made)
    return made[:count]


def make(images: Path | None, out: Path) -> None:
    """Write everything that is not there yet."""
    out.mkdir(parents=True, exist_ok=True)
    photos = photographs(images)
    if not photos:
        raise SystemExit(f"no .jpg or .jpeg file in {images}")
    items = [(photos[i % len(photos)], i % len(photos) % CLASSES) for i in range(SAMPLES)]
    random.Random(0).shuffle(items)
    write_source(out, "photos", "folder", "jpg", items, SHARDS)
    if not ((out / "small").exists() and (out / "smallfolder").exists()):
        write_source(out, "small", "smallfolder", "png", small_images(photos, SMALL_SAMPLES), SMALL_SHARDS)

    def links(part: Path) -> None:
        part.mkdir()
        for k in range(RAW_COPIES * SHARDS):
            (part / f"train-{k:06d}.tar").symlink_to(Path("..") / "photos" / f"train-{k % SHARDS:06d}.tar")

    def originals(part: Path) -> None:
        part.mkdir()
        for k, body in enumerate(photos):
            (part / f"{k:04d}.jpg").write_bytes(body)

    once(out / "raw", links)
    once(out / "distinct", originals)
    meta = {
        "images": "synthetic images" if images is None else "photographs",
        "distinct": len(photos),
        "samples": len(items),
        "mean_bytes": sum(len(b) for b, _ in items) / len(items),
    }
    (out / "meta.json").write_text(json.dumps(meta, indent=2) + "\n")


def warm(root: Path) -> None:
    """Read every file once, so that the first loader does not pay for the disk."""
    buffer = bytearray(1 << 20)
    for folder, _, names in os.walk(root):
        for name in names:
            with open(os.path.join(folder, name), "rb", buffering=0) as f:
                while f.readinto(buffer):
                    pass


if __name__ == "__main__":
    make(Path(sys.argv[1]) if sys.argv[1] else None, Path(sys.argv[2]))
