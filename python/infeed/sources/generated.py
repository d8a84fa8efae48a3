"""Batches generated on the device: training data that is computed instead of read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .. import _core
from .._typing import Framework, one_of
from ..errors import StateError
from ..launch import world
from ..reports import Stats


def generate(
    fn: Callable[[Any, int, int], Any],
    *,
    steps: int,
    batch_spec: Mapping[str, tuple[tuple[int, ...], Any]] | None = None,
    seed: int = 0,
    device: Any = None,
    framework: Framework = "torch",
    epoch: int = 0,
    rank: int | None = None,
    world_size: int | None = None,
) -> Generated:
    """Batches made by ``fn(generator, epoch, step)``, with the interface of a :class:`~infeed.Loader`.

    The generator is a ``torch.Generator`` on the device, or with ``framework="jax"`` a key; it depends on the seed, the
    epoch, the step and the rank alone, so any batch can be made again and a checkpoint is a few integers. An epoch has
    ``steps`` steps, the same on every rank. ``batch_spec`` says what the batches must be, ``{field: (shape, dtype)}``;
    the first batch of an iteration is checked against it. Nothing here waits for the device.

    >>> def noise(generator, epoch, step):
    ...     return {"x": torch.randn(256, 3, 224, 224, device="cuda", generator=generator)}
    >>> loader = infeed.generate(noise, steps=1000, seed=17, device="cuda")
    """
    if not callable(fn):
        raise TypeError(f"generate takes a function of (generator, epoch, step), got {fn!r}")
    if steps < 1:
        raise ValueError(f"steps must be at least 1, got {steps}")
    one_of("framework", framework, Framework)
    return Generated(fn, steps, batch_spec, seed, device, framework, epoch, rank, world_size)


class Generated:
    """Iterates over batches that a function makes: each ``iter`` starts the next epoch."""

    def __init__(
        self,
        fn: Callable[[Any, int, int], Any],
        steps: int,
        batch_spec: Mapping[str, tuple[tuple[int, ...], Any]] | None,
        seed: int,
        device: Any,
        framework: Framework,
        epoch: int,
        rank: int | None,
        world_size: int | None,
    ) -> None:
        self.world = world(rank, world_size)
        self.steps_per_epoch = steps
        self._fn, self._spec, self._seed, self._device, self._framework = fn, batch_spec, seed, device, framework
        self._next, self._at = (epoch, 0), (epoch, 0)
        self._lap = 0
        self._numbers = {"batches": 0, "samples": 0, "seconds": 0.0, "wait_s": 0.0}

    def __len__(self) -> int:
        """Steps of an epoch."""
        return self.steps_per_epoch

    @property
    def epoch(self) -> int:
        """The epoch that the next iteration runs."""
        return self._next[0]

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch that the next iteration runs. Setting the current epoch keeps its position."""
        if epoch != self._next[0]:
            self._next = self._at = (epoch, 0)

    def state_dict(self) -> dict[str, Any]:
        """The checkpoint: counts the batches you have received."""
        epoch, step = self._at
        return {"version": 1, "epoch": epoch, "step": step, "seed": self._seed, "steps": self.steps_per_epoch}

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Resume from a state: the next batch is the one that would have come."""
        for name, mine in (("seed", self._seed), ("steps", self.steps_per_epoch)):
            if state_dict.get(name) != mine:
                raise StateError(f"the state has {name} {state_dict.get(name)}, and this loader {mine}")
        self._next = self._at = (int(state_dict["epoch"]), int(state_dict["step"]))

    def __iter__(self) -> Iterator[Any]:
        epoch, first = self._at = self._next
        self._next = (epoch + 1, 0)
        self._lap += 1
        return self._batches(self._lap, epoch, first)

    def _batches(self, lap: int, epoch: int, first: int) -> Iterator[Any]:
        source = _SOURCES[self._framework](self._seed, self.world.rank, self._device)
        left = time.perf_counter()
        for step in range(first, self.steps_per_epoch):
            if lap != self._lap:
                # Closed, or another iteration was started: the loader has only one position.
                return
            start = time.perf_counter()
            with source.place():
                batch = self._fn(source.at(epoch, step), epoch, step)
            if step == first:
                self._check(batch)
            now = time.perf_counter()
            self._count(batch, now - start, now - left)
            left = now
            self._at = (epoch, step + 1) if step + 1 < self.steps_per_epoch else (epoch + 1, 0)
            yield batch

    def _check(self, batch: Any) -> None:
        for name, (shape, dtype) in (self._spec or {}).items():
            found = batch[name] if isinstance(batch, Mapping) and name in batch else None
            if found is None:
                raise ValueError(f"batch_spec names {name!r}, and the function's batch has no such field")
            if tuple(found.shape) != tuple(shape) or found.dtype != dtype:
                raise ValueError(
                    f"batch_spec says {name!r} is {dtype} {tuple(shape)}, and the function made"
                    f" {found.dtype} {tuple(found.shape)}"
                )

    def _count(self, batch: Any, waited: float, passed: float) -> None:
        numbers = self._numbers
        numbers["batches"] += 1
        numbers["samples"] += _samples(batch)
        numbers["wait_s"] += waited
        numbers["seconds"] += passed

    def stats(self) -> Stats:
        """Rates, and how long the host was busy making batches. Does not wait for pending work of the device."""
        numbers: dict[str, Any] = dict(self._numbers)
        seconds = numbers["seconds"] or 1e-9
        numbers["samples_per_s"] = numbers["samples"] / seconds
        numbers["wait_share"] = numbers["wait_s"] / seconds
        text = (
            f"{numbers['samples']} samples in {numbers['batches']} batches, {numbers['seconds']:.2f} s\n"
            f"rate       {numbers['samples_per_s']:.0f} samples/s\n"
            f"waiting    {100 * numbers['wait_share']:.1f} % of the consumer's time ({numbers['wait_s']:.2f} s)"
        )
        return Stats(numbers, text)

    def close(self) -> None:
        """End the current iteration. There are no threads."""
        self._lap += 1

    def __enter__(self) -> Generated:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        rank = "" if self.world.size == 1 else f", rank {self.world.rank} of {self.world.size}"
        return f"<Generated by {self._fn!r}, {self.steps_per_epoch} batches per epoch{rank}>"


class _Torch:
    """Randomness for PyTorch: one generator on the device, seeded for every batch."""

    def __init__(self, seed: int, rank: int, device: Any) -> None:
        import torch

        self._seed, self._rank = seed, rank
        self._generator = torch.Generator(device="cpu" if device is None else device)

    def place(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def at(self, epoch: int, step: int) -> Any:
        return self._generator.manual_seed(_core.random_at(self._seed, epoch, step, self._rank))


class _Jax:
    """Randomness for JAX: a key, folded by one compiled function."""

    def __init__(self, seed: int, rank: int, device: Any) -> None:
        import jax

        self._jax, self._device = jax, device
        with self.place():
            key = jax.random.key(seed & 0xFFFF_FFFF)
            # fold_in takes 32 bits at a time.
            self._key = jax.random.fold_in(jax.random.fold_in(key, seed >> 32), rank)
        self._fold = jax.jit(lambda key, epoch, step: jax.random.fold_in(jax.random.fold_in(key, epoch), step))

    def place(self) -> AbstractContextManager[Any]:
        if self._device is None:
            return nullcontext()
        device = self._jax.devices(self._device)[0] if isinstance(self._device, str) else self._device
        place: AbstractContextManager[Any] = self._jax.default_device(device)
        return place

    def at(self, epoch: int, step: int) -> Any:
        return self._fold(self._key, epoch, step)


_SOURCES: dict[str, Any] = {"torch": _Torch, "jax": _Jax}


def _samples(batch: Any) -> int:
    while isinstance(batch, Mapping | tuple | list) and batch:
        batch = next(iter(batch.values())) if isinstance(batch, Mapping) else batch[0]
    shape = getattr(batch, "shape", ())
    return int(shape[0]) if shape else 1
