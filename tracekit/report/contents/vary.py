"""What the page on changed assumptions says beside its figure, and the first page of it."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.answer.decision import Decision
from tracekit.answer.sensitivity import told as vary_told
from tracekit.answer.sensitivity.answers import NOTHING, SAME, Answered, answered, stands
from tracekit.answer.sensitivity.study import NAME
from tracekit.replay.measures import OVERLOAD, find_measure
from tracekit.report.cells import Table, table
from tracekit.report.contents.first_screen import Answer
from tracekit.report.data import Data
from tracekit.report.studies import assumed_otherwise
from tracekit.words import few, spaced

#: What the columns of the table are called; the answer comes before ranks by one measure.
_CHANGES = {
    "change": "change",
    "stands": "outcome",
    "answer": "answer",
    "why": "why",
    "decided_by": "decided_by",
    "agreement": "agreement",
    "first": "first_by_ranks_alone",
    "most_moved": "most_moved",
    "places": "places",
}
#: Those of the ranks by one measure.
_OF_RANKS = ("agreement", "first_by_ranks_alone", "most_moved", "places")


def answer(data: Data) -> Answer:
    """What was asked, what the answer hangs on, how sure, and what to do next."""
    study = data.studies[NAME]
    return Answer(
        asked=vary_told.question(study),
        sentence=spaced(vary_told.answer(study)),
        told=[
            *filter(None, [_run_answers(data)]),
            *(f"Not replayed: {said}." for said in vary_told.problems(study)),
        ],
        sure=vary_told.sure(study),
        next=vary_told.following(study, data.paths.study, data.paths.files, data.asked_already),
    )


def of_the_run(data: Data) -> bool:
    """Whether there is such a study, under the assumptions of the run that is shown."""
    return NAME in data.studies and not assumed_otherwise(data.studies[NAME], _load(data))


def _load(data: Data) -> Mapping[str, Any]:
    return dict((data.run or {}).get("workload", {}))


def untried(data: Data, told: Decision) -> str:
    """That the policy that a run names was not among those that were tried; a sentence, or empty.

    What the study says of others then says nothing of the run's answer.
    """
    tried = data.studies[NAME].about["policies"] if of_the_run(data) else ()
    if not tried or not told.subject or told.subject in tried:
        return ""
    return (
        f"Changed assumptions were tried of {few(tried)} alone: whether what is said of"
        f" {told.subject} hangs on them is open."
    )


def hangs(data: Data, told: Decision) -> str:
    """What the answer of a run hangs on, where that was tried of it: a sentence, or empty.

    The study may be of fewer policies and have another answer than the run. Then it names its own.
    """
    if not of_the_run(data) or data.results is None:
        return ""
    study = data.studies[NAME]
    if not _otherwise(data, told):
        return spaced(vary_told.in_short(study))
    if not_tried := untried(data, told):
        return not_tried
    return spaced(
        f"The study of changed assumptions replayed {few(study.about['policies'])} alone, and its"
        f" answer without changes is another: {vary_told.subject(study)}. Whether the answer of"
        " this run hangs on an assumption is open."
    )


def _otherwise(data: Data, told: Decision) -> bool:
    """Whether a study of the run has an answer without changes, and the run has another."""
    study = data.studies[NAME]
    if not of_the_run(data) or data.results is None:
        return False
    ours, about = answered(data.results, told), study.about
    theirs = Answered(
        names=tuple(about["answer"]),
        # a study of an earlier version does not say for what production is kept
        trades=tuple(about.get("trades", ours.trades)),
        subject=str(about["subject"]),
        criterion="",
        said="",
        barred={},
    )
    if not theirs.first:
        return bool(untried(data, told))
    return stands(theirs, ours) != SAME


def _run_answers(data: Data) -> str:
    """What the run that is shown answers, where that is another answer; a sentence, or empty."""
    told = data.decision
    if told is None or data.results is None or not data.studies[NAME].about["answer"]:
        return ""
    if not _otherwise(data, told):
        return ""
    ours = answered(data.results, told)
    return spaced(
        f"The run answers otherwise among all that it replayed, and nothing here is a word on that"
        f" answer: {ours.said}"
    )


def drawn(data: Data) -> bool:
    """Whether there is an answer that may stay or turn over, so that a figure can show it."""
    return bool(data.studies[NAME].about["answer"])


def ranked(data: Data) -> bool:
    """Whether ranks by one measure tell anything."""
    return vary_told.ranks_told(data.studies[NAME])


def changes(data: Data) -> Table:
    """Every change, those that turn the answer over first."""
    frame = data.result(f"{NAME}/changes")
    shown = frame.filter(pl.col("problem").is_null()).select(list(_CHANGES)).rename(_CHANGES)
    shown = shown if ranked(data) else shown.drop(_OF_RANKS)
    decided = pl.col("decided_by").map_elements(_title, return_dtype=pl.String)
    return table(
        shown.with_columns(decided),
        _caption(shown),
        later=("most_moved", "places"),
    )


def _caption(shown: pl.DataFrame) -> str:
    """What the rows are; those that alter nothing are counted apart, as in the answer."""
    same = shown.filter(outcome=NOTHING).height
    said = "Assumptions that were changed, one at a time"
    if not same:
        return said
    return f"{said}: {shown.height - same} {_alter(shown.height - same)} the workload, {same} not"


def _alter(many: int) -> str:
    return "alters" if many == 1 else "alter"


def policies(data: Data) -> Table:
    """What bars a policy under each change, and its rank by the measure that was asked for."""
    frame = data.result(f"{NAME}/ranks")
    measure = data.studies[NAME].about["measure"]
    shown = frame.select("change", "policy", "barred", OVERLOAD, "pending", "rank", value="value")
    if measure not in shown.columns:
        shown = shown.rename({"value": measure})
    shown = shown if ranked(data) else shown.drop("rank")
    return table(shown, "Each policy under each change, by its mean over the orders of arrival")


def _title(measure: str) -> str:
    known = find_measure(measure)
    return measure if known is None else known.title
