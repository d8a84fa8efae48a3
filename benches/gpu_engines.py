"""Where images are decoded: threads, the JPEG engines of the GPU, both. Loader alone, training, torchvision's GPU path.

    python benches/gpu_engines.py PHOTOS --json engines.json              # about 3 minutes with compilation
    python benches/gpu_engines.py PHOTOS --sets photos,large,small --no-train
    python benches/gpu_engines.py PHOTOS --models resnet50,resnet18

    free        training on free data (loader.dummy()): the most that any loader can reach
    cpu         images decoded by threads, default settings
    gpu         images decoded by the engines, threads=2
    both        images decoded by both, default share
    torchvision decode_jpeg(device="cuda") on 256 files in memory, then its v2 transforms

``large`` is 512 x 512 at quality 95, ``small`` 128 x 128: made from the photographs. Processors are those that the whole
process keeps busy.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

import infeed
from gpu import MEAN, STD, Trainer, make_shards, measure, normalize, say
from infeed import transforms as T

WAYS: dict[str, dict[str, Any]] = {
    "cpu": {},
    "gpu": {"decode": "gpu", "threads": 2},
    "both": {"decode": "hybrid"},
}


def shrunk(files: list[bytes], size: int, quality: int) -> list[bytes]:
    """The files at another size."""
    import torchvision.io as tv
    from torchvision.transforms import v2

    out = []
    for file in files:
        image = tv.decode_image(torch.frombuffer(bytearray(file), dtype=torch.uint8), tv.ImageReadMode.RGB)
        image = v2.functional.resize(image, [size, size], antialias=True)
        out.append(bytes(tv.encode_jpeg(image, quality=quality).numpy()))
    return out


def data(name: str, args: argparse.Namespace) -> tuple[list[bytes], str]:
    """The files of a set, and shards of them."""
    files = [p.read_bytes() for p in sorted(args.photos.iterdir()) if p.suffix.lower() in (".jpg", ".jpeg")]
    if name != "photos":
        files = shrunk(files, *{"large": (512, 95), "small": (128, 85)}[name])
    where = args.where / f"infeed-engines-{name}-{len(files)}-{args.samples}"
    if not where.exists():
        folder = args.where / f"infeed-engines-{name}-files"
        folder.mkdir(exist_ok=True)
        for number, file in enumerate(files):
            (folder / f"{number}.jpg").write_bytes(file)
        make_shards(sorted(folder.iterdir()), where, args.samples)
    return files, str(where / "*.tar")


def loader(shards: str, args: argparse.Namespace, **options: Any) -> infeed.torch.DeviceLoader:
    return (
        infeed.open(shards)
        .shuffle(seed=1)
        .decode(jpg="rgb", cls="int")
        .map(T.RandomResizedCrop(224), T.RandomHorizontalFlip(), on="jpg")
        .batch(args.batch, drop_last=True)
        .to_tuple("jpg", "cls")
        .to_torch(device="cuda", on_device=[normalize("cuda")], endless=True, **options)
    )


def torchvision_batches(files: list[bytes], args: argparse.Namespace) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """torchvision alone: the engines through decode_jpeg, its transforms image by image."""
    import torchvision.io as tv
    from torchvision.transforms import v2

    tensors = [torch.frombuffer(bytearray(file), dtype=torch.uint8) for file in files]
    change = v2.Compose([v2.RandomResizedCrop(224, antialias=True), v2.RandomHorizontalFlip()])
    norm = v2.Compose([v2.ToDtype(torch.bfloat16, scale=True), v2.Normalize(MEAN, STD)])
    at = 0
    while True:
        chosen = [tensors[(at + i) % len(tensors)] for i in range(args.batch)]
        at += args.batch
        images = tv.decode_jpeg(chosen, mode=tv.ImageReadMode.RGB, device="cuda")
        yield norm(torch.stack([change(image) for image in images])), torch.zeros(args.batch, dtype=torch.int64)


def timed(trainer: Trainer, batches: Any, args: argparse.Namespace, *, train: bool) -> dict[str, float]:
    cpu = time.process_time()
    start = time.perf_counter()
    found = measure(trainer, batches, args.window, 20, train=train)
    found["processors"] = (time.process_time() - cpu) / (time.perf_counter() - start)
    return found


def alone(trainer: Trainer, name: str, args: argparse.Namespace) -> dict[str, Any]:
    files, shards = data(name, args)
    out: dict[str, Any] = {}
    for way, options in WAYS.items():
        with loader(shards, args, **options) as fresh:
            out[way] = timed(trainer, fresh, args, train=False)
            out[way] |= {"share": fresh._core.share, **fresh._decoded}
        rate, busy = out[way]["images_per_s"], out[way]["processors"]
        say(f"  {name}, loader alone, {way}: {rate:.0f} images/s, {busy:.1f} processors")
    try:
        out["torchvision"] = timed(trainer, torchvision_batches(files, args), args, train=False)
        say(f"  {name}, torchvision: {out['torchvision']['images_per_s']:.0f} images/s")
    except (ImportError, RuntimeError) as error:
        say(f"  torchvision is left out: {error}")
    return out


def training(model: str, args: argparse.Namespace) -> dict[str, Any]:
    args.model = model
    trainer = Trainer(args)
    _, shards = data("photos", args)
    out: dict[str, Any] = {}
    with loader(shards, args) as first:
        free = first.dummy(endless=True)
        say(f"{model}: first steps and compilation")
        for images, labels in [free.batch] * 3:
            trainer.step(images, labels)
        trainer.sync()
        out["free"] = timed(trainer, free, args, train=True)
    for way, options in WAYS.items():
        with loader(shards, args, **options) as fresh:
            out[way] = timed(trainer, fresh, args, train=True)
        share = out[way]["images_per_s"] / out["free"]["images_per_s"]
        say(f"  {model}, {way}: {out[way]['images_per_s']:.0f} images/s, {share:.1%} of free data")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("photos", type=Path)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--sets", default="photos")
    parser.add_argument("--models", default="resnet50")
    parser.add_argument("--no-train", dest="train", action="store_false")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--samples", type=int, default=12_800)
    parser.add_argument("--window", type=float, default=6.0)
    parser.add_argument("--where", type=Path, default=Path("/dev/shm"))
    args = parser.parse_args()
    args.device, args.size = "cuda", 224
    idle = argparse.Namespace(device="cuda", model="resnet18", compile=False)
    name = torch.cuda.get_device_name()
    found: dict[str, Any] = {"device": name, "torch": torch.__version__, "cpus": infeed.usable_cpus()}

    def keep() -> None:
        if args.json is not None:
            args.json.write_text(json.dumps(found, indent=1) + "\n")

    trainer = Trainer(idle)
    for set_name in args.sets.split(","):
        found[set_name] = alone(trainer, set_name, args)
        keep()
    for model in args.models.split(",") if args.train else ():
        found[model] = training(model, args)
        keep()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
