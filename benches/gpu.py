"""Training on one GPU from JPEG shards, against training with data that costs nothing, in one process.

    python benches/gpu.py PHOTOS --json gpu.json          # about 4 minutes, 1 to 2 of them compilation
    python benches/gpu.py PHOTOS --peer                   # also torch's DataLoader with Pillow, in the same run
    python benches/gpu.py PHOTOS --device cpu --model resnet18 --batch 8 --size 64 --no-compile --window 2   # a rehearsal

PHOTOS is a folder of JPEGs. They are repeated to ``--samples`` images and written as tars once.

    synthetic   ResNet-50, bf16, channels_last, compiled, fed by loader.dummy(): the most that any loader can reach
    loader      the loader alone, to the device
    real        the same training, fed by the loader: decode, RandomResizedCrop, flip on the CPU; copied as u8;
                normalised to bf16 on the device
    copies      the rate of the loader's copies during that training, against bare copies of the same size
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch

import infeed
from gpu_peer import peer_batches
from infeed import transforms as T
from infeed.torch import on_device

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples"))
from resnet import MODELS

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
CLASSES = 1000
BEGAN = time.perf_counter()


def say(text: str) -> None:
    print(f"[{time.perf_counter() - BEGAN:6.1f} s] {text}", flush=True)


def normalize(device: str) -> on_device.Normalize:
    """Normalise to bf16, or f32 on the CPU, because few CPUs compute in bf16."""
    return on_device.Normalize(MEAN, STD, dtype=torch.bfloat16 if device.startswith("cuda") else torch.float32)


def make_shards(photos: list[Path], out: Path, samples: int) -> None:
    """Tars of jpg and cls, in a folder that is complete when it is there."""
    part = out.with_name(out.name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    bodies = [path.read_bytes() for path in photos]
    with infeed.ShardWriter(part / "train-%06d.tar", maxcount=500) as writer:
        for i in range(samples):
            writer.write({"__key__": f"{i:08d}", "jpg": bodies[i % len(bodies)], "cls": i % CLASSES})
    part.rename(out)


def open_loader(shards: Path, args: argparse.Namespace) -> infeed.torch.DeviceLoader:
    return (
        infeed.open(str(shards / "*.tar"))
        .shuffle(seed=1)
        .decode(jpg="rgb", cls="int")
        .map(T.RandomResizedCrop(args.size), T.RandomHorizontalFlip(), on="jpg")
        .batch(args.batch, drop_last=True)
        .to_tuple("jpg", "cls")
        .to_torch(
            device=args.device,
            on_device=[normalize(args.device)],
            channels_last=True,
            threads=args.threads,
            endless=True,
        )
    )


class Trainer:
    """One step of training after the other."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.device = torch.device(args.device)
        self.cuda = self.device.type == "cuda"
        model = MODELS[args.model](CLASSES).to(self.device, memory_format=torch.channels_last)
        self.model = torch.compile(model) if args.compile else model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, fused=self.cuda)

    def step(self, images: torch.Tensor, labels: torch.Tensor) -> None:
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.cuda):
            loss = torch.nn.functional.cross_entropy(self.model(images), labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()

    def sync(self) -> None:
        if self.cuda:
            torch.cuda.synchronize(self.device)

    def event(self) -> Any:
        if not self.cuda:
            return None
        event = torch.cuda.Event(blocking=True)
        event.record()
        return event


def measure(trainer: Trainer, batches: Iterable[Any], seconds: float, warm: int, *, train: bool = True) -> dict:
    """Images per second over a window, and the share of it that the loop spent waiting for batches."""
    source, under_way = iter(batches), deque()

    def one() -> tuple[int, float]:
        # Like a loop that reads its loss now and then, the host is at most two steps ahead of the device. Further
        # ahead, waiting for data would be hidden by the device's work.
        if len(under_way) == 2 and (event := under_way.popleft()) is not None:
            event.synchronize()
        start = time.perf_counter()
        images, labels = next(source)
        waited = time.perf_counter() - start
        if train:
            trainer.step(images, labels)
        under_way.append(trainer.event())
        return len(labels), waited

    for _ in range(warm):
        one()
    trainer.sync()
    start = now = time.perf_counter()
    count, waits, steps = 0, 0.0, 0
    while now - start < seconds:
        samples, waited = one()
        count, waits, steps = count + samples, waits + waited, steps + 1
        now = time.perf_counter()
    trainer.sync()
    took = time.perf_counter() - start
    return {"images_per_s": count / took, "wait_share": waits / took, "steps": steps, "seconds": took}


def bare_copies(nbytes: int, device: torch.device, rounds: int = 30) -> float:
    """Bytes per second of page-locked copies on an idle device, timed as the loader times its own."""
    host, there = torch.empty(nbytes, dtype=torch.uint8, pin_memory=True), []
    host.fill_(1)
    for _ in range(rounds):
        torch.cuda._sleep(5_000_000)
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        host.to(device, non_blocking=True)
        end.record()
        there.append((start, end))
    torch.cuda.synchronize(device)
    times = sorted(start.elapsed_time(end) / 1e3 for start, end in there[3:])
    return nbytes / times[len(times) // 2]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--model", choices=MODELS, default="resnet50")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--samples", type=int, default=12_800)
    parser.add_argument("--threads", type=int, default=None, help="decoding threads (default: every CPU)")
    parser.add_argument("--window", type=float, default=12.0, help="seconds of each measurement")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--where", type=Path, default=Path("/dev/shm"), help="folder for the shards")
    parser.add_argument("--peer", action="store_true")
    return parser.parse_args()


def run(args: argparse.Namespace) -> dict[str, Any]:
    photos = sorted(p for p in args.photos.iterdir() if p.suffix.lower() in (".jpg", ".jpeg"))
    if not photos:
        raise SystemExit(f"there is no JPEG in {args.photos}")
    shards = args.where / f"infeed-gpu-{len(photos)}-{args.samples}"
    if not shards.exists():
        say(f"writing {args.samples} images ({len(photos)} photos repeated) to {shards}")
        make_shards(photos, shards, args.samples)
    trainer = Trainer(args)
    name = torch.cuda.get_device_name(trainer.device) if trainer.cuda else "cpu"
    found: dict[str, Any] = {
        "device": name,
        "torch": torch.__version__,
        "cpus": infeed.usable_cpus(),
        "model": args.model,
        "batch": args.batch,
        "size": args.size,
    }

    def part(key: str, about: str, work: Callable[[], dict]) -> None:
        say(about)
        found[key] = work()
        say("  " + ", ".join(f"{k} {v:.4g}" for k, v in found[key].items()))

    loader = open_loader(shards, args)
    say(f"{name}: first steps" + (" and compilation" if args.compile else ""))
    for images, labels in [loader.dummy().batch] * 3:
        trainer.step(images, labels)
    trainer.sync()
    part("synthetic", "training, data free", lambda: measure(trainer, loader.dummy(endless=True), args.window, 10))
    part("loader", "loader alone", lambda: measure(trainer, loader, args.window / 2, 20, train=False))
    loader.close()

    def real() -> dict[str, Any]:
        with open_loader(shards, args) as fresh:
            numbers = measure(trainer, fresh, args.window, 20)
            # For the whole iteration, including the start.
            numbers["wait_share_in_stats"] = fresh.stats()["wait_share"]
            return numbers

    part("real", "training from JPEGs", real)
    part("synthetic_again", "training, data free, again", lambda: measure(trainer, loader.dummy(endless=True), 5, 5))
    if trainer.cuda:
        part("copies", "copies while training from JPEGs", lambda: copies(trainer, shards, args))
    if args.peer:
        try:
            import PIL  # noqa: F401
        except ImportError:
            say("no Pillow here: the peer is left out")
        else:
            workers = args.threads or infeed.usable_cpus()
            about = f"training fed by torch's DataLoader with Pillow, {workers} workers"
            part(
                "peer",
                about,
                lambda: measure(trainer, peer_batches(photos, args, normalize(args.device)), args.window, 20),
            )
    return found


def copies(trainer: Trainer, shards: Path, args: argparse.Namespace) -> dict[str, float]:
    nbytes = args.batch * args.size * args.size * 3
    bare = bare_copies(nbytes, trainer.device)
    with open_loader(shards, args) as timed:
        timed._time_copies = True
        measure(trainer, timed, args.window / 2, 10)
        moved, seconds = timed._copies()
    reached = moved / max(seconds, 1e-9)
    after = bare_copies(nbytes, trainer.device)
    best = max(bare, after)
    return {"bare_gb_per_s": best / 1e9, "loader_gb_per_s": reached / 1e9, "share": reached / best}


def table(found: dict[str, Any]) -> str:
    free = max(found["synthetic"]["images_per_s"], found["synthetic_again"]["images_per_s"])
    real = found["real"]
    found["ratio"] = real["images_per_s"] / free
    rows = [
        ("synthetic", f"{free:.0f} images/s", ""),
        ("loader alone", f"{found['loader']['images_per_s']:.0f} images/s", ""),
        ("real JPEGs", f"{real['images_per_s']:.0f} images/s", ""),
        ("real / synthetic", f"{100 * found['ratio']:.1f} %", "90 % wanted"),
        ("waiting, seen by the loop", f"{100 * real['wait_share']:.1f} %", "below 5 % wanted"),
        ("waiting, in stats()", f"{100 * real['wait_share_in_stats']:.1f} %", "start included"),
    ]
    if "copies" in found:
        c = found["copies"]
        rows.append(("bare page-locked copy", f"{c['bare_gb_per_s']:.1f} GB/s", ""))
        rows.append(("the loader's copies", f"{c['loader_gb_per_s']:.1f} GB/s", ""))
        rows.append(("share", f"{100 * c['share']:.1f} %", "80 % wanted"))
    if "peer" in found:
        peer = found["peer"]
        rows.append(("DataLoader with Pillow", f"{peer['images_per_s']:.0f} images/s", ""))
        rows.append(("its waiting", f"{100 * peer['wait_share']:.1f} %", ""))
    head = (
        f"{found['device']}, {found['cpus']} CPUs, {found['model']}, batch {found['batch']}, torch {found['torch']}"
    )
    return "\n".join([head, *(f"  {a:<28}{b:>18}   {c}".rstrip() for a, b, c in rows)])


def main() -> None:
    args = arguments()
    found = run(args)
    text = table(found)
    print(text, flush=True)
    if args.json is not None:
        args.json.write_text(json.dumps(found, indent=1) + "\n")
    say("done")


if __name__ == "__main__":
    main()
