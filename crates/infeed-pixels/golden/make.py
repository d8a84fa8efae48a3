"""Writes what torchvision makes of small made-up PIL images, one `golden/` folder per transform.

    python crates/infeed-pixels/golden/make.py

The files are generated: do not edit them, run this script. `pixels.bin` is a run of records: eight little-endian u32 (kind
of picture, channels, width, height, then width, height and channels of the result, number of arguments), the arguments
as little-endian f64 and the bytes of the result. `ops.bin`, of the policies, is a run of records of three u32
(operation, bin, 1 for bilinear), two f64 (magnitude, with its sign) and a u64, the checksum of the result. Pictures are
made up in the same way here and in `transform/golden.rs`, so they take no space.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

TRANSFORMS = Path(__file__).parents[2] / "infeed" / "src" / "transform"
NONE = float("nan")
NEAREST, BILINEAR = v2.InterpolationMode.NEAREST, v2.InterpolationMode.BILINEAR


def picture(kind: int, width: int, height: int, channels: int) -> Image.Image:
    """A wrapping slope with noise (0), the same with little contrast (1), or one colour (2)."""
    y, x, c = np.indices((height, width, channels), dtype=np.uint64)
    noise = np.arange(width * height * channels, dtype=np.uint64)
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        noise = ((noise ^ (noise >> np.uint64(shift))) * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
    noise = (noise >> np.uint64(24)).reshape(height, width, channels)
    value = ((x * 5 + y * 7 + c * 60) % 256 * 3 + noise) // 4
    if kind == 1:
        value = 60 + value // 3
    if kind == 2:
        value = 40 + c * 50
    data = value.astype(np.uint8)
    return Image.fromarray(data[..., 0] if channels == 1 else data)


def record(image: tuple[int, int, int, int], args: list[float], result: Image.Image) -> bytes:
    kind, width, height, channels = image
    out = np.asarray(result)
    out_channels = 1 if out.ndim == 2 else out.shape[2]
    head = [kind, channels, width, height, result.width, result.height, out_channels, len(args)]
    return struct.pack("<8I", *head) + struct.pack(f"<{len(args)}d", *args) + out.tobytes()


def write(folder: str, name: str, data: bytes) -> None:
    target = TRANSFORMS / folder / "golden"
    target.mkdir(exist_ok=True)
    (target / name).write_bytes(data)


RGB, DULL, FLAT = (0, 37, 29, 3), (1, 37, 29, 3), (2, 20, 15, 3)
SMALL, GRAY = (0, 19, 17, 3), (0, 23, 31, 1)


def color_jitter() -> bytes:
    steps = [F.adjust_brightness, F.adjust_contrast, F.adjust_saturation, F.adjust_hue]
    order = [0, 1, 2, 3]
    cases = []
    for which, factors in enumerate(
        [(0.0, 0.4, 1.7), (0.0, 0.3, 1.6), (0.0, 0.55, 1.9), (-0.5, -0.13, 0.0, 0.24, 0.5)]
    ):
        for factor in factors:
            values = [NONE] * 4
            values[which] = factor
            cases += [(SMALL, order, values)]
    cases += [(GRAY, order, [0.7, 1.3, 1.5, 0.2]), (DULL, [2, 0, 3, 1], [1.2, 0.8, 1.4, -0.1])]
    cases += [(RGB, [3, 2, 1, 0], [0.9, 1.6, 0.4, 0.05])]
    out = b""
    for image, order, values in cases:
        result = picture(*image)
        for which in order:
            if not np.isnan(values[which]):
                result = steps[which](result, values[which])
        out += record(image, [*order, *values], result)
    return out


def grayscale() -> bytes:
    return b"".join(record(i, [n], F.rgb_to_grayscale(picture(*i), n)) for i in (RGB, GRAY) for n in (1, 3))


def gaussian_blur() -> bytes:
    out = b""
    for image, kx, ky, sigma in [
        (RGB, 3, 3, 0.5),
        (RGB, 5, 5, 1.2),
        (SMALL, 9, 3, 2.0),
        (RGB, 23, 23, 1.7),
        (GRAY, 7, 11, 0.1),
        (SMALL, 1, 33, 9.0),
    ]:
        out += record(image, [kx, ky, sigma], F.gaussian_blur(picture(*image), [kx, ky], [sigma, sigma]))
    return out


def random_rotation() -> bytes:
    out = b""
    square = (0, 21, 21, 3)
    angles = [0.0, 30.0, -45.5, 90.0, 180.0, 270.0, 123.4, 359.0]
    cases = [(SMALL, a, b, e, None, 0) for a in angles for b in (0, 1) for e in (0, 1)]
    cases += [(square, 90.0, 1, 0, None, 0), (square, -90.0, 0, 0, None, 0), (GRAY, 17.0, 1, 0, None, 77)]
    cases += [(SMALL, 40.0, b, 0, (3.0, 12.5), 200) for b in (0, 1)] + [(SMALL, 90.0, 0, 0, (0.0, 0.0), 9)]
    for image, angle, bilinear, expand, center, fill in cases:
        result = F.rotate(
            picture(*image),
            angle,
            BILINEAR if bilinear else NEAREST,
            bool(expand),
            list(center) if center else None,
            fill,
        )
        out += record(image, [angle, bilinear, expand, *(center or (NONE, NONE)), fill], result)
    return out


def random_affine() -> bytes:
    out = b""
    cases = []
    for bilinear in (0, 1):
        cases += [
            (SMALL, 0.0, (0, 0), 1.0, (0.0, 0.0), None, bilinear),
            (SMALL, 0.0, (4, -3), 1.0, (0.0, 0.0), None, bilinear),
            (SMALL, 0.0, (-5, 2), 0.7, (0.0, 0.0), None, bilinear),
            (SMALL, 33.0, (2, 5), 1.3, (10.0, -7.0), None, bilinear),
            (RGB, -120.0, (0, 0), 0.4, (25.0, 0.0), (5.0, 7.5), bilinear),
            (GRAY, 9.0, (1, 1), 2.1, (0.0, 15.0), None, bilinear),
            (SMALL, 12.0, (0, 0), 0.0004, (3.0, 0.0), None, bilinear),
        ]
    for image, angle, move, scale, shear, center, bilinear in cases:
        result = F.affine(
            picture(*image), angle, list(move), scale, list(shear), BILINEAR if bilinear else NEAREST, 50, center
        )
        out += record(image, [angle, *move, scale, *shear, *(center or (NONE, NONE)), bilinear, 50], result)
    return out


def random_perspective() -> bytes:
    out = b""
    for image, to in [
        (SMALL, [(2, 1), (16, 4), (14, 15), (1, 13)]),
        (SMALL, [(0, 0), (18, 0), (18, 16), (0, 16)]),
        (RGB, [(9, 0), (30, 11), (36, 20), (0, 28)]),
        (GRAY, [(5, 7), (20, 0), (13, 30), (0, 22)]),
    ]:
        _, width, height, _ = image
        # Where nothing moves, the noise of torch's solver decides what bilinear sampling cuts off.
        still = to == [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
        for bilinear in (0,) if still else (0, 1):
            start = [(0, 0), (width - 1, 0), (width - 1, height - 1), (0, height - 1)]
            result = F.perspective(
                picture(*image),
                [list(p) for p in start],
                [list(p) for p in to],
                BILINEAR if bilinear else NEAREST,
                30,
            )
            out += record(image, [*(v for p in to for v in p), bilinear, 30], result)
    return out


def random_posterize() -> bytes:
    return b"".join(record(SMALL, [n], F.posterize(picture(*SMALL), n)) for n in range(1, 9))


def random_solarize() -> bytes:
    return b"".join(
        record(SMALL, [t], F.solarize(picture(*SMALL), t)) for t in (0.0, 0.5, 100.0, 127.5, 255.0, 256.0)
    )


def random_adjust_sharpness() -> bytes:
    images = [SMALL, GRAY, (0, 2, 9, 3), (0, 3, 3, 3)]
    return b"".join(record(i, [f], F.adjust_sharpness(picture(*i), f)) for i in images for f in (0.0, 0.5, 2.0, 10.0))


def random_autocontrast() -> bytes:
    return b"".join(record(i, [], F.autocontrast(picture(*i))) for i in (RGB, DULL, FLAT, GRAY))


def random_equalize() -> bytes:
    images = (RGB, DULL, FLAT, GRAY, (0, 5, 5, 3), (0, 90, 70, 1))
    return b"".join(record(i, [], F.equalize(picture(*i))) for i in images)


def checksum(image: Image.Image) -> int:
    data = np.asarray(image).reshape(-1).astype(np.uint64)
    weight = np.arange(1, len(data) + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    weight ^= weight >> np.uint64(29)
    return int((data * weight).sum(dtype=np.uint64))


def ops(method: v2.Transform, bins: int) -> bytes:
    """Every operation with every magnitude and sign."""
    out = b""
    image = picture(*RGB)
    for index, (name, (magnitudes, signed)) in enumerate(method._AUGMENTATION_SPACE.items()):
        values = magnitudes(bins, image.height, image.width)
        for at in range(bins if values is not None else 1):
            magnitude = float(values[at]) if values is not None else 0.0
            for sign in (1, -1) if signed else (1,):
                for bilinear in (0, 1):
                    mode = BILINEAR if bilinear else NEAREST
                    made = method._apply_image_or_video_transform(image, name, magnitude * sign, mode, {"others": 12})
                    out += struct.pack("<3I2dQ", index, at, bilinear, magnitude, sign, checksum(made))
    return out


def policies() -> bytes:
    lines = []
    for policy in v2.AutoAugmentPolicy:
        lines.append(policy.value)
        for pair in v2.AutoAugment(policy)._policies:
            lines.append(" ".join(f"{op} {probability} {bin or 0}" for op, probability, bin in pair))
    return "\n".join([*lines, ""]).encode()


def main() -> None:
    torch.set_num_threads(1)
    for make in (
        color_jitter,
        grayscale,
        gaussian_blur,
        random_rotation,
        random_affine,
        random_perspective,
        random_posterize,
        random_solarize,
        random_adjust_sharpness,
        random_autocontrast,
        random_equalize,
    ):
        write(make.__name__, "pixels.bin", make())
    write("rand_augment", "ops.bin", ops(v2.RandAugment(), 31))
    write("trivial_augment_wide", "ops.bin", ops(v2.TrivialAugmentWide(), 31))
    write("auto_augment", "ops.bin", ops(v2.AutoAugment(), 10))
    write("auto_augment", "policies.txt", policies())


if __name__ == "__main__":
    main()
