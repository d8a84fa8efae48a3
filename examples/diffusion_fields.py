"""A denoising diffusion model of climate fields, from netCDF files to a falling loss, on a CPU in some seconds.

Run: python examples/diffusion_fields.py [--folder fields] [--steps 150]

It makes fields of temperature and wind over a small globe, packed into 16 bits as archives do (scale_factor, add_offset,
_FillValue), computes their statistics, and trains on random parts of them.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from scipy.io import netcdf_file

import infeed
from infeed import transforms as T

#: How the numbers are packed: value = stored * FACTOR + OFFSET; FILL stands for no value.
FACTOR, OFFSET, FILL = 0.01, 250.0, -32768
STEPS_OF_NOISE = 50


def make(path: Path, times: int = 256) -> None:
    """Waves that travel around the globe, with a few cells without a value."""
    rng = np.random.default_rng(0)
    lat, lon = np.meshgrid(np.linspace(-90, 90, 24), np.linspace(0, 360, 48, endpoint=False), indexing="ij")
    phase = np.radians(lon)[None] + 0.1 * np.arange(times)[:, None, None]
    base = 260 + 40 * np.cos(np.radians(lat))[None]
    fields = {"t2m": base + 4 * np.sin(3 * phase), "u10": 250 + 8 * np.cos(2 * phase) * np.cos(np.radians(lat))}
    with netcdf_file(str(path), "w") as file:
        for name, length in (("time", None), ("lat", 24), ("lon", 48)):
            file.createDimension(name, length)
        for name, field in fields.items():
            variable = file.createVariable(name, "i2", ("time", "lat", "lon"))
            variable.scale_factor, variable.add_offset, variable._FillValue = FACTOR, OFFSET, np.int16(FILL)
            stored = np.round((field + rng.normal(0, 0.5, field.shape) - OFFSET) / FACTOR).astype("i2")
            stored[rng.random(field.shape) < 0.001] = FILL
            variable[:] = stored


def physical(path: Path) -> infeed.Pipeline:
    """The fields in units of physics, as infeed unpacks them. Cells without a value get one of the middle."""
    names = ["t2m", "u10"]
    return infeed.netcdf(path, variables=names).map(T.FillNan(OFFSET), on=names)


class Denoiser(torch.nn.Module):
    """Guesses the noise in a field, given how much there is."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        conv = lambda a, b: torch.nn.Conv2d(a, b, 3, padding=1, padding_mode="circular")  # noqa: E731
        self.layers = torch.nn.Sequential(
            conv(3, width), torch.nn.SiLU(), conv(width, width), torch.nn.SiLU(), conv(width, 2)
        )

    def forward(self, x: torch.Tensor, level: torch.Tensor) -> torch.Tensor:
        known = level[:, None, None, None].expand(-1, 1, *x.shape[2:])
        return self.layers(torch.cat([x, known], dim=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("fields"))
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    file, stats = args.folder / "fields.nc", args.folder / "stats.json"
    make(file)
    found = infeed.stats(physical(file), out=stats)
    for name, field in found["fields"].items():
        print(f"{name}: mean {field['mean']:.2f}, std {field['std']:.2f}, {field['min']:.1f} to {field['max']:.1f}")

    train = (
        physical(file)
        .shuffle(seed=0)
        .map(T.Normalize(str(stats)), T.RandomCrop((16, 32)), T.RandomFlip(-1), on=["t2m", "u10"])
        .batch(32, drop_last=True)
    )
    torch.manual_seed(0)
    model = Denoiser()
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    kept = torch.cumprod(1 - torch.linspace(1e-3, 0.1, STEPS_OF_NOISE), dim=0)
    losses: list[float] = []
    loader = train.to_torch()
    while len(losses) < args.steps:
        for batch in loader:
            x = torch.stack([batch["t2m"], batch["u10"]], dim=1)
            at = torch.randint(STEPS_OF_NOISE, (len(x),))
            share, noise = kept[at][:, None, None, None], torch.randn_like(x)
            guess = model(share.sqrt() * x + (1 - share).sqrt() * noise, at / STEPS_OF_NOISE)
            loss = torch.nn.functional.mse_loss(guess, noise)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if len(losses) == args.steps:
                break
    first, last = float(np.mean(losses[:10])), float(np.mean(losses[-10:]))
    print(json.dumps({"first": round(first, 4), "last": round(last, 4), "steps": len(losses)}))
    assert last < 0.6 * first, f"the loss did not fall: {first:.3f} to {last:.3f}"


if __name__ == "__main__":
    main()
