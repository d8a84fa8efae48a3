"""The drop-in DataLoader beside its arguments: exceptions, types, deaths, and what torch does not have."""

from __future__ import annotations

import inspect
import os
import pickle
import re
import signal
import sys

import pytest
from loaders import Bad, Numbers, Stream, Suicidal, agree, both, same, theirs, torch
from pools import children

import infeed
from infeed.torch import DataLoader, TorchLoader
from infeed.work import SharedList

pytestmark = [
    # A test that hangs fails; nothing else depends on time.
    pytest.mark.timeout(300),
    # Two workers are more than some machines have CPUs; torch's threads make Python warn about fork.
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


class Odd(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


@pytest.mark.parametrize("error", [ValueError("bad row"), KeyError("k"), Odd(1, 2), StopIteration("early")], ids=repr)
def test_exceptions(error):
    found = []
    for cls in (theirs.DataLoader, DataLoader):
        steps = iter(cls(Bad(error), batch_size=2, num_workers=2))
        assert [next(steps).tolist() for _ in range(2)] == [[0, 1], [2, 3]]
        with pytest.raises(BaseException) as caught:
            next(steps)
        # The frames from the fetcher on: the same words. The one above is the loader's own loop.
        text = re.sub(r'(File ".*", line \d+|(?s:, in (_worker_loop|do)\n.*?\^\n))', "", str(caught.value))
        found.append((type(caught.value), text, [b.tolist() for b in steps]))
    assert found[0] == found[1] and "Caught" in found[0][1] and len(found[0][2]) == 7


class Batched(Numbers):
    def __getitems__(self, indices):
        return [torch.tensor([i, len(indices)]) for i in indices]


def test_getitems():
    got = agree(Batched(), num_workers=2, batch_size=8)
    assert got[0][0][0].tolist() == [0, 8]


class Shape(torch.Tensor):
    pass


class Tensors(Numbers):
    def __getitem__(self, i):
        marked = torch.full((3, 40, 40), i).as_subclass(Shape)
        marked.note = f"note {i}"
        return {
            "leaf": torch.ones(500, requires_grad=True),
            "channels": torch.zeros(2, 3, 16, 16).contiguous(memory_format=torch.channels_last) + i,
            "expanded": torch.arange(50).expand(30, 50),
            "conj": torch.full((300,), complex(i, 2)).conj(),
            "zero_d": torch.tensor(i),
            "half": torch.full((600,), i, dtype=torch.float16),
            "u16": torch.full((600,), i, dtype=torch.uint16),
            "sparse": torch.eye(40).to_sparse() * i,
            "parameter": torch.nn.Parameter(torch.full((400,), float(i))),
            "marked": marked,
        }


@pytest.mark.filterwarnings("ignore:Sparse invariant checks")
def test_tensors_of_every_kind():
    """Without collation: what a worker makes is what the consumer gets."""
    want, got = both(Tensors(6), num_workers=2, batch_size=None)
    for i, (a, b) in enumerate(zip(want[0], got[0], strict=True)):
        # torch sends the memory of a lazily conjugated tensor and forgets that it is one.
        a["conj"] = torch.full((300,), complex(i, -2))
        assert type(b["marked"]) is Shape and b["marked"].note == a["marked"].note
        for key in a:
            assert a[key].dtype == b[key].dtype and a[key].shape == b[key].shape and a[key].layout == b[key].layout
            assert a[key].requires_grad == b[key].requires_grad and type(a[key]) is type(b[key])
            x, y = (t.to_dense() for t in (a[key].detach(), b[key].detach()))
            assert torch.equal(x.as_subclass(torch.Tensor), y.as_subclass(torch.Tensor)), key
        assert b["channels"].stride() == a["channels"].stride()


def test_two_iterators_and_a_break():
    found = []
    for cls in (theirs.DataLoader, DataLoader):
        loader = cls(Numbers(), batch_size=3, num_workers=2)
        pairs = [(a, b) for a, b in zip(loader, loader, strict=True)]
        for batch in loader:
            kept = batch
            break
        found.append([pairs, kept, list(loader), len(loader), len(iter(loader))])
    same(*found)


class Sized(Stream):
    def __len__(self):
        return 6


def test_len():
    for dataset, options in ((Numbers(), {"batch_size": 6}), (Numbers(), {"batch_size": 6, "drop_last": True})):
        assert len(DataLoader(dataset, num_workers=2, **options)) == len(theirs.DataLoader(dataset, **options))
    for cls in (theirs.DataLoader, DataLoader):
        loader = cls(Sized(), num_workers=2)
        assert len(loader) == 6
        with pytest.warns(UserWarning, match="Length of IterableDataset"):
            list(loader)


def test_attributes_and_checks():
    loader = DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=2)
    plain = theirs.DataLoader(Numbers(), batch_size=4, shuffle=True, num_workers=2)
    assert isinstance(loader, theirs.DataLoader) and isinstance(loader.sampler, theirs.RandomSampler)
    for name in vars(plain):
        assert type(getattr(loader, name)) is type(getattr(plain, name)), name
    with pytest.raises(ValueError, match="should not be set after DataLoader is initialized"):
        loader.batch_size = 3
    same(list(pickle.loads(pickle.dumps(DataLoader(Numbers(), batch_size=4)))), list(theirs.DataLoader(Numbers(), 4)))
    assert TorchLoader is not None


def test_signature_is_torchs():
    ours, torchs = (inspect.signature(c.__init__).parameters for c in (DataLoader, theirs.DataLoader))
    assert list(ours)[: len(torchs)] == list(torchs)
    for name, parameter in torchs.items():
        assert ours[name].kind == parameter.kind and ours[name].default == parameter.default


def test_datapipes():
    pipes = pytest.importorskip("torch.utils.data.datapipes.iter")
    for shuffled in (False, True):
        pipe = pipes.IterableWrapper(range(30))
        pipe = pipe.shuffle().sharding_filter() if shuffled else pipe.sharding_filter()
        agree(pipe, num_workers=2, batch_size=4, epochs=2)
        agree(pipe, num_workers=2, batch_size=4, epochs=2, persistent_workers=True)


def test_pinning_thread(monkeypatch):
    """The thread that pins, without a device: what it does to a batch is replaced by a mark."""
    from infeed.torch import pin

    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda *_: torch.device("cuda"))
    monkeypatch.setattr(torch.accelerator, "current_device_index", lambda: 0)
    monkeypatch.setattr(torch.accelerator, "set_device_index", lambda _: None)
    monkeypatch.setattr(pin.utils.pin_memory, "pin_memory", lambda data, device: ("pinned", device, data))
    for persistent in (False, True):
        loader = DataLoader(Numbers(), batch_size=4, num_workers=2, pin_memory=True, persistent_workers=persistent)
        for _ in range(2):
            got = list(loader)
            assert [(a, b) for a, b, _ in got] == [("pinned", "cuda")] * 5
            assert [int(data[0, 0]) for _, _, data in got] == [0, 4, 8, 12, 16]
        loader.close()
    with pytest.raises(ValueError, match="bad row"):
        list(DataLoader(Bad(ValueError("bad row")), num_workers=1, pin_memory=True))
    with pytest.raises(infeed.WorkerDied):
        list(DataLoader(Suicidal(), num_workers=1, pin_memory=True))


