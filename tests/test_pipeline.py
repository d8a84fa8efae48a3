"""The pipeline interface: lazy, immutable, picklable, with errors that say what to do."""

from __future__ import annotations

import json
import multiprocessing
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import infeed
from infeed import transforms as T


def test_immutable_and_lazy():
    base = infeed.open("nowhere/{00..99}.tar")
    assert base.shuffle() != base and base == infeed.open("nowhere/{00..99}.tar")
    assert "shuffle" in repr(base.shuffle().batch(2)) and "shuffle" not in repr(base)
    with pytest.raises(TypeError, match="to_numpy"):
        iter(base)


def test_explain_reads_no_sample(shards):
    text = infeed.open(shards).shuffle(seed=3).decode(jpg="rgb").map(T.Resize((8, 9))).batch(4).explain()
    for part in [
        "4 shards",
        "50 rows",
        "global shuffle (seed 3)",
        "Resize",
        "u8[8, 9, 3]",
        "batch   4 samples, 13 per epoch",
    ]:
        assert part in text, text


def test_pickles(shards):
    pipe = infeed.open(shards).shuffle(seed=1).decode(cls="int").batch(5)
    assert pickle.loads(pickle.dumps(pipe)) == pipe
    loader = pipe.to_numpy(threads=1)
    list(loader)
    other = pickle.loads(pickle.dumps(loader))
    assert other.epoch == loader.epoch == 1
    assert [b["cls"].tolist() for b in other] == [b["cls"].tolist() for b in loader]
    crop = T.RandomResizedCrop(32, scale=(0.5, 1))
    assert pickle.loads(pickle.dumps(crop)) == crop


def _labels(pipe):
    return [b["cls"].tolist() for b in pipe.to_numpy(threads=1)]


def test_travels_to_a_spawned_process(shards):
    pipe = infeed.open(shards).shuffle(seed=1).decode(cls="int").select("cls").batch(5)
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.apply(_labels, (pipe,)) == _labels(pipe)


def test_tqdm_knows_the_total(shards):
    tqdm = pytest.importorskip("tqdm")
    bar = tqdm.tqdm(infeed.open(shards).batch(8).to_numpy(), disable=True)
    assert bar.total == 7 and len(list(bar)) == 7


def test_tuples(shards):
    loader = (
        infeed.open(shards)
        .decode(jpg="rgb", cls="int")
        .map(T.Resize((4, 4)))
        .batch(10)
        .to_tuple("cls", "jpg")
        .to_numpy()
    )
    for cls, jpg in loader:
        assert cls.shape == (10,) and jpg.shape == (10, 4, 4, 3)


def test_select_reads_only_these(shards):
    batch = next(iter(infeed.open(shards).select("cls").batch(3).to_numpy()))
    assert list(batch) == ["cls"]
    with pytest.raises(KeyError, match="the fields are cls"):
        batch["jpg"]
    assert batch["__key__"] == ["s00000", "s00001", "s00002"] and batch["__row__"].tolist() == [0, 1, 2]
    assert batch["__url__"][0].endswith("train-000.tar")


def test_ragged_lists_and_padding(shards):
    decoded = infeed.open(shards).decode(jpg="rgb")
    batch = next(iter(decoded.batch(6).to_numpy()))
    shapes = [a.shape for a in batch["jpg"]]
    assert len(set(shapes)) > 1
    padded = next(iter(decoded.batch(6, ragged="pad", pad_value=255).to_numpy()))["jpg"]
    assert padded.shape == (6, max(s[0] for s in shapes), max(s[1] for s in shapes), 3)
    for one, want in zip(padded, batch["jpg"], strict=True):
        h, w, _ = want.shape
        assert np.array_equal(one[:h, :w], want) and (one[h:] == 255).all() and (one[:, w:] == 255).all()


