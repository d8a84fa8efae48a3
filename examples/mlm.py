"""A masked language model: tokenise, mask, pad with an attention mask, and train.

    python examples/mlm.py                    # makes a small corpus in a temporary folder, trains for some seconds
    python examples/mlm.py run --steps 300    # keeps corpus and tokenizer in the folder `run`

The corpus has a structure that can be learned: each animal has its own sound, place and food, so a hidden word follows
from those that are left. A batch has

* ``tokens``: int32, of which some are hidden, padded with the token 0
* ``labels``: int64, the hidden tokens; -100, which the loss ignores, everywhere else and where ``tokens`` is padded
* ``attention_mask``: bool, true where there are tokens
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from pathlib import Path
from typing import Any

import torch
from torch import nn

import infeed

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
ANIMALS = {
    "dog": ("barks", "yard", "bones"),
    "cat": ("purrs", "house", "fish"),
    "cow": ("moos", "meadow", "grass"),
    "frog": ("croaks", "pond", "flies"),
    "owl": ("hoots", "forest", "mice"),
    "bee": ("hums", "garden", "nectar"),
}


def sentences(count: int, seed: int = 0) -> list[str]:
    """Texts of one to three sentences about one animal."""
    rng = random.Random(seed)
    out = []
    for _ in range(count):
        animal, (sound, place, food) = rng.choice(list(ANIMALS.items()))
        facts = [
            f"the {animal} {sound} in the {place}",
            f"in the {place} the {animal} eats {food}",
            f"a {animal} that {sound} wants {food}",
        ]
        out.append(" . ".join(rng.sample(facts, rng.randint(1, 3))))
    return out


def word_tokenizer(texts: list[str]) -> dict[str, Any]:
    """A ``tokenizer.json`` in which each word is a token, and each text is put between [CLS] and [SEP]."""
    words = SPECIAL + sorted({word for text in texts for word in text.split()})
    vocab = {word: number for number, word in enumerate(words)}
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    ends = {name: {"id": name, "ids": [vocab[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")}
    template = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": vocab[name], "content": name, **flags} for name in SPECIAL],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": template,
            "pair": template,
            "special_tokens": ends,
        },
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"},
    }


class Model(nn.Module):
    """A transformer that sees the whole text and says, for each place, which token stands there."""

    def __init__(self, vocab: int, width: int = 64, longest: int = 64) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocab, width)
        self.places = nn.Embedding(longest, width)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.out = nn.Linear(width, vocab)

    def forward(self, tokens: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        x = self.tokens(tokens) + self.places(torch.arange(tokens.shape[1], device=tokens.device))
        made: torch.Tensor = self.out(self.layers(x, src_key_padding_mask=~attention_mask))
        return made


def train(folder: Path, steps: int) -> list[float]:
    """The loss of each step."""
    texts = sentences(2000)
    (folder / "corpus.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    tokenizer = word_tokenizer(texts)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    vocab = tokenizer["model"]["vocab"]
    data = (
        infeed.jsonl(str(folder / "corpus.jsonl"), fields=["text"])
        .shuffle(seed=17)
        .tokenize(folder / "tokenizer.json")
        .mask_tokens(mask=vocab["[MASK]"], vocab=len(vocab), special=[vocab[name] for name in SPECIAL])
        .batch(64, drop_last=True, ragged="pad", pad_value={"tokens": vocab["[PAD]"]}, pad_mask="attention_mask")
    )
    print(data.explain())
    torch.manual_seed(0)
    model = Model(len(vocab))
    optimizer = torch.optim.AdamW(model.parameters(), 3e-3)
    losses = []
    with data.to_torch(steps_per_epoch=steps) as loader:
        for step, batch in enumerate(loader):
            logits = model(batch["tokens"], batch["attention_mask"])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch["labels"].flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            if step % 20 == 0:
                print(f"step {step}: loss of hidden tokens {losses[-1]:.2f}")
    return losses


def main() -> None:
    """Train, and check that something was learned."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="keeps corpus and tokenizer (default: a temporary one)")
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        losses = train(folder, args.steps)
    before, after = sum(losses[:5]) / 5, sum(losses[-5:]) / 5
    assert after < before / 2, f"the loss went from {before:.2f} to {after:.2f} only"
    print(f"loss of hidden tokens: {before:.2f} at first, {after:.2f} after {len(losses)} steps")


if __name__ == "__main__":
    main()
