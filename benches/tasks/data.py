"""The data of the tasks, made from photographs: boxes, masks and captions are generated.

Layout of a data folder:

    images/NNNNNN.jpg     the photographs, repeated; copies, so that no loader stays inside the processor's cache
    masks/NNNNNN.png      palette PNGs of the same size: regions of 21 classes
    boxes.json            as COCO has it, 1 to 12 boxes per image
    rows.csv              image, mask and caption of every row
    tokenizer.json        byte-level BPE, trained on the captions
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
import sys
import sysconfig
from pathlib import Path

import numpy as np
from PIL import Image
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

import data as photos

CLASSES = 21


def prepared(images: Path | None, rows: int, cache: Path) -> Path:
    """The folder of data, made unless it exists."""
    listing = "made up"
    if images is not None:
        listing = "\n".join(f"{p.name} {p.stat().st_size}" for p in sorted(images.iterdir()))
    name = f"{rows}-{hashlib.sha256(listing.encode()).hexdigest()[:12]}"
    cache.mkdir(parents=True, exist_ok=True)
    return photos.once(cache / name, lambda part: make(images, rows, part))


def make(images: Path | None, rows: int, out: Path) -> None:
    """Write everything."""
    jpegs = photos.photographs(images)
    if not jpegs:
        raise SystemExit(f"no .jpg or .jpeg file in {images}")
    print(f"# making {rows} rows from {len(jpegs)} images", file=sys.stderr)
    (out / "images").mkdir(parents=True)
    (out / "masks").mkdir()
    sizes = [Image.open(io.BytesIO(body)).size for body in jpegs]
    masks = [mask(*size, seed) for seed, size in enumerate(sizes)]
    texts = captions(rows)
    coco: dict[str, list[dict]] = {"images": [], "annotations": []}
    coco["categories"] = [{"id": number, "name": f"class {number}"} for number in range(1, CLASSES)]
    with (out / "rows.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["image", "mask", "caption"])
        for row in range(rows):
            number = row % len(jpegs)
            (out / "images" / f"{row:06d}.jpg").write_bytes(jpegs[number])
            (out / "masks" / f"{row:06d}.png").write_bytes(masks[number])
            table.writerow([f"images/{row:06d}.jpg", f"masks/{row:06d}.png", texts[row]])
            width, height = sizes[number]
            coco["images"].append({"id": row, "file_name": f"{row:06d}.jpg", "width": width, "height": height})
            for box, label in boxes(width, height, row):
                about = {"id": len(coco["annotations"]), "image_id": row, "category_id": label, "bbox": box}
                coco["annotations"].append(about | {"area": box[2] * box[3], "iscrowd": 0})
    (out / "boxes.json").write_text(json.dumps(coco))
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=8000, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts, trainer)
    tokenizer.save(str(out / "tokenizer.json"))


def boxes(width: int, height: int, seed: int) -> list[tuple[list[float], int]]:
    """Boxes inside an image as x, y, width, height, with their classes."""
    rng = np.random.default_rng(seed)
    out = []
    for _ in range(int(rng.integers(1, 13))):
        w, h = width * rng.uniform(0.05, 0.6), height * rng.uniform(0.05, 0.6)
        x, y = rng.uniform(0, width - w), rng.uniform(0, height - h)
        out.append(([round(float(v), 2) for v in (x, y, w, h)], int(rng.integers(1, CLASSES))))
    return out


def mask(width: int, height: int, seed: int) -> bytes:
    """A palette PNG of smooth regions, with the border value 255 between some of them."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = sum(np.sin(rng.uniform(5, 20) * a / width + rng.uniform(0, 6)) for a in (x, y, x + y, x - y))
    regions = ((waves + 4) / 8 * CLASSES).astype(np.uint8)
    regions[:, 1:][regions[:, 1:] != regions[:, :-1]] = 255
    image = Image.fromarray(regions, "P")
    image.putpalette(rng.integers(0, 256, 768, dtype=np.uint8).tobytes())
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def captions(count: int) -> list[str]:
    """Texts of 6 to 40 words, out of the sources of Python's standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    words: list[str] = []
    for path in sorted(folder.glob("*.py"))[:60]:
        words += re.findall(r"[A-Za-z]{2,}[,.]?", path.read_text(errors="replace"))
    rng = np.random.default_rng(0)
    starts, lengths = rng.integers(0, len(words) - 40, count), rng.integers(6, 41, count)
    return [" ".join(words[at : at + size]) for at, size in zip(starts, lengths, strict=True)]
