"""Fixtures: every test creates the data it needs."""

from __future__ import annotations

import io
import signal
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import infeed

pytest_plugins = ["servers.fixtures"]

# A shell that runs the tests in the background makes them ignore Ctrl-C, and child processes would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def photo(width: int, height: int, seed: int) -> np.ndarray:
    """Photo-like pixels: smooth colour, texture and an edge, so that JPEG compression is realistic."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width].astype(np.float32)
    out = np.zeros((height, width, 3), np.float32)
    for c in range(3):
        a, b, phase = rng.uniform(0.005, 0.08, 3)
        out[..., c] = 128 + 60 * np.sin(a * x + phase * 50) + 40 * np.cos(b * y)
    out += rng.normal(0, 12, out.shape)
    out[(x + y) > (width + height) * rng.uniform(0.3, 0.9)] *= 0.6
    return out.clip(0, 255).astype(np.uint8)


def encode(pixels: np.ndarray, format: str = "JPEG", **options) -> bytes:
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, format, **options)
    return out.getvalue()


def jpeg(seed: int, width: int = 120, height: int = 100, **options) -> bytes:
    return encode(photo(width, height, seed), "JPEG", **{"quality": 90, **options})


def write_shards(folder: Path, rows: int, per_shard: int = 16, **extra) -> str:
    """JPEG and label shards of varying image sizes; returns a glob."""
    with infeed.ShardWriter(folder / "train-%03d.tar", maxcount=per_shard) as out:
        for i in range(rows):
            sample = {"__key__": f"s{i:05d}", "jpg": jpeg(i, 90 + i % 7 * 10, 80 + i % 5 * 12), "cls": i % 10}
            out.write({**sample, **{k: make(i) for k, make in extra.items()}})
    return str(folder / "*.tar")


@pytest.fixture(scope="session")
def shards(tmp_path_factory) -> str:
    """Fifty samples in four shards."""
    return write_shards(tmp_path_factory.mktemp("shards"), 50)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Saved indices go to a separate folder for each test."""
    monkeypatch.setenv("INFEED_CACHE", str(tmp_path / "infeed-cache"))
