"""Forecasting: pairs of windows and targets out of a Zarr store, and a small model that beats persistence.

    python examples/forecasting.py                    # makes its data in a temporary folder, trains for some seconds
    python examples/forecasting.py run --steps 400    # keeps the data in the folder `run`

The data is a toy atmosphere: waves of two variables, `t` and `q`, that travel over a periodic map, one chunk a step as
most archives of weather are stored. A row is a window of three steps, and its target the step behind it:

* ``data``: float32, N x 3 x 2 x 32 x 32 (window, variable, latitude, longitude)
* ``data.target``: float32, N x 1 x 2 x 32 x 32

Neighbouring rows share steps. Each is decoded once and kept while there is memory.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
import zarr
from torch import nn

import infeed

SIDE, WINDOW = 32, 3


def waves(steps: int, seed: int) -> dict[str, np.ndarray]:
    """Travelling waves. The second variable follows the first with a delay."""
    rng = np.random.default_rng(seed)
    axis = 2 * np.pi * np.arange(SIDE) / SIDE
    field = np.zeros((steps + 4, SIDE, SIDE))
    for _ in range(12):
        ky, kx, speed = rng.integers(-3, 4), rng.integers(1, 4), rng.uniform(0.2, 0.6)
        phase = rng.uniform(0, 2 * np.pi) - speed * np.arange(steps + 4)[:, None, None]
        field += rng.uniform(0.3, 1) * np.sin(ky * axis[:, None] + kx * axis + phase)
    noise = rng.normal(0, 0.02, (2, steps, SIDE, SIDE))
    return {"t": (field[4:] + noise[0]).astype("f4"), "q": (0.5 * field[:-4] + noise[1]).astype("f4")}


def make_data(folder: Path) -> None:
    """A store of several runs to learn from, and one of another run."""
    for name, steps, seed in (("train-0", 150, 0), ("train-1", 150, 1), ("train-2", 150, 2), ("val", 80, 3)):
        group = zarr.open_group(str(folder / f"{name}.zarr"), mode="w")
        for variable, values in waves(steps, seed).items():
            array = group.create_array(variable, shape=values.shape, dtype="f4", chunks=(1, SIDE, SIDE))
            array[...] = values


def pairs(*paths: Path) -> infeed.Pipeline:
    """Windows and the step behind each; none of them crosses from one store to the next."""
    return infeed.zarr(list(paths), variables=["t", "q"], window=WINDOW, horizon=1, stack=True)


class Step(nn.Module):
    """What changes from the last step of a window to the next one."""

    def __init__(self, variables: int, width: int = 16) -> None:
        super().__init__()
        options = {"padding": "same", "padding_mode": "circular"}
        self.layers = nn.Sequential(
            nn.Conv2d(WINDOW * variables, width, 5, **options), nn.GELU(), nn.Conv2d(width, variables, 5, **options)
        )

    def forward(self, window: torch.Tensor) -> torch.Tensor:
        return window[:, -1:] + self.layers(window.flatten(1, 2)).unsqueeze(1)


def evaluate(model: Step, data: infeed.Pipeline) -> tuple[float, float]:
    """The mean squared error of the model, and of the forecast that nothing changes."""
    errors = []
    with data.batch(32).to_torch() as batches, torch.no_grad():
        for batch in batches:
            target = batch["data.target"]
            found = (model(batch["data"]) - target).square().mean((1, 2, 3, 4))
            still = (batch["data"][:, -1:] - target).square().mean((1, 2, 3, 4))
            errors.append(torch.stack([found, still]))
    model_error, still_error = torch.cat(errors, 1).mean(1).tolist()
    return model_error, still_error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="where the data is kept; a temporary folder otherwise")
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        if not (folder / "val.zarr").exists():
            make_data(folder)
        train, val = pairs(*sorted(folder.glob("train-*.zarr"))), pairs(folder / "val.zarr")
        print(train.explain())
        model = Step(2)
        optimizer = torch.optim.Adam(model.parameters(), 3e-3)
        step = 0
        with train.shuffle(seed=17).batch(16, drop_last=True).to_torch() as batches:
            while step < args.steps:
                for batch in batches:
                    loss = (model(batch["data"]) - batch["data.target"]).square().mean()
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    step += 1
                    if step % 20 == 0:
                        print(f"step {step}: loss {loss.item():.4f}")
                    if step == args.steps:
                        break
        error, still = evaluate(model, val)
        print(f"error {error:.4f}, of persistence {still:.4f}")
        if error > 0.5 * still:
            raise SystemExit("the model is hardly better than persistence")


if __name__ == "__main__":
    main()
