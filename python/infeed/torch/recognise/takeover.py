"""A torch DataLoader whose samples are made natively."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.utils.data import DataLoader

from ... import sources
from ...batch import Batch
from ...pipeline import Pipeline
from ..loader import TorchLoader
from .batches import Batches, Slow
from .leaf import Leaf, Tree
from .order import Drawn, Given, copies, read_ahead
from .words import Unknown

Reader = Callable[["DataLoader[Any]"], Tree]


class Takeover:
    """Makes the batches of a DataLoader over a recognised data set: the order is torch's, the work is native.

    Changes between epochs (``dataset.transform``, ``dataset.samples``, the indices of a Subset) are detected when the
    next epoch begins. A batch that cannot be made natively is made by torch's own code (:class:`Batches`).
    """

    def __init__(self, loader: DataLoader[Any], read: Reader) -> None:
        self._read = read
        #: Epochs that began, and the seed of their random transforms.
        self.epochs = 0
        self.seed = 0
        self._slow = Slow()
        self._build(loader, read(loader))

    def _build(self, loader: DataLoader[Any], tree: Tree) -> None:
        self._tree = tree
        self._copies = copies(loader, tree)
        with tempfile.TemporaryDirectory(prefix="infeed-") as place:
            parts = [leaf.make(place) for _ in range(self._copies) for leaf in tree.leaves]
            pipeline = sources.concat(parts) if len(parts) > 1 else parts[0]
            self._loader = _open(_finished(pipeline, loader, tree), loader, tree.rest)

    def iterate(self, loader: DataLoader[Any], skip: int = 0) -> Iterator[Any]:
        """One epoch, without the first ``skip`` batches. Seed and indices are drawn now, in the order in which torch's
        own iterators draw them.

        Raises :class:`Unknown`, before anything is drawn, if the loader was changed to what cannot be made natively.
        """
        if self._slow.given_up:
            raise Unknown(self._slow.given_up)
        tree = self._read(loader)
        if not tree.same(self._tree) or copies(loader, tree) > self._copies:
            self.close()
            self._build(loader, tree)
        again = loader.num_workers > 0 and loader.persistent_workers and self.epochs > 0
        drawn = Drawn(loader, again=again)
        self.seed = self.seed if again else drawn.seed
        # The epoch number for random transforms: the seed that torch drew, incremented if it draws no new one.
        epoch = (self.seed + (self.epochs if again else 0)) % 2**63
        self.epochs += 1
        if tree.stream is None:
            given = Given(self._tree, self._copies, drawn.indices, read_ahead(loader))
            given.skip(skip)
            slow = self._slow.of(loader, epoch)
            # Without workers, torch reads the data of a batch when it is asked for. With them, it never sees a write.
            version = self._tree.version if loader.num_workers == 0 else None
            drawn.batches = Batches(given, lambda rows: self._native(rows, epoch), slow, first=skip, version=version)
        else:
            rows = tree.stream(self._loader.pipeline.plan)
            drawn.batches = self._native(itertools.islice(rows, skip, None), epoch)
        return drawn

    def _native(self, rows: Iterator[list[int]], epoch: int) -> Iterator[Any]:
        first = self._tree.leaves[0]
        for batch in self._loader.over(rows, epoch=epoch):
            yield collate(first, batch)

    def explain(self) -> str:
        """What is done natively, in words."""
        random = any(leaf.random for leaf in self._tree.leaves)
        lines = ["native: samples are made by infeed's threads in this process, without worker processes"]
        lines += [f"  {word}" for word in self._tree.words]
        lines.append("  collate: as default_collate, written in place by the threads")
        order = "torch's own sampler and generator" if self._tree.stream is None else "WebDataset's own stages"
        lines.append(f"order: {order}, index for index")
        if random:
            lines.append(
                "random transforms: same distributions as torchvision's, other random numbers; seeded by what"
            )
            lines.append("  torch draws as its base seed, so torch.manual_seed or generator= decides them")
        if self._copies > 1:
            lines.append(
                f"  rows that the sampler repeats in one epoch: {self._copies} different draws, then these recur"
            )
        lines += self._slow.words()
        threads = self._loader.stats()["threads"]
        if self._tree.rest is None:
            lines.append(f"threads: {threads} (threads= sets their number); num_workers starts no processes here")
        else:
            who = self._loader.stats()["python"]
            runs = f"{who['count']} worker processes" if who["workers"] == "processes" else "this process, when asked"
            lines.append(f"threads: {threads} (threads= sets their number) for what is native")
            lines.append(f"what is left in Python runs in {runs} (num_workers)")
        return "\n".join(lines)

    def stats(self) -> Any:
        """What the threads did since the loader was opened."""
        return self._loader.stats()

    def close(self) -> None:
        """Stop the threads."""
        self._loader.close()


def _size(loader: DataLoader[Any]) -> int:
    """The expected number of samples of a batch, for allocating memory; other sizes are possible."""
    size = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None)
    return size if isinstance(size, int) and size > 0 else 32


def _finished(pipeline: Pipeline, loader: DataLoader[Any], tree: Tree) -> Pipeline:
    """The pipeline with the Python part and batching added."""
    if tree.rest is not None:
        pipeline = pipeline.map(tree.rest, on=tree.leaves[0].fields[0])
    return pipeline.batch(_size(loader))


def _open(pipeline: Pipeline, loader: DataLoader[Any], rest: Any) -> TorchLoader:
    # The pipeline has the layout that torch's own loader would give already.
    options: dict[str, Any] = {"threads": getattr(loader, "threads", None), "layout": "nhwc"}
    if rest is not None:
        # `num_workers` processes; without any, in the consumer's thread, as in torch.
        options["workers"] = "processes" if loader.num_workers else "consumer"
        options["num_workers"] = loader.num_workers or 1
        options["multiprocessing_context"] = loader.multiprocessing_context
        options["on_dead_worker"] = getattr(loader, "on_dead_worker", "raise")
    try:
        if pipeline.plan.is_stream:
            raise Unknown("its rows cannot be looked up (compressed tars are streams)")
        opened: TorchLoader = pipeline.to_torch(**options)
        return opened
    except (ValueError, TypeError, OSError) as error:
        raise Unknown(f"the native pipeline refuses it: {error}") from error


def collate(leaf: Leaf, batch: Batch) -> Any:
    """A native batch as default_collate would give it."""
    columns = []
    for name in leaf.fields:
        column = batch[name]
        if isinstance(column, list) and column and isinstance(column[0], torch.Tensor):
            # Shapes that were unknown to the plan: torch stacks them, or raises if they differ.
            column = torch.stack(column)
        change = leaf.after.get(name)
        columns.append(column if change is None else change(column))
    return columns if leaf.names is None else dict(zip(leaf.names, columns, strict=True))
