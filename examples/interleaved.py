"""Interleaved documents: texts with several images each, for a small vision-language model.

    python examples/interleaved.py                    # makes its data in a temporary folder, trains for some seconds
    python examples/interleaved.py run --steps 400    # keeps the data in the folder `run`

The data is WebDataset shards. A sample has a text with ``<image>`` where an image stands, and the images by number:

    0042.txt      <image> a red disc . <image> a blue cross .
    0042.00.jpg
    0042.01.jpg

Documents have one to four images, so the fields ``00.jpg`` to ``03.jpg`` are optional: None where a document has no such
image. infeed tokenises, decodes and resizes; a short Python function puts the two together. A batch has

* ``tokens``, ``mask``: int64 and bool, N x the longest document; a token ``<image>`` for every patch of an image
* ``patches``: the patches of all images of the batch in the order of those tokens, uint8
"""

from __future__ import annotations

import argparse
import io
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

COLOURS = {"red": (220, 40, 40), "green": (40, 180, 60), "blue": (50, 70, 220), "yellow": (230, 210, 50)}
SHAPES = ["disc", "block", "cross"]
WORDS = ["[PAD]", "[UNK]", "<image>", "a", ".", *COLOURS, *SHAPES]
IMAGE = WORDS.index("<image>")
MOST_IMAGES, SIDE, PATCH = 4, 24, 8
PER_IMAGE = (SIDE // PATCH) ** 2


def jpeg(rng: np.random.Generator, colour: str, shape: str) -> bytes:
    """A shape of a colour on a dark, noisy image of any size."""
    width, height = (int(side) for side in rng.integers(40, 80, 2))
    image = Image.fromarray(rng.integers(0, 70, (height, width, 3), dtype=np.uint8))
    draw = ImageDraw.Draw(image)
    x, y, half = width / 2, height / 2, 0.35 * min(width, height)
    if shape == "disc":
        draw.ellipse((x - half, y - half, x + half, y + half), fill=COLOURS[colour])
    elif shape == "block":
        draw.rectangle((x - half, y - half, x + half, y + half), fill=COLOURS[colour])
    else:
        draw.line((x - half, y, x + half, y), fill=COLOURS[colour], width=int(half / 2))
        draw.line((x, y - half, x, y + half), fill=COLOURS[colour], width=int(half / 2))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=92)
    return out.getvalue()


