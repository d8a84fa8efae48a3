"""``state_dict()`` and ``load_state_dict()`` of the drop-in DataLoader, beside torchdata's StatefulDataLoader."""

import json
import pickle
import random

import pytest
import torch
from torch.utils.data import Dataset, IterableDataset, RandomSampler, Sampler, TensorDataset, get_worker_info

from infeed.torch import DataLoader

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create", "ignore:'set_vital' is deprecated")


class Rows(Dataset):
    def __len__(self):
        return 26

    def __getitem__(self, index):
        return index


class Counting(Rows):
    """Has a state: the samples that this copy of it made."""

    def __init__(self):
        self.made = 0

    def __getitem__(self, index):
        self.made += 1
        return index * 1000 + self.made

    def state_dict(self):
        return {"made": self.made}

    def load_state_dict(self, state):
        self.made = state["made"]


def part():
    """The samples of this worker: workers have different numbers of them."""
    info = get_worker_info()
    return range(0, 26) if info is None else range(100 * info.id, 100 * info.id + (13, 16, 3)[info.id])


class Stream(IterableDataset):
    def __iter__(self):
        yield from part()


class Shuffled(IterableDataset):
    """Without a state; its order depends on the worker's seed."""

    def __iter__(self):
        order = list(part())
        random.shuffle(order)
        return iter(order)


class Resuming(IterableDataset):
    """A generator function whose data set knows the position, and the epoch."""

    def __init__(self):
        self.at, self.epoch = 0, 0

    def __iter__(self):
        for value in list(part())[self.at :]:
            self.at += 1
            yield 1000 * self.epoch + value
        self.at = 0
        self.epoch += 1

    def state_dict(self):
        return {"at": self.at, "epoch": self.epoch}

    def load_state_dict(self, state):
        self.at, self.epoch = state["at"], state["epoch"]


class Walker:
    """An iterator with a state, which includes random numbers of its own."""

    def __init__(self):
        self.at, self.random = 0, random.Random(5)

    def __iter__(self):
        return self

    def __next__(self):
        if self.at >= len(part()):
            raise StopIteration
        self.at += 1
        return part()[self.at - 1] + 10_000 * self.random.randrange(9)

    def state_dict(self):
        return {"at": self.at, "random": self.random.getstate()}

    def load_state_dict(self, state):
        self.at = state["at"]
        self.random.setstate(state["random"])


class Walked(IterableDataset):
    def __iter__(self):
        return Walker()


class Backwards(Sampler):
    """A sampler whose iterator has a state."""

    def __len__(self):
        return 26

    def __iter__(self):
        return Steps()


class Steps:
    def __init__(self):
        self.left = 26

    def __iter__(self):
        return self

    def __next__(self):
        if not self.left:
            raise StopIteration
        self.left -= 1
        return self.left

    def state_dict(self):
        return {"left": self.left}

    def load_state_dict(self, state):
        self.left = state["left"]


class Drawing(Sampler):
    """A sampler that draws from Python's generator when it starts, and has no state."""

    def __len__(self):
        return 26

    def __iter__(self):
        return iter(random.sample(range(26), 26))


def seeded():
    return {"shuffle": True, "generator": torch.Generator().manual_seed(11)}


def repeating():
    generator = torch.Generator().manual_seed(12)
    return {"sampler": RandomSampler(Rows(), replacement=True, num_samples=90, generator=generator)}


KINDS = {
    "rows": (Rows, dict),
    "rows shuffled": (Rows, lambda: {"shuffle": True}),
    "rows with a generator": (Rows, seeded),
    "rows drawn with replacement": (Rows, repeating),
    "rows with a state": (Counting, dict),
    "a sampler with a state": (Rows, lambda: {"sampler": Backwards()}),
    "a sampler that draws": (Rows, lambda: {"sampler": Drawing()}),
    "native": (lambda: TensorDataset(torch.arange(26)), lambda: {"shuffle": True}),
    "stream": (Stream, dict),
    "stream shuffled": (Shuffled, dict),
    "stream with a state": (Resuming, dict),
    "iterator with a state": (Walked, dict),
}
WORKERS = [(0, False), (1, False), (3, False), (3, True)]


def build(kind, workers, persistent=False, loader=DataLoader, **more):
    dataset, arguments = KINDS[kind]
    return loader(
        dataset(),
        batch_size=2,
        num_workers=workers,
        persistent_workers=persistent,
        multiprocessing_context="fork" if workers else None,
        **arguments(),
        **more,
    )


def plain(batches):
    return [batch[0].tolist() if isinstance(batch, list) else batch.tolist() for batch in batches]


def interrupted(kind, workers, persistent, step, loader=DataLoader, **more):
    """The state after ``step`` batches of the second epoch (None: after all), and what comes then, in two epochs."""
    torch.manual_seed(7)
    random.seed(7)
    one = build(kind, workers, persistent, loader, **more)
    list(one)
    batches = iter(one)
    if step is None:
        list(batches)
        state = one.state_dict()
        return state, [plain(one), plain(one)]
    for _ in range(step):
        next(batches)
    state = one.state_dict()
    return state, [plain(batches), plain(one)]


@pytest.mark.parametrize("step", [0, 5, None])
@pytest.mark.parametrize(("workers", "persistent"), WORKERS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_new_loader_continues_exactly(kind, workers, persistent, step):
    if kind == "stream shuffled" and (workers == 0 or persistent or step is None):
        pytest.skip("draws from global generators of the process or of workers, which are not part of the state")
    state, expected = interrupted(kind, workers, persistent, step)
    torch.manual_seed(99)
    random.seed(99)
    two = build(kind, workers, persistent)
    two.load_state_dict(pickle.loads(pickle.dumps(state)))
    found = [plain(two), plain(two)]
    if kind == "stream shuffled":
        # The workers of the next epoch are seeded by the program's own generator, which is the program's to restore.
        found, expected = found[:1], expected[:1]
    assert found == expected


@pytest.mark.parametrize("step", [5, None])
@pytest.mark.parametrize(("workers", "persistent"), WORKERS)
@pytest.mark.parametrize("kind", ["rows", "a sampler with a state", "stream", "stream with a state"])
def test_as_torchdata(kind, workers, persistent, step):
    """The same batches after the same steps, with StatefulDataLoader's own state in its own loader."""
    theirs = pytest.importorskip("torchdata.stateful_dataloader").StatefulDataLoader
    results = []
    for loader in (theirs, DataLoader):
        state, expected = interrupted(kind, workers, persistent, step, loader)
        two = build(kind, workers, persistent, loader)
        two.load_state_dict(state)
        found = [plain(two), plain(two)]
        results.append((state["_iterator_finished"], found))
        assert found == expected or loader is theirs
    assert results[0] == results[1] or step is None


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_a_state_is_plain_data(tmp_path):
    from torch.distributed import checkpoint

    for kind in ("rows shuffled", "a sampler that draws", "native", "stream"):
        state, expected = interrupted(kind, 1, False, 3)
        torch.save(state, tmp_path / "state")
        checkpoint.save({"loader": state}, checkpoint_id=tmp_path / kind, no_dist=True)
        read = {"loader": build(kind, 1).state_dict()}
        checkpoint.load(read, checkpoint_id=tmp_path / kind, no_dist=True)
        for copy in (
            json.loads(json.dumps(state)),
            torch.load(tmp_path / "state", weights_only=True),
            read["loader"],
        ):
            two = build(kind, 1)
            two.load_state_dict(copy)
            assert two.state_dict() == state
            assert plain(two) == expected[0]
