"""Tokenizers as objects of ``tokenizers`` and transformers, and tokens by their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import infeed


def rows(pipeline):
    """All rows of a pipeline, as a list of dicts of lists."""
    batches = list(pipeline.batch(1).to_numpy())
    names = [name for name in batches[0] if not name.startswith("__")]
    return [{name: batch[name][0].tolist() for name in names} for batch in batches]


def tokenizer():
    tokenizers = pytest.importorskip("tokenizers")
    words = {"<unk>": 0, "<mask>": 1, "<s>": 2, "a": 3, "b": 4, "c": 5}
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="<unk>"))
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.add_special_tokens(["<mask>", "<s>", "<end>"])
    return made


class Fast:
    """As a fast tokenizer of transformers."""

    def __init__(self, backend):
        self.backend_tokenizer = backend


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("INFEED_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "tokenizers"


TEXTS = {"text": ["a b c", "b", "c a"]}


def test_tokenizers_as_objects(cache, tmp_path):
    made = tokenizer()
    made.save(str(tmp_path / "tokenizer.json"))
    want = rows(infeed.open(TEXTS).tokenize(tmp_path / "tokenizer.json"))
    assert want[0]["tokens"] == [3, 4, 5]
    pipes = [
        infeed.open(TEXTS).tokenize(made),
        infeed.open(TEXTS).tokenize(Fast(made)),
        infeed.open(TEXTS).views("text", 1, to="tokens").map(infeed.transforms.Tokenize(made), on="tokens_0"),
    ]
    assert rows(pipes[0]) == rows(pipes[1]) == want
    assert [r["tokens_0"] for r in rows(pipes[2])] == [r["tokens"] for r in want]
    assert len(list(cache.iterdir())) == 1, "one tokenizer is kept once"


def test_a_tokenizer_keeps_its_identity(cache):
    """Settings of single calls are no part of it; its tokens are."""
    one, other = tokenizer(), tokenizer()
    other.enable_truncation(2)
    other.enable_padding()
    first = infeed.open(TEXTS).tokenize(one)
    again = infeed.open(TEXTS).tokenize(other)
    assert first.recipe == again.recipe and other.truncation is not None
    more = tokenizer()
    more.add_tokens(["d"])
    assert infeed.open(TEXTS).tokenize(more).recipe != first.recipe
    state = first.batch(1).to_numpy().state_dict()
    again.batch(1).to_numpy().load_state_dict(state)
    with pytest.raises(infeed.StateError):
        infeed.open(TEXTS).tokenize(more).batch(1).to_numpy().load_state_dict(state)


def test_a_fast_tokenizer_of_transformers(cache):
    transformers = pytest.importorskip("transformers")
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer(), unk_token="<unk>")
    found = [r["tokens"] for r in rows(infeed.open(TEXTS).tokenize(fast))]
    assert found == [fast(text)["input_ids"] for text in TEXTS["text"]]


def test_what_is_no_tokenizer(cache):
    class Slow:
        __module__ = "transformers.models.slow"

    with pytest.raises(TypeError, match=r"got Slow: it has no tokenizer.json; load the fast one"):
        infeed.open(TEXTS).tokenize(Slow())
    with pytest.raises(TypeError, match=r"got int: give the path of a tokenizer.json, or a tokenizers.Tokenizer"):
        infeed.open(TEXTS).tokenize(3)


def test_a_cache_that_cannot_be_written(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("INFEED_CACHE", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    pipeline = infeed.open(TEXTS).tokenize(tokenizer())
    assert rows(pipeline)[1]["tokens"] == [4]
    kept = Path(pipeline.recipe["stage"][-1]["args"]["tokenizer"])
    assert kept.parent.stat().st_mode & 0o077 == 0, "another user could change it"


def test_tokens_by_name(cache):
    data = infeed.open(TEXTS).tokenize(tokenizer())
    named = data.mask_tokens(mask="<mask>", special=["<s>", "<end>"], probability=0.5).recipe
    assert named == data.mask_tokens(mask=1, vocab=7, special=[2, 6], probability=0.5).recipe
    assert data.pack(4, eod="<end>", pad="<unk>").recipe == data.pack(4, eod=6, pad=0).recipe
    assert data.windows(4, eod="<end>").recipe == data.windows(4, eod=6).recipe
    spans = data.corrupt_spans(sentinel_start="<end>", eos="<s>").recipe
    assert spans == data.corrupt_spans(sentinel_start=6, eos=2).recipe
    joined = infeed.concat([data, data]).mask_tokens(mask="<mask>")
    assert joined.recipe["stage"][-1]["args"]["mask"] == 1


def test_names_that_are_no_tokens(cache):
    data = infeed.open(TEXTS).tokenize(tokenizer())
    with pytest.raises(ValueError, match=r"mask='<msk>': .* has no such token; did you mean '<mask>'\?"):
        data.mask_tokens(mask="<msk>")
    with pytest.raises(
        ValueError, match=r"mask='<mask>' is found in a tokenizer, and there is none before this stage"
    ):
        infeed.arrays(tokens=np.ones((2, 3), np.int64)).mask_tokens(mask="<mask>", vocab=9)
    with pytest.raises(TypeError, match="MaskTokens needs mask"):
        data.mask_tokens()
    more = tokenizer()
    more.add_tokens(["<z>"])
    tokenizers = pytest.importorskip("tokenizers")
    other = tokenizers.Tokenizer(tokenizers.models.WordLevel({"<mask>": 0, "a": 1}, unk_token="a"))
    with pytest.raises(ValueError, match=r"mask='<mask>' is \[0, 1\] in the tokenizers of this pipeline"):
        infeed.concat([data, infeed.open(TEXTS).tokenize(other)]).mask_tokens(mask="<mask>")


def test_unigram_vocabularies(cache):
    tokenizers = pytest.importorskip("tokenizers")
    made = tokenizers.Tokenizer(tokenizers.models.Unigram([("<unk>", 0.0), ("<m>", -1.0), ("a", -2.0)], unk_id=0))
    recipe = infeed.open(TEXTS).tokenize(made).mask_tokens(mask="<m>").recipe
    assert (recipe["stage"][-1]["args"]["mask"], recipe["stage"][-1]["args"]["vocab"]) == (1, 3)
