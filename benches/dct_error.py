"""The error of downscaling while decoding, compared with a full decode: the numbers in CORRECTNESS.md.

    python benches/dct_error.py IMAGES

For each JPEG and each resize that lets the decoder shrink, compares infeed with exact=True and without, in levels of 255.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import infeed
from infeed import transforms as T


def load(paths: list[Path], size: int, exact: bool) -> np.ndarray:
    """All images resized to a square."""
    pipe = infeed.files(paths).decode(image="rgb", exact=exact).map(T.Resize((size, size))).batch(len(paths))
    (batch,) = pipe.to_numpy()
    return np.asarray(batch["image"]).astype(np.int16)


def main() -> None:
    """Print one row per size."""
    paths = sorted(p for p in Path(sys.argv[1]).iterdir() if p.suffix.lower() in (".jpg", ".jpeg"))
    print(f"{len(paths)} images\n| resized to | mean error | 99.9 % below | largest |\n|---:|---:|---:|---:|")
    for size in (112, 96, 64, 48, 32, 16):
        error = np.abs(load(paths, size, exact=True) - load(paths, size, exact=False))
        print(f"| {size} | {error.mean():.3f} | {np.quantile(error, 0.999):.0f} | {error.max()} |")


if __name__ == "__main__":
    main()
