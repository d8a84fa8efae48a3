"""Fields of varying shape in batches: padded, with masks, laid end to end; and labels that losses accept."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

import infeed
from infeed import transforms as T

LENGTHS = [3, 0, 5, 1, 4, 2, 7]
MASK, VOCAB = 4, 100


@pytest.fixture
def data(tmp_path: Path) -> infeed.Pipeline:
    """Tokens and scores of varying length, a number and a text."""
    path = tmp_path / "rows.jsonl"
    rows = [{"tokens": list(range(10, 10 + n)), "scores": [0.5] * (2 * n), "n": n, "text": "x" * n} for n in LENGTHS]
    # The types of fields come from the first rows.
    rows[1]["scores"] = [0.5]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return infeed.jsonl(str(path))


@pytest.fixture
def boxes(tmp_path: Path) -> infeed.Pipeline:
    """Boxes, [n, 4], as many per sample as LENGTHS says."""
    with infeed.ShardWriter(tmp_path / "b-%03d.tar", maxcount=99) as out:
        for i, n in enumerate(LENGTHS):
            out.write({"__key__": f"{i:03d}", "boxes.npy": box(i, n), "cls": i})
    return npy(infeed.open(str(tmp_path / "b-*.tar")).decode(cls="int"), "f32", [-1, 4], "boxes.npy")


def npy(pipeline: infeed.Pipeline, dtype: str, shape: list[int], field: str = "npy") -> infeed.Pipeline:
    """Decode arrays of which the plan knows dtype and rank."""
    args = {"dtype": dtype, "shape": shape}
    return pipeline._then(op="decode", fields={field: {"name": "npy", "args": args}})


def box(row: int, count: int) -> np.ndarray:
    return np.full((count, 4), row, np.float32) + np.arange(count, dtype=np.float32)[:, None] / 10


def only(pipeline: infeed.Pipeline, **options):
    return next(iter(pipeline.to_numpy(**options)))


# Padding.


def test_pad_values_of_fields(data):
    batch = only(data.batch(7, ragged="pad", pad_value={"tokens": -1}))
    for row, n in enumerate(LENGTHS):
        assert batch["tokens"][row].tolist() == [*range(10, 10 + n), *[-1] * (7 - n)]
        assert not batch["scores"][row][max(2 * n, 1) :].any()


def test_one_field_is_padded_and_the_others_stay_lists(data):
    batch = only(data.batch(7, ragged={"tokens": "pad"}, pad_value=3))
    assert batch["tokens"].shape == (7, 7) and batch["tokens"][1].tolist() == [3] * 7
    assert isinstance(batch["scores"], list) and len(batch["scores"][2]) == 10


def test_labels_are_padded_with_what_losses_ignore(data):
    masked = data.select("tokens").mask_tokens(mask=MASK, vocab=VOCAB, probability=0.5)
    batch = only(masked.batch(7, ragged="pad"))
    behind = np.arange(7) >= np.array(LENGTHS)[:, None]
    assert batch["labels"].dtype == np.int64
    assert (batch["labels"][behind] == -100).all() and (batch["tokens"][behind] == 0).all()
    # A number is for the other fields; a name decides.
    batch = only(masked.batch(7, ragged="pad", pad_value=9))
    assert (batch["labels"][behind] == -100).all() and (batch["tokens"][behind] == 9).all()
    batch = only(masked.batch(7, ragged="pad", pad_value={"labels": -7}))
    assert (batch["labels"][behind] == -7).all()
    other = data.select("tokens").mask_tokens(mask=MASK, vocab=VOCAB, ignore=-1)
    assert (only(other.batch(7, ragged="pad"))["labels"][behind] == -1).all()
    # Also for a copy of the labels, and after a transform that says nothing.
    later = masked.views("labels", 1, to="same", keep=True).map(T.Truncate(6), on=["labels", "same_0", "tokens"])
    batch = only(later.batch(7, ragged="pad"))
    assert (batch["labels"][1] == -100).all() and (batch["same_0"] == batch["labels"]).all()
    assert "labels: array i64, padded with -100" in masked.batch(7, ragged="pad").explain()


def test_targets_of_spans_are_labels(data):
    spans = data.select("tokens").corrupt_spans(sentinel_start=VOCAB)
    batch = only(spans.batch(7, ragged="pad"), on_error="skip")
    assert batch["targets"].dtype == np.int64 and (batch["targets"] == -100).any()


@pytest.mark.parametrize("dtype", ["int32", "int64", "uint16"])
def test_torch_takes_the_labels(dtype, tmp_path):
    """The script that failed: int32 labels, padded with 0."""
    torch = pytest.importorskip("torch")
    arrays = infeed.arrays(tokens=np.arange(12, 44).reshape(4, 8).astype(dtype))
    batch = next(iter(arrays.mask_tokens(mask=MASK, vocab=VOCAB, probability=0.9).batch(4).to_torch()))
    loss = torch.nn.functional.cross_entropy(torch.zeros(32, VOCAB), batch["labels"].reshape(-1))
    assert abs(loss.item() - np.log(VOCAB)) < 1e-4


def test_packed_labels_are_int64_whatever_the_tokens(data):
    batch = only(data.pack(4, dtype="int32", labels=True).batch(2))
    assert (batch["tokens"].dtype, batch["labels"].dtype) == (np.int32, np.int64)
    batch = only(data.pack(8, dtype="uint8", mode="best_fit", labels=True).batch(2))
    assert (batch["tokens"].dtype, batch["labels"].min()) == (np.uint8, -100)


def test_a_single_field_is_refused(data):
    for transform in (T.MaskTokens(MASK, VOCAB), T.CorruptSpans(VOCAB)):
        with pytest.raises(infeed.PlanError, match=r'on=\["tokens", "(labels|targets)"\]') as error:
            data.map(transform, on="tokens").batch(2).to_numpy()
        assert ".views(" in str(error.value) and (
            "mask_tokens(" in str(error.value) or "corrupt_spans(" in str(error.value)
        )


# Masks.


def test_masks(data):
    batch = only(data.batch(7, ragged="pad", pad_mask=True, pad_multiple=4))
    assert list(batch) == ["tokens", "scores", "n", "text", "tokens_mask", "scores_mask"]
    assert batch["tokens_mask"].dtype == bool
    assert (batch["tokens_mask"] == (np.arange(8) < np.array(LENGTHS)[:, None])).all()
    assert batch["scores_mask"].shape == batch["scores"].shape == (7, 16)


def test_a_mask_by_name(data):
    for wanted in ("attention_mask", {"tokens": "attention_mask"}):
        batch = only(data.select("tokens", "text").batch(4, ragged="pad", pad_mask=wanted))
        assert batch["attention_mask"].sum(1).tolist() == LENGTHS[:4]
    # The tokens, because the others are labels.
    masked = data.select("tokens").mask_tokens(mask=MASK, vocab=VOCAB)
    batch = only(masked.batch(4, ragged="pad", pad_mask="attention_mask"))
    assert list(batch) == ["tokens", "labels", "attention_mask"]
    assert ((batch["labels"] != -100) <= batch["attention_mask"]).all()


def test_masks_of_more_axes(boxes, tmp_path):
    batch = only(boxes.batch(7, ragged="pad", pad_mask=True))
    assert batch["boxes.npy"].shape == (7, 7, 4)
    assert (batch["boxes.npy_mask"] == (np.arange(7) < np.array(LENGTHS)[:, None])).all()
    # Where more than the first axis varies, the mask has all of them.
    with infeed.ShardWriter(tmp_path / "m-%03d.tar", maxcount=99) as out:
        for i, shape in enumerate([(1, 3), (2, 2), (0, 0)]):
            out.write({"__key__": f"{i}", "npy": np.ones(shape, np.float32)})
    pipe = npy(infeed.open(str(tmp_path / "m-*.tar")), "f32", [-1, -1])
    batch = only(pipe.batch(3, ragged="pad", pad_mask={"npy": "there"}))
    assert batch["there"].shape == (3, 2, 3)
    assert (batch["there"] == (batch["npy"] == 1)).all()


def test_tuples_name_masks_and_offsets(data):
    pipe = data.batch(4, ragged={"tokens": "pad", "scores": "flat"}, pad_mask=True)
    mask, n = only(pipe.to_tuple("tokens_mask", "n"))
    assert mask.sum(1).tolist() == n.tolist() == LENGTHS[:4]
    tokens, scores, ends = only(pipe.to_tuple("tokens", "scores", "scores_offsets"))
    assert tokens.shape == (4, 5) and len(scores) == ends[-1]
    with pytest.raises(infeed.PlanError, match="no field `scores_mask`"):
        pipe.to_tuple("scores_mask").to_numpy()


# End to end.


def test_flat(boxes):
    for ragged in ("flat", {"boxes.npy": "flat"}):
        batches = list(boxes.batch(3, ragged=ragged).to_numpy())
        rows = []
        for batch in batches:
            values, ends = batch["boxes.npy"], batch["boxes.npy_offsets"]
            assert values.dtype == np.float32 and values.shape == (ends[-1], 4)
            assert ends.dtype == np.int64 and len(ends) == len(batch["cls"]) + 1
            rows += [values[a:b] for a, b in itertools.pairwise(ends)]
        for row, n in enumerate(LENGTHS):
            np.testing.assert_array_equal(rows[row], box(row, n))


def test_flat_and_the_rest(data):
    batch = only(data.batch(7, ragged="flat"))
    assert batch["tokens_offsets"].tolist() == [0, *np.cumsum(LENGTHS)]
    assert batch["text"] == ["x" * n for n in LENGTHS] and batch["n"].tolist() == LENGTHS
    both = only(data.batch(7, ragged={"tokens": "pad", "scores": "flat"}))
    assert both["tokens"].shape == (7, 7) and both["scores"].shape == (both["scores_offsets"][-1],)
    told = data.batch(7, ragged="flat").explain()
    assert "samples end to end" in told and "tokens_offsets" in told


def test_all_samples_may_be_empty(data):
    nothing, empty, *_ = data.filter("n == 0").batch(1, ragged="flat").to_numpy()
    assert nothing["tokens"].shape == empty["tokens"].shape == (0,)
    assert (nothing["tokens_offsets"].tolist(), empty["tokens_offsets"].tolist()) == ([0], [0, 0])
    nothing, batch, *_ = data.filter("n == 0").select("tokens", "n").batch(1, ragged="pad", pad_mask=True).to_numpy()
    assert nothing["tokens_mask"].shape == (0, 0)
    assert batch["tokens"].shape == batch["tokens_mask"].shape == (1, 0)


def test_a_fixed_shape_lies_flat_when_asked_for():
    arrays = infeed.arrays(x=np.arange(24).reshape(4, 3, 2))
    batch = only(arrays.batch(4, ragged={"x": "flat"}))
    assert batch["x"].shape == (12, 2) and batch["x_offsets"].tolist() == [0, 3, 6, 9, 12]
    assert only(arrays.batch(4, ragged="flat"))["x"].shape == (4, 3, 2)


def test_misfits_follow_the_policy(tmp_path):
    with infeed.ShardWriter(tmp_path / "b-%03d.tar", maxcount=99) as out:
        for i, shape in enumerate([(2, 4), (3, 4), (2, 5), (0, 4)]):
            out.write({"__key__": f"s{i}", "npy": np.full(shape, i, np.float32)})
    pipe = npy(infeed.open(str(tmp_path / "b-*.tar")), "f32", [-1, -1])
    pipe = pipe.batch(4, ragged="flat")
    with pytest.raises(infeed.SampleError, match=r"s2.*\[2, 5\]"):
        only(pipe)
    loader = pipe.to_numpy(on_error="skip")
    batch = next(iter(loader))
    assert batch["npy_offsets"].tolist() == [0, 2, 5, 5] and batch["__key__"] == ["s0", "s1", "s3"]
    assert loader.stats()["bad"]


def test_flat_stays_within_the_memory(tmp_path):
    with infeed.ShardWriter(tmp_path / "b-%03d.tar", maxcount=99) as out:
        for i, size in enumerate([10] + [1_000_000] * 12):
            out.write({"__key__": f"s{i}", "npy": np.zeros(size, np.uint8)})
    pipe = npy(infeed.open(str(tmp_path / "b-*.tar")), "u8", [-1])
    for ragged in ("flat", "pad"):
        with pytest.raises(infeed.SampleError, match="memory="):
            only(pipe.batch(13, ragged=ragged), memory="8MB", threads=1, prefetch=1)


# What is refused.


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ragged": "pad", "pad_value": {"tokns": 1}}, "no field `tokns`; the fields are tokens, scores"),
        ({"ragged": {"tokns": "pad"}}, "no field `tokns`; the fields are"),
        ({"ragged": "pad", "pad_mask": {"tokns": "m"}}, "no field `tokns`; the fields are"),
        ({"ragged": "pad", "pad_value": {"tokens": 0.5}}, "0.5, which i64 cannot hold"),
        ({"ragged": "pad", "pad_value": 0.5}, "pads `tokens` with 0.5, which i64 cannot hold"),
        ({"ragged": "pad", "pad_value": {"text": 1}}, "never padded"),
        ({"ragged": {"text": "pad"}}, "stays a list"),
        ({"ragged": {"text": "flat"}}, "stays a list"),
        ({"ragged": {"n": "flat"}}, "single number"),
        ({"ragged": "pad", "pad_mask": {"n": "mask"}}, "is not padded"),
        ({"ragged": "pad", "pad_mask": ""}, "empty name"),
        ({"ragged": "pad", "pad_mask": {"tokens": ""}}, "empty name"),
        ({"ragged": "pad", "pad_mask": {"tokens": "n"}}, "two fields would be called `n`"),
        ({"ragged": "pad", "pad_mask": {"tokens": "m", "scores": "m"}}, "two fields would be called `m`"),
        ({"ragged": {"tokens": "flat"}, "pad_mask": True}, 'belongs to ragged="pad"'),
        ({"ragged": "list", "pad_mask": True}, 'belongs to ragged="pad"'),
        ({"ragged": "flat", "pad_length": 4}, 'belongs to ragged="pad"'),
        ({"ragged": "list", "pad_value": {"tokens": 1}}, 'belongs to ragged="pad"'),
        ({"ragged": {"tokens": "flatt"}}, "ragged\\['tokens'\\] must be"),
        ({"ragged": "pad", "pad_value": float("nan")}, "finite"),
        ({"ragged": "flat", "collate": list}, "collate"),
        ({"ragged": "pad", "pad_mask": True, "collate": list}, "collate"),
    ],
)
def test_slips_are_named(data, options, said):
    with pytest.raises(ValueError, match=said):
        data.batch(2, **options).to_numpy()


@pytest.mark.parametrize(
    "options", [{"pad_value": "x"}, {"pad_value": {"tokens": None}}, {"pad_mask": 3}, {"pad_mask": {"tokens": 3}}]
)
def test_wrong_types_are_named(data, options):
    with pytest.raises(TypeError, match=r"pad_(value|mask)"):
        data.batch(2, ragged="pad", **options)


def test_names_that_clash(data, tmp_path):
    clash = data.select("tokens").views("tokens", 1, to="tokens_offsets", keep=True)
    assert "tokens_offsets_0" in only(clash.batch(2, ragged="flat"))
    path = tmp_path / "clash.jsonl"
    path.write_text(json.dumps({"a": [1, 2], "a_offsets": 3, "a_mask": 4}) + "\n")
    for options in ({"ragged": "flat"}, {"ragged": "pad", "pad_mask": True}):
        with pytest.raises(infeed.PlanError, match="two fields would be called `a_"):
            infeed.jsonl(str(path)).batch(1, **options).to_numpy()


def test_a_name_for_several_fields(data):
    twice = data.select("tokens", "scores").views("tokens", 1, to="again", keep=True)
    with pytest.raises(infeed.PlanError, match=r'tokens, scores, again_0; say which, pad_mask=\{"tokens"'):
        twice.batch(2, ragged="pad", pad_mask="mask").to_numpy()


def test_nothing_to_mask():
    with pytest.raises(infeed.PlanError, match="finds no field"):
        infeed.arrays(x=np.zeros((3, 2))).batch(1, ragged="pad", pad_mask=True).to_numpy()


# Doors.


def test_torch(data):
    torch = pytest.importorskip("torch")
    pipe = data.batch(4, ragged={"tokens": "pad", "scores": "flat"}, pad_mask="attention_mask")
    want = only(pipe)
    for got in (next(iter(pipe.to_torch())), next(iter(pipe.to_torch(device="cpu")))):
        assert got["attention_mask"].dtype == torch.bool and got["scores_offsets"].dtype == torch.int64
        for name in ("tokens", "attention_mask", "scores", "scores_offsets"):
            np.testing.assert_array_equal(got[name].numpy(), want[name])
    assert next(iter(pipe.to_numpy().dummy()))["scores_offsets"].shape == (5,)


def test_jax(data):
    jax = pytest.importorskip("jax")
    pipe = data.batch(4, ragged={"tokens": "pad", "scores": "flat"}, pad_mask=True)
    want, got = only(pipe), next(iter(pipe.to_jax()))
    for name in ("tokens", "tokens_mask", "scores", "scores_offsets"):
        assert isinstance(got[name], jax.Array)
        np.testing.assert_array_equal(np.asarray(got[name]), want[name])
    place = jax.sharding.NamedSharding(jax.make_mesh((1,), ("x",)), jax.sharding.PartitionSpec("x"))
    with pytest.raises(ValueError, match="end to end"):
        pipe.to_jax(sharding=place, rank=0, world_size=1)


def test_arrow(data, boxes):
    pa = pytest.importorskip("pyarrow")
    loader = data.batch(4, ragged={"tokens": "pad", "scores": "flat"}, pad_mask=True).to_arrow()
    assert loader.schema.names == ["tokens", "scores", "n", "text", "tokens_mask"]
    batch = next(iter(loader))
    assert batch["scores"].to_pylist() == [[0.5] * max(2 * n, 1) for n in LENGTHS[:4]]
    assert batch["tokens_mask"].to_pylist()[1] == [False] * 5
    table = pa.Table.from_batches(list(boxes.batch(3, ragged="flat").to_arrow()))
    assert [len(row) for row in table["boxes.npy"].to_pylist()] == LENGTHS
    assert table["boxes.npy"].to_pylist()[2] == box(2, 5).tolist()


# Python functions.


def _longer(sample):
    return {**sample, "twice": np.repeat(sample["tokens"], 2)}


@pytest.mark.parametrize("workers", ["consumer", "threads", "processes"])
def test_functions(data, workers):
    pipe = data.select("tokens", "n").map(_longer)
    pipe = pipe.batch(3, ragged={"tokens": "flat", "twice": "pad"}, pad_value={"twice": -1}, pad_mask={"twice": "m"})
    with pipe.to_numpy(workers=workers, num_workers=1) as loader:
        batch = next(iter(loader))
    assert batch["tokens"].tolist() == [10, 11, 12, 10, 11, 12, 13, 14]
    assert batch["tokens_offsets"].tolist() == [0, 3, 3, 8]
    assert batch["twice"][0].tolist() == [10, 10, 11, 11, 12, 12, -1, -1, -1, -1]
    assert batch["m"].sum(1).tolist() == [6, 0, 10]


@pytest.mark.parametrize("workers", ["consumer", "threads", "processes"])
def test_functions_see_samples_without_padding(data, workers):
    pipe = data.select("tokens", "n").map(_count)
    for multiple, width in ((None, 5), (4, 8)):
        batch = only(pipe.batch(3, ragged="pad", pad_value=-1, pad_multiple=multiple, pad_mask=True), workers=workers)
        assert batch["counted"].tolist() == LENGTHS[:3]
        assert batch["tokens"].shape == (3, width)
        assert batch["tokens"][0].tolist() == [10, 11, 12] + [-1] * (width - 3)
        assert batch["tokens_mask"].sum(1).tolist() == LENGTHS[:3]


def _count(sample):
    assert len(sample["tokens"]) == sample["n"] and set(sample) == {"tokens", "n"}
    return {**sample, "counted": len(sample["tokens"])}


def test_functions_keep_the_padding_of_labels(data):
    masked = data.select("tokens").mask_tokens(on="tokens", labels="labels", mask=MASK, vocab=VOCAB).map(dict)
    batch = only(masked.batch(3, ragged="pad"))
    assert (batch["labels"][1] == -100).all() and (batch["tokens"][1] == 0).all()


def test_lengths_are_kept_after_functions(data):
    pipe = data.select("tokens", "n").map(dict)
    # All of one length, and still padded.
    one = only(pipe.batch(1, ragged="pad", pad_length=9))
    assert one["tokens"].shape == (1, 9)
    assert only(pipe.map(lambda s: s | {"tokens": s["tokens"][:2]}).batch(7, ragged="pad", pad_length=4))[
        "tokens"
    ].shape == (7, 4)
    with pytest.raises(ValueError, match=r"(?s)'tokens': a sample is 5 long, and pad_length is 4.*row 2$"):
        list(pipe.batch(3, ragged="pad", pad_length=4).to_numpy())
    with pipe.batch(7, ragged="pad", pad_length=4).to_numpy(on_error="skip") as loader:
        (batch,) = loader
        assert batch["n"].tolist() == [3, 0, 1, 4, 2]


def test_lengths_of_fields_that_functions_make_are_named(data):
    pipe = data.select("tokens", "n").map(_longer)
    with pytest.raises(ValueError, match="'twice': say whether"):
        only(pipe.batch(3, ragged="pad", pad_multiple=8))
    assert only(pipe.batch(3, ragged={"tokens": "pad", "twice": "pad"}, pad_multiple=8))["twice"].shape == (3, 16)


def test_padding_after_functions_stays_within_the_memory(data):
    def grow(sample):
        return {"x": np.zeros((1 + 1000 * (sample["n"] == 5), 1 + 1000 * (sample["n"] == 3)), np.uint8)}

    pipe = data.map(grow).batch(7, ragged={"x": "pad"})
    with pytest.raises(ValueError, match=r"more than .*raise memory="):
        only(pipe, memory="4MB")


def test_functions_on_batches_see_what_the_consumer_gets(data):
    seen = []
    pipe = data.select("tokens").batch(3, ragged="flat").map_batch(lambda b: seen.append(set(b)) or b)
    batch = only(pipe)
    assert seen[0] == {"tokens", "tokens_offsets"} and batch["tokens_offsets"].tolist() == [0, 3, 3, 8]
    masked = data.select("tokens").batch(3, ragged="pad", pad_mask=True).map_batch(dict)
    assert only(masked)["tokens_mask"].sum(1).tolist() == LENGTHS[:3]


def test_functions_and_slips(data):
    pipe = data.select("tokens", "n").map(_longer)
    with pytest.raises(ValueError, match="the fields are tokens, n, twice"):
        only(pipe.batch(3, ragged={"twic": "pad"}))
    with pytest.raises(ValueError, match="not padded"):
        only(pipe.batch(3, ragged={"twice": "pad"}, pad_mask={"n": "m"}))
    with pytest.raises(TypeError, match="make samples dicts"):
        only(data.map(lambda s: (s["tokens"],)).batch(3, ragged={"tokens": "flat"}))
    with pytest.raises(ValueError, match="name those"):
        infeed.wrap([{"x": np.arange(n)} for n in LENGTHS]).batch(2, ragged="flat").to_numpy()


def test_functions_in_arrow(data):
    pytest.importorskip("pyarrow")
    pipe = data.select("tokens", "n").map(_longer).batch(3, ragged={"twice": "flat"})
    batch = next(iter(pipe.to_arrow()))
    assert [len(row) for row in batch["twice"].to_pylist()] == [6, 0, 10]


# States.


def test_layouts_do_not_change_states(data):
    """A run continues from a state that was written with another layout, and goes on with the same rows."""
    plain = data.shuffle(seed=3).batch(2)
    loader = plain.to_numpy()
    first = [batch["__row__"].tolist() for _, batch in zip(range(2), loader, strict=False)]
    state = loader.state_dict()
    whole = [batch["__row__"].tolist() for batch in plain.to_numpy()]
    assert whole[:2] == first
    for options in ({"ragged": "flat"}, {"ragged": "pad", "pad_mask": True, "pad_value": {"tokens": 5}}):
        other = data.shuffle(seed=3).batch(2, **options).to_numpy()
        other.load_state_dict(state)
        assert [batch["__row__"].tolist() for batch in other] == whole[2:]


def test_recipes_keep_their_hash(data):
    """A number is written as before; the hash of a recipe without the new options is that of older versions."""
    recipe = data.batch(4, ragged="pad", pad_value=3).recipe["stage"][-1]
    assert recipe == {"op": "batch", "size": 4, "last": "short", "ragged": "pad", "pad_value": 3.0}
    each = data.batch(4, ragged={"tokens": "pad"}, pad_value={"tokens": 3}, pad_mask={"tokens": "m"})
    again = infeed.Pipeline(each.recipe, each._given)
    assert again == each and again.plan.hash == each.plan.hash != data.batch(4).plan.hash
