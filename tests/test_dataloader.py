"""The drop-in DataLoader, argument by argument: torch's own loader runs on the same input in every test."""

from __future__ import annotations

import gc
import inspect
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from loaders import Numbers, Rows, Stream, agree, both, errors, same, theirs, torch

from infeed.torch import DataLoader

pytestmark = [
    # A test that hangs fails; nothing else depends on time.
    pytest.mark.timeout(300),
    # Two workers are more than some machines have CPUs; torch's threads make Python warn about fork.
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


@pytest.mark.parametrize("workers", [0, 2])
def test_dataset(workers):
    got = agree(Rows(), num_workers=workers, batch_size=4)
    assert len(got[0]) == 6 and got[0][0]["image"].shape == (4, 3, 20, 20)
    got[0][0]["image"] += 1


@pytest.mark.parametrize("size", [1, 7, 23, 100, None])
def test_batch_size(size):
    agree(Rows(), num_workers=2, batch_size=size)
    agree(Stream(), num_workers=2, batch_size=size)


def test_shuffle():
    got = agree(Rows(), num_workers=2, batch_size=5, shuffle=True, epochs=3)
    assert got[0][0]["label"].tolist() != got[1][0]["label"].tolist()
    errors(Stream(), num_workers=2, shuffle=True)


class Evens(theirs.Sampler):
    def __iter__(self):
        return iter(range(0, 20, 2))

    def __len__(self):
        return 10


def test_sampler():
    agree(Numbers(), num_workers=2, batch_size=3, sampler=Evens, epochs=2)
    agree(Numbers(), num_workers=2, batch_size=3, sampler=[3, 1, 4, 1, 5])
    weighted = theirs.WeightedRandomSampler([0.1] * 10 + [0.9] * 10, 30)
    agree(Numbers(), num_workers=2, batch_size=4, sampler=weighted, epochs=2)
    ranks = [theirs.DistributedSampler(Numbers(), 3, rank, seed=1) for rank in range(3)]
    for sampler in ranks:
        agree(Numbers(), num_workers=2, batch_size=4, sampler=sampler, epochs=2)
    errors(Numbers(), num_workers=2, sampler=[1], shuffle=True)


def test_batch_sampler():
    agree(Numbers(), num_workers=2, batch_sampler=[[1, 2], [3], [4, 5, 6]], epochs=2)
    agree(
        Numbers(), num_workers=2, batch_sampler=lambda: theirs.BatchSampler(theirs.RandomSampler(Numbers()), 3, True)
    )
    errors(Numbers(), num_workers=2, batch_sampler=[[1]], batch_size=4)


@pytest.mark.parametrize("workers", [0, 1, 2, 3])
def test_num_workers(workers):
    agree(Numbers(), num_workers=workers, batch_size=3, shuffle=True)
    agree(Stream(), num_workers=workers, batch_size=3)
    errors(Numbers(), num_workers=-1)


def pad(batch):
    width = max(len(b) for b in batch)
    return {"padded": np.stack([np.pad(b, (0, width - len(b))) for b in batch]), "lengths": [len(b) for b in batch]}


class Ragged(theirs.Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, i):
        return np.arange(100 * i + 1)


def test_collate_fn():
    agree(Ragged(), num_workers=2, batch_size=4, collate_fn=pad)
    agree(Ragged(), num_workers=2, batch_size=4, collate_fn=list)
    # Views with other strides, and torch's own function inside the user's.
    agree(
        Numbers(),
        num_workers=2,
        batch_size=4,
        collate_fn=lambda b: torch.stack(b).reshape(len(b), 20, 20).transpose(0, 2),
    )
    agree(Rows(), num_workers=2, batch_size=4, collate_fn=lambda b: (theirs.default_collate(b), len(b)))


@pytest.mark.parametrize("drop", [False, True])
def test_drop_last(drop):
    got = agree(Numbers(), num_workers=2, batch_size=6, drop_last=drop)
    assert len(got[0]) == (3 if drop else 4)
    agree(Stream(), num_workers=2, batch_size=4, drop_last=drop)
    errors(Numbers(), num_workers=2, batch_size=None, drop_last=True)


class Slow(Numbers):
    def __getitem__(self, i):
        if i == 2:
            import time

            time.sleep(60)
        return super().__getitem__(i)


def test_timeout():
    agree(Numbers(), num_workers=2, batch_size=4, timeout=100)
    for cls in (theirs.DataLoader, DataLoader):
        loader = cls(Slow(), num_workers=1, timeout=0.5)
        with pytest.raises(RuntimeError, match=r"DataLoader timed out after 0\.5 seconds"):
            list(loader)
        del loader
        gc.collect()
    errors(Numbers(), num_workers=2, timeout=-1)


class Told(Numbers):
    told = -1

    def __getitem__(self, i):
        info = theirs.get_worker_info()
        assert info.dataset is self
        return self.told, info.id, info.num_workers, info.seed, torch.initial_seed(), torch.get_num_threads()


def tell(worker):
    theirs.get_worker_info().dataset.told = worker * 10


def refuse(worker):
    raise OSError(f"no disk for {worker}")


def test_worker_init_fn():
    got = agree(Told(), num_workers=2, batch_size=4, worker_init_fn=tell)
    assert got[0][1][0].tolist() == [10] * 4 and got[0][0][5].tolist() == [1] * 4
    assert theirs.get_worker_info() is None
    for cls in (theirs.DataLoader, DataLoader):
        with pytest.raises(OSError, match=r"Caught OSError in DataLoader worker process 0(.|\n)*no disk for 0"):
            list(cls(Told(), num_workers=2, worker_init_fn=refuse))


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_multiprocessing_context(method):
    agree(Rows(), num_workers=2, batch_size=8, multiprocessing_context=method, shuffle=True)
    if method == "fork":
        agree(Numbers(), num_workers=2, multiprocessing_context=torch.multiprocessing.get_context("fork"))
        errors(Numbers(), num_workers=2, multiprocessing_context="teleport")
        errors(Numbers(), num_workers=0, multiprocessing_context="fork")


def test_generator():
    agree(
        Rows(),
        num_workers=2,
        batch_size=4,
        shuffle=True,
        epochs=3,
        generator=lambda: torch.Generator().manual_seed(5),
    )


@pytest.mark.parametrize("factor", [1, 3, 50])
def test_prefetch_factor(factor):
    agree(Rows(), num_workers=2, batch_size=2, prefetch_factor=factor)
    agree(Stream(), num_workers=2, batch_size=2, prefetch_factor=factor)
    errors(Numbers(), num_workers=0, prefetch_factor=2)


class Counting(Numbers):
    """Counts its calls: only a persistent worker sees more than one epoch."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __getitem__(self, i):
        self.calls += 1
        return self.calls, torch.rand(1)


def test_persistent_workers():
    got = agree(Counting(), num_workers=2, batch_size=2, persistent_workers=True, epochs=3, shuffle=True)
    assert int(got[2][-1][0][-1]) == 30
    agree(Stream(), num_workers=2, batch_size=2, persistent_workers=True, epochs=3)
    out = []
    for cls in (theirs.DataLoader, DataLoader):
        loader = cls(Numbers(), num_workers=2, batch_size=2, persistent_workers=True)
        for _ in loader:
            break
        first = iter(loader)
        assert iter(loader) is first, "one iterator for the life of the loader"
        out.append(list(first))
    same(*out)
    errors(Numbers(), num_workers=0, persistent_workers=True)


def test_in_order():
    for dataset in (Numbers(), Stream()):
        want, got = both(dataset, num_workers=2, batch_size=3, in_order=False)
        key = [sorted(str(b.tolist()) for b in epoch) for epoch in (want[0], got[0])]
        assert key[0] == key[1]


class Waiting(Numbers):
    """Row 0 is not done before row 7 is."""

    def __init__(self, flag):
        super().__init__(8)
        self.flag = flag

    def __getitem__(self, i):
        import time

        if i == 7:
            self.flag.touch()
        while i == 0 and not self.flag.exists():
            time.sleep(0.01)
        return i


def test_in_order_false_does_not_wait(tmp_path):
    for cls in (theirs.DataLoader, DataLoader):
        flag = tmp_path / cls.__module__
        got = [int(b) for b in cls(Waiting(flag), num_workers=2, in_order=False)]
        assert sorted(got) == list(range(8)) and got.index(0) > got.index(5)


def test_pin_memory():
    if torch.accelerator.is_available():
        got = agree(Rows(), num_workers=2, batch_size=4, pin_memory=True)
        assert got[0][0]["image"].is_pinned()
        return
    found = []
    for cls in (theirs.DataLoader, DataLoader):
        with pytest.warns(UserWarning, match="no accelerator is found") as caught:
            found.append(list(cls(Numbers(), num_workers=2, batch_size=4, pin_memory=True)))
        found[-1].append(str(caught[0].message))
    same(*found)


def test_pin_memory_device():
    found = []
    for cls in (theirs.DataLoader, DataLoader):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found.append(list(cls(Numbers(), num_workers=2, batch_size=4, pin_memory=True, pin_memory_device="cuda")))
        found[-1].append([str(w.message) for w in caught if "pin" in str(w.message)])
    same(*found)
    assert found[0][-1]


def test_the_table_covers_every_argument():
    text = (Path(__file__).parent.parent / "docs" / "dataloader.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| `(test_\w+)` \|$", text, re.M))
    parameters = [
        *inspect.signature(theirs.DataLoader.__init__).parameters,
        *inspect.signature(DataLoader.__init__).parameters,
    ]
    assert set(parameters) - {"self"} == set(rows)
    here = Path(__file__).parent
    tests = "".join(path.read_text() for name in ("dataloader", "dropin") for path in here.glob(f"test_{name}*.py"))
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"\ndef {name}(" in tests, f"docs/dataloader.md names {name}, which is no test"
