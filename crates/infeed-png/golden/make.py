"""Writes the fixtures of this folder: NAME.png with what Pillow makes of it, NAME.rgb, NAME.l and NAME.rgba.

Run by hand (`python make.py`, Pillow 13.0.0 when last run); the tests only read the results.
"""

import io
import pathlib
import random
import struct
import warnings
import zlib

from PIL import Image

HERE = pathlib.Path(__file__).parent
WIDTH, HEIGHT = 13, 6
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def raw(depth, color, extra=(), top=None, pieces=1):
    """A file of random samples without filters, for what Pillow cannot write itself."""
    bits = depth * CHANNELS[color]
    rows = b""
    for _ in range(HEIGHT):
        row = bytes(rng.randrange(top or 256) for _ in range((WIDTH * bits + 7) // 8))
        rows += b"\0" + row
    packed = zlib.compress(rows, 9)
    step = -(-len(packed) // pieces)
    idats = [chunk(b"IDAT", packed[i : i + step]) for i in range(0, len(packed), step)]
    ihdr = struct.pack(">IIBBBBB", WIDTH, HEIGHT, depth, color, 0, 0, 0)
    front = b"".join(chunk(kind, data) for kind, data in extra)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", ihdr) + front + b"".join(idats) + chunk(b"IEND", b"")


def saved(image, **options):
    """A file as Pillow writes it, with the filters it chooses."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", **options)
    return buffer.getvalue()


def photo(mode):
    """Smooth with some noise, so that every filter gets its turn."""
    image = Image.new("RGBA", (WIDTH, HEIGHT))
    for y in range(HEIGHT):
        for x in range(WIDTH):
            n = rng.randrange(12)
            image.putpixel((x, y), (x * 17 + n, (y * 40 + x * 3 + n) % 256, (x * y * 5) % 256, 255 - x * 9 - n))
    return image if mode == "RGBA" else image.convert(mode)


rng = random.Random(1)
colors = bytes(rng.randrange(256) for _ in range(768))
alphas = bytes(rng.randrange(256) for _ in range(256))
plte = (b"PLTE", colors)
files = {
    "photo-rgb": saved(photo("RGB")),
    "photo-rgba": saved(photo("RGBA")),
    "photo-l": saved(photo("L")),
    "photo-la": saved(photo("LA")),
    "photo-1": saved(photo("1")),
    "photo-p": saved(photo("RGB").quantize(200)),
    "photo-p4": saved(photo("RGB").quantize(16)),
    "photo-p-key": saved(photo("RGB").quantize(20), transparency=3),
    "gray1": raw(1, 0),
    "gray2": raw(2, 0),
    "gray4": raw(4, 0),
    "gray8": raw(8, 0),
    "grayalpha8": raw(8, 4),
    "rgb8": raw(8, 2),
    "rgba8": raw(8, 6),
    "rgb16": raw(16, 2),
    "rgba16": raw(16, 6),
    "grayalpha16": raw(16, 4),
    "gray1-key": raw(1, 0, [(b"tRNS", b"\0\1")]),
    "gray2-key0": raw(2, 0, [(b"tRNS", b"\0\0")]),
    "gray2-key": raw(2, 0, [(b"tRNS", b"\0\2")]),
    "gray4-key": raw(4, 0, [(b"tRNS", b"\0\x07")]),
    "gray8-key": raw(8, 0, [(b"tRNS", b"\0\3")], top=6),
    "rgb8-key": raw(8, 2, [(b"tRNS", b"\0\1\0\0\0\1")], top=2),
    "rgb16-key": raw(16, 2, [(b"tRNS", b"\1\1\1\0\1\1")], top=2),
    "palette1": raw(1, 3, [(b"PLTE", colors[:6])]),
    "palette2": raw(2, 3, [(b"PLTE", colors[:12])]),
    "palette4": raw(4, 3, [(b"PLTE", colors[:48])]),
    "palette8": raw(8, 3, [plte]),
    "palette4-alpha": raw(4, 3, [(b"PLTE", colors[:48]), (b"tRNS", alphas[:9])]),
    "palette8-alpha": raw(8, 3, [plte, (b"tRNS", alphas)]),
    "palette8-short": raw(8, 3, [(b"PLTE", colors[:300])]),
    "palette8-long-alpha": raw(8, 3, [(b"PLTE", colors[:300]), (b"tRNS", alphas[:200])]),
    "many-idat": raw(8, 2, pieces=7),
    "animated": saved(photo("RGB"), save_all=True, append_images=[photo("RGB"), photo("RGB")]),
    "ancillary": raw(8, 2, [(b"gAMA", struct.pack(">I", 45455)), (b"tEXt", b"Comment\0hello")]),
}

warnings.simplefilter("ignore")
for name, data in files.items():
    (HERE / f"{name}.png").write_bytes(data)
    for mode in ("RGB", "L", "RGBA"):
        with Image.open(io.BytesIO(data)) as image:
            (HERE / f"{name}.{mode.lower()}").write_bytes(image.convert(mode).tobytes())
