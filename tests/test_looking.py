"""Looking at samples without a door: `peek`, `pipeline[5]`, `fields`, and what batches say of themselves."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from shown import augmented, same

import infeed
from infeed import transforms as T


def test_peek_is_the_first_batch(shards):
    pipe = augmented(shards)
    assert same(pipe.peek(8), next(iter(pipe.to_numpy())))
    assert len(pipe.peek()["cls"]) == 4 and len(pipe.peek(1000)["cls"]) == 50
    assert pipe.peek(3)["__row__"].tolist() == pipe.order(0, 0, 3).tolist()
    assert infeed.open(shards).peek(2)["__key__"] == ["s00000", "s00001"]
    assert pipe.peek(0) == {} and repr(pipe.peek(0)) == "Batch of 0"
    with pytest.raises(ValueError, match="n"):
        pipe.peek(-1)


def test_one_sample(shards):
    pipe = augmented(shards)
    batches = list(pipe.to_numpy())
    for number in (0, 5, 49, -1, -50):
        sample = pipe[number]
        place = number % 50
        batch, at = batches[place // 8], place % 8
        assert isinstance(sample, dict) and isinstance(sample, infeed.Sample)
        assert same(sample, {name: batch[name][at] for name in batch})
        assert sample["__key__"] == batch["__key__"][at] and sample["__row__"] == batch["__row__"][at]
    for number in (50, -51, 10**9):
        with pytest.raises(IndexError, match="50 rows"):
            pipe[number]
    assert len(infeed.open(shards)[:5]) == 5 and pipe[np.int64(3)]["cls"] == pipe[3]["cls"]
    with pytest.raises(TypeError, match=r"pipeline\[5\]"):
        pipe["jpg"]
    with pytest.raises(KeyError, match="cls, jpg"):
        pipe[0]["png"]
    copy = pickle.loads(pickle.dumps(pipe[1]))
    assert type(copy) is infeed.Sample and same(copy, pipe[1])


def test_samples_are_not_batched():
    """A sample is what there is before `batch`: as long as it is, in no batch transform, and not collated."""
    rows = [np.arange(n) for n in (1, 5, 2, 4)]
    pipe = infeed.wrap([{"x": row, "n": len(row)} for row in rows]).batch(2, ragged="pad")
    assert [pipe[i]["x"].tolist() for i in range(4)] == [row.tolist() for row in rows]
    assert pipe.peek(2)["x"].shape == (2, 5)

    made = (
        infeed.arrays(x=np.arange(6)).map(lambda s: {"x": s["x"] * 2}).batch(3, collate=lambda samples: len(samples))
    )
    assert made[2] == {"x": 4} and made.peek(3) == {"value": 3}

    image = np.zeros((4, 8, 8, 3), np.uint8)
    mixed = infeed.arrays(x=image, y=np.arange(4), images=["x"]).batch(2).map_batch(T.MixUp(num_classes=4))
    assert mixed[3]["y"] == 3 and mixed.peek(2)["y"].shape == (2, 4)


def test_tuples_have_names(shards):
    pipe = augmented(shards).to_tuple("cls", "jpg")
    plain = augmented(shards)
    assert list(pipe.peek(2)) == ["cls", "jpg"] == list(pipe[0]) == list(pipe.fields)
    assert np.array_equal(pipe.peek(2)["jpg"], plain.peek(2)["jpg"]) and pipe[3]["cls"] == plain[3]["cls"]
    called = plain.map(lambda s: s).to_tuple("cls", "jpg")
    assert list(called.peek(2)) == ["cls", "jpg"] == list(called[0])
    wrapped = infeed.wrap([(np.ones(2), i) for i in range(5)]).batch(2)
    assert wrapped.peek(3)["1"].tolist() == [0, 1, 2] and wrapped[4]["1"] == 4
    assert infeed.wrap([3, 4, 5])[1] == {"value": 4}


def test_filters_leave_rows_out():
    numbers = infeed.arrays(x=np.arange(100))
    assert numbers.filter(lambda x: x >= 20, on="x").peek(3)["x"].tolist() == [20, 21, 22]
    kept = numbers.map(lambda s: s).filter(lambda s: s["x"] % 2 == 0).to_tuple("x")
    assert kept.peek(3)["x"].tolist() == [0, 2, 4]
    assert len(numbers.filter(lambda x: False, on="x").peek(3)["x"]) == 0
    with pytest.raises(ValueError, match="left out"):
        kept[1]
    several = numbers.flat_map(lambda s: [{"x": s["x"]}, {"x": -s["x"]}])
    assert several[3]["x"] == 3


def test_streams():
    def rows():
        yield from ({"x": i} for i in range(10))

    pipe = infeed.stream(rows).batch(4)
    assert pipe.peek(6)["x"].tolist() == list(range(6)) and infeed.stream(rows).peek(2)["x"].tolist() == [0, 1]
    with pytest.raises(TypeError, match="peek"):
        pipe[0]
    with pytest.raises(TypeError, match="peek"):
        pipe.to_numpy()[0]
    once = infeed.stream(iter([{"x": 1}]))
    with pytest.raises(ValueError, match=r"peek\(\) reads some rows, and a generator can be read only once"):
        once.peek()


def test_groups_by_length_stay(shards):
    grouped = infeed.open(shards).shuffle(seed=1).group_by_length(window=25, seed=2).decode(cls="int").batch(5)
    assert [grouped[i]["cls"] for i in range(7)] == [v for b in grouped.to_numpy() for v in b["cls"].tolist()][:7]


def test_fields_come_from_the_plan(shards, tmp_path):
    fields = augmented(shards).fields
    assert [(f.name, f.kind, f.dtype, f.shape, f.layout) for f in fields.values()] == [
        ("cls", "array", "int64", (), "stack"),
        ("jpg", "image", "uint8", (16, 16, 3), "stack"),
    ]
    assert repr(fields) == "cls  array  int64  [batch]\njpg  image  uint8  [batch, 16, 16, 3]"
    raw = infeed.open(shards)
    assert repr(raw.fields["jpg"].type) == "'bytes'" and raw.decode(jpg="rgb").fields["jpg"].shape == (None, None, 3)
    assert raw.decode(jpg="rgb").fields["jpg"].batched == "list of [?, ?, 3]"
    flat = infeed.parquet(lists(tmp_path)).batch(2, ragged="flat").fields
    assert flat["v"].batched == "[all entries]" and flat["v_offsets"].batched == "[batch + 1]"
    padded = infeed.parquet(lists(tmp_path)).batch(2, ragged="pad", pad_mask=True).fields
    assert padded["v"].batched == "[batch, ?]" and padded["v_mask"].layout == "mask"
    called = augmented(shards).map(lambda s: s).fields
    assert "peek()" in repr(called) and list(called) == ["cls", "jpg"]
    assert infeed.wrap([1, 2]).fields == {} and "peek()" in infeed.wrap([1, 2]).fields.note
    names = {infeed.arrays(x=np.zeros(2, dtype)).fields["x"].dtype for dtype in ("?", "i2", "u8", "f2", "f8")}
    assert names == {"bool", "int16", "uint64", "float16", "float64"}


def lists(folder):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"v": [[1.0], [2.0, 3.0], [4.0]]}), folder / "v.parquet")
    return str(folder / "v.parquet")


def test_repr_of_a_batch(shards):
    batch = infeed.open(shards).decode(cls="int").peek(3)
    assert repr(batch).splitlines()[0] == "Batch of 3" and isinstance(batch, dict)
    assert [line.split()[:2] for line in repr(batch).splitlines()[1:]] == [["cls", "int64"], ["jpg", "bytes"]]
    made = infeed.Batch(
        x=np.array([[1, 2], [3, 250]], np.uint8),
        f=np.array([0.5, np.nan]),
        t=["a" * 100, "b"],
        r=[np.zeros((2, 3)), np.ones((4, 3))],
        n=[None, None],
        some=[None, np.ones(2)],
        e=np.zeros((2, 0)),
        j=[{"a": 1}, {"b": 2}],
        b=[b"abc", b"a"],
        c=np.array([1j, 2]),
        o=np.array([object(), None]),
        s=np.array(["ab", "cd"]),
        d={"in": np.zeros(2)},
        z=3,
        flag=np.array([True, False]),
    )
    words = {line.split()[0]: " ".join(line.split()[1:]) for line in repr(made).splitlines()[1:]}
    assert words["x"] == "uint8 [2, 2] 1..250"
    assert words["f"] == "float64 [2] 0.5 and others that are not finite"
    assert words["t"] == "text 2 '" + "a" * 60 + "'…"
    assert words["r"] == "list of float64 2 x [?, 3] 0..1"
    assert words["n"] == "list 2 no values" and words["some"] == "list of float64 2 x [2] 1, 1 without a value"
    assert words["e"] == "float64 [2, 0] empty" and words["b"] == "bytes 2 1..3 bytes each"
    assert words["j"] == "list of dict 2 {'a': 1}" and words["c"] == "complex128 [2]" and words["o"] == "object [2]"
    assert words["s"] == "<U2 [2] 'ab'" and words["d"] == "dict 1 in" and words["z"] == "int 3"
    assert words["flag"] == "bool [2] False..True"
    assert repr(infeed.Batch()) == "Batch of 0" == str(infeed.Batch())


class Bad:
    """An object that fails whatever is asked of it."""

    shape = dtype = property(lambda self: 1 / 0)

    def __repr__(self):
        raise RuntimeError("no")


def test_repr_never_fails_and_is_bounded():
    assert "x" in repr(infeed.Batch(x=Bad(), y=[Bad()], z={"a": Bad()}))
    assert infeed.Batch(x=[Bad(), Bad()])._repr_html_()
    large = np.broadcast_to(np.arange(3.0), (10**6, 10**4, 3))  # 240 GB if anyone copied it
    assert "~0..2" in repr(infeed.Batch(x=large))
    long = infeed.Batch(t=["x" * 10**7] * 100, j=[{str(i): i for i in range(10**4)}] * 100, l=list(range(10**6)))
    assert len(repr(long)) < 1000 and len(long._repr_html_()) < 20_000


def test_tensors(shards):
    torch = pytest.importorskip("torch")
    batch = next(iter(augmented(shards).to_torch()))
    assert "uint8  [8, 3, 16, 16]" in repr(batch)
    assert "bfloat16" in repr(infeed.Batch(x=torch.ones(2, dtype=torch.bfloat16, requires_grad=True)))
    moved = batch.to("meta", non_blocking=True)
    assert moved["jpg"].device.type == "meta" == moved["cls"].device.type and moved["__key__"] == batch["__key__"]
    assert batch["jpg"].device.type == "cpu"
    kept = infeed.Batch(t=["a"], x=[torch.ones(1), None], d={"y": torch.ones(1)}, p=(torch.ones(1), 2), a=np.ones(1))
    there = kept.to("meta")
    assert type(there) is infeed.Batch and there["t"] == ["a"] and there["x"][1] is None and there["p"][1] == 2
    assert {there["x"][0].device.type, there["d"]["y"].device.type, there["p"][0].device.type} == {"meta"}
    assert there["a"] is kept["a"]
    assert repr(there)  # there are no values to look at
    with pytest.raises(TypeError, match="to_torch"):
        augmented(shards).peek().to("cpu")
