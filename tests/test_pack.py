"""Packing documents into sequences, compared with reference packers written here."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infeed

EOD = 9


def _documents(count: int, most: int, seed: int = 0) -> list[list[int]]:
    draw = random.Random(seed)
    return [[draw.randrange(10, 1000) for _ in range(draw.randrange(0, most))] for _ in range(count)]


@pytest.fixture(scope="module")
def documents() -> list[list[int]]:
    return _documents(300, 40)


@pytest.fixture(scope="module")
def corpus(documents: list[list[int]], tmp_path_factory: pytest.TempPathFactory) -> infeed.Pipeline:
    folder = tmp_path_factory.mktemp("documents")
    for part in range(3):
        lines = [json.dumps({"tokens": d, "n": len(d)}) for d in documents[part * 100 : part * 100 + 100]]
        (folder / f"part-{part}.jsonl").write_text("\n".join(lines) + "\n")
    return infeed.jsonl(str(folder), fields=["tokens"])


def _loaded(pipeline: infeed.Pipeline, batch: int = 7, **options: Any) -> list[dict[str, np.ndarray]]:
    with pipeline.batch(batch).to_numpy(**options) as loader:
        return [{name: np.copy(value) for name, value in b.items() if not isinstance(value, list)} for b in loader]


def _rows(pipeline: infeed.Pipeline, field: str = "tokens", **options: Any) -> list[list[int]]:
    return [row.tolist() for b in _loaded(pipeline, **options) for row in b[field]]


def _ended(documents: list[list[int]]) -> list[list[int]]:
    return [[*d, EOD] for d in documents]


@pytest.mark.parametrize("length", [1, 16, 64, 1000])
@pytest.mark.parametrize("rest", ["drop", "pad"])
def test_end_to_end(corpus: infeed.Pipeline, documents: list[list[int]], length: int, rest: str) -> None:
    flat = [t for d in _ended(documents) for t in d]
    full = len(flat) // length * length
    expected = [flat[i : i + length] for i in range(0, full, length)]
    if rest == "pad" and full < len(flat):
        expected.append(flat[full:] + [5] * (length - (len(flat) - full)))
    assert _rows(corpus.pack(length, eod=EOD, pad=5, rest=rest)) == expected


def test_labels_end_to_end(corpus: infeed.Pipeline, documents: list[list[int]]) -> None:
    flat = [t for d in _ended(documents) for t in d]
    batches = _loaded(corpus.pack(32, eod=EOD, labels=True))
    tokens = np.concatenate([b["tokens"] for b in batches])
    labels = np.concatenate([b["labels"] for b in batches])
    count = (len(flat) - 1) // 32
    assert tokens.tolist() == [flat[i * 32 : i * 32 + 32] for i in range(count)]
    assert labels.tolist() == [flat[i * 32 + 1 : i * 32 + 33] for i in range(count)]


def test_documents_inside_sequences(corpus: infeed.Pipeline, documents: list[list[int]]) -> None:
    flat = [(n, i) for n, d in enumerate(_ended(documents)) for i in range(len(d))]
    pipeline = corpus.pack(50, eod=EOD, segment_ids=True, position_ids=True, cu_seqlens=True)
    with pipeline.batch(1).to_numpy() as loader:
        for number, batch in enumerate(loader):
            mine = [n for n, _ in flat[number * 50 : number * 50 + 50]]
            starts = [i for i in range(50) if i == 0 or mine[i] != mine[i - 1]]
            assert batch["cu_seqlens"][0].tolist() == [*starts, 50]
            segments = [sum(s <= i for s in starts) for i in range(50)]
            assert batch["segment_ids"][0].tolist() == segments
            positions = [i - max(s for s in starts if s <= i) for i in range(50)]
            assert batch["position_ids"][0].tolist() == positions


def _fitted(group: list[list[int]], length: int, best: bool) -> list[list[list[int]]]:
    pieces = [d[i : i + length] for d in group for i in range(0, len(d), length)]
    bins: list[list[int]] = []
    for piece in sorted(range(len(pieces)), key=lambda p: -len(pieces[p])):
        room = [length - sum(len(pieces[p]) for p in b) for b in bins]
        fitting = [b for b in range(len(bins)) if room[b] >= len(pieces[piece])]
        if not fitting:
            bins.append([piece])
        else:
            bins[min(fitting, key=lambda b: (room[b] if best else 0, b))].append(piece)
    return [[pieces[p] for p in b] for b in sorted(bins, key=lambda b: b[0])]


@pytest.mark.parametrize("mode", ["first_fit", "best_fit"])
def test_fits(corpus: infeed.Pipeline, documents: list[list[int]], mode: str) -> None:
    expected, labels, segments = [], [], []
    ended = _ended(documents)
    for start in range(0, len(ended), 128):
        for bin in _fitted(ended[start : start + 128], 30, mode == "best_fit"):
            flat = [t for d in bin for t in d]
            room = 30 - len(flat)
            expected.append(flat + [0] * room)
            labels.append([t for d in bin for t in [*d[1:], -100]] + [-100] * room)
            segments.append([n + 1 for n, d in enumerate(bin) for _ in d] + [0] * room)
    batches = _loaded(corpus.pack(30, mode=mode, eod=EOD, group=128, labels=True, segment_ids=True))
    assert [r.tolist() for b in batches for r in b["tokens"]] == expected
    assert [r.tolist() for b in batches for r in b["labels"]] == labels
    assert [r.tolist() for b in batches for r in b["segment_ids"]] == segments


@pytest.mark.parametrize(("long", "kept"), [("truncate", True), ("drop", False)])
def test_long_documents(corpus: infeed.Pipeline, documents: list[list[int]], long: str, kept: bool) -> None:
    rows = _rows(corpus.pack(20, mode="best_fit", long=long, pad=-1))
    tokens = sorted(t for r in rows for t in r if t != -1)
    assert tokens == sorted(t for d in documents if kept or len(d) <= 20 for t in d[:20])


@pytest.mark.parametrize("stride", [None, 5, 12, 40])
@pytest.mark.parametrize("rest", ["drop", "pad"])
def test_windows(corpus: infeed.Pipeline, documents: list[list[int]], stride: int | None, rest: str) -> None:
    expected = []
    for d in documents:
        at = 0
        while at < len(d):
            window = d[at : at + 12]
            if len(window) == 12 or rest == "pad":
                expected.append(window + [0] * (12 - len(window)))
            if at + 12 >= len(d):
                break
            at += stride or 12
    assert _rows(corpus.windows(12, stride=stride, rest=rest)) == expected


PACKS = {
    "concat": lambda p: p.pack(16, eod=EOD),
    "labels": lambda p: p.pack(16, eod=EOD, labels=True, rest="pad"),
    "best_fit": lambda p: p.pack(48, mode="best_fit", group=32, segment_ids=True),
    "windows": lambda p: p.windows(8, stride=3),
}


@pytest.mark.parametrize("pack", PACKS)
def test_resume_is_continue(corpus: infeed.Pipeline, pack: str) -> None:
    pipeline = PACKS[pack](corpus.shuffle(seed=3)).batch(4)
    with pipeline.to_numpy(epoch=1) as loader:
        states, batches = [], []
        for _ in range(2):
            for batch in loader:
                batches.append({k: np.copy(v) for k, v in batch.items()})
                states.append(loader.state_dict())
    for at in (0, 1, len(batches) // 3, len(batches) // 2, len(batches) - 2):
        state = json.loads(json.dumps(states[at]))
        with pipeline.to_numpy() as again:
            again.load_state_dict(state)
            rest = [{k: np.copy(v) for k, v in b.items()} for _ in range(2) for b in again][: len(batches) - at - 1]
        assert len(rest) == len(batches) - at - 1
        for a, b in zip(rest, batches[at + 1 :], strict=True):
            assert all((a[name] == b[name]).all() for name in b)


def test_a_state_knows_where_the_documents_are(corpus: infeed.Pipeline) -> None:
    loader = corpus.pack(16, eod=EOD).batch(8).to_numpy()
    batches = iter(loader)
    for _ in range(30):
        next(batches)
    mark = loader.state_dict()["mark"].split()
    assert mark[:3] == ["pack", "0", str(30 * 8)]
    assert int(mark[3]) > 0, "a resume begins in the middle of the documents"
    loader.close()


@pytest.mark.parametrize("world", [1, 2, 3])
def test_ranks_share_the_sequences(corpus: infeed.Pipeline, world: int) -> None:
    pipeline = corpus.shuffle(seed=1).pack(16, eod=EOD)
    alone = _rows(pipeline, batch=12)
    ranks = [
        [b["tokens"].tolist() for b in _loaded(pipeline, 12 // world, rank=r, world_size=world)] for r in range(world)
    ]
    assert len({len(steps) for steps in ranks}) == 1
    together = [row for steps in ranks for rows in steps for row in rows]
    assert sorted(map(tuple, together)) == sorted(map(tuple, alone))


def test_threads_do_not_matter(corpus: infeed.Pipeline) -> None:
    pipeline = corpus.shuffle(seed=5).pack(24, mode="first_fit", eod=EOD)
    assert _rows(pipeline, threads=1) == _rows(pipeline, threads=2) == _rows(pipeline, threads=16)


def test_epochs_differ(corpus: infeed.Pipeline) -> None:
    loader = corpus.shuffle(seed=5).pack(24, eod=EOD).batch(1000).to_numpy()
    first, second = (next(iter(loader))["tokens"].tolist() for _ in range(2))
    loader.close()
    assert first != second


def test_bad_documents(tmp_path: Path) -> None:
    lines = [json.dumps({"tokens": [i] * 4}) for i in range(20)]
    lines[7] = '{"tokens": [1, 2'
    (tmp_path / "x.jsonl").write_text("\n".join(lines) + "\n")
    pipeline = infeed.jsonl(str(tmp_path / "x.jsonl"), fields=["tokens"]).pack(4)
    with pytest.raises((ValueError, RuntimeError), match=r"x\.jsonl"):
        _rows(pipeline)
    with pipeline.batch(5).to_numpy(on_error="skip") as loader:
        rows = [r.tolist() for b in loader for r in b["tokens"]]
        stats = loader.stats()
    assert rows == [[i] * 4 for i in range(20) if i != 7]
    assert stats["bad_samples"] == 1 and "x.jsonl" in stats["bad"][0]["error"]


def test_bad_arguments(corpus: infeed.Pipeline) -> None:
    for wrong, message in [
        (lambda: corpus.pack(0), "length"),
        (lambda: corpus.pack(4, dtype="float32"), "integer"),
        (lambda: corpus.pack(4, dtype="uint8", eod=300), "does not fit"),
        (lambda: corpus.pack(4, on="nothing"), "no field"),
        (lambda: corpus.batch(3).pack(4), "before batch"),
        (lambda: corpus.pack(4).pack(4), "once"),
        (lambda: infeed.concat([corpus.pack(4), corpus]), "join"),
        (lambda: corpus.pack(4).shuffle(kind="global"), "stream"),
    ]:
        with pytest.raises((ValueError, RuntimeError), match=message):
            wrong().plan  # noqa: B018
    with pytest.raises(ValueError, match="mode"):
        corpus.pack(4, mode="windows")
    with pytest.raises(ValueError, match="rest"):
        corpus.windows(4, rest="keep")


def test_tokens_that_do_not_fit(corpus: infeed.Pipeline) -> None:
    with pytest.raises((ValueError, RuntimeError), match="does not fit u8"):
        _rows(corpus.pack(4, dtype="uint8"))


def test_padding_of_batches(corpus: infeed.Pipeline, documents: list[list[int]]) -> None:
    def batches(**options: Any) -> list[Any]:
        pipeline = corpus.lengths().batch(6, ragged="pad", pad_value=-1, **options)
        with pipeline.to_numpy() as loader:
            return [(b["tokens"].copy(), b["length"].copy()) for b in loader]

    for options, reach in [
        ({}, lambda n: n),
        ({"pad_multiple": 16}, lambda n: -(-n // 16) * 16),
        ({"pad_length": 64}, lambda n: 64),
    ]:
        at = 0
        for tokens, lengths in batches(**options):
            mine = documents[at : at + 6]
            at += 6
            assert lengths.tolist() == [len(d) for d in mine]
            width = reach(max(len(d) for d in mine))
            assert tokens.tolist() == [d + [-1] * (width - len(d)) for d in mine]
    with pytest.raises((ValueError, RuntimeError), match=r"T.Truncate\(8\)"):
        batches(pad_length=8)
    with pytest.raises(ValueError, match="ragged"):
        corpus.batch(3, pad_length=8)
