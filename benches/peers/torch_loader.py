"""torch.utils.data.DataLoader over torchvision's ImageFolder, worker processes."""

from __future__ import annotations

from pathlib import Path

import torch
from torchvision.datasets import ImageFolder

from peers.vision import Loader, collate
from works import Epochs, Task

#: Passes over the folder that make one epoch of undecoded reading; see data.py on why one is too short.
RAW_PASSES = 8


def epochs(task: Task) -> Epochs:
    """A fresh DataLoader per epoch; starting its workers is not timed."""
    root = task.data / ("smallfolder" if task.work == "small" else "folder")
    folder = ImageFolder(root, loader=lambda path: Path(path).read_bytes(), transform=Loader(task))
    if task.encoded:
        folder.samples = folder.samples * RAW_PASSES
    return lambda: torch.utils.data.DataLoader(
        folder, task.batch, shuffle=True, num_workers=task.threads, collate_fn=collate, drop_last=True
    )
