"""Whether a data set may be one that infeed recognises, told without the modules that recognise it.

Most data sets are a program's own. Their loaders need neither the time nor the memory that importing those modules takes.
"""

from __future__ import annotations

from typing import Any

from torch.utils.data import ConcatDataset, Subset, TensorDataset

_PACKAGES = {"datasets", "torchvision", "webdataset"}


def is_candidate(dataset: Any) -> bool:
    """False if nothing in it is of a class that is recognised."""
    kind = type(dataset)
    try:
        if kind is Subset:
            return is_candidate(dataset.dataset)
        if kind is ConcatDataset:
            return all(is_candidate(part) for part in dataset.datasets)
    except Exception:  # a data set may raise anything when it is looked at
        return True
    # A program may have a package of that name, too: then the recogniser looks.
    return issubclass(kind, TensorDataset) or any(
        base.__module__.partition(".")[0] in _PACKAGES for base in kind.__mro__
    )
