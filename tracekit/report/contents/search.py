"""What the page on batch search says beside its figures."""

from typing import Any

import polars as pl

from tracekit.replay.optimize.ranking import EVEN
from tracekit.replay.studies.placement.declared import PlacementStudy
from tracekit.report.cells import Table, table
from tracekit.report.contents.first_screen import Answer
from tracekit.report.data import Data
from tracekit.report.policies import ended
from tracekit.words import count, few, listed, percent

_FUNCTIONS, _PLACEMENT = "search_functions", "search_placement"
_OWN = "tbesk"
_ROOM = {
    "scored": "As in the paper, a policy that scores by CPU and memory alone looks for room in"
    " these alone, and may fill the network and the disk of a node beyond its capacity.",
    "all": "Every policy is held to the room in all four resources.",
}


#: Fewer drawn sets than this tell no two policies apart.
_SETS = 5


def answer(data: Data) -> Answer:
    """What was asked of searches, and what came out."""
    if not has_placement(data):
        said = _origin(data)
        return Answer(
            asked="Does the bald-eagle search (TBESK) find better minima than other searches?",
            sentence=said[0] if said else "TBESK was not among the searches.",
            told=said[1:],
            warnings=[warning(data)],
        )
    return Answer(
        asked="Which policy keeps four resources even as a cluster fills, and do searches over"
        " batches find better nodes than looking at every node?",
        sentence=_evenest(data),
        told=[*_solved(data), *_origin(data)],
        sure=_sure(data),
    )


def _evenest(data: Data) -> str:
    """The policy of least imbalance with all containers placed, and those within its interval."""
    rows = ended(data.result(f"{_PLACEMENT}/imbalance")).to_dicts()
    first, *others = rows
    near = [row["policy"] for row in others if row["imbalance_low"] <= first["imbalance_high"]]
    apart = len(others) - len(near)
    value = f"{first['imbalance']:.3f} ({first['imbalance_low']:.3f}"
    value = f"imbalance {value} to {first['imbalance_high']:.3f})"
    said = (
        f"{few([first['policy'], *near])} cannot be told apart: they end most even, and their"
        f" intervals overlap with that of {first['policy']}, {value}"
        if near
        else f"{first['policy']} ends most even: {value}"
    )
    return f"{said}; {count(apart, 'policy')} less even." if apart else f"{said}."


def _sure(data: Data) -> str:
    sets = int(_about(data, _PLACEMENT)["sets"])
    doubt = f" So few tell little: --sets {PlacementStudy.sets} draws more." if sets < _SETS else ""
    return f"Intervals are 95 %, over {count(sets, 'drawn set')}.{doubt}"


def has_placement(data: Data) -> bool:
    """Whether the placement experiment was run."""
    return _PLACEMENT in data.studies


def has_functions(data: Data) -> bool:
    """Whether the test functions were run."""
    return _FUNCTIONS in data.studies


def warning(data: Data) -> str:
    """What to keep in mind when reading results on test functions."""
    return str(_about(data, _FUNCTIONS)["warning"])


def experiment(data: Data) -> str:
    """What was replayed."""
    about = _about(data, _PLACEMENT)
    sizes = [count(about[f"{noun}s"], noun) for noun in ("container", "node", "set")]
    return (
        f"{sizes[0]} of three kinds on {sizes[1]} of four types, {sizes[2]} drawn, because the"
        f" paper's tables are lost; requests come to {percent(about['target_alloc_fraction'])} of"
        " capacity. Imbalance is of requests of CPU, memory, network and disk. cwt is our reading"
        f" of a paper whose formulas are not published. {_ROOM[about['room']]}"
    )


def verdicts(data: Data) -> list[str]:
    """What searches achieve, in sentences."""
    return [*_solved(data), *_origin(data)]


