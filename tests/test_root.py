"""ROOT files as rows, compared with uproot."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_arrays_numpy import read, same

import infeed

uproot = pytest.importorskip("uproot")
ak = pytest.importorskip("awkward")

KINDS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
GOLDEN = Path(__file__).parent.parent / "crates" / "infeed-root" / "golden"
PACKED = {"none": None, "zlib": uproot.ZLIB(1), "lz4": uproot.LZ4(1), "zstd": uproot.ZSTD(1), "lzma": uproot.LZMA(1)}


def values(kind: str, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers that differ."""
    numbers = np.arange(int(np.prod(shape))) * 37 % 113
    return (numbers % 3 == 0 if kind == "?" else numbers).astype(kind).reshape(shape)


def jagged(kind: str, entries: int) -> Any:
    """Lists of 0 to 4 numbers."""
    counts = np.arange(entries) * 7 % 5
    return ak.unflatten(values(kind, (int(counts.sum()),)), counts)


def columns(entries: int) -> dict[str, Any]:
    """Every kind of column, of every type."""
    out: dict[str, Any] = {"word": ak.Array(["ab" * (n % 200) for n in range(entries)])}
    for k, kind in enumerate(KINDS):
        out |= {f"x{k}": values(kind, (entries,)), f"v{k}": values(kind, (entries, 3))}
        out |= {f"m{k}": values(kind, (entries, 2, 3)), f"j{k}": jagged(kind, entries)}
    return out


def write(path: Path, made: dict[str, Any], *, basket: int = 1000, pack: Any = None, tree: str = "events") -> None:
    """Writes columns, with so many entries in a basket."""
    kind = {k: v.type.content if isinstance(v, ak.Array) else (v.dtype, v.shape[1:]) for k, v in made.items()}
    length = len(next(iter(made.values())))
    with uproot.recreate(path, compression=pack) as file:
        file.mktree(tree, kind)
        for first in range(0, length, basket):
            file[tree].extend({name: array[first : first + basket] for name, array in made.items()})


def check(found: dict[str, Any], made: dict[str, Any]) -> None:
    """Rows that were read are those that were written."""
    for name, array in made.items():
        if isinstance(array, np.ndarray):
            same(found[name], array)
            continue
        assert len(found[name]) == len(array)
        for row, wanted in zip(found[name], array.to_list(), strict=True):
            assert (row if isinstance(row, str) else row.tolist()) == wanted


@pytest.mark.parametrize(("entries", "basket"), [(1, 1), (7, 3), (300, 100), (300, 17)])
@pytest.mark.parametrize("pack", PACKED)
def test_rows_are_those_of_uproot(tmp_path: Path, pack: str, entries: int, basket: int) -> None:
    path, made = tmp_path / "a.root", columns(entries)
    write(path, made, basket=basket, pack=PACKED[pack])
    found = read(infeed.root(path))
    check(found, made)
    # uproot reads the same, and has the same names.
    with uproot.open(path) as file:
        tree = file["events"]
        assert sorted(tree.keys()) == sorted(found)
        for name, array in made.items():
            if isinstance(array, np.ndarray):
                same(found[name], tree[name].array(library="np"))
            else:
                assert ak.to_list(tree[name].array()) == ak.to_list(array)
    order = np.asarray(infeed.root(path).shuffle(seed=4).order())
    check(read(infeed.root(path).shuffle(seed=4)), {name: array[order] for name, array in made.items()})


def test_ragged_columns_are_padded_or_lists(tmp_path: Path) -> None:
    made = {"pt": jagged("f4", 40), "label": values("i8", (40,))}
    write(tmp_path / "a.root", made, basket=11)
    lengths = ak.to_numpy(ak.num(made["pt"]))
    for batch in infeed.open(tmp_path / "a.root").batch(40, ragged="pad").to_numpy():
        padded = ak.to_numpy(ak.fill_none(ak.pad_none(made["pt"], int(lengths.max())), 0))
        np.testing.assert_array_equal(batch["pt"], padded)
        assert batch["pt"].dtype == np.float32
    rows = next(iter(infeed.root(tmp_path / "a.root").batch(40).to_numpy()))["pt"]
    assert [len(row) for row in rows] == lengths.tolist()


