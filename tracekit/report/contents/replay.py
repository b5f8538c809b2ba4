"""What the replay page says beside its figures: the comparison, the gap, the assumptions."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.parameters import about
from tracekit.replay.measures import all_measures, part_column
from tracekit.replay.runs.compare import sentences
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.replay.workload.assumptions import Assumptions
from tracekit.replay.workload.sized.assumptions import SizedAssumptions
from tracekit.report.cells import Cell, Column, Table, size_text, table
from tracekit.report.data import Data
from tracekit.report.measures import alike, best, close, complete, present, text
from tracekit.report.policies import in_order, label, tested
from tracekit.report.words import NBSP, count, listed, percent
from tracekit.units import MS_PER_MINUTE, duration

_BEST = "\u2605 best"


def comparison(data: Data) -> Table:
    """The policies by measure; apart from them production's placement and the bound."""
    summary = data.replay("summary")
    measures = present(summary)
    columns = [
        Column(name="policy", label="Policy", kind="text"),
        *(Column(name=m.name, label=m.title, kind="number", meaning=m.meaning) for m in measures),
    ]
    winners = {measure.name: best(summary, measure) for measure in measures}
    rows = {row["policy"]: row for row in summary.iter_rows(named=True)}

    def cells(name: str) -> list[Cell]:
        shown = [Cell(text=label(name), sort=name)]
        for measure in measures:
            value = rows[name][measure.name]
            won = name in winners[measure.name]
            sort = "" if value is None else f"{value:.9g}"
            shown.append(Cell(text=text(measure, value), sort=sort, mark=_BEST if won else ""))
        return shown

    apart = [name for name in in_order(summary) if name in (OBSERVED, BOUND)]
    return Table(
        caption="Policies by measure; the best value of each is marked",
        columns=columns,
        rows=[cells(name) for name in tested(summary)],
        apart=[cells(name) for name in apart],
        apart_title="To compare with: where production ran the containers, and what no placement"
        " can beat (it need not be reachable)",
    )


def directions(data: Data) -> str:
    """Which end of the measures is better, and of which neither is."""
    measures = present(data.replay("summary"))
    said = ["Lower is better"]
    for better, what in (
        ("high", "higher is better"),
        (None, "neither lower nor higher is better"),
    ):
        names = [one.title for one in measures if one.better == better]
        said += [f"for {listed(names)}, {what}"] if names else []
    return f"{'; '.join(said)}."


def verdicts(data: Data) -> list[str]:
    """What the comparison says and does not say, in sentences."""
    summary = data.replay("summary")
    policies = tested(summary)
    said = []
    if len(policies) < 2:
        said.append(f"{len(policies) or 'No'} policy was replayed; a comparison needs two.")
    said += [f"{listed(group)} gave the same value of every measure." for group in alike(summary)]
    near = [measure.title for measure in close(summary) if measure.name != "pending"]
    if near and len(complete(summary)) > 1:
        said.append(f"The policies differ by less than 1{NBSP}% in {listed(near)}.")
    waiting = [name for name in policies if name not in complete(summary)]
    if waiting:
        said.append(
            f"{listed(waiting)} left containers waiting for room. They carry less load than the"
            " others, so they take no part in the comparison and have no gap to the bound."
        )
    return [*said, *_beyond_chance(data), *_left_out(data), *_moved(summary)]


def _left_out(data: Data) -> list[str]:
    """Which policies read resources that the workload does not have."""
    policies = [one for one in (data.run or {}).get("policies", []) if one.get("left_out")]
    if not policies:
        return []
    names = list(dict.fromkeys(name for one in policies for name in one["left_out"]))
    said = (
        f"{listed([one['policy'] for one in policies])} also read {listed(names)}. This workload"
        " does not have them, so the policies decided without them."
    )
    return [said]


def _beyond_chance(data: Data) -> list[str]:
    """The best policy over several orders of arrival, and those within chance of it."""
    repeats = data.replay("repeats")
    if repeats.is_empty() or data.run is None:
        return []
    found = Results(data.run, data.replay("summary"), repeats)
    said = sentences(found, ours=tested(data.replay("summary")))
    return [f"{one[0].upper()}{one[1:]}." for one in said]


def _moved(summary: pl.DataFrame) -> list[str]:
    """What rebalancers did."""
    if "moves" not in summary.columns or "move_downtime_ms" not in summary.columns:
        return []
    moved = summary.filter(pl.col("moves") > 0)
    return [
        f"{row['policy']} made {count(row['moves'], 'move')}, which cost"
        f" {duration(row['move_downtime_ms']) or 'no time'} of service."
        for row in moved.iter_rows(named=True)
    ]


def gap_table(data: Data) -> Table | None:
    """How far each policy stays above the lower bound; None when the run has no bound."""
    summary = data.replay("summary")
    measured = {part_column(name, "gap"): one for name, one in all_measures().items()}
    gaps = [name for name in measured if name in summary.columns]
    names = [name for name in in_order(summary) if name != BOUND]
    if not gaps or BOUND not in summary["policy"].to_list():
        return None
    rows = summary.filter(pl.col("policy").is_in(names)).select("policy", *gaps)
    ordered = pl.DataFrame({"policy": names}).join(rows, on="policy", maintain_order="left")
    named = ordered.with_columns(pl.col("policy").replace({OBSERVED: label(OBSERVED)}))
    made = table(named, "Distance above the lower bound (0: no placement can do better)")
    columns = [
        dataclasses.replace(one, label=measured[one.name].title) if one.name in measured else one
        for one in made.columns
    ]
    return dataclasses.replace(made, columns=columns)