def claimed(data: Data) -> list[str]:
    """Each claim of the paper beside what came out, in a sentence."""
    said = []
    for row in data.result(f"{_PLACEMENT}/claims").iter_rows(named=True):
        paper, whole = row["reported_change"], row["over"] == "all counts"
        if paper is None and (whole or row["against"] in {"lra", "bra"}):
            continue
        reported = "less" if paper is None else f"{percent(-paper)} less"
        when = "over all numbers of containers" if whole else "with all containers placed"
        change = row["change"]
        here = f"{percent(abs(change), 1)} {'less' if change < 0 else 'more'}"
        span = f"{percent(row['change_low'], 1)} to {percent(row['change_high'], 1)}"
        said.append(
            f"Against {row['against']} the paper reports {reported} imbalance for TBESK"
            f" {when}; here it is {here} (95 % interval of the change {span}): {row['verdict']}."
        )
    return said


def _solved(data: Data) -> list[str]:
    quality = data.result(f"{_PLACEMENT}/quality")
    known = (
        {
            row["method"]: row
            for row in quality.group_by("method", maintain_order=True).last().iter_rows(named=True)
        }
        if not quality.is_empty()
        else {}
    )
    if not {_OWN, "greedy"} <= known.keys():
        return []
    own, greedy = known[_OWN], known["greedy"]
    times = own["decision_ms"] / greedy["decision_ms"]
    closer = "closer to" if greedy["gap_mean"] < own["gap_mean"] else "further from"
    said = (
        f"Placing containers one by one, each on the node that is best for it, comes {closer} the"
        f" best placement of a batch than TBESK does: it misses {greedy['gap_mean']:.4f} of the"
        f" score, TBESK {own['gap_mean']:.4f}. TBESK, with {own['iterations']} iterations, takes"
        f" {times:,.0f} times as long."
    )
    return [said]


def _origin(data: Data) -> list[str]:
    summary = data.result(f"{_FUNCTIONS}/summary")
    if summary.is_empty():
        return []
    said = []
    for variant in ("original", "shifted"):
        rows = summary.filter((pl.col("variant") == variant) & pl.col("tbesk_is").is_not_null())
        if rows.is_empty():
            continue
        said.append(_tally(variant, rows["tbesk_is"].to_list()))
    return said


def _tally(variant: str, verdicts: list[str]) -> str:
    """How often TBESK is better or worse than a rival, and how often the runs do not tell."""
    counted = [
        f"{word} in {verdicts.count(word)}" for word in ("better", "worse") if word in verdicts
    ]
    compared = count(len(verdicts), "comparison")
    if not counted:
        return (
            f"On the {variant} test functions the runs do not tell TBESK from a rival in any of"
            f" {compared}."
        )
    silent = verdicts.count(EVEN)
    rest = f"; in {silent} the runs do not tell them apart" if silent else ""
    return (
        f"On the {variant} test functions TBESK is {listed(counted)} of {compared} with a"
        f" rival{rest}."
    )


def claims(data: Data) -> Table:
    """TBESK against others beside what the paper reports."""
    frame = data.result(f"{_PLACEMENT}/claims").rename(
        {
            "reported_change": "reported_fraction",
            "change": "change_fraction",
            "change_low": "low_fraction",
            "change_high": "high_fraction",
        },
        strict=False,
    )
    only = ("against", "change_fraction", "verdict", "over", "reported_fraction")
    return table(
        frame,
        "Change of imbalance from another policy to TBESK, paired by set",
        only=(*only, *(name for name in frame.columns if name not in only)),
    )


def ranges(data: Data) -> Table:
    """How far nodes lie apart, beside what the paper reports."""
    frame = data.result(f"{_PLACEMENT}/ranges").rename(
        {"reported_difference": "reported_fraction", "difference": "here_fraction"}, strict=False
    )
    return table(frame, "Most used node less the least used, with all containers placed")


def functions(data: Data) -> Table:
    """Every search on every function."""
    frame = data.result(f"{_FUNCTIONS}/summary")
    shown = frame.with_columns(
        pl.col("best", "mean", "worst").map_elements(lambda cost: f"{cost:.3g}", pl.String),
        pl.col("tbesk_is").replace({EVEN: "not told apart"}),
    )
    return table(
        shown.select(
            "function", "variant", "search", "best", "mean", "worst", "iterations_mean", "tbesk_is"
        ),
        "Final cost over runs; iterations are those of runs that came within the tolerance",
    )


def _about(data: Data, study: str) -> dict[str, Any]:
    return dict(data.studies[study].about)