def test_a_killed_worker_is_named():
    with pytest.raises(infeed.WorkerDied, match=r"worker 1 \(pid \d+\) of DataLoader .*\[5\].*SIGKILL") as caught:
        list(DataLoader(Suicidal(), num_workers=2))
    # Scripts that catch torch's error catch ours. Torch raises its own from a signal handler at any later moment, too,
    # which is why it is not done here.
    assert isinstance(caught.value, RuntimeError)


class OnceSuicidal(Numbers):
    def __init__(self, folder):
        super().__init__()
        self.folder = folder

    def __getitem__(self, i):
        mark = self.folder / str(i)
        if i in (3, 9, 10) and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__getitem__(i)


def test_on_dead_worker(tmp_path):
    got = list(DataLoader(OnceSuicidal(tmp_path), batch_size=2, num_workers=2, on_dead_worker="replace"))
    same(got, list(theirs.DataLoader(Numbers(), batch_size=2)))
    with pytest.raises(infeed.WorkerDied, match="second time"):
        list(DataLoader(Suicidal(), num_workers=2, on_dead_worker="replace"))
    with pytest.raises(ValueError, match="map-style"):
        DataLoader(Stream(), on_dead_worker="replace")
    with pytest.raises(ValueError, match="on_dead_worker"):
        DataLoader(Numbers(), on_dead_worker="ignore")


