"""What keeping decoded samples brings: first and later epochs with `.cache(...)`, against the same pipeline without.

    python benches/sample_cache.py [PHOTOS] [--repeat 4] [--threads N] [--rounds 3] [--disk FOLDER]

Photographs are packed into tars (each several times, so that an epoch is long enough to measure), decoded, resized to
256, kept, cropped at random to 224, mirrored and normalised. Pipelines take turns, round by round; the median counts.
What comes out of all of them is compared, too.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import tempfile
import time
from pathlib import Path

import infeed
from infeed import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def pack(photos: Path, folder: Path, repeat: int) -> tuple[str, int]:
    """Writes tars; returns their pattern and how many samples they have."""
    files = sorted(path for path in photos.iterdir() if path.suffix.lower() in (".jpg", ".jpeg"))
    with infeed.ShardWriter(folder / "photos-%03d.tar", maxcount=100) as out:
        for i in range(repeat * len(files)):
            out.write({"__key__": f"{i:06d}", "jpg": files[i % len(files)].read_bytes(), "cls": i})
    return str(folder / "photos-*.tar"), repeat * len(files)


def pipeline(tars: str, cache: dict | None) -> infeed.Pipeline:
    data = infeed.open(tars).shuffle(seed=1).decode(jpg="rgb", cls="int").map(T.Resize(256), on="jpg")
    if cache is not None:
        data = data.cache(**cache)
    data = data.map(T.RandomCrop(224), T.RandomHorizontalFlip(), T.ToDtype("float32", scale=True), on="jpg")
    return data.map(T.Normalize(MEAN, STD), on="jpg").batch(64)


def epoch(loader: infeed.Loader) -> float:
    """Samples per second of the next epoch."""
    start, count = time.perf_counter(), 0
    for batch in loader:
        count += len(batch["cls"])
    return count / (time.perf_counter() - start)


def digest(loader: infeed.Loader, epoch: int) -> str:
    loader.set_epoch(epoch)
    total = hashlib.sha256()
    for batch in loader:
        total.update(batch["jpg"].tobytes())
    return total.hexdigest()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", nargs="?", default="shared/images", type=Path, help="a folder of JPEGs")
    parser.add_argument("--repeat", type=int, default=4, help="how often each photograph is packed")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--disk", type=Path, default=None, help="where the cache on disk lies")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        tars, rows = pack(args.photos, Path(folder), args.repeat)
        caches = {
            "no cache": None,
            "memory": {"tier": "memory", "limit": "4GB"},
            "disk": {"tier": "disk", "path": args.disk or Path(folder) / "cache", "limit": "4GB"},
        }
        loaders = {name: pipeline(tars, cache).to_numpy(threads=args.threads) for name, cache in caches.items()}
        first = {name: epoch(loader) for name, loader in loaders.items()}
        later: dict[str, list[float]] = {name: [] for name in loaders}
        for _ in range(args.rounds):
            for name, loader in loaders.items():
                later[name].append(epoch(loader))
        same = {digest(loader, 100) for loader in loaders.values()}
        print(f"{rows} photographs, batches of 64; samples per second\n")
        print(f"{'':10} {'first epoch':>12} {'later epochs':>13} {'against none':>13}")
        plain = statistics.median(later["no cache"])
        for name in loaders:
            rate = statistics.median(later[name])
            print(f"{name:10} {first[name]:12.0f} {rate:13.0f} {rate / plain:12.1f}x")
        for name in ("memory", "disk"):
            (used,) = loaders[name].stats()["sample_caches"]
            print(f"{name}: {used['hits']} hits, {used['misses']} misses, {used['bytes'] / 1e6:.0f} MB")
        print("the same batches" if len(same) == 1 else "BATCHES DIFFER")


if __name__ == "__main__":
    main()
