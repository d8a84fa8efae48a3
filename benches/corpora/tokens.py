"""Tokens: NumPy's ways of reading sequences from a file, and plain copies as the floor."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from .works import SEQUENCE, TOKEN_BATCH, Pass, Task


def shuffled(task: Task) -> Iterator[tuple[np.memmap, npt.NDArray[np.int64]]]:
    """The file and, batch by batch, where its sequences begin: each sequence of an epoch once."""
    tokens = np.memmap(task.files("tokens.bin")[0], np.uint16, "r")
    places = np.random.default_rng().permutation(len(tokens) // SEQUENCE)
    for k in range(0, len(places) - TOKEN_BATCH + 1, TOKEN_BATCH):
        yield tokens, places[k : k + TOKEN_BATCH] * SEQUENCE


def numpy_loop(task: Task) -> Pass:
    """Slices written into a fresh batch, widened on the way."""

    def once() -> int:
        count = 0
        for tokens, begins in shuffled(task):
            out = np.empty((TOKEN_BATCH, SEQUENCE), np.int64)
            for i, begin in enumerate(begins.tolist()):
                out[i] = tokens[begin : begin + SEQUENCE]
            count += out.size
        return count

    return once


def torch_stack(task: Task) -> Pass:
    """As the training loop of nanoGPT does it."""
    import torch

    def once() -> int:
        count = 0
        for tokens, begins in shuffled(task):
            rows = [torch.from_numpy(tokens[i : i + SEQUENCE].astype(np.int64)) for i in begins.tolist()]
            count += torch.stack(rows).numel()
        return count

    return once


def fancy_index(task: Task) -> Pass:
    """A matrix of indices."""
    columns = np.arange(SEQUENCE)

    def once() -> int:
        return sum(tokens[begins[:, None] + columns].astype(np.int64).size for tokens, begins in shuffled(task))

    return once


def memcpy(task: Task, *, kind: str, threads: int) -> Pass:
    """Plain copies of int64, counted as tokens of eight bytes.

    `large`: 256 MiB from one buffer to another, repeatedly, as floors are usually stated. `batch`: whole batches out
    of an array as large as all tokens are when widened, in shuffled order, into a ring of 16 batches for each thread.
    """
    whole = len(np.memmap(task.files("tokens.bin")[0], np.uint16, "r"))
    piece = TOKEN_BATCH * SEQUENCE if kind == "batch" else (256 << 20) // 8
    # Not larger than a quarter of what is free here: the floor must not swap.
    source = np.ones((min(whole, 100_000_000) // piece, piece) if kind == "batch" else (threads, piece), np.int64)
    rings = [np.zeros((16 if kind == "batch" else 1, piece), np.int64) for _ in range(threads)]
    pieces = max(threads, whole // piece)

    def copy(thread: int, places: npt.NDArray[np.int64]) -> None:
        ring = rings[thread]
        for k, place in enumerate(places.tolist()):
            np.copyto(ring[k % len(ring)], source[place])

    def once() -> int:
        # `large` copies between two places of a thread's own.
        order = np.random.default_rng().integers(0, len(source), pieces)
        shares = [
            order[t::threads] if kind == "batch" else np.full(len(order[t::threads]), t) for t in range(threads)
        ]
        running = [threading.Thread(target=copy, args=(t, share)) for t, share in enumerate(shares)]
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()
        return pieces * piece

    return once
