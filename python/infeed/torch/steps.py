"""The step of an iterator, as torch makes it, in less time."""

from __future__ import annotations

from typing import Any

import torch.autograd
from torch.utils.data import dataloader as theirs
from torch.utils.data.dataloader import _BaseDataLoaderIter

# They make the same record as torch.autograd.profiler.record_function, for all observers, at a quarter of its cost.
_enter: Any = getattr(torch.autograd, "_record_function_with_args_enter", None)
_leave: Any = getattr(torch.autograd, "_record_function_with_args_exit", None)
_next: Any = _BaseDataLoaderIter.__next__
# Not if it was replaced before this module was imported.
_is_known = _enter is not None and _leave is not None and _next.__code__.co_filename == theirs.__file__


class Steps(_BaseDataLoaderIter):
    """Comes before a class of torch's iterators: ``__next__`` without what most loaders do not need."""

    def __next__(self) -> Any:
        # torch compares with the length that the program has asked for. A program may replace the method, too.
        if self._IterableDataset_len_called is not None or not _is_known or _BaseDataLoaderIter.__next__ is not _next:
            return super().__next__()
        record = _enter(self._profile_name)
        try:
            data: Any = self._next_data()
            self._num_yielded += 1
            return data
        finally:
            _leave(record)
