"""One life of a training job: all ranks of it, in one process that may be killed at any moment.

After every step it saves what a training job would save: the state, and the ledger of each rank.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import resource
import time
from pathlib import Path
from typing import Any

from . import data


@dataclasses.dataclass
class Job:
    """What a life is to do."""

    folder: str
    kind: str
    damaged: bool
    seed: int
    batch: int
    world: int
    memory_limit: int
    state: dict[str, Any] | None = None
    pause: float = 0.0
    processes: bool = False

    def pipeline(self) -> Any:
        return data.pipeline(Path(self.folder), self.kind, self.damaged, self.seed, self.batch)

    def loaders(self) -> list[Any]:
        """One loader per rank, at the state."""
        options: dict[str, Any] = {"threads": 1, "io_threads": 1, "ledger_rows": True, "persistent": False}
        options |= {"on_error": "skip" if self.damaged else "raise", "memory": self.memory_limit // 8}
        if self.processes:
            options |= {"workers": "processes", "num_workers": 2, "multiprocessing_context": "fork"}
        pipeline = self.pipeline()
        loaders = [pipeline.to_numpy(rank=rank, world_size=self.world, **options) for rank in range(self.world)]
        if self.state is not None:
            for loader in loaders:
                loader.load_state_dict(self.state)
        return loaders


@dataclasses.dataclass
class Saved:
    """What a life left behind."""

    state: dict[str, Any]
    ledgers: list[dict[str, Any]]
    done: bool
    rows: list[int]
    stats: dict[str, int]


def run(job: Job, save: Any = None) -> Saved:
    """Take the steps of an epoch from the state on; ``save`` is called after each of them."""
    with contextlib.ExitStack() as stack:
        loaders = [stack.enter_context(loader) for loader in job.loaders()]
        # A life that was killed after the last step, and before it could say so, left a state of the next epoch.
        over = loaders[0].epoch > 0
        runs = [iter(loader) for loader in loaders]
        saved = Saved({}, [], False, [], {})
        while not saved.done:
            batches = [None if over else next(run, None) for run in runs]
            if any(batch is None for batch in batches):
                if any(batch is not None for batch in batches):
                    raise AssertionError("some ranks have a step that others do not have")
                saved.done = True
            for batch in batches:
                if batch is not None:
                    saved.rows += data.check(job.kind, batch)
            states = [loader.state_dict() for loader in loaders]
            if any(state != states[0] for state in states):
                raise AssertionError("the states of the ranks differ")
            saved.state, saved.ledgers = states[0], [dict(loader.ledger()) for loader in loaders]
            stats = [loader.stats() for loader in loaders]
            saved.stats = {name: sum(one[name] for one in stats) for name in ("retries", "bad_samples")}
            for name in ("delays", "faults", "deaths"):
                saved.stats[name] = sum((one["chaos"] or {}).get(name, 0) for one in stats)
            if save is not None:
                save(saved)
        return saved


def main(job_file: str, out: str) -> None:
    """The process of a life: reads its job, saves after each step."""
    job = Job(**json.loads(Path(job_file).read_text()))
    resource.setrlimit(resource.RLIMIT_AS, (job.memory_limit, job.memory_limit))

    def save(saved: Saved) -> None:
        # Written whole or not at all: the process may be killed between any two instructions.
        Path(f"{out}.new").write_text(json.dumps(dataclasses.asdict(saved)))
        os.replace(f"{out}.new", out)
        time.sleep(job.pause)

    run(job, save)
