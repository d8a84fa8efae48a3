"""infeed on every work, with the same interface as a peer."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from works import CROP, MEAN, RESIZE, STD, Batch, Epochs, Task

try:
    import infeed
    from infeed import transforms as T
except ImportError as error:
    raise SystemExit(f"infeed is not installed in this interpreter, build it first: {error}") from error


def shard_pattern(folder: Path) -> str:
    """The shards of a folder as one brace pattern."""
    count = sum(1 for _ in folder.glob("train-*.tar"))
    return f"{folder}/train-{{000000..{count - 1:06d}}}.tar"


def pipeline(task: Task) -> Any:
    """The pipeline of a work, not yet opened for reading."""
    folder = task.data / ("raw" if task.encoded else task.source)
    pipe = infeed.open(shard_pattern(folder)).shuffle(seed=0)
    if task.encoded:
        return pipe.decode(cls="int").batch(task.batch, drop_last=True)
    if task.work == "small":
        # The files are 32x32 already. Saying so fixes the shape, and the batch is one array, as with the peers.
        return pipe.decode(png="rgb", cls="int").map(T.CenterCrop(32)).batch(task.batch, drop_last=True)
    if task.random:
        steps = [T.RandomResizedCrop(CROP), T.RandomHorizontalFlip()]
    else:
        steps = [T.Resize(RESIZE), T.CenterCrop(CROP)]
    if task.normalised:
        steps += [T.ToDtype("f32", scale=True), T.Normalize(MEAN, STD), T.ToCHW()]
    return pipe.decode(jpg="rgb", cls="int").map(*steps, on="jpg").batch(task.batch, drop_last=True)


def loader(task: Task) -> Any:
    """A loader that hands out dictionaries of NumPy arrays."""
    return pipeline(task).to_numpy(threads=task.threads)


def epochs(task: Task) -> Epochs:
    """One loader for all epochs: iterating again gives the next one."""
    field = "png" if task.work == "small" else "jpg"
    batches = loader(task)

    def epoch() -> Iterator[Batch]:
        for batch in batches:
            yield batch[field], batch["cls"]

    return epoch
