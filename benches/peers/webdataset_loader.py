"""webdataset over the tar shards, its own WebLoader with worker processes."""

from __future__ import annotations

import webdataset as wds

import data
from peers.vision import Loader, collate
from works import Epochs, Task


def epochs(task: Task) -> Epochs:
    """Shards split over the workers, a shuffle buffer, batches made inside the workers."""
    urls = [str(p) for p in data.shards(task.data, "raw" if task.encoded else task.source)]
    field = "png" if task.work == "small" else "jpg"

    def epoch() -> wds.WebLoader:
        rows = wds.WebDataset(
            urls,
            shardshuffle=len(urls),
            nodesplitter=wds.shardlists.single_node_only,
            workersplitter=wds.split_by_worker,
            seed=0,
            empty_check=False,
        )
        rows = rows.shuffle(500).to_tuple(field, "cls").map_tuple(Loader(task), int)
        rows = rows.batched(task.batch, collation_fn=collate, partial=False)
        return wds.WebLoader(rows, batch_size=None, shuffle=False, num_workers=task.threads)

    return epoch
