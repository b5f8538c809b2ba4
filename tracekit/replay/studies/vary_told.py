"""A study of changed assumptions in words: what the answer hangs on, and what to do next."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import polars as pl

from tracekit.replay.measures import find_measure, small
from tracekit.replay.runs.shown import few
from tracekit.replay.runs.student import FEWEST
from tracekit.replay.studies.vary_ranks import OTHER, SAME, UNTOLD
from tracekit.study import Study

#: So many orders are asked for where six tell nothing.
_MORE = 20


def question(study: Study) -> str:
    """What was asked."""
    changes = study.frames["changes"].height
    return (
        f"Does it hang on an assumption which of {len(study.about['policies'])} policies is best by"
        f" {_title(study)}? {changes} {'was' if changes == 1 else 'were'} changed, one at a time."
    )


def answer(study: Study) -> str:
    """Which assumptions the answer hangs on; where nothing can be told, that and why."""
    best = study.about["best"]
    if not best:
        return f"Nothing can be told by {_title(study)}: {study.about['why_not']}."
    if set(best) >= set(study.about["policies"]):
        alike = "no policy differs from the best beyond chance"
        return f"Nothing can be told by {_title(study)}: {alike}."
    if not study.frames["changes"]["problem"].null_count():
        return (
            "Nothing can be told: no changed assumption could be replayed; the reasons are below."
        )
    turned, told = _changes(study, OTHER), _changes(study, OTHER, SAME)
    if not told:
        return (
            f"{few(best)} {_is(best)} best as assumed; whether that hangs on an assumption cannot"
            " be told, as under no change policies differ beyond chance."
        )
    if not turned:
        rest = len(_changes(study, UNTOLD))
        return (
            f"The answer hangs on none of {len(told)} assumptions: {few(best)} {_is(best)} best by"
            f" {_title(study)}, and within chance of the best under each of these changes"
            f"{f'; under {rest} more nothing is told' if rest else ''}."
        )
    names = few(list(dict.fromkeys(_name(row["change"]) for row in turned)))
    first = turned[0]
    return (
        f"The answer hangs on {names}: with {first['change']} {first['first']} is best by"
        f" {_title(study)}, beyond chance, and not {few(best)}."
    )


def sure(study: Study) -> str:
    """What the ranks rest on, and under which changes nothing is told."""
    orders = study.about["repeats"]
    if orders < FEWEST:
        met = "one order" if orders == 1 else f"{orders} orders"
        return f"Each policy met {met} of arrival under each change; {FEWEST} are needed to tell."
    said = (
        f"Each policy met {orders} orders of arrival under each change; policies share a rank where"
        " they do not differ beyond chance (95 %, corrected for the number of comparisons)."
    )
    silent = [row["change"] for row in _changes(study, UNTOLD)]
    if silent and study.about["best"]:
        said += f" Nothing is told under {few(silent)}."
    return f"{said} Two assumptions changed at a time were not tried."


def following(study: Study) -> list[tuple[str, str]]:
    """What to do next, and the command for it."""
    about = study.about
    words = [about["store"], *(word for name in about["policies"] for word in ("--policy", name))]
    asked = " ".join(map(shlex.quote, words))
    if not study.frames["changes"]["problem"].null_count():
        return []
    if not about["best"] or not _changes(study, OTHER, SAME):
        more = max(_MORE if about["repeats"] >= FEWEST else FEWEST, FEWEST)
        command = (
            f"tracekit vary {asked}{_tried(study)} --measure {about['measure']} --repeat {more}"
        )
        return [("Let the policies meet more orders of arrival:", command)]
    turned = _changes(study, OTHER)
    if not turned:
        store, policy = shlex.quote(about["store"]), shlex.quote(about["best"][0])
        command = f"tracekit shrink {store} --policy {policy} --out studies/fewest"
        return [(f"See how many nodes are enough under {about['best'][0]}:", command)]
    first = turned[0]["change"]
    return [
        (
            f"Find out what {_name(first)} is in your cluster, then replay with it:",
            f"tracekit replay {asked} --assume {shlex.quote(first)} --out RUN",
        )
    ]


def problems(study: Study) -> list[str]:
    """The changes that could not be replayed, each with the reason."""
    failed = study.frames["changes"].filter(pl.col("problem").is_not_null())
    return [f"{row['change']}: {row['problem']}" for row in failed.to_dicts()]


def _tried(study: Study) -> str:
    """The changes that were asked for and can be replayed, as options; none of the usual ones."""
    failed = study.frames["changes"].filter(pl.col("problem").is_not_null())["change"].to_list()
    asked = [one for one in study.about.get("changes", ()) if one not in failed]
    return "".join(f" --change {shlex.quote(change)}" for change in asked)


def _changes(study: Study, *stands: str) -> list[dict[str, str]]:
    return study.frames["changes"].filter(pl.col("stands").is_in(stands)).to_dicts()


def _name(change: str) -> str:
    return change.partition("=")[0]


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _title(study: Study) -> str:
    known = find_measure(study.about["measure"])
    title = study.about["measure"] if known is None else known.title
    return small(title)
