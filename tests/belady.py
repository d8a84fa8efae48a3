"""The best that a cache could do for an order that is known: Belady's algorithm, for tests and benchmarks of caches."""

from __future__ import annotations

import heapq
import io
import tarfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

#: Bytes of a chunk, and of its file.
CHUNK = 4 << 20
CHUNK_FILE = CHUNK + 64 * 4 + 40


def write_shards(folder: Path, shards: int, fields: Iterable[tuple[str, bytes]]) -> list[tuple[int, int, int]]:
    """Writes tars; every row has its number as ``cls``. Returns shard, first byte and end of every row."""
    rows = list(fields)
    places = [(0, 0, 0)] * len(rows)
    for shard in range(shards):
        with tarfile.open(folder / f"t-{shard}.tar", "w") as file:
            for row in range(shard, len(rows), shards):
                name, data = rows[row]
                start = file.offset + 512
                for ending, content in ((name, data), ("cls", str(row).encode())):
                    member = tarfile.TarInfo(f"{row:06}.{ending}")
                    member.size = len(content)
                    file.addfile(member, io.BytesIO(content))
                places[row] = (shard, start, file.offset)
    return places


def belady(uses: list[tuple[int, int]], weights: dict[int, int], limit: int, counted_from: int) -> int:
    """Bytes that Belady's algorithm fetches. `uses` are pairs of position and item, in order."""
    later: dict[int, list[int]] = defaultdict(list)
    for position, item in reversed(uses):
        later[item].append(position)
    kept: dict[int, int] = {}
    queue: list[tuple[int, int]] = []
    used = fetched = 0
    for position, item in uses:
        later[item].pop()
        after = later[item][-1] if later[item] else 1 << 62
        if item in kept:
            kept[item] = after
            heapq.heappush(queue, (-after, item))
            continue
        if position >= counted_from:
            fetched += weights[item]
        kept[item] = after
        used += weights[item]
        heapq.heappush(queue, (-after, item))
        while used > limit:
            when, last = heapq.heappop(queue)
            # Older entries of an item are void.
            if kept.get(last) == -when:
                used -= weights[last]
                del kept[last]
    return fetched


def bounds(
    orders: list[list[int]], places: list[tuple[int, int, int]], sizes: list[int], limit: int
) -> tuple[int, int]:
    """What Belady's algorithm fetches after the first epoch, in chunks and in rows."""
    flat = [row for order in orders for row in order]
    first = len(orders[0])
    rows = belady(
        list(enumerate(flat)), {row: end - start for row, (_, start, end) in enumerate(places)}, limit, first
    )
    chunks, weights = [], {}
    for position, row in enumerate(flat):
        shard, start, end = places[row]
        for chunk in range(start // CHUNK, (end - 1) // CHUNK + 1):
            number = shard << 32 | chunk
            chunks.append((position, number))
            weights[number] = min(CHUNK, sizes[shard] - chunk * CHUNK)
    return belady(chunks, weights, limit, first), rows
