"""Checks on a GPU that what it decodes and draws is right, and how fast it is: one command, a table at the end.

python scripts/gpu_check.py [PHOTOS]                  # about 3 minutes
python scripts/gpu_check.py PHOTOS --only exact,speed

exact    the kernel against the processor on the same decoded pixels, and both whole ways against each other
again    the same batches in two runs, and after a resume in mid-epoch
speed    the loader alone onto the device: engines, both, threads
kernel   the time of our own kernels, from the profiler, beside the bytes that they move
damage   damaged files in every position of a batch, and mutated ones
race     batches into memory that is used again at once, under load, each compared
"""

from __future__ import annotations

import argparse
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

import infeed
from infeed import transforms as T

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BEGAN = time.perf_counter()
FOUND: dict[str, Any] = {}


def say(*words: Any) -> None:
    print(f"[{time.perf_counter() - BEGAN:6.1f} s]", *words, flush=True)


def write(folder: Path, files: list[bytes], count: int) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    with infeed.ShardWriter(folder / "t-%06d.tar", maxcount=500) as writer:
        for i in range(count):
            writer.write({"__key__": f"{i:08d}", "jpg": files[i % len(files)], "cls": i % 1000})
    return str(folder / "*.tar")


def pipeline(
    shards: str, *steps: Any, batch: int = 256, exact: bool = False, shuffle: bool = True
) -> infeed.Pipeline:
    found = infeed.open(shards)
    if shuffle:
        found = found.shuffle(seed=1)
    return (
        found.decode(jpg=infeed.decoders.rgb(exact=exact), cls="int")
        .map(*steps, on="jpg")
        .batch(batch, drop_last=True)
    )


TRAIN = (T.RandomResizedCrop(224), T.RandomHorizontalFlip())
PIPELINES: dict[str, tuple[Any, ...]] = {
    "train u8": TRAIN,
    "train f32 chw": (*TRAIN, T.ToCHW(), T.Normalize(MEAN, STD)),
    "val bicubic": (T.Resize(256, interpolation="bicubic"), T.CenterCrop(224)),
    "lanczos": (T.RandomResizedCrop(192, interpolation="lanczos"),),
    "not antialiased": (T.RandomResizedCrop(160, antialias=False),),
    "nearest": (T.RandomResizedCrop(160, interpolation="nearest"),),
    "padded": (T.Resize(200), T.CenterCrop(256)),
    "squashed": (T.Resize((32, 256)),),
}


