"""Which of torch's loaders infeed can run without Python per sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..dataloader import DataLoader, Takeover


def take_over(loader: DataLoader) -> Takeover | None:
    """A native run of the loader, or None if it needs its Python code."""
    return None
