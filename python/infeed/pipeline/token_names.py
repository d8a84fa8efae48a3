"""Tokens by name, and the number of tokens: looked up in the tokenizer of an earlier stage."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterator, Mapping
from typing import Any


class Tokens:
    """The tokens of the tokenizers that a recipe names, read when a name is looked up."""

    def __init__(self, recipe: Mapping[str, Any]) -> None:
        self.paths = list(dict.fromkeys(_tokenizers(recipe)))

    def number(self, what: str, token: int | str) -> int:
        """The number of a token. ``what`` is the argument, for messages."""
        if not isinstance(token, str):
            return int(token)
        found = {_named(what, token, path) for path in self._need(what, f"{what}={token!r}")}
        if len(found) > 1:
            raise ValueError(
                f"{what}={token!r} is {sorted(found)} in the tokenizers of this pipeline: give its number"
            )
        return found.pop()

    def count(self, what: str) -> int:
        """How many tokens there are: one more than the largest number."""
        return max(max(_vocabulary(path).values()) for path in self._need(what, f"{what}=")) + 1

    def _need(self, what: str, shown: str) -> list[str]:
        if not self.paths:
            raise ValueError(f"{shown} is found in a tokenizer, and there is none before this stage: give a number")
        return self.paths


def _tokenizers(recipe: Mapping[str, Any]) -> Iterator[str]:
    for part in recipe["source"].get("part", ()):
        yield from _tokenizers(part)
    for stage in recipe["stage"]:
        if stage["op"] == "map" and stage["name"] == "Tokenize":
            yield stage["args"]["tokenizer"]


def _named(what: str, token: str, path: str) -> int:
    vocabulary = _vocabulary(path)
    if token in vocabulary:
        return vocabulary[token]
    import difflib  # Only for this message.

    near = difflib.get_close_matches(token, vocabulary, n=1)
    hint = f"; did you mean {near[0]!r}?" if near else ""
    raise ValueError(f"{what}={token!r}: {path!r} has no such token{hint}")


def _vocabulary(path: str) -> dict[str, int]:
    about = os.stat(path)
    return _read(path, about.st_mtime_ns, about.st_size)


@functools.lru_cache(maxsize=2)
def _read(path: str, changed: int, size: int) -> dict[str, int]:
    with open(path, encoding="utf-8") as file:
        tokenizer = json.load(file)
    vocabulary = tokenizer.get("model", {}).get("vocab", {})
    if isinstance(vocabulary, list):  # Unigram: pairs of a token and its score.
        vocabulary = {pair[0]: number for number, pair in enumerate(vocabulary)}
    return {**vocabulary, **{token["content"]: token["id"] for token in tokenizer.get("added_tokens", ())}}
