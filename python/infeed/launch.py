"""Worlds: the rank of this process, the number of ranks, and where both were found."""

from __future__ import annotations

import json
import operator
import sys
from dataclasses import dataclass, field
from typing import Any, SupportsIndex

from . import _core


@dataclass(frozen=True)
class World:
    """The rank of this process among those that train together. Its text says where that was found and why."""

    rank: int
    size: int
    local_rank: int = 0
    local_size: int = 1
    source: str = "arguments"
    _text: str = field(default="", repr=False, compare=False)

    def __post_init__(self) -> None:
        for rank, size, of in ((self.rank, self.size, ""), (self.local_rank, self.local_size, "local ")):
            if size < 1:
                raise ValueError(f"the {of}world size must be at least 1, got {size}")
            if not 0 <= rank < size:
                raise ValueError(f"there is no {of}rank {rank} in a world of {size}: ranks go from 0 to {size - 1}")

    def explain(self) -> str:
        """What was found, and why each finding was used or passed over."""
        return self._text or f"{_place(self)}, from {self.source}"

    def __str__(self) -> str:
        return self.explain()


@dataclass(frozen=True)
class _Claim:
    """Rank and size as a framework or the caller states them."""

    source: str
    rank: int
    size: int
    local: tuple[int, int] | None = None

    def verdict(self, rank: int, size: int) -> str:
        """Why another claim, with this rank and size, was passed over."""
        if (rank, size) == (self.rank, self.size):
            return f"passed over: {self.source} comes first, and they agree"
        return f"passed over: {self.source} comes first; here it would be rank {rank} of {size}"


def world(rank: SupportsIndex | None = None, world_size: SupportsIndex | None = None) -> World:
    """Which rank this process is, of how many.

    The first of these that knows decides: the arguments, ``torch.distributed``, Ray Train, JAX, and the environment set
    by a launcher (``INFEED_RANK``, torchrun, MPI, SLURM, ...). Frameworks are asked only if they are imported and
    initialised already. If none knows, the process is rank 0 of 1. ``print(infeed.world())`` shows what each of them
    said.
    """
    if (rank is None) != (world_size is None):
        raise ValueError("rank and world_size go together: give both, or neither to have them found")
    claims = [claim for ask in (_torch, _ray, _jax) if (claim := ask()) is not None]
    if rank is not None and world_size is not None:
        by_hand = World(_whole("rank", rank), _whole("world_size", world_size))
        claims.insert(0, _Claim(by_hand.source, by_hand.rank, by_hand.size))
    try:
        found = json.loads(_core.find_world())
    except ValueError as error:
        if not claims:
            raise
        # The environment is not needed here, so errors in it are only reported.
        return _settle(claims, None, f"\n  environment: passed over: {error}")
    return _settle(claims, found) if claims else _from_environment(found)


def _settle(claims: list[_Claim], found: dict[str, Any] | None, more: str = "") -> World:
    """The world of the first claim. The local rank may come from another claim with the same rank and size."""
    first, *others = claims
    env: Any = found["world"] if found else None
    seen = found["seen"] if found else []
    lenders = list(claims)
    if any(s["launcher"] == env["from"] for s in seen):
        lenders.append(_Claim(env["from"], env["rank"], env["size"], (env["local_rank"], env["local_size"])))
    local, note = (0, 1), ": assumed to be the only rank of its node" if first.size > 1 else ""
    for lender in lenders:
        if lender.local is not None and (lender.rank, lender.size) == (first.rank, first.size):
            local, note = lender.local, "" if lender is first else f": the local rank is that of {lender.source}"
            break
    lines = [f"{_place(World(first.rank, first.size, *local))}, from {first.source}{note}"]
    lines += [f"  {c.source}: rank {c.rank} of {c.size}: {first.verdict(c.rank, c.size)}" for c in others]
    for s in seen:
        taken = s["launcher"] == env["from"]
        lines.append(f"  {_seen(s, first.verdict(env['rank'], env['size']) if taken else s['verdict'])}")
    return World(first.rank, first.size, *local, first.source, "\n".join(lines) + more)


def _from_environment(found: dict[str, Any]) -> World:
    env, seen = found["world"], found["seen"]
    numbers = (env["rank"], env["size"], env["local_rank"], env["local_size"])
    head = _place(World(*numbers))
    taken = [_seen(s, s["verdict"]) for s in seen if s["launcher"] == env["from"]]
    others = [_seen(s, s["verdict"]) for s in seen if s["launcher"] != env["from"]]
    lines = [f"{head}, from {taken[0]}" if taken else f"{head}: no framework or launcher says otherwise"]
    return World(*numbers, env["from"], "\n  ".join(lines + others))


def _place(world: World) -> str:
    return f"rank {world.rank} of {world.size} (local {world.local_rank} of {world.local_size})"


def _seen(seen: dict[str, Any], verdict: str) -> str:
    variables = " ".join(f"{name}={value}" for name, value in seen["variables"])
    return f"{seen['launcher']}: {variables}: {verdict}"


def _whole(name: str, value: SupportsIndex) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be a whole number, got {value!r}")
    return operator.index(value)


def _torch() -> _Claim | None:
    dist: Any = sys.modules.get("torch.distributed")
    if dist is None or not dist.is_available() or not dist.is_initialized():
        return None
    return _Claim("torch.distributed", dist.get_rank(), dist.get_world_size())


def _ray() -> _Claim | None:
    train: Any = sys.modules.get("ray.train")
    if train is None:
        return None
    try:
        # Ray Train V1 also answers outside of its workers, with made-up numbers and a warning.
        old = sys.modules.get("ray.train.context")
        session: Any = sys.modules.get("ray.train._internal.session")
        if train.get_context is getattr(old, "get_context", None) and session.get_session() is None:
            return None
        context = train.get_context()
        local = (context.get_local_rank(), context.get_local_world_size())
        return _Claim("Ray Train", context.get_world_rank(), context.get_world_size(), local)
    except Exception:
        # Not inside a worker: Ray raises RuntimeError, or inside Ray Tune a warning as an exception.
        return None


def _jax() -> _Claim | None:
    jax: Any = sys.modules.get("jax")
    if jax is None:
        return None
    state: Any = getattr(sys.modules.get("jax._src.distributed"), "global_state", None)
    if state is not None and hasattr(state, "client"):
        # jax.process_index() would start a backend, which takes the device's memory and waits for the other processes.
        return _Claim("JAX", state.process_id, state.num_processes) if state.client is not None else None
    if not jax.distributed.is_initialized():
        return None
    return _Claim("JAX", jax.process_index(), jax.process_count())
