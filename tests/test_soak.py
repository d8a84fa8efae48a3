"""The soak: its slope test, its proof, and some of its rounds."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "scripts"))

pytest.importorskip("zstandard")
pytest.importorskip("pyarrow")

from soaking import data, rounds
from soaking.life import Job, run
from soaking.slope import slope_of, upper_tail

pytestmark = pytest.mark.timeout(300)


def test_student_t():
    for freedom, t, p in [(1, 1.0, 0.25), (10, 1.812, 0.05), (30, 3.385, 0.001), (5, -2.015, 0.95)]:
        assert upper_tail(t, freedom) == pytest.approx(p, rel=0.01)


def test_series_without_a_trend_are_flat():
    draw = random.Random(1)
    grows = 0
    for _ in range(300):
        level, walk = 1e5, []
        for _ in range(100):
            # Noise that remembers: half of the last value, and something new.
            level = 1e5 + 0.5 * (level - 1e5) + draw.gauss(0, 100)
            walk.append(level)
        grows += slope_of("x", walk).grows
    assert grows <= 3
    assert not slope_of("x", [7.0] * 20).grows
    assert not slope_of("x", [1000.0 - i + draw.gauss(0, 1) for i in range(50)]).grows


def test_leaks_are_found():
    draw = random.Random(2)
    assert slope_of("x", [1e5 + 20 * i + draw.gauss(0, 100) for i in range(100)]).grows
    assert slope_of("x", [6.0 + i for i in range(20)]).grows
    with pytest.raises(ValueError, match="at least 8"):
        slope_of("x", [1.0, 2.0])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("soak")
    data.write(folder / "data")
    command = [
        "cc",
        "-shared",
        "-fPIC",
        "-o",
        folder / "faults.so",
        Path(__file__).parent / "native/faults.c",
        "-ldl",
    ]
    try:
        subprocess.run(command, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("needs a C compiler")
    return folder


@pytest.mark.parametrize("kind", data.KINDS)
def test_a_round_proves_its_epoch(folder, kind):
    counts: Counter[str] = Counter()
    plan = rounds.Round.choose(data.KINDS.index(kind), 3, folder / "data", 4 << 30)
    plan.kills, plan.chaos, plan.fault = 1, 4, None if kind == "wrapped" else "EIO"
    plan.play(folder, folder / "faults.so", counts)
    assert counts["rows"] == data.ROWS[kind] - len(data.DAMAGED[kind] if plan.damaged else ())


@pytest.mark.parametrize("kind", ["tar", "jsonl.zst"])
def test_the_proof_finds_what_is_lost_doubled_or_not_named(folder, kind):
    job = Job(str(folder / "data"), kind, True, 1, 24, 2, 4 << 30)
    done = run(job)
    rounds.prove(job, done.ledgers, done.rows)
    for ledgers, rows in [
        (done.ledgers, done.rows[1:]),
        (done.ledgers, [*done.rows, done.rows[0]]),
        (done.ledgers[:1], done.rows),
    ]:
        with pytest.raises(rounds.Failed):
            rounds.prove(job, ledgers, rows)