def test_files_end_to_end_and_in_folders(tmp_path: Path) -> None:
    made = columns(50)
    for k, part in enumerate((slice(0, 20), slice(20, 21), slice(21, 50))):
        write(tmp_path / f"events-{k}.root", {name: array[part] for name, array in made.items()}, basket=6)
    for pipeline in (infeed.root(tmp_path / "events-*.root", tree="events"), infeed.open(tmp_path)):
        check(read(pipeline), made)
        assert len(pipeline) == 50
    names = ["m3", "x9"]
    found = read(infeed.root(tmp_path, branches=names))
    assert list(found) == names
    write(tmp_path / "events-3.root", {"x9": values("f8", (3,)), "m3": made["m3"][:3]})
    with pytest.raises(ValueError, match=r"events-3.root`: `x9` is f64, and in .*events-0.root` it is f32"):
        read(infeed.root(tmp_path, branches=names))
    with pytest.raises(ValueError, match=r"has no branch `x1`.*events-0.root"):
        read(infeed.root(tmp_path, branches=["x1"]))


def test_trees_are_found_by_name(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    with uproot.recreate(path) as file:
        for name, count in (("a", 3), ("deep/er/b", 5), ("deep/c", 7)):
            file.mktree(name, {"x": np.dtype("i8")})
            file[name].extend({"x": np.arange(count) * 2})
    for name, count in (("a", 3), ("deep/er/b", 5), ("/deep/c", 7), ("a;1", 3)):
        same(read(infeed.root(path, tree=name))["x"], np.arange(count) * 2)
    listed = "`a` with 3 entries, `deep/er/b` with 5 entries, `deep/c` with 7 entries"
    with pytest.raises(ValueError, match=rf"3 trees in the file; say which with tree= \({listed}\)"):
        read(infeed.root(path))
    with pytest.raises(ValueError, match=rf"no tree `d` .*{listed}"):
        read(infeed.root(path, tree="d"))
    with uproot.recreate(path) as file:
        file["h"] = np.histogram([1, 2, 3])
    with pytest.raises(ValueError, match="no tree in the file"):
        read(infeed.root(path))
    write(path, {"x": np.zeros(0, "i4")}, tree="empty")
    with pytest.raises(ValueError, match="no entries"):
        read(infeed.root(path))


def test_what_uproot_cannot_write() -> None:
    """Several leaves in a branch, a vector, baskets inside of the tree, two cycles."""
    path = GOLDEN / "handmade.root"
    found = read(infeed.root(path))
    with uproot.open(path) as file:
        tree = file["events;2"]
        hits = tree["hit"].array()
        for leaf in hits.fields:
            same(found[f"hit.{leaf}"], ak.to_numpy(hits[leaf]))
        assert [row.tolist() for row in found["vec"]] == tree["vec"].array().to_list()
        same(found["late"], tree["late"].array(library="np"))
        assert found["word"] == tree["word"].array().to_list()
    assert list(read(infeed.root(path, tree="events;1"))) == ["hit.a", "hit.b", "hit.c"]


def test_small_floats_have_their_ranges() -> None:
    """`Float16_t` and `Double32_t`; uproot takes the dimensions of arrays for ranges."""
    path = GOLDEN / "small.root"
    found = read(infeed.root(path))
    with uproot.open(path) as file:
        for name in ("plain", "range", "bits", "half", "half_range"):
            same(found[name], file["events"][name].array(library="np"))
    same(found["pair"], (np.arange(12) / 2 - 2.5).reshape(-1, 2).astype("f4"))
    same(found["pair_range"], (np.arange(12) / 2 + 5.5).reshape(-1, 2))
    assert [row.tolist() for row in found["list"]] == [[], [-0.25], [-0.125, 0.0], [], [0.125], [0.25, 0.375]]


def write_ntuple(path: Path, made: dict[str, Any], *, cluster: int = 1000, pack: Any = None) -> None:
    """Writes an n-tuple, with so many entries in a cluster."""
    length = len(next(iter(made.values())))
    with uproot.recreate(path, compression=pack) as file:
        for first in range(0, length, cluster):
            part = {name: array[first : first + cluster] for name, array in made.items()}
            if first == 0:
                file.mkrntuple("events", part)
            else:
                file["events"].extend(part)


@pytest.mark.parametrize(("entries", "cluster"), [(1, 1), (7, 3), (300, 100), (300, 17)])
@pytest.mark.parametrize("pack", PACKED)
def test_rows_of_ntuples_are_those_of_uproot(tmp_path: Path, pack: str, entries: int, cluster: int) -> None:
    path, made = tmp_path / "a.root", columns(entries)
    write_ntuple(path, made, cluster=cluster, pack=PACKED[pack])
    found = read(infeed.root(path))
    assert sorted(found) == sorted(made)
    check(found, made)
    order = np.asarray(infeed.root(path).shuffle(seed=4).order())
    check(read(infeed.root(path).shuffle(seed=4)), {name: array[order] for name, array in made.items()})
    # Together with a tree of the same entries.
    write(tmp_path / "b.root", made, basket=cluster)
    both = read(infeed.root([path, tmp_path / "b.root"], branches=list(made)))
    for half in (slice(None, entries), slice(entries, None)):
        check({name: column[half] for name, column in both.items()}, made)


def test_records_of_ntuples_are_fields(tmp_path: Path) -> None:
    counts = np.arange(50) % 4
    flat = {"pt": values("f4", (int(counts.sum()),)), "q": values("i1", (int(counts.sum()),))}
    jets = ak.unflatten(ak.zip(flat), counts)
    hit = ak.zip({"x": values("f8", (50,)), "y": values("i2", (50,))})
    maybe = ak.Array([None if n % 3 else n for n in range(50)])
    nested = ak.Array([[[1, 2], []]] * 50)
    write_ntuple(tmp_path / "a.root", {"jets": jets, "hit": hit, "maybe": maybe, "nested": nested}, cluster=20)
    pipeline = infeed.root(tmp_path / "a.root")
    found = read(pipeline)
    assert sorted(found) == ["hit.x", "hit.y", "jets.pt", "jets.q", "maybe"]
    for name in ("pt", "q"):
        assert [row.tolist() for row in found[f"jets.{name}"]] == jets[name].to_list()
    for name in ("x", "y"):
        same(found[f"hit.{name}"], ak.to_numpy(hit[name]))
    assert [row.tolist() for row in found["maybe"]] == [[] if value is None else [value] for value in maybe.to_list()]
    assert "nested (lists of lists are not read)" in str(pipeline.explain())
    with pytest.raises(ValueError, match="`nested` cannot be read: lists of lists"):
        read(infeed.root(tmp_path / "a.root", branches=["nested"]))


def test_what_uproot_cannot_write_of_ntuples() -> None:
    """Split, zigzag and differences, small floats, two representations, projected fields, columns added later."""
    path = GOLDEN / "ntuple.root"
    found = read(infeed.root(path))
    with uproot.open(path) as file:
        ntuple = file["nt"]
        for name, column in found.items():
            wanted = ntuple[name].array()
            if isinstance(column, np.ndarray):
                np.testing.assert_array_equal(column, ak.to_numpy(wanted), err_msg=name)
            else:
                assert [row if isinstance(row, str) else row.tolist() for row in column] == wanted.to_list()


def test_damage_of_ntuples_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.root"
    write_ntuple(path, {"x": np.arange(3000), "pt": jagged("f4", 3000)}, cluster=1000, pack=PACKED["zstd"])
    data = path.read_bytes()
    with uproot.open(path) as file:
        ntuple = file["events"]
        header, footer = ntuple.member("fSeekHeader"), ntuple.member("fSeekFooter")
        columns = [record.field_id for record in ntuple.column_records]
        fields = [record.field_name for record in ntuple.field_records]
        page = ntuple.page_link_list[1][columns.index(fields.index("x"))].pages[0].locator.offset

    def changed(at: int) -> str:
        path.write_bytes(data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :])
        with pytest.raises((ValueError, RuntimeError), match=r"a\.root") as told:
            read(infeed.root(path))
        return str(told.value)

    assert "checksum" in changed(header + 30)
    assert "the envelope Footer: its checksum is wrong" in changed(footer + 30)
    assert "field `x`: entries from 1000 on" in changed(page)
    for length in range(300, len(data), len(data) // 40):
        path.write_bytes(data[:length])
        with pytest.raises((ValueError, RuntimeError)):
            read(infeed.root(path))


def test_friends_are_joined_by_number(tmp_path: Path) -> None:
    made = {"pt": values("f4", (50,)), "x": values("i8", (50,))}
    scores = {"score": values("f8", (50, 2)), "x": values("u1", (50,)), "jets": jagged("i2", 50)}
    for k, part in enumerate((slice(0, 20), slice(20, 50))):
        with uproot.recreate(tmp_path / f"{k}.root") as file:
            for name, columns, basket in (("events", made, 7), ("nn/scores", scores, 11)):
                kind = {
                    n: v.type.content if isinstance(v, ak.Array) else (v.dtype, v.shape[1:])
                    for n, v in columns.items()
                }
                file.mktree(name, kind)
                for first in range(part.start, part.stop, basket):
                    rows = slice(first, min(first + basket, part.stop))
                    file[name].extend({n: v[rows] for n, v in columns.items()})
            file.mkrntuple("more", {"y": np.arange(part.start, part.stop)})
            file.mktree("short", {"y": np.dtype("i4")})
            file["short"].extend({"y": np.arange(5, dtype="i4")})
    pipeline = infeed.root(tmp_path, tree="events", friends=["nn/scores", "more"])
    wanted = {"pt": made["pt"], "x": made["x"], "score": scores["score"], "scores.x": scores["x"]}
    wanted |= {"jets": scores["jets"], "y": np.arange(50)}
    found = read(pipeline)
    assert sorted(found) == sorted([*wanted, "njets"])
    check(found, wanted)
    order = np.asarray(pipeline.shuffle(seed=2).order())
    check(read(pipeline.shuffle(seed=2)), {name: array[order] for name, array in wanted.items()})
    only = infeed.root(tmp_path, tree="events", friends=["nn/scores"], branches=["scores.x", "pt"])
    assert list(read(only)) == ["scores.x", "pt"]
    with pytest.raises(ValueError, match=r"0.root`: `events` has 20 entries and its friend `short` has 5"):
        read(infeed.root(tmp_path, tree="events", friends=["short"]))


def test_cut_files_are_errors(tmp_path: Path) -> None:
    write(tmp_path / "a.root", columns(30), basket=7, pack=PACKED["zstd"])
    data = (tmp_path / "a.root").read_bytes()
    path = tmp_path / "b.root"
    for length in [*range(1, 300, 23), *range(300, len(data), len(data) // 40), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises((ValueError, RuntimeError)):
            read(infeed.root(path))


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    path, bad = tmp_path / "a.root", tmp_path / "b.root"
    write(path, {"pt": jagged("f4", 3000), "x": np.arange(3000.0)}, basket=1000, pack=PACKED["lz4"])
    data = path.read_bytes()
    with uproot.open(path) as file:
        branch = file["events"]["pt"]
        seek, size = int(branch.member("fBasketSeek")[1]), int(branch.member("fBasketBytes")[1])
    basket = data[seek : seek + size]
    body = basket.index(b"L4")

    def changed(at: int, new: bytes) -> str:
        bad.write_bytes(data[: seek + at] + new + data[seek + at + len(new) :])
        with pytest.raises((ValueError, RuntimeError), match=r"b\.root") as told:
            read(infeed.root(bad))
        return str(told.value)

    assert "no compression of ROOT" in changed(body, b"QQ")
    assert "checksum" in changed(body + 40, bytes([basket[body + 40] ^ 1]))
    assert "branch `pt`, entries from 1000 on" in changed(0, b"\x00\x00\x00\x10")
    assert "compressed bytes should follow" in changed(body + 3, b"\xff\xff\xff")
    assert "a record of 16777215 bytes" in changed(body + 6, b"\xff\xff\xff")
    # The other column is whole.
    same(read(infeed.root(bad, branches=["x"]))["x"], np.arange(3000.0))
    bad.write_bytes(b"ROOT" + data[4:])
    with pytest.raises((ValueError, RuntimeError), match="does not begin with `root`"):
        read(infeed.root(bad))


def test_damaged_rows_can_be_left_out(tmp_path: Path) -> None:
    """A damaged basket costs the rows of its block and no others. lz4 has checksums, by which all damage shows."""
    path, count = tmp_path / "a.root", 200_000
    write(path, {"x": np.arange(3 * count)}, basket=count, pack=PACKED["lz4"])
    data = bytearray(path.read_bytes())
    with uproot.open(path) as file:
        seek = int(file["events"]["x"].member("fBasketSeek")[1])
    for at in range(seek + 200, seek + 400):
        data[at] ^= 0x5A
    path.write_bytes(data)
    batches = infeed.root(path).batch(1000).to_numpy(on_error="skip", error_limit=count)
    found = np.concatenate([batch["x"] for batch in batches])
    assert found.tolist() == [*range(count), *range(2 * count, 3 * count)]


def test_wrong_arguments(tmp_path: Path) -> None:
    write(tmp_path / "a.root", {"pt": np.arange(3), "eta": np.arange(3)})
    with pytest.raises(ValueError, match=re.escape("no branch `pd`; did you mean `pt`? (it has: pt, eta)")):
        read(infeed.root(tmp_path / "a.root", branches=["pd"]))
    with pytest.raises(ValueError, match="at least one"):
        read(infeed.root(tmp_path / "a.root", branches=[]))
    with pytest.raises(ValueError, match="twice"):
        read(infeed.root(tmp_path / "a.root", branches=["pt", "pt"]))
    (tmp_path / "none").mkdir()
    with pytest.raises(FileNotFoundError, match=r"no \.root file"):
        read(infeed.root(tmp_path / "none"))
