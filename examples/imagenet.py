"""Trains a ResNet on images, on one or many devices.

    python examples/imagenet.py DATA --model resnet50 --bf16 --compile --channels-last
    torchrun --nproc-per-node 8 examples/imagenet.py DATA --bf16 --channels-last --output run
    torchrun --nproc-per-node 4 examples/imagenet.py DATA --bf16 --channels-last --output run --resume run/checkpoint.pt

DATA holds ``train`` and ``val``; each holds tars with jpg and cls, or one folder of images per class. Images are copied
to the device as u8 and normalised there. A checkpoint can be taken in the middle of an epoch.
"""

from __future__ import annotations

import argparse
import math
import os
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from resnet import MODELS
from torch import nn

import infeed
from infeed import transforms as T
from infeed.torch import on_device

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--model", choices=MODELS, default="resnet50")
    parser.add_argument("--classes", type=int, default=1000)
    parser.add_argument("--size", type=int, default=224, help="side of the images the model sees")
    parser.add_argument("--epochs", type=int, default=90)
    parser.add_argument("--batch-size", type=int, default=256, help="per rank")
    parser.add_argument("--lr", type=float, default=0.1, help="for a global batch of 256; scaled to the real one")
    parser.add_argument("--warmup", type=int, default=5, help="epochs until the learning rate is reached")
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--weight-decay", type=float, default=5e-5)
    parser.add_argument("--label-smoothing", type=float, default=0.1)
    parser.add_argument("--mixup", type=float, default=0.0, help="alpha; 0 is off")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--threads", type=int, default=None, help="threads that decode (default: all CPUs, shared)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=None, help="folder for checkpoints")
    parser.add_argument("--checkpoint-every", type=int, default=None, help="steps; default: at the end of an epoch")
    parser.add_argument("--resume", type=Path, default=None, help="a checkpoint to resume from")
    parser.add_argument("--stop-after", type=int, default=None, help="steps after which to stop, as if interrupted")
    parser.add_argument("--print-every", type=int, default=50)
    return parser.parse_args()


def loaders(args: argparse.Namespace) -> tuple[infeed.Loader, infeed.Loader, str, str]:
    """Training and validation, and the names of the fields that hold images and classes."""
    sources = []
    for part in ("train", "val"):
        folder = args.data / part
        tars = any(folder.glob("*.tar"))
        sources.append(infeed.open(str(folder / "*.tar")).decode(cls="int") if tars else infeed.folder(str(folder)))
    image, label = ("jpg", "cls") if tars else ("image", "label")
    normalize = on_device.Normalize(MEAN, STD, dtype=torch.bfloat16 if args.bf16 else torch.float32)
    mix = [on_device.MixUp(args.mixup, num_classes=args.classes)] if args.mixup else []
    way: dict[str, Any] = {"device": args.device, "channels_last": args.channels_last, "threads": args.threads}
    train = (
        sources[0]
        .select(image, label)
        .shuffle(seed=args.seed)
        .decode(**{image: "rgb"})
        .map(T.RandomResizedCrop(args.size), T.RandomHorizontalFlip(), on=image)
        .batch(args.batch_size, drop_last=True)
        .to_torch(on_device=[normalize, *mix], on=image, label=label, **way)
    )
    val = (
        sources[1]
        .select(image, label)
        .decode(**{image: "rgb"})
        .map(T.Resize(args.size * 8 // 7), T.CenterCrop(args.size), on=image)
        # Every rank gets full batches; padding is marked and not counted.
        .batch(args.batch_size, last="pad")
        .to_torch(on_device=[normalize], on=image, **way, persistent=False)
    )
    return train, val, image, label


def learning_rate(args: argparse.Namespace, step: int, steps_per_epoch: int, world: int) -> float:
    """Linear warmup, then cosine decay: a function of the step alone, so there is nothing to restore."""
    full = args.lr * args.batch_size * world / 256
    warm, last = args.warmup * steps_per_epoch, args.epochs * steps_per_epoch
    if step < warm:
        return full * (step + 1) / warm
    return full * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(last - warm, 1)))


