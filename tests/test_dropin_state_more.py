"""States of the drop-in DataLoader: what is refused, what is left alone, native runs, ``stats()``, ``explain()``."""

import os
import random
import signal
import warnings

import pytest
import torch
from test_dropin_state import Backwards, Counting, Resuming, Rows, Stream, build, plain
from torch.utils.data import TensorDataset

from infeed.torch import DataLoader

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


def state_of(loader, steps=2):
    batches = iter(loader)
    for _ in range(steps):
        next(batches)
    return loader.state_dict()


@pytest.mark.parametrize("workers", [0, 1, 3])
@pytest.mark.parametrize("kind", ["rows shuffled", "stream", "stream with a state", "native"])
def test_killed_and_resumed(kind, workers, tmp_path):
    """A process that is killed in the middle of an epoch, after it saved a state; another one goes on."""

    def train(state=None, die_after=None):
        torch.manual_seed(3 if state is None else 4)
        loader = build(kind, workers)
        if state is not None:
            loader.load_state_dict(state)
        seen = []
        for _ in range(2):
            for batch in loader:
                seen.append(plain([batch])[0])
                if len(seen) == die_after:
                    torch.save({"loader": loader.state_dict(), "seen": seen}, tmp_path / "checkpoint")
                    next(iter(loader))
                    os.kill(os.getpid(), signal.SIGKILL)
        return seen

    expected = train()
    die_after = len(expected) // 2 + 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        try:
            train(die_after=die_after)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    saved = torch.load(tmp_path / "checkpoint")
    assert saved["seen"] == expected[:die_after]
    rest = len(expected) - die_after
    assert train(saved["loader"])[:rest] == expected[die_after:]


def test_prefetched_batches_are_not_counted_and_break_is_no_end():
    loader = DataLoader(Rows(), batch_size=2, num_workers=2, prefetch_factor=4)
    for _, batch in zip(range(3), loader, strict=False):
        last = batch
    two = DataLoader(Rows(), batch_size=2, num_workers=2, prefetch_factor=4)
    two.load_state_dict(loader.state_dict())
    assert [last.tolist(), *plain(two)] == plain(DataLoader(Rows(), batch_size=2))[2:]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_state_before_the_first_batch(workers):
    torch.manual_seed(1)
    loader = DataLoader(Rows(), batch_size=2, shuffle=True, num_workers=workers)
    before = loader.state_dict()
    expected = plain(loader)
    torch.manual_seed(2)
    two = DataLoader(Rows(), batch_size=2, shuffle=True, num_workers=workers)
    two.load_state_dict(before)
    assert two.state_dict() == before
    assert plain(two) == expected


@pytest.mark.parametrize("workers", [0, 2])
def test_states_of_a_resumed_loader(workers):
    """From state to state, one batch at a time."""
    expected = plain(build("stream with a state", workers))
    state, found = None, []
    for _ in expected:
        loader = build("stream with a state", workers)
        if state is not None:
            loader.load_state_dict(state)
        found += plain([next(iter(loader))])
        state = loader.state_dict()
    assert found == expected


def test_the_last_batch_is_not_the_end():
    """As torchdata has it: the end of an epoch is known when the loop has asked for one more batch."""
    loader = DataLoader(Rows(), batch_size=2)
    for _ in loader:
        last = loader.state_dict()
    end = loader.state_dict()
    for state, batches in ((last, 0), (end, 13)):
        two = DataLoader(Rows(), batch_size=2)
        two.load_state_dict(state)
        assert len(list(two)) == batches
        assert len(list(two)) == 13


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"num_workers": 2}, "num_workers: 0 in the state, 2 in the loader"),
        ({"sampler": Backwards()}, "sampler: SequentialSampler in the state, Backwards in the loader"),
        ({"batch_size": 3}, "batch_size: 2 in the state, 3 in the loader"),
        ({"dataset": Stream()}, "dataset: map-style in the state, iterable in the loader"),
        ({"dataset": range(30)}, "samples: 26 in the state, 30 in the loader"),
    ],
)
def test_a_state_of_another_loader(other, told):
    state = state_of(DataLoader(Rows(), batch_size=2))
    loader = DataLoader(**{"dataset": Rows(), "batch_size": 2, **other})
    loader.load_state_dict(state)
    with pytest.raises(ValueError, match=told):
        iter(loader)
    loader.load_state_dict({"step": 3})
    with pytest.raises(ValueError, match="not a state of an infeed"):
        iter(loader)


def test_a_state_that_cannot_be_taken_does_not_stop_the_loader():
    class Broken(Counting):
        def state_dict(self):
            raise KeyError("no state here")

    for workers in (0, 1):
        loader = DataLoader(Broken(), batch_size=2, num_workers=workers)
        assert len(list(loader)) == 13
        with pytest.raises(RuntimeError, match="no state here"):
            loader.state_dict()


