"""Self-supervised learning on images: two global and six local views of each, and masks of patches for one of the losses.

    python examples/ssl_views.py run

``run`` is a folder; a small data set is created in it: textures of six kinds, each in its own tones, under any light. A
small network (the student) learns without labels to give all views of an image the embedding that its slow copy (the
teacher) gives to the global ones, as in DINO and MoCo v3, and to predict the teacher's patches where its own are masked,
as in iBOT. The labels are used at the end only: the nearest neighbours of an image, among the same images, should be of
its kind, and more often so than before training.
"""

from __future__ import annotations

import argparse
import copy
import io
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from torch import nn

import infeed
from infeed import transforms as T

GLOBAL, LOCAL, PATCH = 40, 24, 8
KINDS = 6
MEAN, STD = (0.5, 0.5, 0.5), (0.25, 0.25, 0.25)


def texture(kind: int, rng: np.random.Generator, size: int = 72) -> np.ndarray:
    """A pattern (stripes, waves, checks, dots, rings or clouds) in the tones of its kind, under any light."""
    y, x = np.mgrid[0:size, 0:size] / size + rng.uniform(0, 1, (2, 1, 1))
    f = rng.uniform(5, 7) * 2 * np.pi
    pattern = (
        lambda: np.sin(f * (x + 0.1 * y)),
        lambda: np.sin(f * (y + 0.15 * np.sin(f / 2 * x))),
        lambda: np.sign(np.sin(f / 2 * x) * np.sin(f / 2 * y)),
        lambda: 2.0 * (np.sin(f * x) * np.sin(f * y) > 0.45) - 1,
        lambda: np.sin(f * np.hypot(x - x.mean(), y - y.mean())),
        lambda: np.sin(f / 4 * x + 2) * np.cos(f / 5 * y),
    )[kind]()
    tones = np.array([(1, 0.8, 0.8), (1, 1, 0.8), (0.8, 1, 0.8), (0.8, 1, 1), (0.8, 0.8, 1), (1, 0.8, 1)][kind])
    light = rng.uniform(30, 230) + rng.uniform(20, 90) * pattern[..., None]
    return (
        (light * (tones + rng.normal(0, 0.05, 3)) + rng.normal(0, 12, (size, size, 3))).clip(0, 255).astype(np.uint8)
    )


