"""Images and captions: a small CLIP, and images of any size as patches and tiles for vision-language models.

    python examples/image_text.py                    # makes its data in a temporary folder, trains for some seconds
    python examples/image_text.py run --steps 300    # keeps the data in the folder `run`

The data is a folder of JPEGs and a table, ``captions.csv``, that names them. ``load`` reads the files, ``tokenize`` makes
tokens of the captions, and a batch has

* ``image``: float32, N x 3 x 32 x 32
* ``tokens``, ``mask``: int64 and bool, N x the longest caption of the batch

The second half needs no training. It shows three ways to feed images of different size, with Python functions:

* dynamic resolution: sides that are multiples of the patch size, close to the image's own size
* all patches of a batch in one sequence, with offsets for attention that stays inside each image
* tiles of one size in a grid that suits the image's shape, and a thumbnail of the whole
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageDraw
from torch import nn
from torch.nn import functional as F

import infeed
from infeed import transforms as T

COLOURS = {
    "red": (220, 40, 40),
    "green": (40, 180, 60),
    "blue": (50, 70, 220),
    "yellow": (230, 210, 50),
    "white": (240, 240, 240),
    "purple": (150, 50, 170),
}
SHAPES = ["disc", "block", "cross"]
SIDES = ["left", "right"]
#: What a picture can show: a picture of kind `k` shows KINDS[k].
KINDS = list(itertools.product(COLOURS, SHAPES, SIDES))
TEMPLATES = ["a {0} {1} on the {2}", "on the {2} there is a {0} {1}", "{0} {1} {2}", "the {1} on the {2} is {0}"]
PATCH, TILE = 8, 32


def picture(rng: np.random.Generator, kind: int) -> Image.Image:
    """A shape of a colour on one side of a dark, noisy image of any size."""
    colour, shape, side = KINDS[kind]
    width, height = int(rng.integers(48, 129)), int(rng.integers(48, 97))
    image = Image.fromarray(rng.integers(0, 80, (height, width, 3), dtype=np.uint8))
    draw = ImageDraw.Draw(image)
    size = 0.3 * min(width, height) * rng.uniform(0.8, 1.2)
    x = width * (0.27 if side == "left" else 0.73) + rng.normal(0, 2)
    y = height * rng.uniform(0.4, 0.6)
    fill = COLOURS[colour]
    if shape == "disc":
        draw.ellipse((x - size / 2, y - size / 2, x + size / 2, y + size / 2), fill=fill)
    elif shape == "block":
        draw.rectangle((x - size / 2, y - size / 2, x + size / 2, y + size / 2), fill=fill)
    else:
        draw.line((x - size / 2, y, x + size / 2, y), fill=fill, width=int(size / 4))
        draw.line((x, y - size / 2, x, y + size / 2), fill=fill, width=int(size / 4))
    return image


def word_tokenizer() -> dict[str, Any]:
    """A ``tokenizer.json`` in which each word is a token. Token 0 is the padding."""
    texts = [template.format(*kind) for template in TEMPLATES for kind in KINDS]
    words = ["[PAD]", "[UNK]", *sorted({word for text in texts for word in text.split()})]
    model = {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(words)}, "unk_token": "[UNK]"}
    nothing = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    return {
        "version": "1.0",
        "added_tokens": [],
        **nothing,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "model": model,
    }


def make_data(folder: Path) -> None:
    """A folder of JPEGs, tables that name them, one table with a caption of each kind, and a tokenizer."""
    rng = np.random.default_rng(0)
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for part, rows in (("train", 720), ("val", 108)):
        with (folder / f"{part}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["file", "caption", "kind"])
            for row in range(rows):
                kind = row % len(KINDS)
                name = f"{part}-{row:04d}.jpg"
                picture(rng, kind).save(folder / "images" / name, quality=92)
                table.writerow([name, TEMPLATES[rng.integers(len(TEMPLATES))].format(*KINDS[kind]), kind])
    with (folder / "kinds.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["caption"], *([TEMPLATES[0].format(*kind)] for kind in KINDS)])
    (folder / "tokenizer.json").write_text(json.dumps(word_tokenizer()))


def tokens(data: infeed.Pipeline, folder: Path, rows: int, *, train: bool = False) -> infeed.Pipeline:
    """Batches with the tokens of captions, padded."""
    data = data.tokenize(folder / "tokenizer.json", on="caption", dtype="int64")
    return data.batch(rows, drop_last=train, ragged={"tokens": "pad"}, pad_mask={"tokens": "mask"})


def image_text(folder: Path, part: str, *, train: bool) -> infeed.Pipeline:
    """Images and captions. No flips: the captions say left and right."""
    data = infeed.csv(folder / f"{part}.csv").load("file", root=folder / "images", to="image")
    if train:
        data = data.shuffle(seed=17)
    data = data.decode(image="rgb").map(T.Resize((32, 32)), on="image")
    if train:
        data = data.map(T.ColorJitter(0.1, 0.1), on="image")
    return tokens(data.map(T.ToDtype("f32", scale=True), on="image"), folder, 72, train=train)


class Clip(nn.Module):
    """Two towers whose ends are close for an image and its caption."""

    def __init__(self, vocab: int, width: int = 32, out: int = 64) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in ((3, width), (width, 2 * width), (2 * width, 2 * width)):
            layers += [nn.Conv2d(before, after, 3, stride=2, padding=1), nn.BatchNorm2d(after), nn.ReLU()]
        self.image = nn.Sequential(*layers, nn.Flatten(), nn.Linear(2 * width * 16, out))
        self.words = nn.Embedding(vocab, 2 * width)
        self.text = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.ReLU(), nn.Linear(2 * width, out))
        self.scale = nn.Parameter(torch.tensor(2.0))

    def see(self, images: torch.Tensor) -> torch.Tensor:
        """Images as vectors of length one."""
        return F.normalize(self.image(images - 0.3), dim=1)

    def read(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Captions as vectors of length one. Padded places do not count."""
        words = self.words(tokens) * mask[..., None]
        return F.normalize(self.text(words.sum(1) / mask.sum(1, keepdim=True)), dim=1)

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """The contrastive loss. Captions of one kind are all right for its images."""
        logits = self.scale.exp() * self.see(batch["image"]) @ self.read(batch["tokens"], batch["mask"]).T
        same = (batch["kind"][:, None] == batch["kind"][None]).float()
        same /= same.sum(1, keepdim=True)
        return (F.cross_entropy(logits, same) + F.cross_entropy(logits.T, same)) / 2


