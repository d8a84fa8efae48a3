"""Delivery to a device: order, slots and their reuse, resume, clean ends. A simulated device replaces a real one."""

from __future__ import annotations

import gc
import itertools
import pickle
import threading
import time

import numpy as np
import pytest

import infeed
from infeed import transforms as T

torch = pytest.importorskip("torch")

from infeed.torch import device as door  # noqa: E402
from infeed.torch import lanes  # noqa: E402

pytestmark = pytest.mark.timeout(120)


class Lazy(lanes.Lane):
    """The slowest possible device: a copy is made when it is waited for, from what its source memory holds *then*."""

    def __init__(self, device):
        super().__init__(device)
        self.staged = True
        self.begun: list[tuple[torch.Tensor, torch.Tensor]] = []
        self.done = 0
        self.lock = threading.Lock()
        self.blocks = 0
        #: As a consumer that only queues more work: what it reads is read at the very end.
        self.never_waits = False

    def memory(self, nbytes):
        self.blocks += 1
        return super().memory(nbytes)

    def upload(self, host):
        self.begun.append((host, torch.full_like(host, 1)))
        return self.begun[-1][1]

    def mark(self):
        return LazyMark(self, len(self.begun))


class LazyMark(lanes.Mark):
    def __init__(self, lane, until):
        self.lane, self.until = lane, until

    def finish(self):
        with self.lane.lock:
            for host, there in self.lane.begun[self.lane.done : self.until]:
                there.copy_(host)
            self.lane.done = max(self.lane.done, self.until)

    def join(self, tensors):
        assert list(tensors)
        if not self.lane.never_waits:
            self.finish()


@pytest.fixture
def lazy(monkeypatch):
    """Loaders to any device get a lane of this kind."""
    made = []

    def lane_to(device, **_):
        made.append(Lazy(device))
        return made[-1]

    monkeypatch.setattr(door, "lane_to", lane_to)
    return made


ROWS = 100


def pipe(rows=ROWS, batch=8):
    x = np.arange(rows * 6, dtype=np.int32).reshape(rows, 6)
    return infeed.arrays(x=x, y=np.arange(rows), s=[f"t{i}" for i in range(rows)]).shuffle(seed=4).batch(batch)


def plain(batch):
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in batch.items()}


def workers() -> int:
    return sum(thread.name == "infeed-delivery" for thread in threading.enumerate())


@pytest.mark.parametrize("ahead", [1, 2, 5])
def test_same_batches_through_the_same_memory(lazy, ahead):
    want = [plain(batch) for batch in pipe().to_numpy()]
    loader = pipe().to_torch(device="cpu", ahead=ahead)
    for _ in range(2):
        loader.set_epoch(0)
        got = [(batch, batch["__key__"], batch["__row__"].tolist()) for batch in loader]
        assert [plain(batch) for batch, _, _ in got] == want
    assert [row for _, _, rows in got for row in rows] == pipe().order(0).tolist()
    # One block for each of two fields in each slot, over both epochs: memory is allocated once.
    assert len(lazy) == 1 and lazy[0].blocks == 2 * (ahead + 1)


def test_slots_wait_for_the_device_not_for_the_consumer(lazy):
    loader = pipe().to_torch(device="cpu", ahead=1)
    loader._lane_now().never_waits = True
    got = list(loader)
    lazy[0].mark().finish()
    assert [plain(batch) for batch in got] == [plain(batch) for batch in pipe().to_numpy()]


def test_held_batches_stay_intact(lazy):
    kept = list(pipe().to_torch(device="cpu"))
    gc.collect()
    assert [plain(batch) for batch in kept] == [plain(batch) for batch in pipe().to_numpy()]


def test_lists_go_as_one_block_and_text_stays(lazy, shards):
    pipeline = infeed.open(shards).shuffle(seed=1).decode(jpg="rgb", cls="int").batch(4)
    want = list(pipeline.to_torch())
    got = list(pipeline.to_torch(device="cpu"))
    for a, b in zip(want, got, strict=True):
        assert len({tuple(x.shape) for x in a["jpg"]}) > 1
        assert all(torch.equal(x, y) for x, y in zip(a["jpg"], b["jpg"], strict=True))
        assert len({x.untyped_storage().data_ptr() for x in b["jpg"]}) == 1
        assert a["__key__"] == b["__key__"] and torch.equal(a["cls"], b["cls"])
    assert isinstance(next(iter(pipe().to_torch(device="cpu")))["s"][0], str)


def test_tuples_stay_tuples(lazy):
    for (y, x, s), want in zip(pipe().to_tuple("y", "x", "s").to_torch(device="cpu"), pipe().to_numpy(), strict=True):
        assert x.tolist() == want["x"].tolist() and y.tolist() == want["y"].tolist() and s == want["s"]


def test_resume_counts_what_was_received(lazy):
    """The state is after the batches the consumer has, although more of them are on the device."""
    loader = pipe().to_torch(device="cpu", ahead=4)
    running = iter(loader)
    seen = [plain(next(running)) for _ in range(5)]
    lane = lazy[0]
    for _ in range(2000):
        if len(lane.begun) >= 2 * 9:
            break
        time.sleep(0.005)
    assert len(lane.begun) == 2 * 9, "five were received, and four wait"
    state = loader.state_dict()
    assert (state["epoch"], state["step"], state["place"]) == (0, 5, 40)
    running.close()
    again = pipe().to_torch(device="cpu")
    again.load_state_dict(state)
    rest = [plain(batch) for batch in again]
    assert seen + rest == [plain(batch) for batch in pipe().to_numpy()]