def differ(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
    # Values that were normalised are compared as such.
    gap = (a.to(torch.float32).cpu() - b.to(torch.float32).cpu()).abs()
    return float(gap.max()), float(gap.mean())


def exact(shards: str, samples: int) -> None:
    """Every kind of view, audited."""
    for name, steps in PIPELINES.items():
        try:
            plain = pipeline(shards, *steps, batch=64, exact=True)
            with plain.to_torch(device="cuda", decode="gpu") as gpu, plain.to_torch(device="cuda") as cpu:
                lane = gpu._lane_now()
                decoding = gpu._decoding_now(lane)
                decoding.audits = True
                most, mean, count = 0.0, 0.0, 0
                for a, b in zip(gpu, cpu, strict=True):
                    high, middle = differ(a["jpg"], b["jpg"])
                    most, mean, count = max(most, high), mean + middle, count + 1
                    if count * 64 >= samples:
                        break
                values, different, largest = decoding.audited
                FOUND[f"exact {name}"] = {
                    "values": values,
                    "kernel_differs": different,
                    "kernel_largest": largest,
                    "end_to_end_max": most,
                    "end_to_end_mean": mean / max(count, 1),
                    **gpu._decoded,
                }
                say(name, FOUND[f"exact {name}"])
        except Exception:
            FOUND[f"exact {name}"] = traceback.format_exc(limit=3)
            say(name, FOUND[f"exact {name}"])


def batches(loader: Any, count: int) -> Iterator[Any]:
    for at, batch in enumerate(loader):
        if at == count:
            return
        yield batch


def again(shards: str) -> None:
    """Equal bytes in two runs and after a resume, with a share."""
    plain = pipeline(shards, *TRAIN, batch=64)
    options: dict[str, Any] = {"device": "cuda", "decode": "hybrid", "share": 0.3}
    with plain.to_torch(**options) as one, plain.to_torch(**options, threads=3) as two:
        first = [batch["jpg"].clone() for batch in batches(one, 8)]
        second = [batch["jpg"].clone() for batch in batches(two, 8)]
    with plain.to_torch(**options) as begun:
        for at, _ in enumerate(begun):
            if at == 2:
                state = begun.state_dict()
                break
    with plain.to_torch(**options) as resumed:
        resumed.load_state_dict(state)
        rest = [batch["jpg"].clone() for batch in batches(resumed, 5)]
    FOUND["again"] = {
        "two_runs": all(torch.equal(a, b) for a, b in zip(first, second, strict=True)),
        "resumed": all(torch.equal(a, b) for a, b in zip(first[3:], rest, strict=True)),
        **one._decoded,
    }
    say("again", FOUND["again"])


def rate(loader: Any, seconds: float, warm: int = 12) -> float:
    """Images per second of a loader that is asked for the next batch at once."""
    source = iter(loader)
    held: list[torch.Tensor] = []
    for _ in range(warm):
        held = [next(source)["jpg"]]
    torch.cuda.synchronize()
    start, count = time.perf_counter(), 0
    while time.perf_counter() - start < seconds:
        images = next(source)["jpg"]
        held = [*held[-3:], images]
        count += len(images)
    torch.cuda.synchronize()
    return count / (time.perf_counter() - start)


def speed(shards: str, seconds: float) -> None:
    plain = pipeline(shards, *TRAIN)
    cases: list[tuple[str, dict[str, Any]]] = [
        ("gpu, 2 threads", {"decode": "gpu", "threads": 2}),
        ("hybrid 0.35", {"decode": "hybrid", "share": 0.35}),
        ("hybrid 0.45", {"decode": "hybrid", "share": 0.45}),
        ("hybrid", {"decode": "hybrid"}),
        ("cpu", {}),
        ("cpu, all threads", {"threads": infeed.usable_cpus()}),
    ]
    for name, options in cases:
        with plain.to_torch(device="cuda", endless=True, **options) as loader:
            begun = time.process_time()
            found = {"images_per_s": rate(loader, seconds), "share": loader._core.share}
            found["cpu_s"] = time.process_time() - begun
            if loader._decoding is not None:
                found |= loader._decoding.seconds() | loader._decoded
            FOUND[f"speed {name}"] = found
            say(name, found)


def kernel(shards: str) -> None:
    """Our own kernels alone, drawn again and again from pixels that are decoded."""
    for name, steps in PIPELINES.items():
        plain = pipeline(shards, *steps)
        with plain.to_torch(device="cuda", decode="gpu") as loader:
            lane = loader._lane_now()
            renderer = loader._decoding_now(lane)._renderer
            batch = loader._core.start().take()
            work = renderer.ask(batch, "jpg")
            work.decode()
            shape, dtype = batch.deferred("jpg")
            out = torch.empty(shape, dtype=torch.uint8 if dtype == "u8" else torch.float32, device="cuda")
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            with lane.work():
                for _ in range(3):
                    work.draw(out.data_ptr(), lane.stream(), True)
                # All of it is queued before the stream reaches it: otherwise this would be the time of the host.
                torch.cuda._sleep(400_000_000)
                start.record()
                for _ in range(20):
                    work.draw(out.data_ptr(), lane.stream(), True)
                end.record()
            torch.cuda.synchronize()
            us = start.elapsed_time(end) * 1000 / 20
            moved = work.audit(out.data_ptr(), lane.stream())[3]
            FOUND[f"kernel {name}"] = {"us": us, "bytes": moved, "gb_per_s": moved / us / 1e3}
            say("kernel", name, FOUND[f"kernel {name}"])
            del work


def together(shards: str, seconds: float) -> None:
    """Two loaders at once: whether the engines have something left when one thread waits for them."""
    plain = pipeline(shards, *TRAIN)
    rates: list[float] = []

    def one() -> None:
        with plain.to_torch(device="cuda", endless=True, decode="gpu", threads=3) as loader:
            rates.append(rate(loader, seconds))

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    FOUND["together"] = rates
    say("two loaders at once", rates)


def mutated(file: bytes, rng: random.Random) -> bytes:
    out = bytearray(file)
    for _ in range(rng.choice((1, 1, 2, 8, 64))):
        out[rng.randrange(2, len(out) - 2)] = rng.randrange(256)
    return bytes(out)


def damage(where: Path, files: list[bytes], count: int) -> None:
    """Files that pass the look at their markers, and whose scans are damaged."""
    rng = random.Random(3)
    small = [file for file in files if len(file) < 150_000] or files
    many = [mutated(small[i % len(small)], rng) for i in range(count)]
    shards = write(where / "mutated", many, count)
    plain = pipeline(shards, T.Resize((128, 128)), batch=64, shuffle=False)
    with plain.to_torch(device="cuda", decode="gpu", on_error="skip", error_limit=count) as loader:
        seen = sum(len(batch["jpg"]) for batch in loader)
        FOUND["damage mutated"] = {"seen": seen, "of": count, **loader._decoded, "bad": loader.stats()["bad_samples"]}
        say("mutated", FOUND["damage mutated"])
    eight = [small[i % len(small)] for i in range(8)]
    good, bad = list(eight) * 8, list(eight) * 8
    for place in range(8):
        broken = bytearray(eight[place])
        middle = len(broken) // 2
        broken[middle : middle + 200] = rng.randbytes(200).replace(b"\xff", b"\xfe")
        bad[place * 9] = bytes(broken)
    views = [
        pipeline(write(where / name, files, 64), T.Resize((128, 128)), batch=8, shuffle=False)
        for name, files in (("good", good), ("bad", bad))
    ]
    wrong = 0
    with views[0].to_torch(device="cuda", decode="gpu") as a, views[1].to_torch(device="cuda", decode="gpu") as b:
        for place, (one, two) in enumerate(zip(a, b, strict=True)):
            same = (one["jpg"] == two["jpg"]).flatten(1).all(1).tolist()
            wrong += sum(not same[i] for i in range(8) if i != place)
    FOUND["damage places"] = {"neighbours_changed": wrong}
    say("places", FOUND["damage places"])


def race(shards: str, rounds: int) -> None:
    """Batches of fixed views, again and again, in memory that is free at once, while the device is busy."""
    plain = pipeline(shards, T.Resize((224, 224)), batch=64, shuffle=False)
    with plain.to_torch(device="cuda", decode="gpu") as loader:
        loader._decoding_now(loader._lane_now()).audits = True
        wanted = [batch["jpg"].clone() for batch in batches(loader, 16)]
        audited = loader._decoding.audited if loader._decoding else None
    load, big = torch.cuda.Stream(), torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    done = 0
    with plain.to_torch(device="cuda", decode="gpu") as loader:
        while done < rounds:
            for at, batch in enumerate(batches(loader, 16)):
                with torch.cuda.stream(load):
                    big = (big @ big).clamp_(-1, 1)
                wrong += (batch["jpg"] != wanted[at]).any()
                # What the next batch may be put into holds noise.
                noise = torch.empty_like(batch["jpg"])
                del batch
                noise.random_(0, 256)
                del noise
                done += 1
    FOUND["race"] = {"batches": done, "wrong": int(wrong), "audited": audited}
    say("race", FOUND["race"])


def files_of(folder: Path) -> list[bytes]:
    """The JPEGs of a folder."""
    return [p.read_bytes() for p in sorted(folder.iterdir()) if p.suffix.lower() in (".jpg", ".jpeg")]


def demo_files(count: int = 256) -> list[bytes]:
    """JPEGs that the command makes."""
    with tempfile.TemporaryDirectory() as folder:
        demo = [sys.executable, "-m", "infeed", "demo", "--dir", folder, "--keep"]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL)
        rows = infeed.open(folder).take(count).batch(64).to_numpy()
        return [bytes(file) for batch in rows for file in batch["jpg"]]


