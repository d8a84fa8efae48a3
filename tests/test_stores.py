"""Every format over every store: from memory as from files, and under injected faults.

Rows that are delivered after a fault are correct, and rows that are not delivered are reported.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import format_boxes  # noqa: F401  its cases are in the list, too
import format_images  # noqa: F401  its cases are in the list, too
import format_rows  # noqa: F401  its cases are in the list, too
import pytest
from format_cases import CASES, Case, Made
from test_contract_formats import bag, expected, flat, plain

import infeed
from infeed import stores
from infeed.testing import Faults

#: Formats whose library needs a file of this machine: the table says so.
LOCAL = {entry["name"] for entry in json.loads(infeed._core.entries("formats")) if not entry["can"]["remote"]}
#: What went wrong and what came out right, over all cases: printed at the end.
TOTALS = {
    "data sets": 0,
    "schedules": 0,
    "faults": 0,
    "rows right": 0,
    "rows named": 0,
    "streams refused": 0,
    "reads tried again": 0,
}


@pytest.fixture
def made(case: Case, tmp_path: Path) -> Made:
    folder = tmp_path / "data"
    folder.mkdir()
    return case.make(folder)


@pytest.fixture(scope="module", autouse=True)
def totals() -> Any:
    yield
    print(f"\nfaulty store: {TOTALS}")


def sources(recipe: dict[str, Any]) -> list[dict[str, Any]]:
    """The sources of a recipe that read files."""
    source = recipe["source"]
    return [s for part in source["part"] for s in sources(part)] if "join" in source else [source]


def in_memory(made: Made, folder: Path) -> infeed.Pipeline:
    """The same pipeline over copies of its files in memory."""
    for path in folder.rglob("*"):
        if path.is_file():
            stores.put(f"mem:{path}", path.read_bytes())
    recipe = json.loads(json.dumps(made.pipeline.recipe))
    for source in sources(recipe):
        source["paths"] = [f"mem:{path}" for path in source["paths"]]
    return infeed.Pipeline(recipe)


@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_rows_are_the_same_from_memory(made: Made, tmp_path: Path) -> None:
    formats = {source["format"] for source in sources(made.pipeline.recipe)}
    pipeline = in_memory(made, tmp_path / "data")
    if formats & LOCAL:
        with pytest.raises(ValueError, match="can only be read from a file of this machine; copy it there"):
            pipeline.batch(7).to_numpy()
        return
    assert flat(pipeline.batch(7).to_numpy(threads=2)) == expected(made)


RATES = {
    "connections": {"errors": 0.2, "delays": 0.02},
    "short reads": {"short": 0.2},
    "bad blocks": {"bad_blocks": 0.3},
    "truncation": {"truncated": 0.7},
}
#: Seeds for each kind of fault and each format. `make schedules` takes many more.
SEEDS = int(os.environ.get("INFEED_SCHEDULES", "3"))
#: Faults that are gone when a read is tried again.
PASSING = {"connections", "short reads"}


@pytest.mark.parametrize("kind", RATES)
@pytest.mark.parametrize("case", CASES, ids=[c.name for c in CASES])
def test_faults_never_mix_rows(case: Case, made: Made, kind: str, tmp_path: Path) -> None:
    """Each row that comes is the one its number says, and each that does not is in the list of bad samples.

    Faults that pass lose no row at all.
    """
    want = expected(made)
    TOTALS["data sets"] += kind == next(iter(RATES))
    for seed in range(SEEDS):
        TOTALS["schedules"] += 1
        with Faults(seed=seed, **RATES[kind]) as faults:
            lenient = kind not in PASSING
            loader = made.pipeline.batch(5).to_numpy(threads=2, on_error="skip", skip_unreadable=lenient)
            faults.arm()
            rows: list[Any] = []
            numbers: list[int] = []
            try:
                for batch in loader:
                    numbers += [int(n) for n in batch["__row__"]]
                    names = [n for n in batch if not n.startswith("__")]
                    size = len(batch["__row__"])
                    rows += [{n: plain(batch[n][i]) for n in names} for i in range(size)]
            except (infeed.FormatError, infeed.SampleError, OSError) as error:
                # A stream cannot continue after an unreadable position; the error says where that is.
                assert case.stream and lenient, error
                files = [path.name for path in (tmp_path / "data").rglob("*") if path.is_file()]
                assert any(name in str(error) for name in files), error
                TOTALS["streams refused"] += 1
                assert rows == want[: len(rows)]
            else:
                stats = loader.stats()
                assert len(rows) + stats["bad_samples"] == len(want)
                assert lenient or stats["bad_samples"] == 0, stats["bad"]
                assert all("shard" in sample["error"] and "row" in sample["error"] for sample in stats["bad"])
                assert rows == [want[n] for n in numbers] if not case.stream else bag(rows) <= bag(want)
                TOTALS["rows named"] += stats["bad_samples"]
        TOTALS["faults"] += sum(faults.counts().values())
        TOTALS["rows right"] += len(rows)
        TOTALS["reads tried again"] += loader.stats()["retries"]


def test_storage_that_stays_broken_is_not_a_bad_sample(tmp_path: Path) -> None:
    """Leaving rows out because a disk is broken would lose them without a reason in the data."""
    with infeed.ShardWriter(tmp_path / "x-%d.tar", maxcount=50) as out:
        for i in range(50):
            out.write({"__key__": f"{i:03}", "bin": bytes([i]) * 5000})
    for on_error in ("skip", "replace"):
        with Faults(seed=1, bad_blocks=0.2) as faults:
            loader = infeed.open(str(tmp_path / "*.tar")).batch(5).to_numpy(threads=1, on_error=on_error)
            faults.arm()
            with pytest.raises(infeed.UnreadableError, match=r"shard .*x-0\.tar., row \d+.*injected") as caught:
                list(loader)
        assert caught.value.shard.endswith("x-0.tar") and caught.value.row is not None
