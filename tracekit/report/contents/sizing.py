"""What the sizing page says beside its figures: the verdict, table 7, claims, values chosen."""

from typing import Any

import polars as pl

from tracekit.replay.measures import ENDS
from tracekit.replay.runs.shown import with_interval
from tracekit.report.cells import Cell, Column, Table, cell, table
from tracekit.report.contents.first_screen import Answer
from tracekit.report.data import Data
from tracekit.report.heads import capital
from tracekit.report.sizing_run import SizingRun
from tracekit.sizing.measures import MEASURES
from tracekit.words import MINUS, NBSP, count, percent, spaced

_FULL = "container_cpu_fraction"
#: Measures of the sensitivity table.
_MOVED = ("qos", "container_cpu_fraction", "container_memory_fraction", "node_g", "change_share")
#: What stands in a cell of the claims.
_THREE = ("agent", "minimum_selection", "random_selection")
#: Names that hint at no unit in a table's own rule.
_SHARES = {name for name, measure in MEASURES.items() if measure.unit == "0..1"}


def answer(data: Data) -> Answer:
    """The policy that serves best, beside the one with the fullest limits."""
    assert data.sizing is not None  # noqa: S101 - the page is of a sizing run
    return Answer(
        asked="Which policy should set the limits of containers?",
        sentence=spaced(_best_served(data.sizing)),
        sure=f"{compared(data)}{_no_interval(data.sizing)}",
    )


def _best_served(run: SizingRun) -> str:
    """The policy that falls short least, beside the one with the fullest limits."""
    summary = run.frames["summary"]
    means = {(row["policy"], row["measure"]): row["mean"] for row in summary.to_dicts()}
    names = [name for name in dict.fromkeys(summary["policy"]) if not name.startswith("oracle")]
    names = names or list(dict.fromkeys(summary["policy"]))
    first = max(names, key=lambda name: means[name, "qos"])
    fullest = max(names, key=lambda name: means[name, _FULL])

    def told(name: str) -> str:
        qos, full = means[name, "qos"], means[name, _FULL]
        return f"{percent(qos, 1)} of cycles in full, with {percent(full, 1)} of the CPU in use"

    if first == fullest:
        others = ", and no other's limits are fuller" if len(names) > 1 else ""
        return f"{first} serves {told(first)}{others}."
    return (
        f"{first} serves {told(first)}; {fullest}, whose limits are the fullest, {told(fullest)}."
    )


def _no_interval(run: SizingRun) -> str:
    return " One seed gives no interval: --seeds 3 draws more." * (len(run.manifest["seeds"]) == 1)


def compared(data: Data) -> str:
    """How much was compared."""
    if data.sizing is None:
        return ""
    manifest = data.sizing.manifest
    facts = manifest["set"]["facts"]
    seeds = len(manifest["seeds"])
    times = "once" if seeds == 1 else f"{seeds} times, each with its own split and training"
    return (
        f"{count(facts['test_containers'], 'container')} on call chains held back for the test,"
        f" {count(facts['training_containers'], 'container')} to learn from,"
        f" {count(facts['periods'], 'period')}; compared {times}."
    )


def headline(run: SizingRun) -> list[tuple[str, str]]:
    """The numbers under the title of a report of a sizing run alone."""
    found = run.manifest["set"]["facts"]
    policies = run.frames["summary"]["policy"].n_unique()
    return [
        (f"{policies:,}", "policies"),
        (f"{found['test_containers']:,}", "test containers"),
        (f"{found['periods']:,}", "periods"),
    ]


def measures_table(data: Data) -> Table:
    """Every measure by policy: the mean over seeds, and the half-width of its interval."""
    summary = data.size("summary")
    columns = [
        Column(name="policy", label="Policy", kind="text"),
        *(
            Column(
                name=name,
                label=capital(measure.title),
                kind="percent" if name in _SHARES else "number",
                meaning=f"{measure.about} [{measure.unit or 'reward'}];"
                f" {ENDS[measure.better]} is better",
            )
            for name, measure in MEASURES.items()
        ),
    ]
    rows = [
        _row(str(key[0]), frame, columns)
        for key, frame in summary.group_by("policy", maintain_order=True)
    ] if summary.height else []  # fmt: skip
    return Table(caption="Sizing policies on the same test chains", columns=columns, rows=rows)


