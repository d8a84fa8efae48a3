"""infeed's loops. Each runs in a process of its own and prints what it saw as one line of JSON."""

from __future__ import annotations

import json
import resource
import sys
import time
from typing import Any

# Every program has imported it before its first batch.
import numpy  # noqa: F401

import infeed
from infeed import transforms as T


def main() -> None:
    """As JSON: url, work (raw, train), cache, cache_limit, shuffle (its arguments), epochs, threads, step_ms."""
    given: dict[str, Any] = json.loads(sys.argv[1])
    used = resource.getrusage(resource.RUSAGE_SELF)
    before = used.ru_utime + used.ru_stime
    start = time.perf_counter()
    options = {"cache": given["cache"]} if given.get("cache") else {}
    if given.get("cache_limit"):
        options["cache_limit"] = given["cache_limit"]
    pipeline = infeed.open(given["url"], **options)
    if given.get("shuffle") is not None:
        pipeline = pipeline.shuffle(seed=1, **given["shuffle"])
    if given["work"] == "train":
        normalize = T.Normalize(mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225))
        pipeline = pipeline.decode(jpg="rgb")
        for transform in (T.RandomResizedCrop(224), T.RandomHorizontalFlip(), normalize):
            pipeline = pipeline.map(transform, on="jpg")
    loader = pipeline.batch(64).to_numpy(**{key: given[key] for key in ("threads",) if given.get(key)})
    epochs = []
    for _ in range(given.get("epochs", 1)):
        begun = last = time.perf_counter()
        waits, rows, size, first = [], 0, 0, 0.0
        for batch in loader:
            now = time.perf_counter()
            waits.append(now - last)
            first = first or now - (begun if epochs else start)
            rows += len(batch["cls"])
            if given["work"] == "raw":
                size += sum(len(item) for item in batch["jpg"])
            if given.get("step_ms"):
                time.sleep(given["step_ms"] / 1000)
            last = time.perf_counter()
        waits = sorted(waits[1:]) or [0.0]
        epochs.append(
            {
                "rows": rows,
                "bytes": size,
                "seconds": time.perf_counter() - begun,
                "first": first,
                "median": waits[len(waits) // 2],
                "late": waits[int(len(waits) * 0.99)],
            }
        )
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"epochs": epochs, "cpu": used.ru_utime + used.ru_stime - before}))


if __name__ == "__main__":
    main()
