"""Training that can be stopped and continued anywhere, on any number of ranks.

    torchrun --nproc-per-node 2 examples/resume.py run                 # trains, checkpoints every 5 steps
    torchrun --nproc-per-node 2 examples/resume.py run --stop-after 7  # ... or is interrupted in the middle
    torchrun --nproc-per-node 4 examples/resume.py run                 # resumes from the checkpoint, with 4 ranks
    infeed verify-epoch run/recipe.json run/ledger-*.json              # proves that every row came exactly once

``run`` is a folder; a small data set is created in it. Without torchrun there is one rank.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

import infeed


def make_data(folder: Path, rows: int = 200) -> None:
    """Vectors and a label, in shards of uneven length."""
    rng = np.random.default_rng(0)
    folder.mkdir(parents=True)
    with infeed.ShardWriter(folder / "train-%03d.tar", maxcount=30) as out:
        for i in range(rows):
            label = i % 2
            out.write({"__key__": f"{i:05d}", "x.npy": rng.normal(label, 1, 8).astype(np.float32), "cls": label})


def main() -> None:
    """Train for some epochs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--stop-after", type=int, default=None, help="steps after which to stop, as if interrupted")
    args = parser.parse_args()
    if "RANK" in os.environ:
        dist.init_process_group("gloo")
    world = infeed.world()
    if world.rank == 0 and not (args.run / "data").exists():
        make_data(args.run / "data")
    barrier()

    pipeline = (
        infeed.open(str(args.run / "data" / "*.tar"))
        .shuffle(seed=1)
        .decode(cls="int", **{"x.npy": "npy"})
        .batch(global_size=24)  # the same global batches on any number of ranks
    )
    loader = pipeline.to_torch()
    model = torch.nn.Linear(8, 2)
    # Averages gradients over the ranks. Collectives of its own tensors, not of Python's: gloo's threads may let go of
    # those while the interpreter ends, which would abort the process.
    trained = torch.nn.parallel.DistributedDataParallel(model) if dist.is_initialized() else model
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    checkpoint, attempt = args.run / "checkpoint.pt", 0
    if checkpoint.exists():
        saved = torch.load(checkpoint)
        loader.load_state_dict(saved["data"])
        model.load_state_dict(saved["model"])
        attempt = saved["attempt"] + 1
    elif world.rank == 0:
        pipeline.save(args.run / "recipe.json")

    def save() -> None:
        """All ranks save at the same step: the ledger of a rank belongs to the checkpoint."""
        loader.ledger().save(args.run / f"ledger-{attempt}-{world.rank}.json")
        if world.rank == 0:
            torch.save({"data": loader.state_dict(), "model": model.state_dict(), "attempt": attempt}, checkpoint)
        barrier()

    steps = 0
    for epoch in range(loader.epoch, args.epochs):
        for batch in loader:
            logits = trained(batch["x.npy"])
            loss = torch.nn.functional.cross_entropy(logits, batch["cls"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
            if steps % 5 == 0:
                save()
            if steps == args.stop_after:
                return
        save()
        if world.rank == 0:
            print(f"epoch {epoch}: {steps} steps so far, loss {loss.item():.3f}")


def barrier() -> None:
    """Wait for all ranks."""
    if dist.is_initialized():
        dist.barrier()


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
