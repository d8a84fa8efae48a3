#!/usr/bin/env python3
"""Makes the files of this folder with uproot and by hand, and the checksums that `tests/files.rs` expects."""

import zlib
from pathlib import Path

import awkward as ak
import handmade
import ntuple
import numpy as np
import small
import uproot

HERE = Path(__file__).parent
PACKED = {"plain": None, "zlib": uproot.ZLIB(9), "lz4": uproot.LZ4(9), "zstd": uproot.ZSTD(9), "lzma": uproot.LZMA(9)}


def columns(first: int, entries: int) -> dict[str, object]:
    """Some entries of every kind of column."""
    counts = (np.arange(entries) + first) % 4
    return {
        "number": (np.arange(entries) + first).astype("i8"),
        "flag": np.arange(entries) % 3 == 0,
        "grid": (np.arange(entries * 6).reshape(entries, 2, 3) / 7 + first).astype("f4"),
        "jets": ak.unflatten((np.arange(counts.sum()) * 2 + first).astype("u2"), counts),
        "word": ak.Array(["w" * (n % 5) for n in range(entries)]),
    }


def main() -> None:
    """Writes the files and the checksums."""
    handmade.write(HERE / "handmade.root")
    by_hand = {"ntuple": ntuple.write(HERE / "ntuple.root"), "small": small.write(HERE / "small.root")}
    written(HERE / "rntuple.root")
    with_friends(HERE / "friends.root")
    for name, pack in PACKED.items():
        with uproot.recreate(HERE / f"{name}.root", compression=pack) as file:
            kinds = {"number": np.dtype("i8"), "flag": np.dtype("?"), "grid": np.dtype(("f4", (2, 3)))}
            file.mktree("deep/events", {**kinds, "jets": "var * uint16", "word": "string"})
            for first, entries in ((0, 30), (30, 1), (31, 9)):
                file["deep/events"].extend(columns(first, entries))
    lines = []
    for path in sorted(HERE.glob("*.root")):
        if path.stem == "friends":
            continue
        with uproot.open(path) as file:
            if path.stem in by_hand:
                made = by_hand[path.stem]
                compare(file["nt" if path.stem == "ntuple" else "events"], made)
                lines += [f"{path.name} {key} {zlib.crc32(found.tobytes()):08x}" for key, (found, _) in made.items()]
                continue
            tree = file["events" if path.stem == "handmade" else "deep/events"]
            for key, found in arrays(tree):
                lines.append(f"{path.name} {key} {zlib.crc32(found):08x}")
    (HERE / "sums.txt").write_text("\n".join(lines) + "\n")


def written(path: Path) -> None:
    """An n-tuple of uproot, with three clusters."""
    with uproot.recreate(path, compression=uproot.ZSTD(9)) as file:
        for first, entries in ((0, 30), (30, 1), (31, 9)):
            made = columns(first, entries)
            if first == 0:
                file.mkrntuple("deep/events", made)
            else:
                file["deep/events"].extend(made)


def with_friends(path: Path) -> None:
    """Trees and an n-tuple that belong together, with other baskets each, and one that does not."""
    with uproot.recreate(path, compression=uproot.ZSTD(9)) as file:
        for name, sizes in (("events", (5, 7)), ("deep/scores", (3, 4, 5)), ("short", (11,))):
            file.mktree(name, {"x": np.dtype("i4"), name[:4]: np.dtype("f4")})
            first = 0
            for size in sizes:
                rows = np.arange(first, first + size)
                file[name].extend({"x": (rows + len(sizes) * 100).astype("i4"), name[:4]: rows.astype("f4") / 2})
                first += size
        file.mkrntuple("more", {"y": np.arange(12) * 3, "x": ak.Array([[n] * (n % 3) for n in range(12)])})


def compare(found: object, made: dict[str, tuple[np.ndarray, np.ndarray | None]]) -> None:
    """What was put together by hand is what uproot reads; it has other types for some fields."""
    for name, (wanted, counts) in made.items():
        # uproot takes a dimension for the range.
        if "pair" in made and name in ("pair", "pair_range", "list"):
            continue
        array = found[name].array()
        if name == "word":
            assert "".join(array.to_list()).encode() == wanted.tobytes()
            continue
        if counts is not None:
            np.testing.assert_array_equal(ak.to_numpy(ak.num(array)), counts)
            array = ak.flatten(array)
        np.testing.assert_array_equal(ak.to_numpy(array), wanted, err_msg=name)


def arrays(tree: object) -> list[tuple[str, bytes]]:
    """The elements of each column, as uproot reads them."""
    out = []
    for name, branch in tree.items():
        array = branch.array()
        parts = {f"{name}.{field}": array[field] for field in array.fields} or {name: array}
        for key, part in parts.items():
            if "string" in str(part.type):
                out.append((key, "".join(part.to_list()).encode()))
            else:
                flat = ak.to_numpy(ak.flatten(part)) if "var" in str(part.type) else ak.to_numpy(part)
                out.append((key, np.ascontiguousarray(flat).tobytes()))
    return out


if __name__ == "__main__":
    main()
