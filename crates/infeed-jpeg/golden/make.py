"""Makes the golden files: JPEGs, and what Pillow decodes them to at every scale.

Run by hand with Pillow installed: ``python crates/infeed-jpeg/golden/make.py``.
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
from PIL import Image

HERE = Path(__file__).parent
# infeed's own decoder needs at least 16 pixels per side after scaling. Large images at full size would be most of the
# bytes here and test nothing that small ones do not.
SIZES = {"small": ((45, 37), (1, 2)), "large": ((145, 131), (2, 4, 8))}


def picture(width: int, height: int) -> Image.Image:
    """Soft colours, a hard edge and some noise."""
    y, x = np.mgrid[0:height, 0:width].astype(np.float64)
    red = 127 + 120 * np.sin(x / 7)
    green = 127 + 120 * np.cos(y / 5 + x / 11)
    blue = np.where(x + y > 40, 220, 30)
    noise = np.random.default_rng(7).normal(0, 6, (height, width, 3))
    pixels = np.stack([red, green, blue], axis=-1) + noise
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8))


def main() -> None:
    """Write every file beside this one."""
    for size, ((width, height), scales) in SIZES.items():
        rgb = picture(width, height)
        kinds = {
            "s444": (rgb, {"quality": 92, "subsampling": 0}),
            "s422": (rgb, {"quality": 80, "subsampling": 1}),
            "s420": (rgb, {"quality": 75, "subsampling": 2}),
            "restarts": (rgb, {"quality": 60, "subsampling": 2, "restart_marker_blocks": 2, "optimize": True}),
            "gray": (rgb.convert("L"), {"quality": 85}),
            "progressive": (rgb, {"quality": 75, "progressive": True}),
        }
        for kind, (image, options) in kinds.items():
            if size == "large" and kind in ("restarts", "progressive"):
                continue
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", **options)
            (HERE / f"{kind}-{size}.jpg").write_bytes(buffer.getvalue())
            for scale in scales:
                decoded = Image.open(io.BytesIO(buffer.getvalue()))
                if scale > 1:
                    decoded.draft(None, (width // scale, height // scale))
                decoded.load()
                assert decoded.size == (-(-width // scale), -(-height // scale)), (kind, scale, decoded.size)
                (HERE / f"{kind}-{size}.{scale}").write_bytes(decoded.tobytes())


if __name__ == "__main__":
    main()