def retrieval(model: Clip, folder: Path) -> float:
    """The share of unseen images for which the right one of all captions is the closest."""
    model.eval()
    right, rows = 0, 0
    with torch.no_grad():
        texts = next(iter(tokens(infeed.csv(folder / "kinds.csv"), folder, len(KINDS)).to_torch()))
        captions = model.read(texts["tokens"], texts["mask"])
        for batch in image_text(folder, "val", train=False).to_torch():
            found = (model.see(batch["image"]) @ captions.T).argmax(1)
            right, rows = right + int((found == batch["kind"]).sum()), rows + len(found)
    model.train()
    return right / rows


def train(folder: Path, steps: int) -> float:
    """Train, and return the accuracy of retrieval."""
    data = image_text(folder, "train", train=True)
    print(data.explain())
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more would only compete with the loader's threads for so small a model
    model = Clip(len(word_tokenizer()["model"]["vocab"]))
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    with data.to_torch(steps_per_epoch=steps) as loader:
        for step, batch in enumerate(loader):
            loss = model(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 0:
                print(f"step {step}: loss {loss.item():.2f}")
    return retrieval(model, folder)


def fitted(image: np.ndarray, most: int) -> np.ndarray:
    """Dynamic resolution: the image at about its own size, in whole patches, of which there are at most this many."""
    height, width = image.shape[:2]
    shrink = min(1.0, (most * PATCH**2 / (height * width)) ** 0.5)
    sides = [max(PATCH, int(side * shrink / PATCH) * PATCH) for side in (height, width)]
    return np.asarray(T.Resize(sides)(image))


def as_patches(sample: dict[str, Any]) -> dict[str, Any]:
    """The patches of an image, row by row, and how many rows and columns of them there are."""
    image = fitted(sample["image"], most=64)
    rows, columns = image.shape[0] // PATCH, image.shape[1] // PATCH
    patches = image.reshape(rows, PATCH, columns, PATCH, 3).swapaxes(1, 2)
    return {"patches": patches.reshape(rows * columns, -1), "grid": np.array([rows, columns])}


def as_tiles(sample: dict[str, Any]) -> dict[str, Any]:
    """A thumbnail, and up to six tiles in the grid whose shape is closest to that of the image."""
    image = sample["image"]
    grids = [(r, c) for r in range(1, 7) for c in range(1, 7) if r * c <= 6]
    shape = np.log(image.shape[0] / image.shape[1])
    # Of grids of one shape, the one with more tiles.
    rows, columns = min(grids, key=lambda g: (abs(np.log(g[0] / g[1]) - shape), -g[0] * g[1]))
    large = np.asarray(T.Resize((rows * TILE, columns * TILE))(image))
    tiles = large.reshape(rows, TILE, columns, TILE, 3).swapaxes(1, 2).reshape(-1, TILE, TILE, 3)
    thumbnail = np.asarray(T.Resize((TILE, TILE))(image))
    return {"tiles": np.concatenate([thumbnail[None], tiles]), "grid": np.array([rows, columns])}


def show_patches(folder: Path) -> None:
    """Attend over all patches of a batch in one sequence, and compare with each image alone."""
    data = infeed.csv(folder / "val.csv").load("file", root=folder / "images", to="image").decode(image="rgb")
    packed = data.map(as_patches).batch(8, ragged={"patches": "flat"})
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(3 * PATCH**2, 4, batch_first=True).eval()
    batch = next(iter(packed.to_torch()))
    patches, offsets, grids = batch["patches"].float() / 255, batch["patches_offsets"], batch["grid"]
    assert offsets.diff().tolist() == grids.prod(1).tolist()
    owner = torch.arange(len(grids)).repeat_interleave(offsets.diff())
    with torch.no_grad():
        elsewhere = owner[:, None] != owner[None]
        together = attention(patches[None], patches[None], patches[None], attn_mask=elsewhere)[0][0]
        for i, (start, end) in enumerate(itertools.pairwise(offsets.tolist())):
            own = patches[None, start:end]
            alone = attention(own, own, own)[0][0]
            assert torch.allclose(together[start:end], alone, atol=1e-5), f"image {i} saw another one"
    sizes = ", ".join(f"{rows}x{columns}" for rows, columns in grids.tolist())
    print(f"patches: {len(patches)} of 8 images in one sequence, in grids of {sizes}")
    batch = next(iter(data.map(as_tiles).batch(8, ragged={"tiles": "flat"}).to_torch()))
    assert batch["tiles"].shape[1:] == (TILE, TILE, 3)
    assert batch["tiles_offsets"].diff().tolist() == (batch["grid"].prod(1) + 1).tolist()
    sizes = ", ".join(f"{rows}x{columns}" for rows, columns in batch["grid"].tolist())
    print(f"tiles: {len(batch['tiles'])} of 8 images, in grids of {sizes}, with thumbnails")


def main() -> None:
    """Train, check that something was learned, and show patches and tiles."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="keeps the data (default: a temporary one)")
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        make_data(folder)
        accuracy = train(folder, args.steps)
        print(f"retrieval: {accuracy:.0%} of unseen images find their caption; chance is {1 / len(KINDS):.0%}")
        assert accuracy > 10 / len(KINDS), "hardly better than chance"
        show_patches(folder)


if __name__ == "__main__":
    main()
