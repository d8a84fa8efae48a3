"""Some runs of the campaign ``scripts/remote_chaos.py``: epochs of remote data under every fault that the proxy knows."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

pytest.importorskip("zstandard")

from chaosing import after, data
from chaosing.rank import Saved
from chaosing.runs import Failed, Place, Run

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("chaos")
    data.write(folder)
    return folder


@pytest.fixture(scope="module")
def known(folder) -> dict[str, dict[int, int]]:
    return data.expected(folder)


@pytest.fixture
def place(request, folder, known, tmp_path, proxied):
    """Where runs of a server happen."""

    def at(name: str) -> Place:
        server = request.getfixturevalue(name)
        if not getattr(server, "has_chaos", False):
            server.put_folder(folder, "chaos/")
            server.has_chaos = True
        proxy = proxied(server)
        root = server.uri("chaos/", proxy) if name == "nginx" else server.uri("chaos/")
        return Place(proxy, root, server.environment(proxy), tmp_path, known)

    return at


# One of each format, both servers, with and without a cache; a rank is killed in the third.
@pytest.mark.parametrize("number", [0, 1, 3, 4, 5, 8])
def test_an_epoch_under_all_faults(place, known, number):
    run = Run.choose(number, seed=0)
    counts: Counter[str] = Counter()
    run.play(place(run.server), counts)
    assert counts["rows"] == len(known[run.job.kind])
    assert counts["kills"] == (1 if run.kill else 0)
    assert sum(count for name, count in counts.items() if name.startswith("fault ")) > 0


def test_every_fault_is_on():
    for number in range(40):
        run = Run.choose(number, seed=1)
        rates = {**run.faults, **{f"errors_{name}": rate for name, rate in run.faults["errors"].items()}}
        rates["stalls"], rates["tail"] = run.faults["stalls"]["rate"], run.faults["tail"]["rate"]
        names = ["early_resets", "resets", "stalls", "truncated", "wrong_heads", "whole", "tail", "bandwidth"]
        names += ["connection_bandwidth", *(f"errors_{status}" for status in (429, 500, 502, 503))]
        assert all(rates[name] > 0 for name in names)
        assert (rates.get("corrupted", 0) > 0) == (rates.get("wrong_bytes", 0) > 0) == run.changes
    kinds = [Run.choose(number, seed=0) for number in range(200)]
    assert sum(run.kill for run in kinds) >= 2 and {run.job.kind for run in kinds if run.kill} == set(data.KINDS)


def test_the_proof_finds_what_is_wrong(place, known):
    run = Run.choose(0, seed=0)
    run.job.world = 1
    rows = list(known[run.job.kind].items())
    for wrong, what in [
        (rows[1:], "rows lost: 1"),
        ([*rows, rows[3]], "came too often: 1"),
        ([(rows[0][0], rows[0][1] ^ 1), *rows[1:]], "rows with other bytes: 1"),
    ]:
        with pytest.raises(Failed, match=what):
            run._prove([[Saved({}, {}, wrong, done=True)]], place("nginx"))


def test_locks_and_drafts_are_found(tmp_path):
    import fcntl

    (tmp_path / "a.part").write_text("")
    with (tmp_path / "b").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        assert after.locked(tmp_path) == [str(tmp_path / "b")]
    assert after.locked(tmp_path) == [] and after.drafts(tmp_path) == [str(tmp_path / "a.part")]
