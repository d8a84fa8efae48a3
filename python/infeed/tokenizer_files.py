"""Tokenizers that users hold as objects: kept as a ``tokenizer.json``, which is what recipes name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol

from . import _core


class Serialisable(Protocol):
    """``tokenizers.Tokenizer``."""

    def to_str(self, pretty: bool = False) -> str:
        """The contents of a ``tokenizer.json``."""


class Fast(Protocol):
    """A fast tokenizer of transformers."""

    @property
    def backend_tokenizer(self) -> Any:
        """The ``tokenizers.Tokenizer`` behind it."""


Tokenizer = str | os.PathLike[str] | Serialisable | Fast


def is_tokenizer(value: Any) -> bool:
    """Whether an argument is a tokenizer of some library."""
    root = type(value).__module__.partition(".")[0]
    return root in _OTHERS or hasattr(value, "backend_tokenizer") or hasattr(value, "to_str")


_OTHERS = {
    "transformers": "it has no tokenizer.json; load the fast one, AutoTokenizer.from_pretrained(name)",
    "tiktoken": "tiktoken has no tokenizer.json; transformers converts it, or take the one of the model",
    "sentencepiece": "sentencepiece has no tokenizer.json; AutoTokenizer.from_pretrained(folder) converts it",
}


def tokenizer_path(tokenizer: Any) -> str:
    """The path of a ``tokenizer.json``: the one given, or one in the cache folder, named by its contents.

    Padding and truncation are left out. They are settings of a call, which may change with every use of the object, and
    the same tokenizer must have the same name.
    """
    if isinstance(tokenizer, str | os.PathLike):
        return os.fspath(tokenizer)
    backend = getattr(tokenizer, "backend_tokenizer", tokenizer)
    if not hasattr(backend, "to_str"):
        cls = type(tokenizer)
        cure = _OTHERS.get(
            cls.__module__.partition(".")[0], "give the path of a tokenizer.json, or a tokenizers.Tokenizer"
        )
        raise TypeError(f"a tokenizer is expected here, got {cls.__name__}: {cure}")
    text: str = backend.to_str()
    if getattr(backend, "truncation", None) is not None or getattr(backend, "padding", None) is not None:
        backend = type(backend).from_str(text)
        backend.no_truncation()
        backend.no_padding()
        text = backend.to_str()
    return _kept(text.encode())


def _kept(data: bytes) -> str:
    import hashlib  # Only for tokenizers that are objects: transforms import this module.

    name = f"{hashlib.sha256(data).hexdigest()[:32]}.json"
    if cache := _core.cache_folder():
        try:
            return _written(Path(cache, "tokenizers", name), data)
        except OSError:
            pass  # A home that is read-only or full, as in many containers.
    return _written(_own_folder() / name, data)


def _written(path: Path, data: bytes) -> str:
    import tempfile

    if path.is_file() and path.read_bytes() == data:
        return str(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
        file.write(data)
    # Another process may write the same file: each makes its own, and the last name wins.
    os.replace(file.name, path)
    return str(path)


_OWN: list[Path] = []


def _own_folder() -> Path:
    """A folder that no other user can have prepared: who can write to it can change what is trained on."""
    import tempfile

    if not _OWN:
        _OWN.append(Path(tempfile.mkdtemp(prefix="infeed-tokenizers-")))
    return _OWN[0]
