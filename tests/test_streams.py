"""Sources that cannot be addressed: compressed tars, commands, Python iterators."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

import infeed

ROWS = 50
PACK = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}


def packed(shards: str, folder: Path, kind: str = "gz") -> str:
    for tar in sorted(Path(shards).parent.glob("*.tar")):
        (folder / f"{tar.stem}.tar.{kind}").write_bytes(PACK[kind](tar.read_bytes()))
    return str(folder / f"*.tar.{kind}")


def keys(loader) -> list[str]:
    return [key for batch in loader for key in batch["__key__"]]


@pytest.mark.parametrize("kind", PACK)
def test_compressed_tars_are_their_plain_ones(shards, tmp_path, kind):
    plain = infeed.open(shards).decode(jpg="rgb", cls="int").batch(8)
    stream = infeed.open(packed(shards, tmp_path, kind)).decode(jpg="rgb", cls="int").batch(8)
    assert "stream" in stream.explain() and "steps over" in stream.explain()
    for a, b in zip(plain.to_numpy(), stream.to_numpy(), strict=True):
        assert a["cls"].tolist() == b["cls"].tolist() and a["__key__"] == b["__key__"]
        assert all(np.array_equal(x, y) for x, y in zip(a["jpg"], b["jpg"], strict=True))


def test_epochs_shuffle_and_resume(shards, tmp_path):
    """Through the buffer, bit for bit from every step, by counted skip."""
    pipeline = infeed.open(packed(shards, tmp_path)).decode(cls="int").shuffle(seed=3, buffer=12).batch(8)
    loader = pipeline.to_numpy()
    events, states = [], [loader.state_dict()]
    for _ in range(2):
        for batch in loader:
            events.append(batch["__key__"])
            states.append(loader.state_dict())
        events.append("end")
        states.append(loader.state_dict())
    first, second = (list(itertools.chain(*events[a:b])) for a, b in ((0, 7), (8, 15)))
    assert sorted(first) == sorted(second) == [f"s{i:05d}" for i in range(ROWS)]
    assert first != second and first != sorted(first)
    for step, state in enumerate(states[:-1]):
        other = pipeline.to_numpy(threads=1)
        other.load_state_dict(state)
        after = []
        while len(after) < len(events) - step:
            after += [*(b["__key__"] for b in other), "end"]
        assert after[: len(events) - step] == events[step:], f"step {step}"


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_ranks_share_without_doubles(shards, tmp_path, size, shuffle):
    data = infeed.open(packed(shards, tmp_path)).select("cls")
    data = data.shuffle(seed=1, buffer=10) if shuffle else data
    for last in ("short", "drop"):
        loaders = [data.batch(3, last=last).to_numpy(rank=r, world_size=size) for r in range(size)]
        parts = [[(b["__key__"], b["__pad__"].tolist()) for b in loader] for loader in loaders]
        assert len({len(part) for part in parts}) == 1, "equal steps"
        seen = [k for part in parts for ks, pads in part for k, pad in zip(ks, pads, strict=True) if not pad]
        assert len(seen) == len(set(seen)) == (ROWS if last == "short" else ROWS // (3 * size) * 3 * size)


def test_pipes(shards, tmp_path):
    folder = Path(shards).parent
    command = f"pipe:cat {folder}/train-000.tar"
    assert keys(infeed.open(command).batch(4).to_numpy()) == [f"s{i:05d}" for i in range(16)]
    both = infeed.open([command, f"pipe:gzip -c {folder}/train-001.tar"]).batch(4)
    assert len(keys(both.to_numpy())) == 32
    bad = infeed.open(f"pipe:cat {folder}/train-000.tar; echo broken >&2; exit 3").batch(4)
    with pytest.raises((infeed.SampleError, OSError, RuntimeError, ValueError), match="broken"):
        keys(bad.to_numpy())


def test_steps_per_epoch_and_endless(shards, tmp_path):
    data = infeed.open(packed(shards, tmp_path)).batch(8)
    straight = list(itertools.islice((b["__key__"] for b in data.to_numpy(endless=True)), 20))
    loader = data.to_numpy(steps_per_epoch=5)
    assert len(loader) == 5
    assert [b["__key__"] for _ in range(4) for b in loader] == straight
    with pytest.raises(TypeError, match="no length"):
        len(data.to_numpy())
    for ask in (data.rows, data.order, data.quality, data.__len__):
        with pytest.raises(TypeError, match="how many rows"):
            ask()


def test_take_and_skip(shards, tmp_path):
    data = infeed.open(packed(shards, tmp_path)).select("cls")
    assert keys(data.skip(5).take(20).skip(2).batch(4).to_numpy()) == [f"s{i:05d}" for i in range(7, 25)]


def test_filters(shards, tmp_path):
    data = infeed.open(packed(shards, tmp_path)).decode(cls="int").select("cls")
    assert keys(data.filter("cls == 3 and row < 40").batch(4).to_numpy()) == [f"s{i:05d}" for i in (3, 13, 23, 33)]


def rows():
    for i in range(20):
        yield {"x": np.full((2, 3), i, np.float32), "n": i, "name": f"row {i}", "raw": bytes([i])}


def test_python_iterators():
    loader = infeed.stream(rows).batch(6).to_numpy()
    for _ in range(2):
        batches = list(loader)
        assert [len(b["n"]) for b in batches] == [6, 6, 6, 2]
        assert batches[0]["x"].shape == (6, 2, 3) and batches[0]["x"].dtype == np.float32
        assert [n for b in batches for n in b["n"].tolist()] == list(range(20))
        assert batches[3]["name"] == ["row 18", "row 19"] and bytes(batches[3]["raw"][1]) == b"\x13"
    shuffled = [n for b in infeed.stream(rows).shuffle(seed=2, buffer=5).batch(6).to_numpy() for n in b["n"].tolist()]
    assert sorted(shuffled) == list(range(20)) != shuffled
    assert len(list(infeed.stream([{"n": 1}, {"n": 2}]).filter("n > 1").to_numpy())) == 2


def test_python_iterators_that_fail():
    def failing():
        yield {"n": 1}
        raise KeyError("nothing here")

    with pytest.raises(infeed.SampleError, match="nothing here"):
        list(infeed.stream(failing).to_numpy())
    once = infeed.stream(iter([{"n": 1}])).to_numpy()
    assert len(list(once)) == 1
    with pytest.raises((infeed.SampleError, ValueError), match="only once"):
        list(once)
    with pytest.raises((infeed.SampleError, TypeError, RuntimeError), match="dict"):
        list(infeed.stream([1, 2]).to_numpy())
    with pytest.raises(ValueError, match="no rows"):
        list(infeed.stream(list).to_numpy())


def test_python_iterators_end_with_the_process():
    """Leaving in the middle, while threads are inside the iterator: no hang, no message."""
    script = textwrap.dedent("""
        import time, infeed
        def rows():
            while True:
                time.sleep(0.001)
                yield {"n": 1}
        loader = infeed.stream(rows).batch(2).to_numpy(threads=2)
        it = iter(loader)
        next(it)
        print("done")
    """)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda d: d.shuffle(kind="global"), "cannot be addressed"),
        (lambda d: d.shuffle(window=3), "cannot be addressed"),
        (lambda d: d.random_split([0.5, 0.5])[0], "cannot be addressed"),
        (lambda d: d.subset([1, 2]), "cannot be addressed"),
        (lambda d: d.balance("cls"), "cannot be addressed"),
        (lambda d: infeed.concat([d, d]), "cannot be joined"),
        (lambda d: d.batch(2, last="pad"), "does not go back"),
        (lambda d: d.shuffle(buffer=0), "at least 1"),
        (lambda d: d.filter("bytes > 3"), "not known in a stream"),
    ],
)
def test_what_streams_cannot_do(shards, tmp_path, make, message):
    with pytest.raises(ValueError, match=message):
        make(infeed.open(packed(shards, tmp_path))).plan  # noqa: B018
    with pytest.raises(ValueError, match="skip"):
        infeed.open(packed(shards, tmp_path)).batch(2).to_numpy(on_error="replace")


def test_damage_is_named(shards, tmp_path):
    pattern = packed(shards, tmp_path)
    victim = tmp_path / "train-001.tar.gz"
    os.truncate(victim, victim.stat().st_size // 2)
    with pytest.raises((infeed.FormatError, infeed.SampleError, RuntimeError), match=r"train-001\.tar\.gz"):
        keys(infeed.open(pattern).batch(4).to_numpy())