#: What it means how a replay started.
_STARTS = {
    "empty": "the replay started empty: everything was placed anew",
    "observed": "the replay started as observed: what ran at the beginning stayed on its node",
}


def assumptions(data: Data) -> Table:
    """Every assumption of the run: value, meaning, and whether it is tracekit's default."""
    load = (data.run or {}).get("workload", {})
    kind = _kind(load)
    known = {field.name: field for field in dataclasses.fields(kind)}
    meanings = about(kind)
    rows = [
        {
            "assumption": name,
            "value": value_text(name, value),
            "meaning": meanings[name].doc if name in meanings else "",
            "comes_from": _origin(known.get(name), value),
        }
        for name, value in load.get("assumptions", {}).items()
    ]
    schema = dict.fromkeys(("assumption", "value", "meaning", "comes_from"), pl.String)
    return table(pl.DataFrame(rows, schema=schema), "Every assumption of this run")


def _kind(load: Mapping[str, Any]) -> type[Assumptions | SizedAssumptions]:
    """Which assumptions a workload was made with: those of a store with sizes, or without."""
    sized = "full_cpu_cores" in load.get("assumptions", {})
    return SizedAssumptions if sized else Assumptions


def _origin(field: dataclasses.Field[Any] | None, value: object) -> str:
    if field is None:
        return "the workload"
    if field.default == value:
        return "default; the trace does not say"
    return f"set for this run (default {value_text(field.name, field.default)})"


def value_text(name: str, value: object) -> str:
    """An assumption's value with its unit, which its name ends in."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if name.endswith("_bytes"):
        return size_text(value)
    if name.endswith("_ms"):
        return duration(value)
    if name.endswith(("_fraction", "_share")):
        return percent(value)
    unit = next((u for u in ("cores", "steps") if name.endswith(f"_{u}")), "")
    return f"{value:,g}{NBSP}{unit}".strip()


def counts(data: Data) -> list[str]:
    """What is worth knowing about how the workload was made, and who decided without use."""
    run = data.run or {}
    load = run.get("workload", {})
    start = load.get("assumptions", {}).get("start")
    told = [_STARTS[start]] if start in _STARTS else []
    told += [f"{name.replace('_', ' ')}: {n:,}" for name, n in load.get("facts", {}).items()]
    blind = [
        (one["policy"], one["decisions_without_use"])
        for one in run.get("policies", [])
        if one.get("decisions_without_use")
    ]
    return told + [
        f"{name} reads use and decided {n:,} times before any had been measured"
        for name, n in blind
    ]


def policy_table(data: Data) -> Table:
    """Every policy of the run, its parameters spelled out and its source."""
    rows = [
        {
            "policy": policy["policy"],
            "parameters": ", ".join(f"{k}={v}" for k, v in policy["parameters"].items()) or "none",
            "source": policy.get("source", ""),
        }
        for policy in (data.run or {}).get("policies", [])
    ]
    schema = dict.fromkeys(("policy", "parameters", "source"), pl.String)
    return table(pl.DataFrame(rows, schema=schema), "Policies with every parameter")


def command(data: Data) -> str:
    """The command line that gives the run again."""
    if data.run is None:
        return ""
    load = data.run["workload"]
    known = {field.name: field.default for field in dataclasses.fields(_kind(load))}
    settings = [
        f"--assume {name}={value}"
        for name, value in load.get("assumptions", {}).items()
        if name in known and known[name] != value
    ]
    names = [p["policy"] for p in data.run["policies"] if p["policy"] != OBSERVED]
    policies = [f"--policy '{name}'" if "[" in name else f"--policy {name}" for name in names]
    seed = f"--seed {data.run['seed']}"
    orders = _orders(data.run)
    return " ".join(["tracekit replay STORE", *policies, *settings, *orders, seed, "--out RUN"])


def _orders(run: Mapping[str, Any]) -> list[str]:
    """How many orders of arrival, and of which policies if not of all."""
    if run.get("repeats", 1) == 1:
        return []
    several = [one for one in run["policies"] if one.get("repeats", run["repeats"]) > 1]
    named = [f"--repeat-policy '{p['policy']}'" for p in several if p["policy"] != OBSERVED]
    every = len(several) == len(run["policies"])
    return [f"--repeat {run['repeats']}", *([] if every else named)]


def _averages(load: dict[str, Any]) -> str:
    minutes = round((load["settled_ms"] - load["time_min_ms"]) / MS_PER_MINUTE)
    if minutes <= 0:
        return "Averages are over all of them."
    return (
        f"Containers arrive during the first {duration(minutes * MS_PER_MINUTE)}; averages are"
        " over the time after that."
    )


def workload_sentence(data: Data) -> str:
    """What was replayed, in one sentence."""
    load = (data.run or {})["workload"]
    return (
        f"{count(load['containers'], 'container')} on {count(load['nodes'], 'node')} through"
        f" {count(load['steps'], 'step')} of {duration(load['step_ms'])}. {_averages(load)}"
    )
