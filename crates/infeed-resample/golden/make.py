"""Writes what Pillow makes of small made-up pictures, one file per filter.

    python make.py             the files next to this script, which are committed
    python make.py DIR COUNT   COUNT random cases in DIR, for a wide comparison (see ../tests/golden.rs)

The files are generated: do not edit them, run this script. A file is a run of records: twelve little-endian
u32 (channels, kind, seed, source width and height, full width and height, window x0 x1 y0 y1, length of what
follows) and then the bytes Pillow produced. The pictures themselves are made up from kind and seed, here and
in the test in the same way, so they take no space.

Needs Pillow below 13: from then on a picture that shrinks more in height than in width is filtered vertically
first, which rounds differently. (Where kernels overshoot, as with Lanczos on noise, by quite a lot.)
"""

import random
import struct
import sys
from pathlib import Path

import numpy as np
from PIL import Image, __version__

assert int(__version__.split(".")[0]) < 13, "see above"

FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
# RGBX, because Pillow premultiplies the alpha of RGBA and that is another operation.
MODES = {1: "L", 3: "RGB", 4: "RGBX"}


def picture(channels, kind, seed, width, height):
    """Noise, a wrapping slope, or a hard black and white pattern that makes kernels overshoot."""
    if kind == 0:
        n = width * height * channels
        x = (np.arange(n, dtype=np.uint64) + np.uint64(seed)) & np.uint64(0xFFFFFFFF)
        for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
            x = ((x ^ (x >> np.uint64(shift))) * np.uint64(factor)) & np.uint64(0xFFFFFFFF)
        return (x >> np.uint64(24)).astype(np.uint8).reshape(height, width, channels)
    y, x, c = np.indices((height, width, channels))
    if kind == 1:
        return ((x * 7 + y * 13 + c * 50 + seed) & 255).astype(np.uint8)
    return (255 * ((x // 3 + y // 2 + c) & 1)).astype(np.uint8)


def record(name, channels, kind, seed, source, full, window):
    (sw, sh), (fw, fh), (x0, x1, y0, y1) = source, full, window
    data = picture(channels, kind, seed, sw, sh)
    image = Image.frombytes(MODES[channels], source, data.tobytes())
    out = image.resize(full, FILTERS[name]).crop((x0, y0, x1, y1)).tobytes()
    assert len(out) == (x1 - x0) * (y1 - y0) * channels
    return struct.pack("<12I", channels, kind, seed, sw, sh, fw, fh, x0, x1, y0, y1, len(out)) + out


def whole(full):
    return (0, full[0], 0, full[1])


SMALL = [
    # channels, kind, source, full, window
    (3, 0, (31, 23), (13, 9), None),
    (3, 1, (17, 11), (24, 19), None),
    (3, 2, (41, 37), (20, 18), None),
    (3, 0, (40, 30), (33, 25), (7, 29, 5, 20)),
    (3, 0, (19, 21), (19, 11), None),
    (3, 0, (19, 21), (30, 21), None),
    (3, 1, (12, 10), (12, 10), (2, 9, 3, 8)),
    (1, 0, (31, 23), (13, 9), None),
    (1, 2, (9, 7), (22, 15), (3, 20, 2, 13)),
    (4, 0, (31, 23), (13, 9), None),
    (4, 1, (9, 7), (16, 11), (3, 15, 2, 9)),
    (3, 0, (1, 1), (5, 4), None),
    (3, 0, (9, 7), (1, 1), None),
    (1, 0, (1000, 5), (3, 4), None),
    (3, 0, (11, 1000), (8, 3), None),
    (1, 0, (3, 2), (1000, 1), None),
    (1, 0, (2, 3), (1, 1000), None),
    (4, 0, (1000, 1), (3, 1), None),
]


def committed(folder):
    for name in FILTERS:
        records = b""
        for seed, (channels, kind, source, full, window) in enumerate(SMALL):
            records += record(name, channels, kind, seed * 1000003, source, full, window or whole(full))
        (folder / f"{name}.bin").write_bytes(records)


def wide(folder, count):
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(7)
    for name in FILTERS:
        records = b""
        for _ in range(count):
            side = rng.choice([8, 64, 300])
            source = (rng.randint(1, side), rng.randint(1, side))
            full = (rng.randint(1, side), rng.randint(1, side))
            if source[1] > 100 * source[0]:
                continue  # such strips recent versions of Pillow filter vertically first
            window = whole(full)
            if rng.random() < 0.3:
                x = sorted(rng.sample(range(full[0] + 1), 2))
                y = sorted(rng.sample(range(full[1] + 1), 2))
                window = (x[0], x[1], y[0], y[1])
            channels, kind = rng.choice([1, 3, 3, 4]), rng.choice([0, 0, 1, 2])
            records += record(name, channels, kind, rng.getrandbits(32), source, full, window)
        (folder / f"{name}.bin").write_bytes(records)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        wide(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        committed(Path(__file__).parent)
