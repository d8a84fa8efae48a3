"""What augmentations cost: each one in infeed and in torchvision v2, on PIL images and on tensors, with one thread.

    python benches/augment.py [--size 224] [--rows 400] [--rounds 5] [NAME...]

infeed runs as it does for users: a pipeline of PNGs with one worker. Its time per image is that of the pipeline with
the transform less that of the same pipeline without it, so what is counted is the transform, the memory for its
pixels and nothing else. torchvision is called in a loop on images that are decoded already. Times are CPU times of the
process, which other programs disturb less than wall-clock time. All take turns, round by round; the best round counts.
Probabilities are 1, so that every image is changed.
"""

from __future__ import annotations

import argparse
import io
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

import infeed
from infeed import transforms as T

WORKS: dict[str, tuple[str, dict]] = {
    "brightness": ("ColorJitter", {"brightness": (0.6, 1.4)}),
    "contrast": ("ColorJitter", {"contrast": (0.6, 1.4)}),
    "saturation": ("ColorJitter", {"saturation": (0.6, 1.4)}),
    "hue": ("ColorJitter", {"hue": (-0.1, 0.1)}),
    "ColorJitter": ("ColorJitter", {"brightness": 0.4, "contrast": 0.4, "saturation": 0.4, "hue": 0.1}),
    "RandomGrayscale": ("RandomGrayscale", {"p": 1.0}),
    "blur 5": ("GaussianBlur", {"kernel_size": 5}),
    "blur 23": ("GaussianBlur", {"kernel_size": 23}),
    "rotate nearest": ("RandomRotation", {"degrees": 30}),
    "rotate bilinear": ("RandomRotation", {"degrees": 30, "interpolation": "bilinear"}),
    "affine nearest": ("RandomAffine", {"degrees": 20, "translate": (0.1, 0.1), "scale": (0.8, 1.2), "shear": 10}),
    "affine bilinear": (
        "RandomAffine",
        {"degrees": 20, "translate": (0.1, 0.1), "scale": (0.8, 1.2), "shear": 10, "interpolation": "bilinear"},
    ),
    "perspective": ("RandomPerspective", {"p": 1.0}),
    "posterize": ("RandomPosterize", {"bits": 4, "p": 1.0}),
    "solarize": ("RandomSolarize", {"threshold": 128, "p": 1.0}),
    "sharpness": ("RandomAdjustSharpness", {"sharpness_factor": 2.0, "p": 1.0}),
    "autocontrast": ("RandomAutocontrast", {"p": 1.0}),
    "equalize": ("RandomEqualize", {"p": 1.0}),
    "erasing": ("RandomErasing", {"p": 1.0}),
    "erasing noise": ("RandomErasing", {"p": 1.0, "value": "random"}),
    "RandAugment": ("RandAugment", {}),
    "TrivialAugmentWide": ("TrivialAugmentWide", {}),
    "AutoAugment": ("AutoAugment", {}),
}


def photo(size: int, seed: int) -> np.ndarray:
    """Smooth colour with a little texture."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:size, 0:size].astype(np.float32)
    waves = [
        128 + 60 * np.sin(rng.uniform(0.01, 0.08) * x + c) + 40 * np.cos(rng.uniform(0.01, 0.08) * y)
        for c in range(3)
    ]
    return (np.stack(waves, -1) + rng.normal(0, 6, (size, size, 3))).clip(0, 255).astype(np.uint8)


class Ours:
    """A loader over all rows with one worker, ready to run an epoch."""

    def __init__(self, paths: list[Path], transforms: list) -> None:
        pipe = infeed.files(paths).decode(image="rgb")
        self.loader = (pipe.map(*transforms) if transforms else pipe).batch(50).to_numpy(threads=1, persistent=False)
        self.rows = len(paths)

    def seconds(self) -> float:
        """Of CPU time per image, over an epoch."""
        start = time.process_time()
        for _ in self.loader:
            pass
        return (time.process_time() - start) / self.rows


def theirs(transform: Callable, inputs: list, seconds: float) -> float:
    """Seconds of CPU time per image, over about this time."""
    count, start = 0, time.process_time()
    while time.process_time() - start < seconds:
        for image in inputs:
            transform(image)
        count += len(inputs)
    return (time.process_time() - start) / count


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"some of: {', '.join(WORKS)}")
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.3, help="per round of torchvision")
    args = parser.parse_args()
    torch.set_num_threads(1)
    pixels = [photo(args.size, i) for i in range(20)]
    pil = [Image.fromarray(p) for p in pixels]
    tensors = [F.pil_to_tensor(p) for p in pil]
    floats = [t.float() / 255 for t in tensors]
    print(
        f"{args.size}x{args.size}, one thread, microseconds of CPU time per image; ratios: torchvision's over infeed's\n"
    )
    print("| work | infeed | torchvision PIL | tensor | PIL / infeed | tensor / infeed |")
    print("|---|---:|---:|---:|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for i in range(args.rows):
            out = io.BytesIO()
            Image.fromarray(pixels[i % len(pixels)]).save(out, "PNG", compress_level=0)
            paths.append(Path(folder) / f"{i:05d}.png")
            paths[-1].write_bytes(out.getvalue())
        for name in args.names or WORKS:
            kind, options = WORKS[name]
            erase = kind == "RandomErasing"
            before = [T.ToDtype("f32", scale=True)] if erase else []
            base, with_it = Ours(paths, before), Ours(paths, [*before, getattr(T, kind)(**options)])
            other = getattr(v2, kind)(**options)
            rounds = []
            for _ in range(args.rounds):
                peer = float("nan") if erase else theirs(other, pil, args.seconds)
                rounds.append(
                    (
                        base.seconds(),
                        with_it.seconds(),
                        peer,
                        theirs(other, floats if erase else tensors, args.seconds),
                    )
                )
            best = [min(column) * 1e6 for column in zip(*rounds, strict=True)]
            ours = max(best[1] - best[0], 0.1)
            on_pil = "" if erase else f"{best[2]:.0f}"
            ratio = "" if erase else f"{best[2] / ours:.1f}"
            print(f"| {name} | {ours:.0f} | {on_pil} | {best[3]:.0f} | {ratio} | {best[3] / ours:.1f} |", flush=True)


if __name__ == "__main__":
    main()
