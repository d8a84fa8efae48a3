"""From raw text to a language model: tokenise, blend, shuffle, train, stop, and resume exactly.

    python examples/llm_blend.py run                                  # makes three small corpora, and all that follows
    python examples/llm_blend.py run --corpora web.jsonl=0.7 code.parquet=0.3 --tokenizer tokenizer.json
    python examples/llm_blend.py run --steps 200 --length 256

``run`` is a folder that keeps the results: a corpus is not tokenised again. The steps:

1. a tokenizer is trained on the corpora (with the `tokenizers` package; without it every byte is a token), or given
2. ``infeed tokenize`` writes each corpus to ``.bin`` and ``.idx``, with an end-of-text token after each document
3. a file list with weights says how they are blended; ``infeed.file_list`` reads it, shuffles each corpus and blends
4. a small model is trained (with torch; without it a table of bigrams), its state and the loader's are saved half way
5. a second loader resumes from the saved state: the batches are the same, byte for byte, even with two ranks
6. the first corpus without token files: tokenised and packed while loading
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import itertools
import json
import random
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import infeed
from infeed import transforms as T

END = "<|endoftext|>"


def sources() -> list[str]:
    """The text of some modules of Python's standard library."""
    folder = Path(sysconfig.get_path("stdlib"))
    return [path.read_text(errors="replace") for path in sorted(folder.glob("*.py"))[:80]]


def docstrings(text: str) -> Iterator[str]:
    """The docstrings of a module, its classes and functions."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (said := ast.get_docstring(node)):
            yield said


def make_corpora(folder: Path) -> dict[Path, float]:
    """Prose, code and sums, as JSON lines, and the share of the tokens for each."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    modules = sources()
    pairs = [[(rng.randrange(1000), rng.randrange(1000)) for _ in range(20)] for _ in range(500)]
    sums = ("\n".join(f"{a} + {b} = {a + b}" for a, b in page) for page in pairs)
    prose = (said for module in modules for said in docstrings(module) if len(said) > 40)
    paths = {folder / "prose.jsonl": 0.5, folder / "code.jsonl": 0.3, folder / "sums.jsonl": 0.2}
    for path, documents in zip(paths, (prose, modules, sums), strict=True):
        path.write_text("".join(json.dumps({"text": text}) + "\n" for text in documents))
    return paths


def given_corpora(named: Iterable[str]) -> dict[Path, float]:
    """Parse ``PATH=WEIGHT`` of the command line."""
    out = {}
    for text in named:
        path, _, weight = text.rpartition("=")
        out[Path(path or text)] = float(weight) if path else 1.0
    return out


def texts(paths: Iterable[Path], rows: int) -> Iterator[str]:
    """The first documents of each corpus, read by infeed."""
    for path in paths:
        for batch in infeed.open(str(path)).select("text").take(rows).batch(64).to_numpy():
            yield from batch["text"]


def make_tokenizer(path: Path, corpora: Iterable[Path], size: int) -> None:
    """A byte-level BPE trained on the corpora, or one without merges if the package is missing."""
    try:
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    except ImportError:
        path.write_text(json.dumps(byte_tokenizer()))
        return
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=[END], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(texts(corpora, 2000), trainer)
    made.save(str(path))


def byte_tokenizer() -> dict[str, Any]:
    """A tokenizer.json in which every byte is a token."""
    # Printable bytes are themselves, the others are characters from 256 on.
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    letters = [chr(byte) for byte in printable] + [chr(256 + i) for i in range(len(others))]
    special = {"id": 0, "content": END, "special": True, "normalized": False}
    special |= {"single_word": False, "lstrip": False, "rstrip": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    vocabulary = {token: i for i, token in enumerate([END, *sorted(letters)])}
    parts = {"normalizer": None, "pre_tokenizer": byte_level, "post_processor": None, "decoder": byte_level}
    model = {"type": "BPE", "vocab": vocabulary, "merges": [], "unk_token": None, "dropout": None}
    model |= {
        "continuing_subword_prefix": None,
        "end_of_word_suffix": None,
        "fuse_unk": False,
        "byte_fallback": False,
    }
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [special], **parts, "model": model}


def tokenize(corpus: Path, tokenizer: Path, prefix: Path) -> None:
    """Run ``infeed tokenize`` on a corpus."""
    command = [sys.executable, "-m", "infeed", "tokenize", str(corpus), "--tokenizer", str(tokenizer)]
    subprocess.run([*command, "--out", str(prefix), "--append-eod", END], check=True)


def write_list(path: Path, prefixes: dict[Path, float]) -> None:
    """Lines of `weight prefix corpus`, as in BlendCorpus."""
    path.write_text("".join(f"{weight} {prefix} {prefix.name}\n" for prefix, weight in prefixes.items()))


class Bigrams:
    """A model for machines without torch: the logits of a token depend on the one before it."""

    def __init__(self, vocabulary: int) -> None:
        self.table = np.zeros((vocabulary, vocabulary), np.float32)

    def step(self, tokens: np.ndarray, labels: np.ndarray) -> float:
        """Learns from a batch; the loss before."""
        before, after = tokens.ravel(), labels.ravel()
        logits = self.table[before]
        shares = np.exp(logits - logits.max(1, keepdims=True))
        shares /= shares.sum(1, keepdims=True)
        loss = -np.log(shares[np.arange(len(after)), after] + 1e-9).mean()
        shares[np.arange(len(after)), after] -= 1
        # The mean over the occurrences of a token; otherwise frequent tokens would diverge.
        np.subtract.at(self.table, before, 2 * shares / np.bincount(before)[before, None])
        return float(loss)

    def save(self, path: Path) -> None:
        """All there is to know."""
        path.write_bytes(self.table.tobytes())

    def load(self, path: Path) -> None:
        """Go on from what was saved."""
        self.table = np.frombuffer(path.read_bytes(), np.float32).reshape(self.table.shape).copy()


