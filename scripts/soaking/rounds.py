"""Rounds: the lives of one job, killed and resumed at other world sizes, under faults and chaos, and the proof."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from . import data
from .life import Job, Saved, run

FAULTS = {"EINTR": "0.2", "SHORT": "0.2", "EIO": "0.03", "EAGAIN": "0.03", "ESTALE": "0.03", "END": "0.02"}
SCRIPT = Path(__file__).parent.parent / "soak.py"
LIMIT = 300.0
"""Seconds after which a life counts as hung."""


class Failed(Exception):
    """What a round found."""


@dataclasses.dataclass
class Round:
    """What happens in one round, chosen by its number and the seed of the soak."""

    number: int
    kind: str
    damaged: bool
    fault: str | None
    chaos: int | None
    kills: int
    job: Job
    draw: random.Random

    @classmethod
    def choose(cls, number: int, seed: int, folder: Path, memory_limit: int) -> Round:
        draw = random.Random(f"{seed} {number}")
        kind = data.KINDS[number % len(data.KINDS)]
        damaged = kind in data.DAMAGED and draw.random() < 0.3
        # Streams and data of Python are not read through the calls that the C library replaces, or only in part.
        fault = draw.choice(list(FAULTS)) if kind != "wrapped" and draw.random() < 0.5 else None
        chaos = draw.randrange(1000) if draw.random() < 0.5 else None
        batch = draw.choice([12, 24, 60])
        job = Job(str(folder), kind, damaged, draw.randrange(1000), batch, draw.choice([1, 2, 3, 4]), memory_limit)
        job.processes = kind == "wrapped"
        job.pause = 0.002
        return cls(number, kind, damaged, fault, chaos, draw.choice([0, 1, 1, 2, 3]), job, draw)

    def __str__(self) -> str:
        parts = [self.kind, f"batch {self.job.batch}"]
        parts += ["damaged"] * self.damaged + [f"{self.fault} faults"] * (self.fault is not None)
        parts += [f"chaos {self.chaos}"] * (self.chaos is not None)
        return ", ".join(parts)

    def play(self, scratch: Path, library: Path, counts: Counter[str]) -> str:
        """Run all lives and prove the epoch; returns what was proved."""
        ledgers: list[dict[str, Any]] = []
        rows: list[int] = []
        worlds: list[int] = []
        kills = 0
        while True:
            self.job.world = self.draw.choice([world for world in (1, 2, 3, 4) if world not in worlds[-1:]])
            saved = self._live(scratch, library, kill=kills < self.kills, counts=counts)
            worlds.append(self.job.world)
            if saved is not None:
                ledgers += saved.ledgers
                self.job.state = saved.state
                counts.update(saved.stats)
                rows += saved.rows
                if saved.done:
                    break
            kills += 1
        counts.update(lives=len(worlds), rows=len(rows))
        prove(self.job, ledgers, rows)
        return f"{kills} kills, worlds {worlds}"

    def _live(self, scratch: Path, library: Path, kill: bool, counts: Counter[str]) -> Saved | None:
        """One life. Returns what it saved last, or None if it was killed before that."""
        job_file, out = scratch / "job.json", scratch / "saved.json"
        out.unlink(missing_ok=True)
        job_file.write_text(json.dumps(dataclasses.asdict(self.job)))
        environment = dict(os.environ, INFEED_CACHE=str(scratch / "cache"))
        environment.pop("INFEED_CHAOS", None)
        if self.chaos is not None:
            environment["INFEED_CHAOS"] = str(self.chaos)
        if self.fault is not None:
            environment |= {"LD_PRELOAD": str(library), "FAULT": self.fault, "RATE": FAULTS[self.fault]}
        command = [sys.executable, str(SCRIPT), "--life", str(job_file), str(out)]
        with open(scratch / "stderr", "w+") as errors:
            process = subprocess.Popen(command, env=environment, stderr=errors)
            try:
                if kill:
                    self._kill(process, out, counts)
                code = process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                raise Failed(f"a life did not end within {LIMIT:.0f} seconds") from None
            finally:
                process.kill()
                process.wait()
            if code != 0 and not (kill and code == -9):
                errors.seek(0)
                raise Failed(f"a life ended with code {code}:\n{errors.read()[-3000:]}")
        return Saved(**json.loads(out.read_text())) if out.exists() else None

    def _kill(self, process: subprocess.Popen[bytes], out: Path, counts: Counter[str]) -> None:
        """Kill a life some time after its first step, sometimes before."""
        if self.draw.random() < 0.9:
            end = time.monotonic() + LIMIT
            while not out.exists() and process.poll() is None and time.monotonic() < end:
                time.sleep(0.002)
        time.sleep(self.draw.random() ** 2 * 0.5)
        if process.poll() is None:
            process.kill()
            counts["kills"] += 1


def prove(job: Job, ledgers: list[dict[str, Any]], rows: list[int]) -> None:
    """Every row exactly once, or named as one that cannot be read: by the ledgers, and by what was really received."""
    bad = data.DAMAGED[job.kind] if job.damaged else set()
    named = [row for ledger in ledgers for row in left_out(ledger)]
    if sorted(named) != sorted(bad):
        raise Failed(f"rows named as bad: {some(named)}; rows that are bad: {some(bad)}")
    wanted = Counter(set(range(data.ROWS[job.kind])) - bad)
    if (got := Counter(rows)) != wanted:
        raise Failed(f"rows lost: {some(wanted - got)}; rows that came too often: {some(got - wanted)}")
    # The rows of a stream cannot be looked up, so there the ledgers are checked by what they name and count alone.
    if job.kind in data.STREAMS:
        counted = sum(part["rows"] for ledger in ledgers for part in ledger["segments"])
        pads = sum(part["pads"] for ledger in ledgers for part in ledger["segments"])
        if counted - pads != len(rows):
            raise Failed(f"the ledgers count {counted - pads} rows, {len(rows)} were received")
    elif not (verdict := job.pipeline().verify(ledgers, 0)):
        raise Failed(f"the ledgers do not prove the epoch: {verdict}")


def some(rows: Iterable[int]) -> str:
    """The first of some rows, and how many there are."""
    ordered = sorted(rows)
    return f"{len(ordered)} {ordered[:20]}"


def left_out(ledger: dict[str, Any]) -> list[int]:
    """The rows that a ledger names as bad."""
    parts = [part.get("left_out") or {} for part in ledger["segments"]]
    return [row for part in parts for row, why in part.get("rows", []) if why == "bad"]


def in_this_process(folder: Path, number: int, seed: int, memory_limit: int) -> int:
    """An epoch of every kind here, in the process whose memory is measured; returns the rows."""
    rows = 0
    for kind in data.KINDS:
        job = Job(str(folder), kind, kind in data.DAMAGED and number % 2 == 1, seed, 24, 1 + number % 3, memory_limit)
        job.processes = kind == "wrapped"
        done = run(job)
        prove(job, done.ledgers, done.rows)
        rows += len(done.rows)
    return rows