def test_rows_from_outside(lazy):
    batches = [[3, 1], [99, 0, 5], [7]]
    got = list(pipe().to_torch(device="cpu").over(iter(batches), epoch=2))
    assert [batch["y"].tolist() for batch in got] == batches


def test_break_and_exception_in_the_body(lazy):
    loader = pipe(rows=1000).to_torch(device="cpu")
    for _ in loader:
        assert workers() == 1
        break
    gc.collect()
    assert workers() == 0
    with pytest.raises(KeyError):
        for _ in loader:
            raise KeyError
    gc.collect()
    assert workers() == 0


def test_close_ends_a_running_loop(lazy):
    loader = pipe(rows=1000).to_torch(device="cpu")
    running = iter(loader)
    next(running)
    loader.close()
    assert workers() == 0
    assert len(list(running)) == 0


def test_two_loaders_and_two_iterations_at_once(lazy):
    one, two = pipe().to_torch(device="cpu"), pipe().to_torch(device="cpu", epoch=1)
    first, second, third = iter(one), iter(two), iter(one)
    order = pipe().order
    for at in range(12):
        rows = [next(running)["y"].tolist() for running in (first, second, third)]
        # The third runs epoch 1, too.
        part = slice(at * 8, at * 8 + 8)
        assert rows == [order(0)[part].tolist(), order(1)[part].tolist(), order(1)[part].tolist()]


def test_errors_come_in_order(lazy, tmp_path):
    from conftest import jpeg

    with infeed.ShardWriter(tmp_path / "a-%d.tar") as out:
        for i in range(12):
            out.write({"__key__": f"{i:02d}", "jpg": b"no image" if i == 9 else jpeg(i, 32, 32), "cls": i})
    loader = (
        infeed.open(str(tmp_path / "*.tar")).decode(jpg="rgb", cls="int").batch(2).to_torch(device="cpu", ahead=3)
    )
    seen = []
    with pytest.raises(infeed.SampleError) as error:
        for batch in loader:
            seen += batch["cls"].tolist()
            time.sleep(0.01)
    assert seen == list(range(8)) and error.value.key == "09"
    assert loader.state_dict()["place"] == 8
    gc.collect()
    assert workers() == 0


def test_errors_on_the_way_come_in_order():
    made = itertools.count()

    def third_fails(images):
        if next(made) == 2:
            raise ArithmeticError("the third")
        return images

    seen = []
    with pytest.raises(ArithmeticError, match="third"):
        for batch in pipe().to_torch(device="cpu", on_device=[third_fails], on="x", ahead=2):
            seen.append(batch)
    assert len(seen) == 2


def test_pickle_goes_on(lazy):
    loader = pipe().to_torch(device="cpu", dtype={"x": torch.float64}, ahead=3)
    running = iter(loader)
    for _ in range(3):
        next(running)
    other = pickle.loads(pickle.dumps(loader))
    assert next(iter(other))["y"].tolist() == pipe().order(0)[24:32].tolist()
    assert other._dtypes == {"x": torch.float64} and other._ahead_by == 3


def test_wait_statistics(lazy):
    loader = pipe().to_torch(device="cpu")
    for _ in loader:
        time.sleep(0.002)
    stats = loader.stats()
    assert stats["batches"] == 13 and stats["samples"] == ROWS and 0 <= stats["wait_share"] < 1


def test_cpu_without_copies(shards):
    pipeline = infeed.open(shards).decode(jpg="rgb", cls="int").map(T.CenterCrop(16)).batch(4)
    batch = next(iter(pipeline.to_torch(device="cpu")))
    assert np.asarray(batch._core.column("jpg")).ctypes.data == batch["jpg"].data_ptr()


def test_bad_arguments(shards):
    pipeline = infeed.open(shards).decode(jpg="rgb", cls="int").batch(4)
    with pytest.raises(TypeError, match="give device="):
        pipeline.to_torch(on_device=[])
    with pytest.raises(ValueError, match="at least 1"):
        pipeline.to_torch(device="cpu", ahead=0)
    with pytest.raises(ValueError, match="names 'png'; the fields of a batch are"):
        pipeline.to_torch(device="cpu", on="png")
    with pytest.raises(ValueError, match="names 'no'"):
        pipeline.to_torch(device="cpu", dtype={"no": torch.float16})
    if not torch.cuda.is_available():
        with pytest.raises(RuntimeError, match="sees none here"):
            pipeline.to_torch(device="cuda")


def test_which_device_is_meant():
    assert lanes.of_rank(current=0, local_rank=3, count=8) == 3
    assert lanes.of_rank(current=2, local_rank=3, count=8) == 2, "the user chose"
    assert lanes.of_rank(current=0, local_rank=3, count=1) == 0, "the launcher shows one device to each rank"
    assert str(lanes.settle("cpu", infeed.World(0, 1))) == "cpu"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("pin", [True, False])
def test_real_device(shards, pin):
    pipeline = infeed.open(shards).shuffle(seed=3).decode(jpg="rgb", cls="int").map(T.RandomResizedCrop(64)).batch(4)
    loader = pipeline.to_torch(device="cuda", channels_last=True, dtype=torch.bfloat16, pin=pin)
    kept = list(loader)
    for want, got in zip(pipeline.to_torch(), kept, strict=True):
        assert got["jpg"].is_cuda and got["jpg"].is_contiguous(memory_format=torch.channels_last)
        assert torch.equal(got["jpg"].to(torch.uint8).cpu(), want["jpg"])
        assert got["cls"].tolist() == want["cls"].tolist()