def make_data(folder: Path) -> None:
    """Shards of documents, and a tokenizer whose tokens are words."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    for part, rows in (("train", 900), ("val", 120)):
        with infeed.ShardWriter(folder / f"{part}-%03d.tar") as shards:
            for row in range(rows):
                shown = [
                    (rng.choice(list(COLOURS)), rng.choice(SHAPES)) for _ in range(rng.integers(1, MOST_IMAGES + 1))
                ]
                images = {f"{i:02d}.jpg": jpeg(rng, *what) for i, what in enumerate(shown)}
                text = " ".join(f"<image> a {colour} {shape} ." for colour, shape in shown)
                shards.write({"__key__": f"{row:04d}", "txt": text, **images})
    nothing = dict.fromkeys(("truncation", "padding", "normalizer", "post_processor", "decoder"))
    model = {"type": "WordLevel", "vocab": {word: i for i, word in enumerate(WORDS)}, "unk_token": "[UNK]"}
    tokenizer = {"version": "1.0", "added_tokens": [], **nothing, "pre_tokenizer": {"type": "WhitespaceSplit"}}
    (folder / "tokenizer.json").write_text(json.dumps({**tokenizer, "model": model}))


def interleave(sample: dict[str, Any]) -> dict[str, Any]:
    """One sequence of a document: its tokens, ``<image>`` once for each patch of an image, and these patches."""
    images = [sample[f"{i:02d}.jpg"] for i in range(MOST_IMAGES) if sample[f"{i:02d}.jpg"] is not None]
    tokens = sample["tokens"]
    if (tokens == IMAGE).sum() != len(images):
        raise infeed.SampleError(f"the text has {(tokens == IMAGE).sum()} places for {len(images)} images")
    side = SIDE // PATCH
    patches = np.stack(images).reshape(len(images), side, PATCH, side, PATCH, 3).swapaxes(2, 3)
    return {
        "tokens": np.repeat(tokens, np.where(tokens == IMAGE, PER_IMAGE, 1)),
        "patches": patches.reshape(len(images) * PER_IMAGE, -1),
    }


def documents(folder: Path, part: str, *, train: bool) -> infeed.Pipeline:
    """Batches of documents."""
    images = [f"{i:02d}.jpg" for i in range(MOST_IMAGES)]
    data = infeed.open(f"{folder}/{part}-*.tar")
    if train:
        data = data.shuffle(seed=3)
    data = data.decode(txt="text").decode(optional=True, **dict.fromkeys(images, "rgb"))
    data = data.map(T.Resize((SIDE, SIDE)), on=images)
    if train:
        # Images of one document get the same changes.
        data = data.map(T.ColorJitter(0.2, 0.2), on=images)
    data = data.tokenize(folder / "tokenizer.json", on="txt", dtype="int64").map(interleave)
    ragged = {"tokens": "pad", "patches": "flat"}
    return data.batch(32, drop_last=train, ragged=ragged, pad_mask={"tokens": "mask"})


class Reader(nn.Module):
    """A causal transformer over words and patches, which tells the next word."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        self.words = nn.Embedding(len(WORDS), width)
        self.patches = nn.Sequential(nn.Linear(3 * PATCH**2, width), nn.ReLU(), nn.Linear(width, width))
        self.places = nn.Embedding(MOST_IMAGES * (PER_IMAGE + 4), width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, len(WORDS))

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        """For every place, how likely each word is to come next."""
        tokens = batch["tokens"]
        x = self.words(tokens)
        # The patches lie in the order of their tokens, over the whole batch.
        x = x.masked_scatter((tokens == IMAGE)[..., None], self.patches(batch["patches"].float() / 128 - 0.5))
        x = x + self.places(torch.arange(tokens.shape[1]))
        causal = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.body(x, mask=causal, src_key_padding_mask=~batch["mask"], is_causal=True))


def next_words(batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """The labels: the next token, and -100 where that is an image or padding."""
    ahead = F.pad(batch["tokens"][:, 1:], (0, 1), value=IMAGE)
    return ahead.masked_fill((ahead == IMAGE) | ~F.pad(batch["mask"][:, 1:], (0, 1)), -100)


def accuracy(model: Reader, folder: Path) -> float:
    """The share of colours and shapes in unseen documents that the model would have said."""
    said, right = 0, 0
    with torch.no_grad():
        for batch in documents(folder, "val", train=False).to_torch():
            labels = next_words(batch)
            told = labels >= WORDS.index(next(iter(COLOURS)))
            right += int((model(batch).argmax(-1) == labels)[told].sum())
            said += int(told.sum())
    return right / said


def train(folder: Path, steps: int) -> float:
    """Train, and return the accuracy."""
    data = documents(folder, "train", train=True)
    print(data.explain())
    torch.manual_seed(0)
    torch.set_num_threads(1)  # more would only compete with the loader's threads for so small a model
    model = Reader()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    with data.to_torch(steps_per_epoch=steps) as loader:
        for step, batch in enumerate(loader):
            loss = F.cross_entropy(model(batch).flatten(0, 1), next_words(batch).flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 20 == 0:
                count = f"{len(batch['patches'])} patches in {len(batch['tokens'])} documents"
                print(f"step {step}: loss {loss.item():.2f}, {count}")
    return accuracy(model, folder)


def main() -> None:
    """Train, and check that something was learned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="keeps the data (default: a temporary one)")
    parser.add_argument("--steps", type=int, default=160)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        make_data(folder)
        share = train(folder, args.steps)
        chance = (1 / len(COLOURS) + 1 / len(SHAPES)) / 2
        print(f"unseen documents: {share:.0%} of colours and shapes are right; chance is {chance:.0%}")
        assert share > 2 * chance, "hardly better than chance"


if __name__ == "__main__":
    main()
