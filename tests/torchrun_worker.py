"""One rank of a training job under torchrun: takes steps together with the others, checkpoints, may die.

The test starts it as ``torchrun worker.py JSON`` and reads what it leaves in the folder ``out``.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import torch
import torch.distributed as dist

import infeed
from infeed import transforms as T


def main() -> None:
    job = json.loads(sys.argv[1])
    out = Path(job["out"])
    dist.init_process_group("gloo")
    pipeline = (
        infeed.open(job["shards"])
        .shuffle(seed=11)
        .decode(jpg="rgb", cls="int")
        .map(T.RandomResizedCrop(16), T.RandomHorizontalFlip())
        .batch(global_size=job["global"], last=job["last"])
    )
    loader = pipeline.to_torch(threads=1)
    rank = loader.world.rank
    assert (rank, loader.world.size) == (dist.get_rank(), dist.get_world_size()), loader.world
    if job["resume"]:
        loader.load_state_dict(torch.load(out / "state.pt"))
    log = []
    for epoch in range(job["epochs"]):
        for step, batch in enumerate(loader):
            # Like a real step, all ranks synchronise. If a rank had one step less, the others would hang here.
            count = torch.tensor([len(batch["cls"])])
            dist.all_reduce(count)
            pixels = [hashlib.sha256(x.numpy().tobytes()).hexdigest()[:12] for x in batch["jpg"]]
            real = (~batch["__pad__"]).tolist()
            log.append({"rows": batch["__row__"].tolist(), "real": real, "pixels": pixels, "count": int(count)})
            if job["checkpoint"] and step % job["checkpoint"] == job["checkpoint"] - 1:
                save(loader, out, job["run"], rank)
            if job["die"] == [rank, epoch, step]:
                os.kill(os.getpid(), signal.SIGKILL)
    save(loader, out, job["run"], rank)
    (out / f"log-{job['run']}-{rank}.json").write_text(json.dumps({"steps": log, "length": len(loader)}))
    dist.barrier()
    dist.destroy_process_group()
    # A thread of gloo may still hold a tensor of the last collective, and letting go of it while the interpreter ends
    # aborts the process (pytorch issue 190489). All that the test looks at is written.
    os._exit(0)


def save(loader, out: Path, run: str, rank: int) -> None:
    """The checkpoint is at the same step on all ranks: none continues before all have saved."""
    part = out / f"ledger-{run}-{rank}.part"
    loader.ledger().save(part)
    os.replace(part, out / f"ledger-{run}-{rank}.json")
    if rank == 0:
        torch.save(loader.state_dict(), out / "state.part")
        os.replace(out / "state.part", out / "state.pt")
    dist.barrier()


if __name__ == "__main__":
    main()
