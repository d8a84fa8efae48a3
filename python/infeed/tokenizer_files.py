"""Tokenizers that users hold as objects: kept as a ``tokenizer.json``, which is what recipes name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Protocol


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
    import tempfile

    name = f"{hashlib.sha256(data).hexdigest()[:32]}.json"
    last = Path(tempfile.gettempdir(), f"infeed-{os.getuid()}", "tokenizers")
    for folder in (*_folders(), last):
        path = folder / name
        try:
            if path.is_file() and path.read_bytes() == data:
                return str(path)
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
                file.write(data)
            # Another process may write the same file: each makes its own, and the last name wins.
            os.replace(file.name, path)
        except OSError:
            continue
        return str(path)
    raise OSError(
        "no cache folder can be written to keep the tokenizer in: set INFEED_CACHE, or save it and give its path"
    )


def _folders() -> list[Path]:
    """Where tokenizers are kept: beside the indices of shards."""
    found = []
    if cache := os.environ.get("INFEED_CACHE"):
        found.append(Path(cache))
    elif cache := os.environ.get("XDG_CACHE_HOME"):
        found.append(Path(cache, "infeed"))
    elif home := os.environ.get("HOME"):
        found.append(Path(home, ".cache", "infeed"))
    return [folder / "tokenizers" for folder in found]
