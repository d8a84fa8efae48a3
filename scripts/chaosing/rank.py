"""One rank of a training job, in a process of its own that may be killed at any moment.

After every step it saves what a training job would save: its state, its ledger, and here also the rows it was given.
"""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

from . import data


@dataclasses.dataclass
class Job:
    """What a rank is to do."""

    kind: str
    root: str
    shuffle: str | None
    seed: int
    batch: int
    rank: int
    world: int
    threads: int
    cache: str | None
    cache_limit: int | None
    limit: float
    store: dict[str, Any] = dataclasses.field(default_factory=dict)
    pause: float = 0.0
    state: dict[str, Any] | None = None

    def pipeline(self) -> Any:
        """The pipeline of all ranks."""
        made = data.opened(self.kind, self.root).with_store(**self.store)
        if self.cache is not None:
            made = made.with_cache(self.cache, limit=self.cache_limit)
        if self.shuffle is not None:
            made = made.shuffle(seed=self.seed, **({} if self.shuffle == "default" else {"kind": self.shuffle}))
        return made.batch(global_size=self.batch, ragged="list")


@dataclasses.dataclass
class Saved:
    """What a life of a rank left behind."""

    state: dict[str, Any]
    ledger: dict[str, Any]
    rows: list[tuple[int, int]]
    steps: int = 0
    done: bool = False
    error: str | None = None


def run(job: Job, out: Path) -> None:
    """Take the steps of the epoch, and save after each."""

    def save(saved: Saved) -> None:
        # Written whole or not at all: the process may be killed between any two instructions.
        out.with_suffix(".new").write_text(json.dumps(dataclasses.asdict(saved)))
        os.replace(out.with_suffix(".new"), out)

    saved = Saved(job.state or {}, {}, [])
    try:
        options = {"rank": job.rank, "world_size": job.world, "threads": job.threads}
        with job.pipeline().to_numpy(ledger_rows=True, **options) as loader:
            if job.state:
                loader.load_state_dict(job.state)
            # A rank that was killed after its last step left a state of the next epoch.
            batches = iter(loader) if loader.epoch == 0 else iter(())
            for batch in batches:
                rows = data.digest(job.kind, batch)
                saved = Saved(loader.state_dict(), dict(loader.ledger()), saved.rows + rows, saved.steps + 1)
                save(saved)
                time.sleep(job.pause)
            saved.state, saved.ledger, saved.done = loader.state_dict(), dict(loader.ledger()), True
    except Exception as error:
        saved.error = f"{type(error).__name__}: {error}"
    save(saved)


def main(job_file: str, out: str) -> None:
    """The process of a rank. It ends itself if it hangs, with the stacks of its threads."""
    import faulthandler

    job = Job(**json.loads(Path(job_file).read_text()))
    faulthandler.dump_traceback_later(job.limit * 0.9)
    signal.alarm(int(job.limit) + 1)
    run(job, Path(out))