def test_one_address_for_several_fields(tmp_path):
    """An image and its mask get the same crop."""
    from conftest import encode, photo

    with infeed.ShardWriter(tmp_path / "m-%d.tar") as out:
        for i in range(8):
            png = encode(photo(60, 50, i), "PNG")
            out.write({"__key__": str(i), "img.png": png, "mask.png": png})
    pipe = infeed.open(tmp_path / "m-0.tar").decode(**{"img.png": "rgb", "mask.png": "rgb"})
    pipe = pipe.map(T.RandomResizedCrop(16), T.RandomHorizontalFlip(), on=["img.png", "mask.png"]).batch(8)
    (batch,) = pipe.to_numpy()
    assert np.array_equal(batch["img.png"], batch["mask.png"])


@pytest.mark.parametrize(
    ("build", "error", "message"),
    [
        (lambda p: p.decode(jpeg="rgb"), infeed.PlanError, "no field `jpeg`; the fields are cls, jpg"),
        (lambda p: p.decode(jpg="rbg"), ValueError, "did you mean `rgb`"),
        (lambda p: p.map(T.Resize(3)), infeed.PlanError, "decode one first"),
        (lambda p: p.map(T.Resize(3), on="jpg"), infeed.PlanError, "decode it first"),
        (lambda p: p.batch(2).shuffle(), infeed.PlanError, "end of the pipeline"),
        (lambda p: p.batch(0), infeed.PlanError, "at least 1"),
        (lambda p: p.decode(jpg="rgb").map(T.Normalize([0.5] * 2, [0.5] * 2)), infeed.PlanError, "2 means"),
        (lambda p: p.decode(jpg="rgb").map(T.Normalize([0.5], [0])), ValueError, "positive"),
        (lambda p: p.decode(jpg="rgb").map(T.RandomResizedCrop(0)), ValueError, "size"),
        (lambda p: p.decode(jpg="rgb").map(T.ToDtype("f8")), ValueError, "dtype"),
    ],
)
def test_plans_fail_early(shards, build, error, message):
    with pytest.raises(error, match=message):
        build(infeed.open(shards)).explain()


def test_arguments_fail_at_once():
    with pytest.raises(TypeError, match="has no argument 'sise'"):
        T.RandomResizedCrop(sise=3)
    with pytest.raises(TypeError, match="needs size"):
        T.Resize()
    with pytest.raises(TypeError, match="two values"):
        T.Resize(3, size=4)
    with pytest.raises(TypeError, match=r"infeed\.transforms"):
        infeed.open("x").map("Resize")
    with pytest.raises(ValueError, match="at least one field"):
        infeed.open("x").decode()
    with pytest.raises(ValueError, match="ragged"):
        infeed.open("x").batch(3, ragged="pack")
    with pytest.raises(TypeError, match="whole number"):
        infeed.open("x").batch(2.5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"on_error": "ignore"}, "on_error must be"),
        ({"threads": 0}, "threads must be"),
        ({"memory": "2 apples"}, "memory must be"),
        ({"memory": 1}, "too little"),
    ],
)
def test_options_are_checked(shards, options, message):
    with pytest.raises(ValueError, match=message):
        infeed.open(shards).batch(2).to_numpy(**options)


def test_stats(shards):
    loader = infeed.open(shards).decode(jpg="rgb").map(T.Resize((16, 16))).batch(8).to_numpy(threads=2)
    assert loader.stats()["verdict"] == "nothing was loaded yet"
    list(loader)
    stats = loader.stats()
    assert (stats["samples"], stats["batches"], stats["threads"]) == (50, 7, 2)
    assert 0 <= stats["wait_share"] <= 1 and [s["name"] for s in stats["stages"]] == [
        "read",
        "decode",
        "transform",
    ]
    assert "verdict" in str(stats) and "samples/s" in str(stats)
    json.dumps(stats)


def test_the_command_line(shards):
    run = subprocess.run(
        [sys.executable, "-m", "infeed", "inspect", str(Path(shards).parent), "--json"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["rows"] == 50
    assert (
        subprocess.run([sys.executable, "-m", "infeed", "inspect", "/nowhere"], capture_output=True).returncode == 1
    )
