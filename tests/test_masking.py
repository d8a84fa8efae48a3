"""Masked tokens: MaskTokens and CorruptSpans."""

from __future__ import annotations

import numpy as np
import pytest

import infeed
from infeed import transforms as T

MASK, VOCAB, SPECIAL = 4, 1000, [0, 1, 2, 3]


def rows(count: int = 200, length: int = 256) -> np.ndarray:
    rng = np.random.default_rng(3)
    found = rng.integers(5, VOCAB, (count, length))
    found[:, 0], found[:, -1] = 1, 2
    return found


def pairs(found: np.ndarray, transform: T.Transform, epoch: int = 0) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Both parts of every row."""
    data = infeed.arrays(tokens=found).views("tokens", 2, to="part").seed(9)
    loader = data.map(transform, on=["part_0", "part_1"]).batch(16).to_numpy()
    loader.set_epoch(epoch)
    first, second = [], []
    for batch in loader:
        first += list(batch["part_0"])
        second += list(batch["part_1"])
    return first, second


def test_inputs_and_labels_give_the_tokens_back():
    given = rows()
    inputs, labels = (np.stack(part) for part in pairs(given, T.MaskTokens(MASK, VOCAB, special=SPECIAL)))
    asked = labels != -100
    assert (np.where(asked, labels, inputs) == given).all()
    assert not asked[:, 0].any() and not asked[:, -1].any()
    # Five standard deviations of 50,000 and of 7,600 draws.
    assert abs(asked[:, 1:-1].mean() - 0.15) < 0.008
    assert abs((inputs[asked] == MASK).mean() - 0.8) < 0.025
    assert abs((inputs[asked] == given[asked]).mean() - 0.1) < 0.02


def test_epochs_differ_and_repeat():
    given, masking = rows(20), T.MaskTokens(MASK, VOCAB)
    one, again, other = (pairs(given, masking, epoch)[0] for epoch in (0, 0, 1))
    assert np.array_equal(one, again)
    assert not np.array_equal(one, other)


def test_everything_can_be_chosen():
    given = rows(4)
    inputs, labels = pairs(given, T.MaskTokens(MASK, VOCAB, probability=1.0, keep=0.0, random=0.0, ignore=-1))
    assert (np.stack(inputs) == MASK).all() and (np.stack(labels) == given).all()


def test_whole_words(tmp_path):
    tokenizers = pytest.importorskip("tokenizers")
    vocab = {"[UNK]": 0, "[MASK]": 1, "play": 2, "##ing": 3, "##s": 4, "go": 5}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(vocab, unk_token="[UNK]"))
    made.save(str(tmp_path / "t.json"))
    given = np.tile(np.array([2, 3, 4, 5, 2, 4, 5, 5]), (300, 1))
    masking = T.MaskTokens(1, 6, probability=0.5, whole_words=str(tmp_path / "t.json"))
    _, labels = pairs(given, masking)
    asked = np.stack(labels) != -100
    for word in ([0, 1, 2], [4, 5]):
        assert (asked[:, word] == asked[:, word[:1]]).all()
    assert abs(asked.mean() - 0.5) < 0.1


def together(inputs: np.ndarray, targets: np.ndarray, first: int) -> list[int]:
    """Puts the spans of the targets back into the inputs."""
    spans: dict[int, list[int]] = {}
    for token in targets[:-1].tolist():
        if token >= VOCAB:
            spans[token] = []
            last = token
        else:
            spans[last].append(token)
    out: list[int] = []
    for token in inputs[:-1].tolist():
        out += spans.pop(token) if token in spans else [token]
    assert not spans
    return out


def test_spans_give_the_text_back():
    given = rows(50, 568)
    corrupt = T.CorruptSpans(VOCAB + 99, 512, eos=1)
    inputs, targets = pairs(given, corrupt)
    for row, seen, wanted in zip(given, inputs, targets, strict=True):
        # The lengths that T5 was trained with.
        assert (len(seen), len(wanted)) == (512, 114)
        assert seen[-1] == 1 and wanted[-1] == 1
        assert together(seen, wanted, VOCAB + 99) == row.tolist()
        assert [t for t in seen if t >= VOCAB] == [VOCAB + 99 - n for n in range(28)]


def test_density_and_spans():
    given = rows(100, 400)
    inputs, targets = pairs(given, T.CorruptSpans(VOCAB + 199, density=0.3, mean_span=5.0))
    hidden = np.array([sum(t < VOCAB for t in row) for row in targets])
    spans = np.array([sum(t >= VOCAB for t in row) for row in targets])
    assert (hidden == 120).all() and (spans == 24).all()
    assert all(len(seen) == 400 - 120 + 24 for seen in inputs)


def test_slips_are_named():
    given = rows(2)
    with pytest.raises(ValueError, match="two fields"):
        data = infeed.arrays(tokens=given).views("tokens", 3, to="part")
        data.map(T.MaskTokens(MASK, VOCAB), on=["part_0", "part_1", "part_2"]).batch(1).to_numpy()
    with pytest.raises(ValueError, match="cannot hold"):
        pairs((given % 100).astype(np.int8), T.MaskTokens(MASK, VOCAB))
    with pytest.raises(ValueError, match="works on tokens"):
        pairs(given.astype(np.float32), T.CorruptSpans(VOCAB))
    with pytest.raises(ValueError, match="density"):
        pairs(given, T.CorruptSpans(VOCAB, density=1.5))
