"""The options of doors, for type checkers and for the check at run time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from .._typing import BatchLayout, Decode, OnDeadWorker, OnError, Priority, StartMethod, Workers

if TYPE_CHECKING:
    from multiprocessing.context import BaseContext

    import torch


class LoaderOptions(TypedDict, total=False):
    """The options of every door; :class:`~infeed.loader.Loader` documents them and their defaults.

    It is also the type of a dict of options:

    >>> options: infeed.loader.LoaderOptions = {"threads": 8, "on_error": "skip"}
    >>> train.to_torch(**options)
    """

    threads: int | None
    priority: Priority | None
    io_threads: int | None
    prefetch: int | None
    memory: int | str | None
    on_error: OnError
    skip_unreadable: bool
    error_limit: int
    stall_timeout: float | None
    persistent: bool
    ledger_rows: bool
    chaos: int | None
    workers: Workers
    num_workers: int | None
    multiprocessing_context: StartMethod | BaseContext | None
    on_dead_worker: OnDeadWorker
    rank: int | None
    world_size: int | None
    epoch: int
    endless: bool
    steps_per_epoch: int | None


class TorchOptions(LoaderOptions, total=False):
    """The options of the PyTorch door: see :class:`~infeed.torch.TorchLoader`."""

    layout: BatchLayout


class DeviceOptions(TorchOptions, total=False):
    """The options of the PyTorch door with ``device=``: see :class:`~infeed.torch.DeviceLoader`."""

    channels_last: bool
    dtype: torch.dtype | Mapping[str, torch.dtype] | None
    on_device: Iterable[Callable[..., Any]] | None
    on: str | Iterable[str] | None
    label: str | None
    ahead: int
    pin: bool
    decode: Decode
    share: float | None


def names_of(options: type) -> frozenset[str]:
    """The names of all options in a ``TypedDict``."""
    # A TypedDict does not keep its base classes at run time: only these attributes have all keys.
    keys: frozenset[str] = options.__optional_keys__ | options.__required_keys__  # type: ignore[attr-defined]
    return keys


ON_DEVICE = names_of(DeviceOptions) - names_of(TorchOptions)
"""Options that mean nothing without a device."""


def refuse_unknown(door: str, given: Mapping[str, Any], options: type = LoaderOptions, *more: str) -> None:
    """Raise for an option that a door does not have, and suggest the closest that it has."""
    names = sorted(names_of(options).union(more))
    for name in given:
        if name not in names:
            import difflib  # Only for this message.

            near = difflib.get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]}=?" if near else f"there are {', '.join(names)}"
            raise TypeError(f"{door} has no option {name}=; {hint}")
