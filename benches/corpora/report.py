"""Tables: rates of every way, and every target with what was reached."""

from __future__ import annotations

from typing import Any

from .works import WORKS, Target, Work

#: More CPUs than this kept busy by other programs make a run worthless.
BUSY = 0.25
Found = dict[str, Any]


def best(runs: list[Found], work: str) -> dict[str, Found]:
    """The best run of each way."""
    out: dict[str, Found] = {}
    for run in runs:
        if run["work"] == work and run["rate"] > out.get(run["way"], {"rate": 0.0})["rate"]:
            out[run["way"]] = run
    return out


def number(value: float) -> str:
    """Three digits or more."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def rates(work: Work, found: Found) -> list[str]:
    """One line per way."""
    runs = best(found["runs"], work.name)
    mine = runs.get("infeed", {}).get("rate")
    lines = [
        f"\n## {work.name}: {work.about}\n",
        f"| way | {work.unit} | infeed is | peak MB | |",
        "|---|---:|---:|---:|---|",
    ]
    for way in work.ways:
        run = runs.get(way.name)
        why = found["failed"].get(f"{work.name}/{way.name}", "")
        if run is None:
            lines.append(f"| {way.name} | - | - | - | {why or 'not measured'} |")
            continue
        ratio = f"{mine / run['rate']:.2f} x" if mine and way.env is not None else ""
        note = "; ".join(x for x in (run["versions"], way.note) if x)
        lines.append(f"| {way.name} | {number(run['rate'] / work.scale)} | {ratio} | {run['peak_mb']:,} | {note} |")
    return lines


def reached(work: Work, target: Target, found: Found) -> tuple[float | None, str]:
    """The ratio and the way it is against."""
    runs = best(found["runs"], work.name)
    theirs = {name: runs[name]["rate"] for name in target.theirs if name in runs}
    if not theirs or target.ours not in runs:
        return None, ""
    against = max(theirs, key=lambda name: theirs[name])
    return runs[target.ours]["rate"] / theirs[against], against


def targets(found: Found) -> list[str]:
    """Every target of the works that ran."""
    lines = ["\n## Targets\n", "| work | ratio | against | reached | wanted | |", "|---|---|---|---:|---:|---|"]
    for name in found["works"]:
        work = WORKS[name]
        for target in work.targets:
            ratio, against = reached(work, target, found)
            value = "-" if ratio is None else f"{ratio:.2f} x"
            verdict = "not measured" if ratio is None else "ok" if ratio >= target.ratio else "SHORT"
            who = "" if target.ours == "infeed" else f"{target.ours} "
            lines.append(
                f"| {name} | {who}{target.text} | {against or '-'} | {value} | >= {target.ratio:g} x | {verdict} |"
            )
    return lines


def missed(found: Found) -> bool:
    """Whether a target was not reached, or not measured."""
    for name in found["works"]:
        for target in WORKS[name].targets:
            ratio, _ = reached(WORKS[name], target, found)
            if ratio is None or ratio < target.ratio:
                return True
    return False


def markdown(found: Found) -> str:
    """The whole report."""
    machine, settings = found["machine"], found["settings"]
    lines = [line for name in found["works"] for line in rates(WORKS[name], found)]
    lines += targets(found)
    lines += ["\n## About this run\n"]
    lines.append(f"- {machine['cpu']}, {machine['cpus']} CPUs, {machine['memory_gb']} GB; Python {machine['python']}")
    lines.append(f"- commit {machine['commit']}, {machine['date']}")
    lines.append(f"- {settings['threads']} threads, pinned; best of {settings['rounds']} x {settings['seconds']:g} s")
    lines.append(f"- data: {settings['size']}; text {found['text']}")
    lines += [f"- {name}: not installed: {why}" for name, why in found["not_installed"].items()]
    others = sorted(run["others"] for run in found["runs"])
    if others:
        middle = others[len(others) // 2]
        lines.append(f"- other programs kept {middle:.2f} CPUs busy in the middle run, {others[-1]:.2f} in the worst")
        if middle > BUSY:
            lines.append("- THE MACHINE WAS BUSY: do not quote these numbers, run again when it is quiet")
    return "\n".join(lines)