def test_the_programs_own_random_numbers_are_left_alone():
    state = state_of(DataLoader(Rows(), batch_size=2, num_workers=1))
    torch.manual_seed(5)
    random.seed(5)
    expected = torch.rand(2).tolist(), random.random()
    torch.manual_seed(5)
    random.seed(5)
    loader = DataLoader(Rows(), batch_size=2, num_workers=1)
    loader.load_state_dict(state)
    next(iter(loader))
    assert (torch.rand(2).tolist(), random.random()) == expected


@pytest.mark.parametrize("every", [0, 1, 4])
def test_snapshots_of_an_iterable_data_set(every):
    """Fewer snapshots: the worker reads on from the last one."""
    loader = build("stream with a state", 3, snapshot_every_n_steps=every)
    batches = iter(loader)
    for _ in range(7):
        next(batches)
    two = build("stream with a state", 3, snapshot_every_n_steps=every)
    two.load_state_dict(loader.state_dict())
    assert plain(two) == plain(batches)


def test_out_of_order():
    """Batches that overtook others are neither repeated nor missed."""
    loader = DataLoader(Rows(), batch_size=2, num_workers=2, in_order=False)
    batches = iter(loader)
    found = plain(next(batches) for _ in range(5))
    two = DataLoader(Rows(), batch_size=2, num_workers=2, in_order=False)
    two.load_state_dict(loader.state_dict())
    assert sorted(found + plain(two)) == plain(DataLoader(Rows(), batch_size=2))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("native", [False, True])
def test_between_native_and_not(native, workers):
    """The order is the same either way, and so is the position in it."""

    def loader(native):
        return DataLoader(
            TensorDataset(torch.arange(26)), batch_size=2, shuffle=True, num_workers=workers, native=native
        )

    torch.manual_seed(1)
    one = loader(native)
    batches = iter(one)
    for _ in range(4):
        next(batches)
    state = one.state_dict()
    two = loader(not native)
    two.load_state_dict(state)
    expected = [plain(batches), plain(one)]
    assert [plain(two), plain(two)] == expected


def test_random_transforms_of_a_native_run(tmp_path):
    image = pytest.importorskip("PIL.Image")
    vision = pytest.importorskip("torchvision")
    (tmp_path / "class").mkdir()
    for number in range(9):
        pixels = bytes(random.Random(number).randbytes(12 * 12 * 3))
        image.frombytes("RGB", (12, 12), pixels).save(tmp_path / "class" / f"{number}.png")
    steps = [vision.transforms.RandomCrop(8), vision.transforms.RandomHorizontalFlip(), vision.transforms.ToTensor()]
    folder = vision.datasets.ImageFolder(str(tmp_path), vision.transforms.Compose(steps))

    def batches(loader):
        return [image for image, _ in loader]

    for arguments in ({}, {"num_workers": 2, "persistent_workers": True}):
        torch.manual_seed(1)
        loader = DataLoader(folder, batch_size=2, shuffle=True, **arguments)
        assert loader.explain().startswith("native")
        list(loader)
        rest = iter(loader)
        for _ in range(2):
            next(rest)
        state = loader.state_dict()
        two = DataLoader(folder, batch_size=2, shuffle=True, **arguments)
        two.load_state_dict(state)
        expected = batches(rest) + batches(loader)
        found = batches(two) + batches(two)
        assert len(found) == len(expected) == 8
        assert all(torch.equal(one, other) for one, other in zip(found, expected, strict=True))


def test_stats():
    loader = DataLoader(Resuming(), batch_size=2, num_workers=2)
    assert loader.stats()["batches"] == 0
    batches = iter(loader)
    next(batches)
    told = loader.stats()
    assert (told["native"], told["workers"], told["batches"], len(told["pids"])) == (False, "processes", 1, 2)
    assert "only Python can read" in told["reason"]
    list(batches)
    assert loader.stats()["finished"] and loader.stats()["batches"] == 15
    native = DataLoader(TensorDataset(torch.arange(8)), batch_size=2)
    list(native)
    assert native.stats()["samples"] == 8


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({}, "native: samples are made by infeed's threads"),
        ({"native": False}, "native=False was asked for"),
        ({"collate_fn": list}, "collate_fn is not torch's default_collate"),
        ({"worker_init_fn": print, "num_workers": 1}, "worker_init_fn is given"),
        ({"batch_size": None}, "batch_size=None hands out single samples"),
        ({"dataset": Rows()}, "Rows is a data set that only Python can read"),
    ],
)
def test_explain_gives_the_true_reason(arguments, told):
    loader = DataLoader(**{"dataset": TensorDataset(torch.arange(8)), "batch_size": 2, **arguments})
    assert told in loader.explain()
    state_of(loader)
    assert told in loader.explain()
    loader.close()
    assert told in loader.explain()
