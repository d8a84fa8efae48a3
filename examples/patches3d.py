"""3D segmentation: patches of volumes and their masks out of HDF5, and a small network.

    python examples/patches3d.py                    # makes its data in a temporary folder, trains for some seconds
    python examples/patches3d.py run --steps 200    # keeps the data in the folder `run`

The volumes are noise with balls in it, of different sizes, one a file, in compressed chunks. Only the chunks that a patch
touches are read. A batch to learn from has

* ``image``: float32, N x 24 x 24 x 24, cut at random places
* ``mask``: uint8, N x 24 x 24 x 24, cut at the same places
* ``origin``: int64, N x 3, where each patch begins

To segment a whole volume, a grid covers it (``patch_edge="shift"``), and ``origin`` says where each result belongs.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import h5py
import numpy as np
import torch
from torch import nn

import infeed

PATCH = (24, 24, 24)


def scan(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A noisy volume with balls, and where they are."""
    shape = rng.integers(36, 56, 3)
    grid = np.stack(np.meshgrid(*(np.arange(side) for side in shape), indexing="ij"), -1)
    mask = np.zeros(shape, "u1")
    for _ in range(rng.integers(3, 7)):
        mask |= (np.linalg.norm(grid - rng.uniform(0, shape), axis=-1) < rng.uniform(5, 10)).astype("u1")
    return (0.8 * mask + rng.normal(0, 0.6, shape)).astype("f4"), mask


def make_data(folder: Path) -> None:
    rng = np.random.default_rng(0)
    for name in [*(f"train-{k}" for k in range(10)), "val"]:
        image, mask = scan(rng)
        with h5py.File(folder / f"{name}.h5", "w") as file:
            file.create_dataset("image", data=image, chunks=(16, 16, 16), compression="gzip", shuffle=True)
            file.create_dataset("mask", data=mask, chunks=(16, 16, 16), compression="gzip")


def train_data(folder: Path) -> infeed.Pipeline:
    """Sixteen random places of each volume, the same in every epoch; `shuffle` mixes all of them."""
    paths = sorted(folder.glob("train-*.h5"))
    return infeed.hdf5(paths, rows="file", variables=["image", "mask"], patch=PATCH, patches=16).shuffle(seed=17)


def grid_data(path: Path) -> infeed.Pipeline:
    """All of a volume, with some overlap."""
    return infeed.hdf5(path, rows="file", variables=["image"], patch=PATCH, patch_stride=20, patch_edge="shift")


def network(width: int = 8) -> nn.Module:
    return nn.Sequential(
        nn.Conv3d(1, width, 3, padding=1),
        nn.ReLU(),
        nn.Conv3d(width, width, 3, padding=2, dilation=2),
        nn.ReLU(),
        nn.Conv3d(width, 1, 3, padding=1),
    )


def segment(model: nn.Module, path: Path, shape: tuple[int, ...]) -> np.ndarray:
    """The balls of a whole volume: patches, put back to where they came from."""
    total, count = np.zeros(shape, "f4"), np.zeros(shape, "f4")
    with grid_data(path).batch(4).to_torch() as batches, torch.no_grad():
        for batch in batches:
            results = model(batch["image"].unsqueeze(1)).squeeze(1).numpy()
            for origin, result in zip(batch["origin"].tolist(), results, strict=True):
                place = tuple(slice(at, at + side) for at, side in zip(origin, PATCH, strict=True))
                total[place] += result
                count[place] += 1
    if not count.all():
        raise SystemExit("the grid does not cover the volume")
    return total / count > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where the data is kept; a temporary folder otherwise")
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "val.h5").exists():
            make_data(folder)
        model = network()
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        step = 0
        with train_data(folder).batch(4, drop_last=True).to_torch() as batches:
            while step < args.steps:
                for batch in batches:
                    found = model(batch["image"].unsqueeze(1)).squeeze(1)
                    loss = nn.functional.binary_cross_entropy_with_logits(found, batch["mask"].float())
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    step += 1
                    if step % 20 == 0:
                        print(f"step {step}: loss {loss.item():.3f}")
                    if step == args.steps:
                        break
        with h5py.File(folder / "val.h5") as file:
            image, mask = file["image"][...], file["mask"][...] > 0

        def dice(found: np.ndarray) -> float:
            return float(2 * (found & mask).sum() / (found.sum() + mask.sum()))

        learned, plain = dice(segment(model, folder / "val.h5", mask.shape)), dice(image > 0.4)
        print(f"Dice of a whole volume: {learned:.2f}, of a threshold {plain:.2f}")
        if learned < plain + 0.1:
            raise SystemExit("the network is hardly better than a threshold")


if __name__ == "__main__":
    main()