def _row(policy: str, frame: pl.DataFrame, columns: list[Column]) -> list[Cell]:
    found = {row["measure"]: row for row in frame.to_dicts()}
    shown = [Cell(text=policy, sort=policy)]
    for column in columns[1:]:
        row = found[column.name]
        plain = cell(row["mean"], column)
        half = None if row["high"] is None else row["high"] - row["mean"]
        text = _with_half(row["mean"], half, column) if half else ""
        text = text or plain.text
        shown.append(Cell(text=text, sort=plain.sort))
    return shown


def _with_half(mean: float, half: float, column: Column) -> str:
    """A mean and half of its interval, with as many digits as that allows; else empty."""
    share = column.kind == "percent"
    scale, unit = (100, f"{NBSP}%") if share else (1, "")
    places = with_interval(scale * mean, scale * half)
    if places is None:
        return ""
    value = f"{scale * mean:,.{places}f}".replace("-", MINUS)
    return f"{value} \u00b1{NBSP}{scale * half:,.{places}f}{unit}"


def claims_table(data: Data) -> Table:
    """The order the study reports, claim by claim."""
    claims = data.size("claims")
    if claims.is_empty():
        return Table(caption="Claims", columns=[], rows=[])
    told = claims.with_columns(
        pl.when("holds").then(pl.lit("holds")).otherwise(pl.lit("does not hold")).alias("holds")
    )
    return table(
        told.select(
            "claim",
            pl.col("holds").alias("verdict"),
            *(pl.col(name).alias(f"{name}_share") for name in _THREE),
        ),
        "What the study reports, and what is so here",
    )


def chosen_values(data: Data) -> Table:
    """Every value that the study leaves open, as it was set."""
    rows: list[dict[str, str]] = []
    for owner, given in _owners(data):
        rows += [
            {
                "of": owner,
                "name": one["name"],
                "value": one["value"],
                "origin": "default, ours or the study's: see meaning"
                if one["value"] == one["default"]
                else f"set; default {one['default']}",
                "meaning": one["description"],
            }
            for one in given
        ]
    schema = dict.fromkeys(("of", "name", "value", "origin", "meaning"), pl.String)
    return table(pl.DataFrame(rows, schema=schema), "Values chosen")


def _owners(data: Data) -> list[tuple[str, list[dict[str, Any]]]]:
    if data.sizing is None:
        return []
    manifest = data.sizing.manifest
    policies = [(one["policy"], one["parameters"]) for one in manifest["policies"]]
    return [("environment", manifest["settings"]), *policies]


def sensitivity_table(data: Data) -> Table | None:
    """How the agent's result moves with the most sensitive values; None when it was not asked."""
    frame = data.size("sensitivity")
    if frame.is_empty():
        return None
    epochs = int(frame["epochs"][0])
    shown = frame.select(
        "variant",
        "policy",
        *(pl.col(name).alias(_share_name(name)) for name in _MOVED),
    )
    caption = f"One value changed at a time; the agent trained anew for {count(epochs, 'epoch')}"
    return table(shown, caption)


def _share_name(measure: str) -> str:
    """A name whose ending tells the table that it is a share."""
    return measure if measure.endswith(("_fraction", "_share")) else f"{measure}_share"


def facts(data: Data) -> list[str]:
    """What was mended or lacking in the set, only what there was."""
    if data.sizing is None:
        return []
    known = data.sizing.manifest["set"]["facts"]
    said = {
        "containers_without_upstream": "without a caller in the set; their upstream state is 0",
        "containers_above_largest": "that at times need more than the largest size",
    }
    told = [f"{count(known[k], 'container')} {v}" for k, v in said.items() if known.get(k)]
    if "upstream_felt_percent" in known:
        told.append(
            f"somebody upstream calls in {known['upstream_felt_percent']} % of the cycles of"
            " containers with a caller"
        )
    if known.get("samples_filled"):
        told.append(f"{count(known['samples_filled'], 'sample')} missing, filled from before")
    return told
