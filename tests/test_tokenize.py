"""Text to tokens, compared with the tokenizers package."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import infeed
from infeed import transforms as T

tokenizers = pytest.importorskip("tokenizers")

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers  # noqa: E402

CORPUS = [
    "The quick brown fox jumps over the lazy dog, and they'll say it's what we've seen.",
    "def encode(text):\n    return [t for t in text.split()]  # twelve 12 and 1234 tokens\n\n\tend",
    "naïve café größe straße 中文字符和日本語のテキスト русский текст العربية हिन्दी 👩‍👩‍👧‍👦 emoji",
    "aaaaaaaaaaaaaaaa bbbbbbbb abababab 00000000 11111111 ........ --------        x",
    "the the the then there their them these those that this than thing think through thorough",
]

LLAMA = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def byte_level(**options) -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(**{"add_prefix_space": False, **options})
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=500,
        special_tokens=["<|endoftext|>", "<|pad|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(CORPUS * 10, trainer)
    return made


def llama() -> Tokenizer:
    made = byte_level()
    split = pre_tokenizers.Split(tokenizers.Regex(LLAMA), behavior="isolated")
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [split, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    end = made.token_to_id("<|endoftext|>")
    made.post_processor = processors.TemplateProcessing(
        single="<|endoftext|> $A", special_tokens=[("<|endoftext|>", end)]
    )
    return made


def normalised() -> Tokenizer:
    made = byte_level()
    made.normalizer = normalizers.NFC()
    return made


def word_piece() -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(
        CORPUS * 10, trainers.WordPieceTrainer(vocab_size=400, special_tokens=special, show_progress=False)
    )
    ends = [(name, made.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    made.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return made


def unigram() -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    trainer = trainers.UnigramTrainer(
        vocab_size=300, special_tokens=["<unk>", "</s>"], unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator(CORPUS * 10, trainer)
    return made


KINDS = {
    "bytes": byte_level,
    "prefixed": lambda: byte_level(add_prefix_space=True),
    "llama": llama,
    "normalised": normalised,
    "word_piece": word_piece,
    "unigram": unigram,
}


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request, tmp_path_factory) -> tuple[Tokenizer, str]:
    made = KINDS[request.param]()
    path = tmp_path_factory.mktemp(request.param) / "tokenizer.json"
    made.save(str(path))
    return made, str(path)


def texts() -> list[str]:
    """Words, blanks, digits, marks, emoji, and characters from anywhere."""
    rng = random.Random(7)
    pieces = ["the", " quick", "'ll", "'S", "it's", " ", "  ", "\n", "\r\n", "\t", "1", "1234", "½", "...", "!?", "—"]
    pieces += [
        "é",
        "e\u0301",
        "\u0301",
        "ß",
        "中文",
        "👩‍👩‍👧‍👦",
        "🏳️‍🌈",
        "\u200d",
        "\u00a0",
        "\u2003",
        "\ufeff",
        "\x00",
        "<|endoftext|>",
    ]
    out = ["", " ", "\n\n", *CORPUS, "x" * 3000, "ab" * 2000, "é" * 500, " " * 300, "1" * 100]
    for n in range(150):
        # Only characters that old and new versions of Unicode agree on: the package brings its own tables.
        other = [
            chr(rng.choice([rng.randrange(32, 0x250), rng.randrange(0x390, 0x3C0), rng.randrange(0x4E00, 0x9F00)]))
        ]
        out.append("".join(rng.choice(pieces + other) for _ in range(n % 40)))
    return out


def tokens(pipeline: infeed.Pipeline, field: str = "text") -> list[np.ndarray]:
    return [row for batch in pipeline.batch(7).to_numpy() for row in batch[field]]


def pipeline(found: list[str], path: str, **options) -> infeed.Pipeline:
    return infeed.arrays(text=found).map(T.Tokenize(path, **options), on="text")


@pytest.mark.parametrize("special", [True, False])
def test_tokens_are_those_of_the_package(kind, special):
    package, path = kind
    given = texts()
    found = tokens(pipeline(given, path, special_tokens=special))
    assert len(found) == len(given)
    for text, row in zip(given, found, strict=True):
        assert row.dtype == np.int32
        assert row.tolist() == package.encode(text, add_special_tokens=special).ids, repr(text)


@pytest.mark.parametrize("side", ["right", "left"])
def test_long_texts_are_cut(kind, side):
    _, path = kind
    cut = Tokenizer.from_file(path)
    cut.enable_truncation(8, direction=side)
    given = [text for text in texts() if text]
    found = tokens(pipeline(given, path, max_length=8, truncation=side))
    for text, row in zip(given, found, strict=True):
        assert row.tolist() == cut.encode(text).ids, repr(text)


def test_ends_are_put_around(kind):
    package, path = kind
    first, last = 3, package.id_to_token(1)
    found = tokens(pipeline(CORPUS, path, bos=first, eos=last, special_tokens=False, dtype="int64", max_length=9))
    for text, row in zip(CORPUS, found, strict=True):
        inner = package.encode(text, add_special_tokens=False).ids[:7]
        assert row.dtype == np.int64
        assert row.tolist() == [3, *inner, 1]


def test_all_threads_give_the_same(kind):
    _, path = kind
    given = texts() * 3

    def run(threads: int) -> list[list[int]]:
        loader = pipeline(given, path).shuffle(seed=5).batch(9).to_numpy(threads=threads)
        return [row.tolist() for batch in loader for row in batch["text"]]

    assert run(1) == run(4)


def test_streams_and_shards_have_text_too(tmp_path):
    made = byte_level()
    made.save(str(tmp_path / "t.json"))
    wanted = [made.encode(text).ids for text in CORPUS]
    rows = [{"text": text} for text in CORPUS]
    streamed = infeed.stream(rows).map(T.Tokenize(str(tmp_path / "t.json")), on="text")
    assert [row.tolist() for row in tokens(streamed)] == wanted
    with infeed.ShardWriter(tmp_path / "text-%03d.tar") as out:
        for n, text in enumerate(CORPUS):
            out.write({"__key__": f"s{n}", "txt": text})
    stored = (
        infeed.open(str(tmp_path / "*.tar")).decode(txt="text").map(T.Tokenize(str(tmp_path / "t.json")), on="txt")
    )
    assert [row.tolist() for row in tokens(stored, "txt")] == wanted


def test_padding_and_cutting():
    rows = [np.arange(n, dtype=np.int64) for n in (3, 5, 9)]
    source = [{"x": row} for row in rows]
    cut = infeed.stream(source).map(T.Truncate(4), T.PadTo(6, value=-1), on="x").batch(3)
    (batch,) = cut.to_numpy()
    assert batch["x"].tolist() == [[0, 1, 2, -1, -1, -1], [0, 1, 2, 3, -1, -1], [0, 1, 2, 3, -1, -1]]
    left = infeed.stream(source).map(T.Truncate(4, side="left"), T.PadTo(multiple=8, side="left"), on="x")
    assert [row.tolist() for row in tokens(left, "x")] == [
        [0] * 5 + [0, 1, 2],
        [0] * 4 + [1, 2, 3, 4],
        [0] * 4 + [5, 6, 7, 8],
    ]
    with pytest.raises(Exception, match="put Truncate before it"):
        tokens(infeed.stream(source).map(T.PadTo(6), on="x"), "x")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("spiece.model", b"\x0a\x0e\x0a\x05<unk>\x15\x00\x00\xff", "SentencePiece"),
        ("vocab.json", b'{"a": 0, "b": 1}', "merges.txt"),
        ("merges.txt", b"#version: 0.2\na b\n", "vocab.json"),
        ("x.tiktoken", b"IQ== 0\nIg== 1\n", "tiktoken"),
        ("tokenizer.json", b'{"version": "1.0", "model": {', "ends in the middle"),
    ],
)
def test_other_files_are_named(tmp_path: Path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        pipeline(["a"], str(path)).batch(1).to_numpy()


def test_slips_are_named(tmp_path: Path):
    made = byte_level()
    made.save(str(tmp_path / "t.json"))
    path = str(tmp_path / "t.json")
    with pytest.raises(ValueError, match="did you mean `<|endoftext|>`".replace("|", r"\|")):
        pipeline(["a"], path, eos="<|endoftxt|>").batch(1).to_numpy()
    with pytest.raises(ValueError, match="no room"):
        pipeline(["a"], path, eos="<|pad|>", max_length=1).batch(1).to_numpy()
    with pytest.raises(FileNotFoundError):
        pipeline(["a"], str(tmp_path / "none.json")).batch(1).to_numpy()
    with pytest.raises(ValueError, match="works on text"):
        infeed.arrays(x=np.zeros((3, 2))).map(T.Tokenize(path), on="x").batch(1).to_numpy()


@pytest.mark.parametrize("packed", [False, True])
def test_a_state_knows_what_the_tokenizer_says_and_not_where_it_lies(tmp_path: Path, packed):
    def loader(path: Path) -> infeed.Loader:
        made = pipeline(CORPUS * 4, str(path), dtype="int64")
        return (made.pack(16, on="text") if packed else made).batch(2).to_numpy()

    first, moved = tmp_path / "tokenizer.json", tmp_path / "elsewhere.json"
    byte_level().save(str(first))
    before = loader(first)
    rows = iter(before)
    next(rows)
    state, wanted = before.state_dict(), next(rows)["text"]
    first.rename(moved)
    after = loader(moved)
    after.load_state_dict(state)
    assert str(next(iter(after))["text"]) == str(wanted)
    llama().save(str(moved))
    with pytest.raises(infeed.StateError, match=r"decoders, transforms or filters differ"):
        loader(moved).load_state_dict(state)
