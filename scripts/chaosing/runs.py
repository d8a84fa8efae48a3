"""One run: an epoch of one data set through the proxy, with every fault on, and the proof."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from . import after, data
from .rank import Job, Saved

SCRIPT = Path(__file__).parent.parent / "remote_chaos.py"
LIMIT = 240.0
"""Seconds after which a rank counts as hung: four times the deadline of a request, which is 60 s."""
FAULTS = ["early_resets", "resets", "stalls", "truncated", "wrong_heads", "whole", "429", "500", "502", "503"]
CHANGED = ["corrupted", "wrong_bytes"]
"""Faults that only checksums can find: bytes that were changed, or those of another range."""


class Failed(Exception):
    """What a run found."""


@dataclasses.dataclass
class Run:
    """What happens in one run, chosen by its number and the seed of the campaign."""

    number: int
    server: str
    job: Job
    faults: dict[str, Any]
    kill: bool
    resume_at_once: bool
    changes: bool
    draw: random.Random

    @classmethod
    def choose(cls, number: int, seed: int) -> Run:
        draw = random.Random(f"{seed} {number}")
        kind = data.KINDS[number % len(data.KINDS)]
        server = draw.choice(["moto", "nginx"])
        kill = number % 7 == 3
        # Wrong bytes only where they can be noticed; half of these runs are without, and must end without an error.
        changes = kind in data.CHECKED and draw.random() < 0.5 and not kill
        shuffle = draw.choice([None, "default"]) if kind in data.STREAMS else draw.choice([None, "default", "global"])
        cache, limit = draw.choice([(None, None), ("cache", None), ("cache", None), ("cache", 5 << 20)])
        job = Job(
            kind,
            "",
            shuffle,
            draw.randrange(1000),
            draw.choice([12, 18]),
            0,
            draw.choice([1, 2, 3]),
            0,
            cache,
            limit,
            LIMIT,
        )
        job.threads = draw.choice([1, 2, 4])
        job.pause = 0.03 if kill else 0.0
        if draw.random() < 0.2:
            job.store = {"ahead": draw.choice([1 << 20, 8 << 20]), "requests": draw.choice([2, 16])}
        return cls(number, server, job, faults(draw, number, changes), kill, draw.random() < 0.5, changes, draw)

    def __str__(self) -> str:
        job = self.job
        parts = [
            f"{job.kind} from {self.server}",
            f"shuffle {job.shuffle}",
            f"{job.world} ranks",
            f"{job.threads} threads",
        ]
        parts += [f"cache {'small' if job.cache_limit else 'whole'}"] * (job.cache is not None)
        parts += ["a rank is killed"] * self.kill + ["bytes are changed"] * self.changes
        return ", ".join(parts)

    def play(self, place: Place, counts: Counter[str]) -> str:
        """Run all ranks and prove the epoch; returns what was proved."""
        place.proxy.set(**self.faults)
        place.proxy.reset()
        self.job.root = place.root
        self.job.cache = str(place.scratch / "cache") if self.job.cache else None
        lives: list[list[Saved]] = [[] for _ in range(self.job.world)]
        kills = self._live(place, lives)
        told = ""
        if failed := [life for rank in lives for life in rank if life.error]:
            told = self._caught(failed[0].error or "", place)
            counts["changes caught"] += 1
            lives = [[] for _ in range(self.job.world)]
            self._live(place, lives)
        stats = place.proxy.stats()
        place.proxy.set()
        rows = self._prove(lives, place)
        cache = Path(self.job.cache) if self.job.cache else None
        if wrong := after.problems(cache, place.scratch / "own", kills > 0):
            raise Failed("; ".join(wrong))
        if self.kill and not kills:
            raise Failed("the rank ended before it could be killed")
        counts.update({"rows": rows, "kills": kills, "requests": stats["requests"], "bytes": stats["bytes"]})
        counts.update({f"fault {name}": count for name, count in stats["faults"].items()})
        return f"{rows} rows, {kills} kills, {sum(stats['faults'].values())} faults in {stats['requests']} requests{told}"

    def _caught(self, error: str, place: Place) -> str:
        """Changed bytes must be an error that names the shard, or no error at all: then the cure is to read again."""
        stem = data.NAMES[self.job.kind].split("{")[0]
        if not self.changes or stem not in error:
            raise Failed(error)
        # Chunks of a cache have the checksums of what came: what came wrong must be fetched again.
        if self.job.cache:
            after.command("cache", "clean", self.job.cache)
        for index in after.files(place.scratch / "own"):
            index.unlink()
        place.proxy.set(**{name: value for name, value in self.faults.items() if name not in CHANGED})
        return f"; caught: {error[:150]}"

    def _live(self, place: Place, lives: list[list[Saved]]) -> int:
        """All ranks to their end, one of them killed and resumed if that is to be. Returns the kills."""
        victim = self.draw.randrange(self.job.world) if self.kill and not self.changes else None
        ranks = [place.start(dataclasses.replace(self.job, rank=rank)) for rank in range(self.job.world)]
        kills = 0
        try:
            if victim is not None:
                steps = self.draw.randrange(1, 4)
                if ranks[victim].killed_after(steps):
                    kills, saved = 1, ranks[victim].saved()
                    lives[victim].append(saved)
                    if not self.resume_at_once:
                        for number, rank in enumerate(ranks):
                            if number != victim:
                                rank.wait()
                    again = dataclasses.replace(self.job, rank=victim, state=saved.state)
                    ranks[victim] = place.start(again)
            for rank in ranks:
                rank.wait()
        finally:
            for rank in ranks:
                rank.process.kill()
                rank.process.wait()
        for number, rank in enumerate(ranks):
            lives[number].append(rank.saved())
        return kills

    def _prove(self, lives: list[list[Saved]], place: Place) -> int:
        """Every row exactly once over all ranks, with the bytes of the local file; by rows and by ledgers."""
        own = [life for rank in lives for life in rank]
        rows = [(int(row), int(crc)) for life in own for row, crc in life.rows]
        known = place.known[self.job.kind]
        if wrong := [row for row, crc in rows if known.get(row) != crc]:
            raise Failed(f"rows with other bytes: {len(wrong)} {sorted(wrong)[:20]}")
        got = Counter(row for row, _ in rows)
        if got != Counter(known.keys()):
            lost, often = sorted(set(known) - set(got)), sorted(row for row in got if got[row] > 1)
            raise Failed(f"rows lost: {len(lost)} {lost[:20]}; rows that came too often: {len(often)} {often[:20]}")
        if not all(rank[-1].done for rank in lives):
            raise Failed("a rank did not come to the end of the epoch")
        ledgers = [life.ledger for life in own if life.ledger]
        if self.job.kind in data.STREAMS:
            # The rows of a stream cannot be looked up: its ledgers are checked by what they count.
            parts = [part for ledger in ledgers for part in ledger["segments"]]
            counted = sum(part["rows"] - part["pads"] for part in parts)
            if counted != len(rows):
                raise Failed(f"the ledgers count {counted} rows, {len(rows)} were received")
        elif not (verdict := place.verify(self.job, ledgers)):
            raise Failed(f"the ledgers do not prove the epoch: {verdict}")
        return len(rows)


def faults(draw: random.Random, number: int, changes: bool) -> dict[str, Any]:
    """Every kind of fault, at rates that add up to one in ten requests, or to almost half of them."""
    names = FAULTS + (CHANGED if changes else [])
    # Changed bytes are rare otherwise: there must be some in a run that is about them.
    weights = [draw.uniform(0.2, 1.0) * (4 if name in CHANGED else 1) for name in names]
    total = draw.choice([0.1, 0.25, 0.45])
    rates = {name: total * weight / sum(weights) for name, weight in zip(names, weights, strict=True)}
    made: dict[str, Any] = {name: rate for name, rate in rates.items() if not name.isdigit()}
    made["errors"] = {name: rate for name, rate in rates.items() if name.isdigit()}
    # Some stalls are longer than a connection may be silent (8 s).
    made["stalls"] = {"rate": rates["stalls"], "seconds": 10.0 if number % 25 == 24 else draw.uniform(0.2, 1.5)}
    made |= {"seed": draw.randrange(1 << 30), "latency_ms": draw.choice([0, 1, 5])}
    made["tail"] = {"rate": draw.choice([0.01, 0.05]), "ms": draw.uniform(50, 400)}
    made |= {"bandwidth": draw.choice([5e6, 2e7, 1e8]), "connection_bandwidth": draw.choice([2e6, 1e7, 5e7])}
    return made


@dataclasses.dataclass
class Rank:
    """The process of a rank."""

    process: subprocess.Popen[bytes]
    out: Path
    errors: Path

    def wait(self) -> None:
        """Wait for its end, which must come in time and in order."""
        try:
            code = self.process.wait(LIMIT + 30)
        except subprocess.TimeoutExpired:
            code = None
        if code != 0:
            how = f"did not end within {LIMIT:.0f} s" if code in (None, -14) else f"ended with code {code}"
            raise Failed(f"a rank {how}:\n{self.errors.read_text()[-4000:]}")

    def killed_after(self, steps: int) -> bool:
        """Kill it after so many steps. False if it was faster."""
        until = time.monotonic() + LIMIT
        while self.process.poll() is None and time.monotonic() < until:
            if self.out.exists() and self.saved().steps >= steps:
                self.process.kill()
                self.process.wait()
                return not self.saved().done
            time.sleep(0.005)
        return False

    def saved(self) -> Saved:
        """What it saved last."""
        return Saved(**json.loads(self.out.read_text()))


@dataclasses.dataclass
class Place:
    """Where a run happens: a proxy before a server with the data, and folders that no other run has."""

    proxy: Any
    root: str
    environment: dict[str, str]
    scratch: Path
    known: dict[str, dict[int, int]]
    started: int = 0

    def start(self, job: Job) -> Rank:
        """Start the process of a rank."""
        self.started += 1
        base = self.scratch / f"rank-{job.rank}-{self.started}"
        file, out, errors = base.with_suffix(".job"), base.with_suffix(".out"), base.with_suffix(".err")
        file.write_text(json.dumps(dataclasses.asdict(job)))
        command = [sys.executable, str(SCRIPT), "--rank", str(file), str(out)]
        with errors.open("wb") as log:
            process = subprocess.Popen(command, env=self._environment(), stdout=log, stderr=log)
        return Rank(process, out, errors)

    def verify(self, job: Job, ledgers: list[dict[str, Any]]) -> Any:
        """The verdict of ledgers, by a pipeline of this process."""
        before = dict(os.environ)
        os.environ.update(self._environment())
        try:
            return job.pipeline().verify(ledgers, 0)
        finally:
            os.environ.clear()
            os.environ.update(before)

    def _environment(self) -> dict[str, str]:
        return {**os.environ, **self.environment, "INFEED_CACHE": str(self.scratch / "own")}