def small_model(vocabulary: int, length: int) -> Any:
    """One block of a transformer, or bigrams."""
    try:
        import torch
    except ImportError:
        return Bigrams(vocabulary)

    class Transformer(torch.nn.Module):
        """Embeddings, one causal block, logits; with its optimizer."""

        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = torch.nn.Embedding(vocabulary, 64), torch.nn.Embedding(length, 64)
            self.block = torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
            self.head = torch.nn.Linear(64, vocabulary)
            self.mask = torch.nn.Transformer.generate_square_subsequent_mask(length)
            self.optimizer = torch.optim.AdamW(self.parameters(), lr=3e-3)

        def step(self, tokens: np.ndarray, labels: np.ndarray) -> float:
            """Learns from a batch; the loss before."""
            x = self.tokens(torch.from_numpy(tokens)) + self.places.weight
            logits = self.head(self.block(x, src_mask=self.mask, is_causal=True))
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), torch.from_numpy(labels).flatten())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            return float(loss.detach())

        def save(self, path: Path) -> None:
            """All there is to know."""
            torch.save([self.state_dict(), self.optimizer.state_dict()], path)

        def load(self, path: Path) -> None:
            """Go on from what was saved."""
            own, optimizer = torch.load(path)
            self.load_state_dict(own)
            self.optimizer.load_state_dict(optimizer)

    torch.manual_seed(0)
    return Transformer()


def fingerprint(batch: infeed.Batch) -> str:
    """A hash of the bytes of a batch."""
    return hashlib.sha256(batch["tokens"].tobytes() + batch["labels"].tobytes()).hexdigest()


def train(model: Any, batches: Iterator[infeed.Batch], steps: int, first: int = 0) -> tuple[list[str], float]:
    """Train for some steps; returns the fingerprints of their batches and the last loss."""
    seen, loss = [], 0.0
    for step, batch in enumerate(itertools.islice(batches, steps), first):
        loss = model.step(batch["tokens"], batch["labels"])
        seen.append(fingerprint(batch))
        if step % 10 == 0:
            print(f"step {step}: loss {loss:.3f}")
    return seen, loss


def main() -> None:
    """All six steps."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument(
        "--corpora", nargs="+", metavar="PATH=WEIGHT", help="text in any format infeed reads, field text"
    )
    parser.add_argument("--tokenizer", type=Path, help="a tokenizer.json; trained when not given")
    parser.add_argument("--vocabulary", type=int, default=2000)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    args.run.mkdir(parents=True, exist_ok=True)

    corpora = given_corpora(args.corpora) if args.corpora else make_corpora(args.run / "raw")
    tokenizer = args.tokenizer or args.run / "tokenizer.json"
    if not tokenizer.exists():
        make_tokenizer(tokenizer, corpora, args.vocabulary)
    described = json.loads(tokenizer.read_text())
    vocabulary = 1 + max([*described["model"]["vocab"].values(), *(t["id"] for t in described["added_tokens"])])

    prefixes = {args.run / "tokens" / path.name.split(".")[0]: weight for path, weight in corpora.items()}
    (args.run / "tokens").mkdir(exist_ok=True)
    for path, prefix in zip(corpora, prefixes, strict=True):
        if not prefix.with_suffix(".idx").exists():
            tokenize(path, tokenizer, prefix)
    write_list(args.run / "blend.txt", prefixes)

    data = infeed.file_list(args.run / "blend.txt", args.length, labels=True, seed=1, vocab=vocabulary)
    data = data.batch(global_size=args.batch, drop_last=True)
    print(data.explain())

    loader = data.to_numpy(endless=True)
    model, half = small_model(vocabulary, args.length), args.steps // 2
    batches = iter(loader)  # one iteration: another one would start the next epoch
    seen, loss = train(model, batches, half)
    model.save(args.run / "model.pt")
    (args.run / "loader.json").write_text(json.dumps(loader.state_dict()))
    rest, loss = train(model, batches, args.steps - half, first=half)
    loader.close()

    state = json.loads((args.run / "loader.json").read_text())
    model, resumed = small_model(vocabulary, args.length), data.to_numpy(endless=True)
    model.load(args.run / "model.pt")
    resumed.load_state_dict(state)
    again, loss_again = train(model, iter(resumed), args.steps - half, first=half)
    resumed.close()
    assert again == rest and again != seen, "the resumed loader gave other batches"
    print(
        f"resumed at step {half}: {len(again)} batches, byte for byte the same; loss {loss_again:.4f}, was {loss:.4f}"
    )
    ranks = [data.to_numpy(endless=True, rank=r, world_size=2) for r in range(2)]
    for rank in ranks:
        rank.load_state_dict(state)
    joined = [
        {name: np.concatenate([part[name] for part in parts]) for name in ("tokens", "labels")}
        for parts in itertools.islice(zip(*ranks, strict=True), args.steps - half)
    ]
    assert [fingerprint(batch) for batch in joined] == rest, "two ranks gave other batches"
    print("resumed as two ranks: the same global batches")

    packed = (
        infeed.open(str(next(iter(corpora))))
        .select("text")
        .map(T.Tokenize(str(tokenizer), eos=END, dtype="int64"), on="text")
        .pack(args.length, on="text", mode="concat")
        .batch(args.batch)
    )
    batch = next(iter(packed.to_numpy()))
    array = next(iter(batch.values()))
    print(f"packed on the way: {array.dtype}{list(array.shape)}")


if __name__ == "__main__":
    main()
