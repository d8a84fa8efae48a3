"""Writes what Pillow makes of small made-up pictures, one file per filter.

    python make.py             the files next to this script, which are committed
    python make.py DIR COUNT   COUNT random cases in DIR, for a wide comparison (see ../tests/golden.rs)

The files are generated: do not edit them, run this script. A file is a run of records: twelve little-endian
u32 (channels, kind, seed, source width and height, full width and height, window x0 x1 y0 y1, length of what
follows), four little-endian f64 (the box, x0 y0 x1 y1) and then the bytes Pillow produced. The pictures
themselves are generated from kind and seed, here and in the test in the same way, so they take no space.

Needs Pillow 13 or later: older versions filter in another order when many more rows are lost than columns, which
rounds differently. (Where kernels overshoot, as with Lanczos on noise, by quite a lot.)
"""

import random
import struct
import sys
from pathlib import Path

import numpy as np
from PIL import Image, __version__

assert int(__version__.split(".")[0]) >= 13, "see above"

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


def record(name, channels, kind, seed, source, full, window, box=None):
    (sw, sh), (fw, fh), (x0, x1, y0, y1) = source, full, window
    data = picture(channels, kind, seed, sw, sh)
    image = Image.frombytes(MODES[channels], source, data.tobytes())
    out = image.resize(full, FILTERS[name], box).crop((x0, y0, x1, y1)).tobytes()
    assert len(out) == (x1 - x0) * (y1 - y0) * channels
    head = struct.pack("<12I", channels, kind, seed, sw, sh, fw, fh, x0, x1, y0, y1, len(out))
    return head + struct.pack("<4d", *(box or (0, 0, sw, sh))) + out


def whole(full):
    return (0, full[0], 0, full[1])


SMALL = [
    # channels, kind, source, full, window, box
    (3, 0, (31, 23), (13, 9), None, None),
    (3, 1, (15, 11), (17, 13), None, None),
    (3, 2, (31, 29), (16, 14), None, None),
    (3, 0, (40, 30), (33, 25), (7, 22, 5, 15), None),
    (3, 0, (13, 21), (13, 11), None, None),
    (3, 0, (19, 15), (20, 15), None, None),
    (3, 1, (12, 10), (12, 10), (2, 9, 3, 8), None),
    (1, 0, (31, 23), (13, 9), None, None),
    (1, 2, (9, 7), (22, 15), (3, 20, 2, 13), None),
    (4, 0, (31, 23), (13, 9), None, None),
    (4, 1, (9, 7), (16, 11), (3, 15, 2, 9), None),
    (3, 0, (1, 1), (5, 4), None, None),
    (3, 0, (9, 7), (1, 1), None, None),
    (1, 0, (1000, 5), (3, 4), None, None),
    (3, 0, (11, 1000), (8, 3), None, None),
    (1, 0, (3, 2), (250, 1), None, None),
    (1, 0, (2, 3), (1, 250), None, None),
    (4, 0, (1000, 1), (3, 1), None, None),
    # Around where the order changes: on one side of it, on the other, and far beyond.
    (1, 0, (15, 22), (11, 14), None, None),
    (1, 0, (15, 22), (11, 13), None, None),
    (3, 0, (21, 40), (19, 17), (3, 18, 4, 12), None),
    (4, 2, (12, 30), (14, 9), None, None),
    # Boxes: both orders, larger, smaller, the same size shifted, and all but whole.
    (3, 0, (31, 23), (13, 9), None, (3.3, 2.7, 28.1, 20.45)),
    (3, 0, (15, 40), (14, 11), None, (0.6, 10.2, 9.9, 39.8)),
    (1, 0, (31, 23), (17, 19), None, (10.1, 5.25, 14.9, 8.0)),
    (4, 0, (9, 7), (9, 7), None, (0.4, 0, 9, 6.7)),
    (3, 1, (20, 20), (14, 12), (2, 12, 1, 9), (1.0 / 3.0, 0, 20, 19.99999)),
]


def committed(folder):
    for name in FILTERS:
        records = b""
        for seed, (channels, kind, source, full, window, box) in enumerate(SMALL):
            records += record(name, channels, kind, seed * 1000003, source, full, window or whole(full), box)
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
            window = whole(full)
            if rng.random() < 0.3:
                x = sorted(rng.sample(range(full[0] + 1), 2))
                y = sorted(rng.sample(range(full[1] + 1), 2))
                window = (x[0], x[1], y[0], y[1])
            box = None
            if rng.random() < 0.4:
                x = sorted(rng.uniform(0, source[0]) for _ in range(2))
                y = sorted(rng.uniform(0, source[1]) for _ in range(2))
                # Some boxes keep an end, some one whole axis.
                x[0], y[1] = rng.choice([x[0], 0]), rng.choice([y[1], source[1]])
                x, y = rng.choice([(x, y), (x, y), ([0, source[0]], y), (x, [0, source[1]])])
                box = (x[0], y[0], x[1], y[1])
            channels, kind = rng.choice([1, 3, 3, 4]), rng.choice([0, 0, 1, 2])
            records += record(name, channels, kind, rng.getrandbits(32), source, full, window, box)
        (folder / f"{name}.bin").write_bytes(records)


if __name__ == "__main__":
    if len(sys.argv) == 3:
        wide(Path(sys.argv[1]), int(sys.argv[2]))
    else:
        committed(Path(__file__).parent)