def test_persistent_workers_start_again_after_a_death():
    loader = DataLoader(Numbers(), num_workers=2, persistent_workers=True, native=False)
    first = iter(loader)
    next(first)
    os.kill(first._pool.pids[0], signal.SIGKILL)
    with pytest.raises(infeed.WorkerDied):
        list(first)
    assert len(list(loader)) == 20
    loader.close()


class Long(theirs.Dataset):
    def __init__(self):
        self.names = [f"name {i}" for i in range(12_000)]

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return type(self.names).__name__, self.names[i]


def test_share_lists():
    for dataset in (Long(), theirs.Subset(Long(), [0, 1, 2, 3]), theirs.ConcatDataset([Long(), Long()])):
        assert list(DataLoader(dataset, num_workers=1))[1] == [("SharedList",), ("name 1",)]
        want = list(theirs.DataLoader(dataset, num_workers=1))
        assert list(DataLoader(dataset, num_workers=1, share_lists=False)) == want
    assert SharedList.__name__ == "SharedList"


def test_close_ends_the_workers():
    before = children()
    with DataLoader(Numbers(), num_workers=2, persistent_workers=True) as loader:
        next(iter(loader))
        assert len(children() - before) == 2
    assert children() == before
    assert len(list(loader)) == 20, "and it can be used again"
    loader.close()
    assert children() == before


class Native:
    def __init__(self):
        self.closed = 0

    def iterate(self, loader, skip=0):
        return iter([loader.threads])

    def explain(self):
        return "native: all of it"

    def close(self):
        self.closed += 1


def test_native_and_threads(monkeypatch):
    from infeed.torch import dataloader, recognise

    native = Native()
    monkeypatch.setattr(recognise, "take_over", lambda loader: native)
    monkeypatch.setattr(dataloader, "is_candidate", lambda dataset: True)
    loader = DataLoader(Numbers(), num_workers=2, threads=3)
    assert list(loader) == [3] and loader.explain() == "native: all of it"
    loader.close()
    assert native.closed == 1
    left = DataLoader(Numbers(), batch_size=5, num_workers=2, native=False)
    same(list(left), list(theirs.DataLoader(Numbers(), batch_size=5)))
    assert "native=False" in left.explain() and "2 worker processes" in left.explain()
    monkeypatch.setattr(recognise, "take_over", lambda loader: None)
    with pytest.raises(infeed.PlanError, match="cannot run natively"):
        iter(DataLoader(Numbers(), native=True))
    assert "num_workers=0" in DataLoader(Numbers()).explain()
    for bad in ({"native": "yes"}, {"threads": 0}):
        with pytest.raises(ValueError):
            DataLoader(Numbers(), **bad)


def test_workers_in_threads(monkeypatch):
    for more in ({}, {"shuffle": True}, {"persistent_workers": True}, {"in_order": True, "prefetch_factor": 3}):
        found = []
        for kind, how in ((theirs.DataLoader, {}), (DataLoader, {"workers": "threads", "native": False})):
            torch.manual_seed(3)
            loader = kind(Numbers(), batch_size=5, num_workers=2, **more, **how)
            found.append([batch for _ in range(2) for batch in loader])
        same(*found)
    failing = DataLoader(Failing(), batch_size=4, num_workers=2, workers="threads")
    with failing, pytest.raises(ValueError, match="worker thread"):
        list(failing)
    late = DataLoader(Numbers(), num_workers=2, workers="auto", native=False)
    assert "worker processes" in late.explain()
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    assert "2 threads over the one dataset" in late.explain()
    same(list(late), list(theirs.DataLoader(Numbers())))
    assert "worker processes" in DataLoader(Numbers(), num_workers=2, worker_init_fn=print, native=False).explain()
    for bad in ({"workers": "fibers"}, {"workers": "threads", "worker_init_fn": print, "num_workers": 1}):
        with pytest.raises(ValueError, match="workers"):
            DataLoader(Numbers(), **bad)


class Failing(Numbers):
    def __getitem__(self, index):
        raise ValueError("no such thing")


def test_explain_names_the_start_method():
    text = DataLoader(
        Numbers(), num_workers=2, multiprocessing_context="spawn", native=False, share_lists=False
    ).explain()
    assert "spawn" in text and "share_lists=False" in text


def test_snapshot_every_n_steps():
    assert DataLoader(Numbers()).snapshot_every_n_steps == 1
    with pytest.raises(ValueError, match="snapshot_every_n_steps should be 0 or more, not -1"):
        DataLoader(Numbers(), snapshot_every_n_steps=-1)
