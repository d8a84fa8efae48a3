"""Which row comes when: shuffles, selections, joins, sampling, filters, and what is refused."""

from __future__ import annotations

import collections
import itertools
import math

import numpy as np
import pytest
from conftest import jpeg, write_shards

import infeed


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An image folder of uneven classes: 12 cats, 3 dogs, 5 owls."""
    root = tmp_path_factory.mktemp("classes")
    for label, (name, count) in enumerate([("cat", 12), ("dog", 3), ("owl", 5)]):
        (root / name).mkdir()
        for i in range(count):
            (root / name / f"{i:03d}.jpg").write_bytes(jpeg(label * 100 + i, 30 + i, 30))
    return root


def rows(pipeline: infeed.Pipeline, epoch: int = 0) -> list[int]:
    """The rows that really come, checked against what the order says."""
    loader = pipeline.to_numpy(epoch=epoch, threads=2)
    got = [int(r) for batch in loader for r in batch["__row__"]]
    assert got == pipeline.order(epoch).tolist()
    assert len(got) == pipeline.rows()
    return got


# Shuffles


@pytest.mark.parametrize("how", [{}, {"kind": "global"}, {"window": 2}, {"block": 5, "window": 3}, {"buffer": 10}])
def test_every_shuffle_is_a_permutation(shards, how):
    pipeline = infeed.open(shards).select("cls").shuffle(seed=3, **how).batch(7)
    first, second = rows(pipeline), rows(pipeline, epoch=1)
    assert sorted(first) == sorted(second) == list(range(50))
    assert first != second != list(range(50))
    assert rows(pipeline) == first
    assert "shuffle" in pipeline.explain()


def test_none_and_window_of_one_shard(shards):
    assert rows(infeed.open(shards).select("cls").shuffle(kind="none")) == list(range(50))
    # One shard at a time: its rows stay together.
    order = rows(infeed.open(shards).select("cls").shuffle(window=1, seed=5))
    runs = [shard for shard, _ in itertools.groupby(order, key=lambda row: row // 16)]
    assert sorted(runs) == [0, 1, 2, 3]


def test_quality_tells_windows_apart(tmp_path):
    data = infeed.open(write_shards(tmp_path, 240, per_shard=8)).batch(16)
    base = infeed.open(str(tmp_path / "*.tar"))
    windows = [base.shuffle(window=w).batch(16).quality() for w in (1, 4, 16)]
    best = base.shuffle().batch(16).quality()
    spreads = [q["spread"] for q in windows]
    assert spreads == sorted(spreads) and spreads[0] < 0.7 < best["spread"]
    assert data.quality()["spread"] < 0.2
    assert windows[0]["blocks_per_batch"] < windows[1]["blocks_per_batch"] < best["blocks_per_batch"]
    assert "global shuffle" in str(best)


# Selections


def test_take_skip_slice_subset(shards):
    data = infeed.open(shards).select("cls")
    assert rows(data.take(5)) == [0, 1, 2, 3, 4]
    assert rows(data.skip(47)) == [47, 48, 49]
    assert rows(data[10:30:7]) == [10, 17, 24]
    assert rows(data[::-1])[:3] == [49, 48, 47]
    assert rows(data[-3:]) == [47, 48, 49]
    assert rows(data.subset([4, -1, 4])) == [4, 49, 4]
    assert rows(data.subset(np.arange(50) % 10 == 3)) == [3, 13, 23, 33, 43]
    assert rows(data.subset(0.1)) == [0, 1, 2, 3, 4]
    assert rows(data.subset(np.arange(50).repeat(30))[1490:]) == [49] * 10
    assert rows(data.skip(10).take(20).skip(5).take(3)) == [15, 16, 17]
    assert rows(data.repeat(2)) == [*range(50), *range(50)]
    twice = rows(data.shuffle(seed=1).repeat(2))
    assert sorted(twice[:50]) == list(range(50)) and twice[:50] != twice[50:]


def test_random_split_and_kfold(shards):
    data = infeed.open(shards).select("cls")
    parts = data.random_split([0.7, 0.2, 0.1], seed=5)
    assert [p.rows() for p in parts] == [35, 10, 5]
    assert sorted(itertools.chain(*map(rows, parts))) == list(range(50))
    assert rows(parts[0]) == rows(parts[0], epoch=3), "a split is the same in every epoch"
    assert [p.rows() for p in data.random_split([20, 30])] == [20, 30]
    assert rows(data.random_split([0.5, 0.5], seed=6)[0]) != rows(data.random_split([0.5, 0.5], seed=7)[0])
    folds = data.kfold(4, seed=2)
    assert sorted(itertools.chain(*(rows(val) for _, val in folds))) == list(range(50))
    for train, val in folds:
        assert sorted(rows(train) + rows(val)) == list(range(50))
    assert rows(data.kfold(5)[0][1]) == list(range(10))


def test_split_counts_are_torch_s(shards):
    torch = pytest.importorskip("torch")
    for fractions in ([0.5, 0.5], [0.33, 0.33, 0.34], [0.9, 0.1], [0.21, 0.29, 0.5]):
        for n in (50, 49, 37):
            ours = [p.rows() for p in infeed.open(shards).take(n).random_split(fractions)]
            theirs = [len(p) for p in torch.utils.data.random_split(range(n), fractions)]
            assert ours == theirs


# Joins


def test_concat_interleave_and_sources_apart(shards, tmp_path):
    other = write_shards(tmp_path, 10)
    a, b = infeed.open(shards).select("cls"), infeed.open(other).select("cls")
    both = a + b
    assert rows(both) == list(range(60))
    batch = next(iter(both.skip(49).batch(3).to_numpy()))
    assert batch["__key__"] == ["s00049", "s00000", "s00001"]
    assert batch["__url__"][0] != batch["__url__"][1]
    turns = rows(infeed.interleave([a, b], run=2))
    assert turns[:8] == [0, 1, 50, 51, 2, 3, 52, 53] and len(turns) == 22, "the others wait for nobody"
    assert sorted(rows(infeed.interleave([a, b], stop="all"))) == list(range(60))
    # Parts of the same files are the same rows.
    assert rows(infeed.concat([a.take(2), a.skip(48)])) == [0, 1, 48, 49]
    train, val = a.random_split([0.8, 0.2])
    assert sorted(rows(infeed.concat([train, val]).shuffle(seed=1))) == list(range(50))


def blending_indices(weights, size):
    """BlendCorpus's and Megatron's ``build_blending_indices``, as it is described."""
    used = [0] * len(weights)
    which, sample = [], []
    for i in range(size):
        errors = [w * max(i, 1) - n for w, n in zip(weights, used, strict=True)]
        best = errors.index(max(errors))
        which.append(best)
        sample.append(used[best])
        used[best] += 1
    return which, sample


def test_blend_is_blendcorpus_s(shards, tmp_path):
    parts = []
    for i, n in enumerate([40, 30, 20, 50]):
        (tmp_path / str(i)).mkdir()
        with infeed.ShardWriter(tmp_path / str(i) / "x-%d.tar") as out:
            for k in range(n):
                out.write({"__key__": f"p{i}-{k}", "cls": k})
        parts.append(infeed.open(str(tmp_path / str(i) / "*.tar")))
    starts = [0, 40, 70, 90]
    rng = np.random.default_rng(1)
    for trial in range(40):
        count = int(rng.integers(2, 5))
        weights = rng.random(count) if trial % 2 else rng.integers(1, 5, count).astype(float)
        total = sum(weights.tolist())
        normal = [float(w) / total for w in weights]
        which, sample = blending_indices(normal, 20)
        blended = infeed.blend(parts[:count], weights.tolist(), length=20)
        assert blended.order().tolist() == [starts[d] + s for d, s in zip(which, sample, strict=True)], weights
    keys = [k for b in infeed.blend(parts[:2], [1, 1], length=6).batch(6).to_numpy() for k in b["__key__"]]
    assert keys == ["p0-0", "p1-0", "p0-1", "p1-1", "p0-2", "p1-2"]


def test_blend_lengths_and_what_is_left_over(shards):
    data = infeed.open(shards).select("cls")
    small, large = data.take(4), data.skip(10)
    first = infeed.blend([small, large], [1, 1])
    assert sorted(r for r in rows(first) if r < 10) == [0, 1, 2, 3]
    # The next epoch goes on in the part that was not used up.
    tail = [[r for r in rows(first, epoch=e) if r >= 10] for e in range(2)]
    assert tail[0][-1] + 1 == tail[1][0]
    whole = infeed.blend([small, large], [1, 1], length="all")
    assert set(rows(whole)) == set(range(4)) | set(range(10, 50))


# Sampling


def test_balance_and_weights(folder):
    data = infeed.folder(folder).select("label")
    assert data.rows() == 20
    labels = [int(x) for b in data.balance().batch(6).to_numpy() for x in b["label"]]
    assert collections.Counter(labels) == {0: 12, 1: 12, 2: 12}
    assert all(sorted(labels[i : i + 3]) == [0, 1, 2] for i in range(0, 36, 3)), "classes take turns"
    under = data.balance(mode="under")
    assert under.rows() == 9
    seen = {r for epoch in range(8) for r in rows(under, epoch)}
    assert seen == set(range(20)), "nobody is left out for ever"
    drawn = collections.Counter(rows(data.weighted([1.0] * 19 + [19.0], length=4000, seed=1)))
    assert 1800 < drawn[19] < 2200
    order = rows(data.weighted(np.arange(20), replacement=False, length=19))
    assert sorted(order) == list(range(1, 20))


def test_balance_reads_a_field_of_a_tar(shards):
    labels = [
        int(x)
        for b in infeed.open(shards).balance("cls").decode(cls="int").select("cls").to_numpy()
        for x in b["cls"]
    ]
    assert set(collections.Counter(labels).values()) == {5}


def test_group_by_length(folder):
    data = infeed.folder(folder)
    grouped = data.shuffle(seed=1).group_by_length("bytes", window=20, group=5).batch(5)
    order = rows(grouped)
    assert sorted(order) == list(range(20))
    sizes = [p.stat().st_size for p in sorted(folder.glob("*/*.jpg"))]
    spread = [np.ptp([sizes[r] for r in order[i : i + 5]]) for i in range(0, 20, 5)]
    loose = rows(data.shuffle(seed=1).batch(5))
    assert sum(spread) < sum(np.ptp([sizes[r] for r in loose[i : i + 5]]) for i in range(0, 20, 5))


# Filters


def test_filters_before_reading(shards, folder):
    data = infeed.open(shards).select("cls")
    assert rows(data.filter("row >= 45")) == [45, 46, 47, 48, 49]
    assert rows(data.filter("key like 's0000*' and row % 2 == 0")) == [0, 2, 4, 6, 8]
    assert rows(data.filter("shard like '*002.tar'")) == list(range(32, 48))
    assert infeed.folder(folder).filter("label != 1").rows() == 17
    big = infeed.open(shards).filter("bytes > 5KB")
    assert 0 < big.rows() < 50
    assert rows(infeed.open(shards).select("cls").filter("row < 20").shuffle(seed=1).batch(4)) != list(range(20))


def test_filters_on_samples(shards):
    pipeline = infeed.open(shards).shuffle(seed=2).decode(jpg="rgb", cls="int").filter("cls in (3, 5)").batch(10)
    batches = list(pipeline.to_numpy())
    assert len(batches) == 5, "every step is there"
    assert sorted(r for b in batches for r in b["__row__"].tolist()) == [r for r in range(50) if r % 10 in (3, 5)]
    assert "after decoding" in pipeline.explain()
    wide = infeed.open(shards).decode(jpg="rgb").filter("jpg.width > 140").batch(10)
    assert [r for b in wide.to_numpy() for r in b["__row__"].tolist()] == [
        r for r in range(50) if 90 + r % 7 * 10 > 140
    ]


# Worlds


def test_global_batches_do_not_depend_on_the_world(shards):
    def world(size, **how):
        pipe = infeed.open(shards).select("cls").shuffle(seed=4).batch(global_size=12, **how)
        loaders = [pipe.to_numpy(rank=r, world_size=size, threads=1) for r in range(size)]
        assert len({len(loader) for loader in loaders}) == 1
        return [
            [int(r) for part in parts for r, pad in zip(part["__row__"], part["__pad__"], strict=True) if not pad]
            for parts in zip(*loaders, strict=True)
        ]

    for last in ("short", "drop", "pad"):
        want = world(1, last=last)
        assert len(want) == (4 if last == "drop" else 5)
        for size in (2, 3, 4, 5, 12):
            assert world(size, last=last) == want, (last, size)


def test_padding_is_marked_and_shapes_stay(shards):
    loaders = [
        infeed.open(shards).select("cls").batch(4, last="pad").to_numpy(rank=r, world_size=4) for r in range(4)
    ]
    sizes = {len(batch["__row__"]) for loader in loaders for batch in loader}
    assert sizes == {4}
    pads = [batch["__pad__"].tolist() for loader in loaders for batch in loader]
    assert sum(map(sum, pads)) == 64 - 50


# Bad input


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda d: infeed.blend([d, d], [1, -1]), ValueError, "not negative, got -1.0"),
        (lambda d: infeed.blend([d, d], [1, math.nan]), ValueError, "finite"),
        (lambda d: infeed.blend([d, d], [0, 0]).plan, ValueError, "add up to 0"),
        (lambda d: infeed.blend([d, d], [1]), ValueError, "1 weights for 2 pipelines"),
        (lambda d: infeed.concat([]), ValueError, "at least one pipeline"),
        (lambda d: d.weighted([math.nan] * 50).plan, ValueError, "weight"),
        (lambda d: d.weighted([-1.0] + [1.0] * 49).plan, ValueError, "row 0 is -1"),
        (lambda d: d.weighted([1.0] * 3).plan, ValueError, "3"),
        (lambda d: d.weighted([1.0] * 50, replacement=False, length=51).plan, ValueError, "51"),
        (lambda d: d.random_split([0.9, 0.2])[0].plan, ValueError, "1"),
        (lambda d: d.random_split([-0.5, 0.2])[0].plan, ValueError, "-0.5"),
        (lambda d: d.random_split([40, 20])[0].plan, ValueError, "60"),
        (lambda d: d.subset([50]).plan, ValueError, "there is no row 50: there are 50"),
        (lambda d: d.subset(1.5).plan, ValueError, "1.5"),
        (lambda d: d.subset([True, False]), ValueError, "2 entries for 50 rows"),
        (lambda d: d.subset(["a"]), TypeError, "whole numbers"),
        (lambda d: d.take(0).plan, ValueError, "no rows are left"),
        (lambda d: d.kfold(51)[0][0].plan, ValueError, "51"),
        (lambda d: d.shuffle(window=0).plan, ValueError, "window"),
        (lambda d: d.shuffle(kind="sideways"), ValueError, "sideways"),
        (lambda d: d.shuffle().shuffle(window=2).plan, ValueError, "shuffle"),
        (lambda d: d.shuffle().balance("cls").plan, ValueError, "stands after a shuffle"),
        (lambda d: d.filter("row <").plan, ValueError, r"\^"),
        (lambda d: d.filter("nothing == 1").plan, ValueError, "there is no field `nothing`"),
        (lambda d: d.filter("jpg == 1").plan, ValueError, "cannot compare `jpg`"),
        (lambda d: d.filter(3), TypeError, "as text"),
        (lambda d: d.batch(), ValueError, "either size"),
        (lambda d: d.batch(2, global_size=2), ValueError, "either size"),
        (lambda d: d.batch(2, last="later"), ValueError, "later"),
        (lambda d: d.batch(1).to_numpy(rank=0, world_size=0), ValueError, "0"),
        (lambda d: d.batch(1).to_numpy(rank=2, world_size=2), ValueError, "rank 2"),
        (lambda d: d.batch(1).to_numpy(rank=1), ValueError, "world_size"),
        (lambda d: d.batch(1).to_numpy(rank=0, world_size=51), ValueError, "more ranks than rows: there are 50"),
        (lambda d: d.batch(global_size=2).to_numpy(rank=0, world_size=3), ValueError, "global_size=2 is less than"),
        (
            lambda d: d.batch(20, drop_last=True).to_numpy(rank=0, world_size=3),
            ValueError,
            "drop_last leaves nothing",
        ),
    ],
)
def test_bad_input(shards, make, error, message):
    with pytest.raises(error, match=message):
        make(infeed.open(shards))


def test_empty_shards_are_nobody_s_problem(tmp_path):
    with infeed.ShardWriter(tmp_path / "a-%d.tar") as out:
        out.write({"__key__": "x", "cls": 1})
        out.write({"__key__": "y", "cls": 2})
    (tmp_path / "b.tar").write_bytes(b"\0" * 10240)
    (tmp_path / "c.tar").write_bytes((tmp_path / "a-0.tar").read_bytes())
    for how in ({}, {"window": 1}, {"buffer": 3}):
        assert sorted(rows(infeed.open(str(tmp_path / "*.tar")).shuffle(**how))) == [0, 1, 2, 3]
