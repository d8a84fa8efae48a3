"""Two loaders side by side: torch's DataLoader and infeed's on the same data."""

from __future__ import annotations

import collections
import os
import random
import signal

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils import data as theirs  # noqa: E402

from infeed.torch import DataLoader  # noqa: E402

Point = collections.namedtuple("Point", "x y")


class Rows(theirs.Dataset):
    """Samples of many types, some of them drawn at random."""

    def __init__(self, rows=23):
        self.rows = rows

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        return {
            "image": torch.full((3, 20, 20), i, dtype=torch.float32),
            "array": np.arange(300) + i,
            "bf16": torch.full((700,), i, dtype=torch.bfloat16),
            "bool": torch.tensor([i % 2 == 0] * 5),
            "complex": torch.full((200,), complex(i, 1)),
            "label": i,
            "weight": i / 2,
            "name": f"row {i}",
            "pair": (torch.tensor(i), [np.float32(i), "b"]),
            "point": Point(torch.zeros(2), i),
            "drawn": (torch.rand(2), np.random.rand(2), random.random()),
            "empty": torch.empty(0, 3),
        }


class Numbers(theirs.Dataset):
    def __init__(self, rows=20):
        self.rows = rows

    def __len__(self):
        return self.rows

    def __getitem__(self, i):
        return torch.full((400,), i)


class Stream(theirs.IterableDataset):
    """Each worker has its own part, of its own length."""

    def __init__(self, rows=20):
        self.rows = rows

    def __iter__(self):
        info = theirs.get_worker_info()
        first, step = (0, 1) if info is None else (info.id, info.num_workers)
        for i in range(first, self.rows if first == 0 else self.rows // 2, step):
            yield np.full(300, i)


def same(a, b) -> None:
    """Recursively equal in type, shape, dtype and value."""
    assert type(a) is type(b)
    if isinstance(a, torch.Tensor):
        assert a.dtype == b.dtype and a.shape == b.shape and a.stride() == b.stride()
        assert a.requires_grad == b.requires_grad and torch.equal(a, b)
    elif isinstance(a, np.ndarray):
        assert a.dtype == b.dtype and np.array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for key in a:
            same(a[key], b[key])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            same(x, y)
    else:
        assert a == b


def both(dataset, epochs=1, seed=7, **options):
    """The epochs of both loaders for the same arguments and the same global seed, as a pair of lists."""
    out = []
    for cls, more in ((theirs.DataLoader, {}), (DataLoader, {"native": False})):
        torch.manual_seed(seed)
        np.random.seed(seed)
        random.seed(seed)
        made = {
            k: v() if k in ("generator", "sampler", "batch_sampler") and callable(v) else v
            for k, v in options.items()
        }
        loader = cls(dataset, **made, **more)
        out.append([list(loader) for _ in range(epochs)])
        # Both have drawn the same number of values from the global generator.
        out[-1].append(torch.rand(1))
    return out


def agree(dataset, **options):
    want, got = both(dataset, **options)
    same(got, want)
    return got


def errors(dataset, **options) -> None:
    """Both refuse the arguments with the same message."""
    found = []
    for cls in (theirs.DataLoader, DataLoader):
        with pytest.raises((ValueError, TypeError)) as caught:
            cls(dataset, **options)
        found.append((type(caught.value), str(caught.value)))
    assert found[0] == found[1]


class Bad(Numbers):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def __getitem__(self, i):
        if i == 5:
            raise self.error
        return i


class Suicidal(Numbers):
    def __getitem__(self, i):
        if i == 5:
            os.kill(os.getpid(), signal.SIGKILL)
        return i