def main() -> bool:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path, nargs="?", help="a folder of JPEGs (default: those of `infeed demo`)")
    parser.add_argument("--only", default="exact,again,speed,kernel,together,race,damage")
    parser.add_argument("--where", type=Path, default=Path("/dev/shm/infeed-gpu-check"))
    parser.add_argument("--samples", type=int, default=12_800)
    parser.add_argument("--exact", type=int, default=1000, help="samples of each kind of view")
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--mutated", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--json", type=Path, default=None)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        say("skipped: PyTorch sees no CUDA device here")
        return False
    warnings.simplefilter("always")
    files = demo_files() if args.photos is None else files_of(args.photos)
    shards = write(args.where / "photos", files, args.samples)
    say(torch.cuda.get_device_name(), "torch", torch.__version__, len(files), "photos", infeed.usable_cpus(), "CPUs")
    parts: dict[str, Callable[[], None]] = {
        "exact": lambda: exact(shards, args.exact),
        "again": lambda: again(shards),
        "speed": lambda: speed(shards, args.seconds),
        "kernel": lambda: kernel(shards),
        "together": lambda: together(shards, args.seconds),
        "race": lambda: race(shards, args.rounds),
        "damage": lambda: damage(args.where, files, args.mutated),
    }
    for name in args.only.split(","):
        try:
            parts[name]()
        except Exception:
            FOUND[name] = traceback.format_exc()
            say(name, FOUND[name])
        if args.json is not None:
            args.json.write_text(json.dumps(FOUND, indent=1) + "\n")
    print(json.dumps(FOUND))
    failed = [name for name, found in FOUND.items() if not right(name, found)]
    say(f"FAILED: {', '.join(failed)}" if failed else "all checks passed")
    return bool(failed)


def right(name: str, found: Any) -> bool:
    """Whether a part found what it must."""
    if isinstance(found, str):
        return False
    if name.startswith("exact"):
        return found["kernel_differs"] == 0 and found["device"] > 0
    if name == "again":
        return bool(found["two_runs"] and found["resumed"] and found["device"] and found["threads"])
    if name == "race":
        return found["wrong"] == 0 and found["audited"][1] == 0
    if name == "damage mutated":
        # Only whole batches of 64 are seen, and what cannot be made is left out of them.
        return found["seen"] > 0 and found["seen"] + found["bad"] == found["of"] // 64 * 64
    return name != "damage places" or found["neighbours_changed"] == 0


if __name__ == "__main__":
    sys.exit(main())
