"""From what was measured to the tables: pure functions, so a report can be made again from a JSON file.

python report.py FILE.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from peers import INFEED, PEERS
from works import WORKS

#: Scaling from one thread to two, first batch, memory, cost of next().
SCALING = 1.9
FIRST_WITH_INDEX_S, FIRST_WITHOUT_INDEX_S = 0.3, 1.0
PEAK_MB, GROWTH_PERCENT, NEXT_US = 400.0, 2.0, 50.0
#: If other programs use more CPUs than this, a run is invalid.
BUSY = 0.2
#: Shares of the floors: train over bare decoding, undecoded bytes over copying.
OVER_JPEG, OVER_MEMCPY = 1.0, 0.5

Found = dict[str, Any]


def best_rates(found: Found, threads: int | None = None) -> dict[str, dict[str, float]]:
    """work -> loader -> best rate."""
    threads = threads or found["settings"]["threads"]
    rates: dict[str, dict[str, float]] = {}
    for line in found["runs"]:
        if line["threads"] == threads:
            row = rates.setdefault(line["work"], {})
            row[line["peer"]] = max(row.get(line["peer"], 0.0), line["rate"])
    return rates


def best_peer(row: dict[str, float]) -> tuple[str, float] | None:
    """The fastest loader that is not ours."""
    others = {name: rate for name, rate in row.items() if name != INFEED.name}
    return max(others.items(), key=lambda x: x[1]) if others else None


def check(name: str, value: float | None, target: float, unit: str, *, most: bool = False) -> Found:
    """One target; `most` where less is better. What could not be measured has not been reached."""
    ok = value is not None and (value <= target if most else value >= target)
    return {"name": name, "value": value, "target": target, "unit": unit, "most": most, "ok": ok}


def ratio(ours: float | None, theirs: float | None) -> float | None:
    """None where either is missing."""
    return ours / theirs if ours and theirs else None


def checks(found: Found) -> list[Found]:
    """Every target that belongs to the works asked for."""
    threads, floors, extra = found["settings"]["threads"], found["floors"], found["extras"]
    rates, made = best_rates(found), []
    for name in found["settings"]["works"]:
        row, work = rates.get(name, {}), WORKS[name]
        ours, best = row.get(INFEED.name), best_peer(row)
        who, theirs = best or ("none measured", None)
        made.append(check(f"{name}: over the best peer ({who})", ratio(ours, theirs), work.over_best, "x"))
        if work.over_torch:
            over = ratio(ours, row.get("torch"))
            made.append(check(f"{name}: over torch DataLoader", over, work.over_torch, "x"))
        if name == "train":
            over = ratio(ours, floors.get(f"jpeg_{threads}"))
            made.append(check(f"train: over bare libjpeg-turbo on {threads} threads", over, OVER_JPEG, "x"))
            if threads == 2:
                single = best_rates(found, 1).get("train", {}).get(INFEED.name)
                made.append(check("train: two threads over one", ratio(ours, single), SCALING, "x"))
        if name == "raw":
            gigabytes = ours * found["data"]["mean_bytes"] / 1e9 if ours else None
            over = ratio(gigabytes, floors.get(f"memcpy_{threads}"))
            made.append(check(f"raw: bytes/s over memcpy on {threads} threads", over, OVER_MEMCPY, "x"))
    for key, text, target, unit in (
        ("first_with_index_s", "first batch, index saved", FIRST_WITH_INDEX_S, "s"),
        ("first_without_index_s", "first batch, no index", FIRST_WITHOUT_INDEX_S, "s"),
        ("peak_mb", "peak memory, train, batch 64", PEAK_MB, "MB"),
        ("growth_percent", "growth of memory over the epochs", GROWTH_PERCENT, "%"),
        ("next_us", "one next() of a finished batch", NEXT_US, "us"),
    ):
        made.append(check(text, extra.get(key), target, unit, most=True))
    return made


def number(value: float | None) -> str:
    """A rate for a table cell."""
    return "-" if value is None else f"{value:,.0f}"


def works_table(found: Found) -> list[str]:
    """One row per work, one column per loader."""
    rates = best_rates(found)
    columns = [n for n in PEERS if any(n in row for row in rates.values())]
    head = ["work", INFEED.name, *columns, "best peer", "x best", "x torch", "target", ""]
    lines = [f"| {' | '.join(head)} |", "|---|" + "---:|" * (len(head) - 2) + "---|"]
    for name in found["settings"]["works"]:
        row, work = rates.get(name, {}), WORKS[name]
        ours, best, torch = row.get(INFEED.name), best_peer(row), row.get("torch")
        over_best, over_torch = ratio(ours, best[1] if best else None), ratio(ours, torch)
        target = f">= {work.over_best:g}" + (f", >= {work.over_torch:g} torch" if work.over_torch else "")
        met = [v >= t for v, t in ((over_best, work.over_best), (over_torch, work.over_torch)) if v and t]
        cells = [name, number(ours), *(number(row.get(n)) for n in columns)]
        cells += [f"{best[0]}" if best else "-"]
        cells += [f"{v:.2f}" if v else "-" for v in (over_best, over_torch)]
        cells += [target, ("ok" if all(met) else "SHORT") if met else "not measured"]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def checks_table(found: Found) -> list[str]:
    """Every target and what was reached."""
    lines = ["| target | measured | wanted | |", "|---|---:|---:|---|"]
    for c in found["checks"]:
        sign = "<=" if c["most"] else ">="
        measured = "-" if c["value"] is None else f"{c['value']:.4g} {c['unit']}"
        verdict = "ok" if c["ok"] else "not measured" if c["value"] is None else "SHORT"
        lines.append(f"| {c['name']} | {measured} | {sign} {c['target']:g} {c['unit']} | {verdict} |")
    return lines


def remarks(found: Found) -> list[str]:
    """What a reader has to know about the peers and the run."""
    versions = {line["peer"]: line["version"] for line in found["runs"]}
    lines = [f"- {n} {versions[n]}: {p.note}" for n, p in PEERS.items() if n in versions]
    lines += [f"- {name}: not installed: {why}" for name, why in found["not_installed"].items()]
    lines += [f"- {name} failed: {why}" for name, why in found["failed"].items()]
    lines += [f"- {k}: {v}" for k, v in found["extras"].items() if k.endswith("_failed")]
    others = sorted(line["others"] for line in found["runs"])
    if others:
        middle = others[len(others) // 2]
        lines.append(f"- other programs kept {middle:.2f} CPUs busy in the middle run, {others[-1]:.2f} in the worst")
        if middle > BUSY:
            lines.append("- THE MACHINE WAS BUSY: do not quote these numbers, run again when it is quiet")
    return lines


def markdown(found: Found) -> str:
    """The whole report."""
    m, s, d = found["machine"], found["settings"], found["data"]
    floors = [
        f"{k.replace('_', ', ')} threads: {v:,.1f} {'images/s' if k.startswith('jpeg') else 'GB/s'}"
        for k, v in sorted(found["floors"].items())
    ]
    extras = [f"{k}: {v:g}" for k, v in found["extras"].items() if isinstance(v, (int, float))]
    parts = [
        ["", "## Samples per second", ""],
        works_table(found),
        ["", "## Targets", ""],
        checks_table(found),
        ["", "## Floors, in the same run", ""],
        [f"- {line}" for line in floors] or ["- not measured"],
        ["", "## infeed alone", ""],
        [f"- {line}" for line in extras] or ["- not measured"],
        ["", "## About this run", ""],
        [
            f"- {m['cpu']}, {m['cpus']} CPUs, {m['memory_gb']} GB; {m['system']}; Python {m['python']}",
            f"- commit {m['commit']}, {m['date']}",
            f"- {s['threads']} threads, pinned; best of {s['rounds']} x {s['repeat']} x {s['seconds']:g} s",
            f"- {d['samples']} samples, {d['distinct']} {d['images']}, mean {d['mean_bytes'] / 1e3:.0f} KB",
        ],
        remarks(found),
    ]
    return "\n".join(line for part in parts for line in part)


if __name__ == "__main__":
    print(markdown(json.loads(Path(sys.argv[1]).read_text())))
