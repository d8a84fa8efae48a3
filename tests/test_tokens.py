"""Token corpora, against NumPy and bytes written by hand."""

from __future__ import annotations

import json
from pathlib import Path

import corpora
import numpy as np
import pytest

import infeed


def rows(pipeline: infeed.Pipeline, name: str = "tokens", batch: int = 7, **how) -> np.ndarray:
    loader = pipeline.batch(batch).to_numpy(**how)
    parts = [np.array(b[name]) for b in loader]
    return np.concatenate(parts) if parts else np.zeros((0, 0))


def flat(documents: list[list[int]]) -> np.ndarray:
    return np.array([token for d in documents for token in d], np.int64)


@pytest.mark.parametrize("code", [1, 2, 3, 4, 5, 8])
@pytest.mark.parametrize("legacy", [False, True])
@pytest.mark.parametrize("read", ["mmap", "pread"])
def test_every_type_of_index(tmp_path: Path, code: int, legacy: bool, read: str):
    documents = corpora.random_documents(30, 1, ids=120)
    prefix = corpora.write(tmp_path, "x", documents, code, legacy)
    for path in (
        prefix,
        prefix + ".bin",
        prefix + ".idx",
        str(tmp_path),
        str(tmp_path / "*.idx"),
        str(tmp_path / "*"),
    ):
        found = rows(infeed.tokens(path, 16, read=read))
        everything = flat(documents)
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found.ravel(), everything[: len(everything) // 16 * 16])


@pytest.mark.parametrize("code", [6, 7])
def test_numbers_that_are_no_tokens(tmp_path: Path, code: int):
    prefix = corpora.write(tmp_path, "x", [[1, 2], [3]], code)
    with pytest.raises(ValueError, match="whole numbers"):
        infeed.tokens(prefix, 1).plan  # noqa: B018


def test_files_without_an_index(tmp_path: Path):
    numbers = np.arange(100, dtype=np.uint16)
    numbers.tofile(tmp_path / "train.bin")
    np.save(tmp_path / "val.npy", numbers.astype(np.uint32) + 70_000)
    np.testing.assert_array_equal(rows(infeed.tokens(tmp_path / "train.bin", 10)).ravel(), numbers)
    np.testing.assert_array_equal(
        rows(infeed.tokens(tmp_path / "val", 10)).ravel(), numbers.astype(np.int64) + 70_000
    )
    wide = rows(infeed.tokens(tmp_path / "train.bin", 10, raw="uint32"))
    np.testing.assert_array_equal(wide.ravel(), numbers.view(np.uint32))
    header = np.zeros(256, np.int32)
    header[:3] = 20240520, 1, 100
    (tmp_path / "fineweb.bin").write_bytes(header.tobytes() + numbers.tobytes())
    np.testing.assert_array_equal(rows(infeed.tokens(tmp_path / "fineweb.bin", 10)).ravel(), numbers)
    np.save(tmp_path / "square.npy", numbers.reshape(10, 10))
    with pytest.raises(infeed.FormatError, match="one dimension"):
        infeed.tokens(tmp_path / "square.npy", 10).plan  # noqa: B018


@pytest.mark.parametrize("dtype", ["int64", "int32", "uint16", "uint32"])
@pytest.mark.parametrize("stride", [None, 3, 20])
def test_windows(tmp_path: Path, dtype: str, stride: int | None):
    first, second = corpora.random_documents(20, 2), corpora.random_documents(20, 3)
    paths = [corpora.write(tmp_path, "a", first), corpora.write(tmp_path, "b", second)]
    everything = flat(first + second)
    batch = next(iter(infeed.tokens(paths, 8, dtype=dtype, stride=stride, labels=True).batch(10_000).to_numpy()))
    starts = np.arange(0, len(everything) - 8, stride or 8)
    at = starts[:, None] + np.arange(8)
    np.testing.assert_array_equal(batch["tokens"], everything[at])
    np.testing.assert_array_equal(batch["labels"], everything[at + 1])
    assert batch["tokens"].dtype == batch["labels"].dtype == np.dtype(dtype)
    assert batch["__key__"][0] == f"{paths[0]}:0"


def masks(tokens: np.ndarray, eod: int, reset: bool) -> dict[str, np.ndarray]:
    """Row by row, with loops: what Megatron makes of tokens and a token that ends documents."""
    n, length = tokens.shape
    out = {
        "position_ids": np.tile(np.arange(length), (n, 1)),
        "loss_mask": (tokens != eod).astype(np.float32),
        "document_ids": np.zeros((n, length), np.int32),
        "attention_mask": np.tile(np.tril(np.ones((length, length), bool)), (n, 1, 1)),
    }
    for row in range(n):
        before = 0
        for i in np.flatnonzero(tokens[row] == eod):
            out["document_ids"][row, i + 1 :] += 1
            if reset:
                out["attention_mask"][row, i + 1 :, : i + 1] = False
                out["position_ids"][row, i + 1 :] -= i + 1 - before
                before = i + 1
    return out


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("sampling", ["windows", "megatron"])
@pytest.mark.parametrize("by_index", [True, False])
def test_masks_and_positions(tmp_path: Path, reset: bool, sampling: str, by_index: bool):
    # Every document ends with the token, so both ways to find documents find the same.
    documents = [[*d, 7] for d in corpora.random_documents(60, 4, most=9, ids=6)]
    prefix = corpora.write(tmp_path, "x", documents)
    pipeline = infeed.tokens(
        prefix,
        12,
        labels=True,
        sampling=sampling,
        eod=None if by_index else 7,
        reset=reset,
        position_ids=True,
        loss_mask=True,
        document_ids=True,
        attention_mask=True,
    )
    batch = next(iter(pipeline.batch(10_000).to_numpy()))
    assert (batch["tokens"] == 7).any()
    for name, expected in masks(np.array(batch["tokens"]), 7, reset).items():
        np.testing.assert_array_equal(batch[name], expected, err_msg=name)
        assert batch[name].dtype == expected.dtype, name


@pytest.mark.parametrize("seed", [0, 1234, 2**32 - 1])
@pytest.mark.parametrize("samples", [0, 1, 40, 55, 90, 100, 108, 250])
def test_megatron_samples(tmp_path: Path, seed: int, samples: int):
    documents = corpora.random_documents(50, 5)
    prefix = corpora.write(tmp_path, "x", documents)
    expected = corpora.megatron_rows(documents, np.arange(50), samples, 16, seed)
    found = rows(infeed.tokens(prefix, 16, sampling="megatron", samples=samples, seed=seed))
    np.testing.assert_array_equal(found, expected)
    assert len(found) >= samples


def test_both_kinds_of_last_epoch_are_tried():
    sizes = np.array([len(d) for d in corpora.random_documents(50, 5)])
    per_epoch = (int(sizes.sum()) - 1) // 16
    kinds = set()
    for samples in (40, 55, 90, 100, 108, 250):
        epochs = corpora.megatron(sizes, np.arange(50), samples, 16, 0)[3]
        before = ((epochs - 1) * int(sizes.sum()) - 1) // 16
        kinds.add("one" if epochs == 1 else samples - before < int(0.8 * per_epoch))
    assert kinds == {"one", True, False}


@pytest.mark.parametrize("split", ["969, 30, 1", "8,1,1", "1,1", "0, 1, 0"])
@pytest.mark.parametrize("part", ["train", "valid", "test"])
def test_splits(tmp_path: Path, split: str, part: str):
    documents = [[i] * 5 for i in range(101)]
    prefix = corpora.write(tmp_path, "x", documents)
    ends = corpora.megatron_split(split, 101)
    place = ["train", "valid", "test"].index(part)
    which = np.arange(ends[place], ends[place + 1])
    windows = infeed.tokens(prefix, 5, split=split, part=part)
    np.testing.assert_array_equal(rows(windows)[:, 0] if len(which) else [], which)
    pipeline = infeed.tokens(prefix, 4, split=split, part=part, sampling="megatron", samples=30, seed=1)
    if len(which):
        np.testing.assert_array_equal(rows(pipeline), corpora.megatron_rows(documents, which, 30, 4, 1))
    else:
        with pytest.raises(ValueError, match="no document"):
            pipeline.plan  # noqa: B018


@pytest.mark.parametrize("with_epochs", [True, False])
@pytest.mark.parametrize("dtype", [np.int64, np.int32])
def test_cache_files_of_others_are_read(tmp_path: Path, with_epochs: bool, dtype: type):
    documents = [d or [1] for d in corpora.random_documents(30, 6)]
    prefix, cache = corpora.write(tmp_path, "x", documents), tmp_path / "index-cache"
    sizes = np.array([len(d) for d in documents])
    # Other documents than ours would shuffle: what comes out is what the files say.
    doc, sample, shuffle, epochs = corpora.megatron(sizes, np.arange(30), 100, 8, 99)
    text = corpora.description(prefix, 100, 8, 1, epochs if with_epochs else None, "1,0,0")
    paths = corpora.cache_paths(cache, text)
    cache.mkdir()
    paths[0].write_text(text)
    for path, array in zip(paths[1:], (doc, sample.astype(dtype), shuffle), strict=True):
        np.save(path, array)
    found = rows(infeed.tokens(prefix, 8, sampling="megatron", samples=100, seed=1, split="1,0,0", cache=cache))
    np.testing.assert_array_equal(found, corpora.megatron_rows(documents, np.arange(30), 100, 8, 99))
    assert len(list(cache.iterdir())) == 4
    np.save(paths[3], shuffle[:-1])
    with pytest.raises(infeed.FormatError, match="Delete it"):
        infeed.tokens(prefix, 8, sampling="megatron", samples=100, seed=1, split="1,0,0", cache=cache).plan  # noqa: B018


def test_cache_files_are_those_of_megatron(tmp_path: Path):
    documents = corpora.random_documents(30, 6)
    prefix, cache = corpora.write(tmp_path, "x", documents), tmp_path / "cache"
    ends = corpora.megatron_split("969, 30, 1", 30)
    pipeline = infeed.tokens(prefix, 8, sampling="megatron", samples=100, seed=3, split="969, 30, 1", cache=cache)
    found = rows(pipeline)
    sizes = np.array([len(d) for d in documents])
    *arrays, epochs = corpora.megatron(sizes, np.arange(ends[1]), 100, 8, 3)
    text = corpora.description(prefix, 100, 8, 3, epochs, "969, 30, 1")
    paths = corpora.cache_paths(cache, text)
    assert sorted(cache.iterdir()) == sorted(paths)
    assert paths[0].read_text() == text
    for path, expected in zip(paths[1:], arrays, strict=True):
        loaded = np.load(path, mmap_mode="r")
        np.testing.assert_array_equal(loaded, expected)
        assert loaded.dtype == expected.dtype
    np.testing.assert_array_equal(rows(infeed.Pipeline(pipeline.recipe)), found)


def listed(tmp_path: Path) -> tuple[Path, list[tuple[float, list[list[int]], str]]]:
    files, lines = [], []
    for i, (weight, corpus) in enumerate([(0.5, "web"), (0.2, "code"), (0.7, "web"), (0.35, "books"), (0.1, "web")]):
        documents = corpora.random_documents(20 + i, 10 + i, ids=1000)
        files.append((weight, documents, corpus))
        lines.append(f"{weight} {corpora.write(tmp_path, f'f{i}', documents)} {corpus}")
    (tmp_path / "list.txt").write_text("# a list\n" + "\n\n".join(lines) + "\n")
    return tmp_path / "list.txt", files


@pytest.mark.parametrize("samples", [50, 333])
def test_file_lists_of_blendcorpus(tmp_path: Path, samples: int):
    path, files = listed(tmp_path)
    found = rows(infeed.file_list(path, 16, samples=samples, seed=7, sampling="megatron"))
    np.testing.assert_array_equal(found, corpora.blendcorpus(files, samples, 16, 7))
    assert len(found) >= samples


def test_file_lists_of_windows(tmp_path: Path):
    path, files = listed(tmp_path)
    pipeline = infeed.file_list(path, 8, samples=200, seed=1)
    keys = [key.rsplit(":", 1)[0] for b in pipeline.batch(50).to_numpy() for key in b["__key__"]]
    total = sum(weight for weight, _, _ in files)
    for i, (weight, _, _) in enumerate(files):
        assert abs(sum(key.endswith(f"f{i}") for key in keys) - 200 * weight / total) <= 2
    assert len(keys) == 200


def test_lists_that_say_nothing(tmp_path: Path):
    path = tmp_path / "list.txt"
    for text, what in [
        ("x y z", "line 1"),
        ("1 2 3 4", "line 1"),
        ("", "no file"),
        ("0 a b", "add up to 0"),
        ("-1 a b", "-1"),
    ]:
        path.write_text(text)
        with pytest.raises(ValueError, match=what):
            infeed.file_list(path, 8)
    prefix = corpora.write(tmp_path, "x", [[1, 2, 3]])
    path.write_text(f"1 {prefix}\n")
    assert infeed.file_list(path, 3).rows() == 1
    with pytest.raises(ValueError, match="samples"):
        infeed.file_list(path, 3, sampling="megatron")


@pytest.mark.parametrize("sampling", ["windows", "megatron"])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_ranks_and_resume(tmp_path: Path, sampling: str, world: int):
    prefix = corpora.write(tmp_path, "x", corpora.random_documents(80, 8))
    pipeline = infeed.tokens(prefix, 8, sampling=sampling).shuffle(seed=5).batch(4)
    keys = {key for b in pipeline.to_numpy() for key in b["__key__"]}
    assert len(keys) == pipeline.rows()
    seen: list[str] = []
    for rank in range(world):
        loader = pipeline.to_numpy(rank=rank, world_size=world)
        batches = iter(loader)
        first = [next(batches) for _ in range(3)]
        state = json.loads(json.dumps(loader.state_dict()))
        rest = [np.array(b["tokens"]) for b in batches]
        again = pipeline.to_numpy(rank=rank, world_size=world)
        again.load_state_dict(state)
        resumed = list(again)
        assert len(rest) == len(resumed)
        for a, b in zip(rest, resumed, strict=True):
            np.testing.assert_array_equal(a, b["tokens"])
        seen += [key for b in [*first, *resumed] for key in b["__key__"]]
    assert set(seen) == keys


def test_shuffles_differ_and_repeat(tmp_path: Path):
    prefix = corpora.write(tmp_path, "x", corpora.random_documents(80, 9))
    pipeline = infeed.tokens(prefix, 8)
    loader = pipeline.shuffle(seed=1).batch(1000).to_numpy()
    one, two = (np.array(next(iter(loader))["tokens"]) for _ in range(2))
    again = rows(pipeline.shuffle(seed=1), batch=1000, threads=1)
    np.testing.assert_array_equal(again, one)
    assert (one != two).any()
    np.testing.assert_array_equal(np.sort(one, axis=None), np.sort(two, axis=None))


def test_blends(tmp_path: Path):
    a = infeed.tokens(corpora.write(tmp_path, "a", [[1] * 300]), 3)
    b = infeed.tokens(corpora.write(tmp_path, "b", [[2] * 300], code=4), 3)
    found = rows(infeed.blend([a, b], [0.75, 0.25], length=80))[:, 0]
    assert (found == 1).sum() == 60


def drifting(tmp_path: Path) -> str:
    """A corpus whose end tokens (9) the index does not count."""
    prefix = corpora.write(tmp_path, "x", [[1, 2], [3], [4, 5, 6]])
    np.array([1, 2, 9, 3, 9, 4, 5, 6, 9], np.uint16).tofile(prefix + ".bin")
    return prefix


def test_drift_is_flagged_and_repaired(tmp_path: Path):
    prefix = drifting(tmp_path)
    with pytest.raises(infeed.FormatError, match=r'one for each document.*drift="repair"'):
        infeed.tokens(prefix, 3).plan  # noqa: B018
    repaired = infeed.tokens(prefix, 9, drift="repair", document_ids=True)
    np.testing.assert_array_equal(rows(repaired), [[1, 2, 9, 3, 9, 4, 5, 6, 9]])
    np.testing.assert_array_equal(rows(repaired, "document_ids"), [[0, 0, 0, 1, 1, 2, 2, 2, 2]])
    assert "counted in" in repaired.explain()
    np.testing.assert_array_equal(rows(infeed.tokens(prefix, 6, drift="ignore")), [[1, 2, 9, 3, 9, 4]])


def test_damaged_indices(tmp_path: Path):
    documents = [[1, 2, 3], [4, 5], [6]]
    prefix = corpora.write(tmp_path, "x", documents)
    good, bin_ = Path(prefix + ".idx").read_bytes(), Path(prefix + ".bin").read_bytes()

    def fails(idx: bytes, data: bytes, what: str) -> None:
        Path(prefix + ".idx").write_bytes(idx)
        Path(prefix + ".bin").write_bytes(data)
        for read in ("mmap", "pread"):
            with pytest.raises(infeed.FormatError, match=what):
                infeed.tokens(prefix, 1, read=read).plan  # noqa: B018

    fails(good, bin_[:-2], r"sequence 2 has 1 tokens at byte 10.*longer than its bin")
    fails(good, bin_[:4], r"sequence 0 ")
    fails(good, bin_ + b"\0\0", r"2 bytes more")
    fails(b"WRONGIDX" + good[8:], bin_, r"does not begin like an index")
    fails(good[:-1], bin_, r"cut short")
    fails(good[:20], bin_, r"ends before")
    fails(good[:34] + b"\xff\xff\xff\xff" + good[38:], bin_, r"sequence 0 has a length of -1")
    fails(good[:18] + b"\xff" * 8 + good[26:], bin_, r"more than any file has")
    fails(good[:17] + b"\x0c" + good[18:], bin_, r"element type 12")
    fails(b"", bin_, r"does not begin like an index")
    Path(prefix + ".idx").write_bytes(good)
    Path(prefix + ".bin").unlink()
    with pytest.raises(FileNotFoundError, match=r"x\.bin"):
        infeed.tokens(prefix, 1).plan  # noqa: B018
    with pytest.raises(FileNotFoundError):
        infeed.tokens(tmp_path / "nothing", 1).plan  # noqa: B018


def test_ids_beyond_the_vocabulary(tmp_path: Path):
    prefix = corpora.write(tmp_path, "x", [[1, 2, 3, 500, 4, 5]])
    pipeline = infeed.tokens(prefix, 2, vocab=500, dtype="int16").batch(1)
    with pytest.raises(infeed.SampleError, match=r"token 3 of .*x\.bin. has the id 500.*vocabulary of 500") as caught:
        list(pipeline.to_numpy())
    assert "row 1" in str(caught.value)
    kept = [row for b in pipeline.to_numpy(on_error="skip") for row in np.array(b["tokens"]).tolist()]
    assert kept == [[1, 2], [4, 5]]
    assert len(list(infeed.tokens(prefix, 2, vocab=501).batch(1).to_numpy())) == 3
    for dtype in ("int8", "uint8", "int16"):
        with pytest.raises(ValueError, match="may not fit"):
            infeed.tokens(prefix, 2, dtype=dtype).plan  # noqa: B018


def test_wrong_arguments(tmp_path: Path):
    prefix = corpora.write(tmp_path, "x", [[1, 2, 3]])
    for how, what in [
        ({"sampling": "gpt"}, "windows, megatron"),
        ({"part": "valid"}, "split"),
        ({"samples": 4}, "megatron"),
        ({"dtype": "float32"}, "whole numbers"),
        ({"drift": "mend"}, "error, repair, ignore"),
        ({"read": "aio"}, "mmap, pread"),
    ]:
        with pytest.raises(ValueError, match=what):
            infeed.tokens(prefix, 1, **how).plan  # noqa: B018


def test_recipes_hold_what_differs(tmp_path: Path):
    pipeline = infeed.tokens(tmp_path / "x", 8, labels=True)
    assert pipeline.recipe["source"]["args"] == {"length": 8, "labels": True}
    assert pipeline.recipe["source"]["format"] == "tokens"