def make_data(folder: Path, rows: int = 480) -> None:
    """Shards of JPEGs and their kinds."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    with infeed.ShardWriter(folder / "train-%03d.tar", maxcount=120) as out:
        for i in range(rows):
            image = io.BytesIO()
            Image.fromarray(texture(i % KINDS, rng)).save(image, "JPEG", quality=90)
            out.write({"__key__": f"{i:05d}", "jpg": image.getvalue(), "cls": i % KINDS})


def views(shards: str, batch: int) -> infeed.Pipeline:
    """Eight views of each image with choices of their own, decoded once, and a mask for each of the two global ones."""
    jitter = T.ColorJitter(brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1)
    colours = (T.RandomHorizontalFlip(), jitter, T.RandomGrayscale(0.2))
    return (
        infeed.open(shards)
        .shuffle(seed=1)
        .decode(jpg="rgb")
        .select("jpg")
        .views("jpg", 2, T.RandomResizedCrop(GLOBAL, scale=(0.4, 1)), *colours, to="global")
        .map(T.GaussianBlur(5, sigma=(0.1, 1.0)), on="global_0")
        .map(T.RandomSolarize(128, p=0.2), on="global_1")
        .views("jpg", 6, T.RandomResizedCrop(LOCAL, scale=(0.1, 0.4)), *colours, to="local")
        .views("jpg", 2, T.BlockMask(GLOBAL // PATCH, ratio=(0.1, 0.5), min_patches=4), to="mask")
        .map(T.Normalize(MEAN, STD))  # on the images; masks are none any more
        .batch(batch, drop_last=True)
    )


class Encoder(nn.Module):
    """Convolutions down to one vector per patch, then a layer of attention among the patches."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        stem: list[nn.Module] = []
        for before, after in ((3, width // 4), (width // 4, width // 2), (width // 2, width)):
            stem += [nn.Conv2d(before, after, 3, 2, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        self.stem = nn.Sequential(*stem)
        self.masked = nn.Parameter(torch.zeros(width))
        self.layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 32))

    def forward(self, images: torch.Tensor, mask: torch.Tensor | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Embeddings of images (N x width) and of patches (N x patches x width)."""
        patches = self.stem(images).flatten(2).transpose(1, 2)
        if mask is not None:
            patches = torch.where(mask.flatten(1)[..., None], self.masked, patches)
        patches = self.layer(patches)
        return patches.mean(1), patches


def contrast(a: torch.Tensor, b: torch.Tensor, temperature: float = 0.2) -> torch.Tensor:
    """Among all images of the batch, find the one that the other view shows."""
    scores = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).T / temperature
    return F.cross_entropy(scores, torch.arange(len(a)))


def loss_of(student: Encoder, teacher: Encoder, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Views of one image agree, and masked patches are predicted."""
    globals_ = torch.cat([batch["global_0"], batch["global_1"]])
    locals_ = torch.cat([batch[f"local_{i}"] for i in range(6)])
    mask = torch.cat([batch["mask_0"], batch["mask_1"]])
    with torch.no_grad():
        wholes, patches = teacher(globals_)
        wanted = teacher.head(wholes).chunk(2)
    seen, predicted = student(globals_, mask)
    first, second = student.head(seen).chunk(2)
    small = student.head(student(locals_)[0]).chunk(6)
    pairs = [(first, wanted[1]), (second, wanted[0]), *((view, target) for view in small for target in wanted)]
    agree = torch.stack([contrast(a, b) for a, b in pairs]).mean()
    hidden = mask.flatten(1)
    predict = 1 - F.cosine_similarity(predicted[hidden], patches[hidden], dim=-1).mean()
    return agree + 0.1 * predict


@torch.no_grad()
def neighbours(encoder: Encoder, shards: str) -> float:
    """How many of the five nearest neighbours of an image are of its kind."""
    data = (
        infeed.open(shards).decode(jpg="rgb", cls="int").map(T.CenterCrop(GLOBAL), T.Normalize(MEAN, STD)).batch(120)
    )
    found, kinds = zip(*((encoder(b["jpg"])[0], b["cls"]) for b in data.to_torch(threads=1)), strict=True)
    images, kind = F.normalize(torch.cat(found), dim=-1), torch.cat(kinds)
    near = (images @ images.T).fill_diagonal_(-1).topk(5).indices
    return (kind[near] == kind[:, None]).float().mean().item()


def main() -> None:
    """Train, and compare with the network as it was."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--batch", type=int, default=48)
    args = parser.parse_args()
    if not (args.run / "data").exists():
        make_data(args.run / "data")
    shards = str(args.run / "data" / "*.tar")
    torch.set_num_threads(1)  # the network is too small for more
    torch.manual_seed(0)
    student = Encoder()
    teacher = copy.deepcopy(student).requires_grad_(False)
    before = neighbours(teacher, shards)
    optimizer = torch.optim.AdamW(student.parameters(), lr=2e-3, weight_decay=0.05)
    loader = views(shards, args.batch).to_torch(threads=2, steps_per_epoch=args.steps)
    start = time.perf_counter()
    for step, batch in enumerate(loader):
        loss = loss_of(student, teacher, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            for slow, fast in zip(teacher.parameters(), student.parameters(), strict=True):
                slow.lerp_(fast, 0.1)
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}")
    after = neighbours(teacher, shards)
    print(f"{args.steps} steps in {time.perf_counter() - start:.1f} s")
    print(f"neighbours of the same kind: {before:.0%} before training, {after:.0%} after")
    assert after > before + 0.1, "nothing was learned"


if __name__ == "__main__":
    main()