def main() -> None:
    args = arguments()
    if "RANK" in os.environ:
        if args.device.startswith("cuda"):
            torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
        dist.init_process_group("nccl" if args.device.startswith("cuda") else "gloo")
    torch.manual_seed(args.seed)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = True
    train, val, image, label = loaders(args)
    world, device = train.world, train.device

    plain = MODELS[args.model](args.classes).to(device)
    if args.channels_last:
        plain = plain.to(memory_format=torch.channels_last)
    decayed = [p for p in plain.parameters() if p.ndim > 1]
    others = [p for p in plain.parameters() if p.ndim <= 1]
    groups = [{"params": decayed, "weight_decay": args.weight_decay}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.SGD(groups, lr=args.lr, momentum=args.momentum, nesterov=True)
    if args.resume is not None:
        saved = torch.load(args.resume, map_location=device)
        plain.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        train.load_state_dict(saved["data"])
    model: nn.Module = plain
    if world.size > 1:
        model = nn.parallel.DistributedDataParallel(plain, device_ids=[device] if device.type == "cuda" else None)
    if args.compile:
        model = torch.compile(model)
    loss_of = nn.CrossEntropyLoss(label_smoothing=args.label_smoothing)

    def save() -> None:
        """Save a checkpoint. The state of the data is the same on every rank, and belongs to exactly this step."""
        if args.output is not None and world.rank == 0:
            args.output.mkdir(parents=True, exist_ok=True)
            state = {"model": plain.state_dict(), "optimizer": optimizer.state_dict(), "data": train.state_dict()}
            torch.save(state, args.output / "checkpoint.part")
            os.replace(args.output / "checkpoint.part", args.output / "checkpoint.pt")

    taken = 0
    for epoch in range(train.epoch, args.epochs):
        model.train()
        first = train.state_dict()["step"]
        start, images, losses = time.perf_counter(), 0, []
        for step, batch in enumerate(train, first):
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(args, epoch * len(train) + step, len(train), world.size)
            with torch.autocast(device.type, torch.bfloat16, enabled=args.bf16):
                loss = loss_of(model(batch[image]), batch[label])
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            # Kept on the device: reading it now would make the host wait.
            losses.append(loss.detach())
            images += len(batch[image]) * world.size
            taken += 1
            if args.checkpoint_every and taken % args.checkpoint_every == 0:
                save()
            if taken == args.stop_after:
                return
            if taken % args.print_every == 0:
                say(world, progress(epoch, step, losses, images / (time.perf_counter() - start), train))
        rate = images / (time.perf_counter() - start)
        save()
        accuracy, count = evaluate(model, val, image, label, args.bf16)
        say(world, progress(epoch, len(train) - 1, losses, rate, train))
        say(world, f"epoch {epoch}: accuracy {100 * accuracy:.2f} % of {count} images")


@torch.no_grad()
def evaluate(model: nn.Module, val: infeed.Loader, image: str, label: str, bf16: bool) -> tuple[float, int]:
    """The accuracy over all ranks; every image counts once."""
    model.eval()
    counts = torch.zeros(2, dtype=torch.int64, device=val.device)
    for batch in val:
        real = torch.from_numpy(~batch["__pad__"]).to(val.device)
        with torch.autocast(val.device.type, torch.bfloat16, enabled=bf16):
            right = model(batch[image]).argmax(1) == batch[label]
        counts += torch.stack([(right & real).sum(), real.sum()])
    if dist.is_initialized():
        dist.all_reduce(counts)
    right_ones, count = counts.tolist()
    return right_ones / count, count


def progress(epoch: int, step: int, losses: list[torch.Tensor], rate: float, train: infeed.Loader) -> str:
    loss = torch.stack(losses[-50:]).mean().item() if losses else float("nan")
    waits = train.stats()["wait_share"]
    return (
        f"epoch {epoch} step {step}: loss {loss:.3f}, {rate:.0f} images/s, {100 * waits:.1f} % of it waiting for data"
    )


def say(world: infeed.World, text: str) -> None:
    if world.rank == 0:
        print(text, flush=True)


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
