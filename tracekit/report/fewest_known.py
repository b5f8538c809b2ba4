"""What studies know of the fewest nodes: the run's own, and those beside it that ask the same.

The first page, the page on the fewest nodes and its figure ask here which study leads.
"""

import dataclasses

import polars as pl

from tracekit.answer.amounts import difference_text, way
from tracekit.answer.decision import Decision
from tracekit.answer.fewest.asked_already import load_of
from tracekit.answer.fewest.found import NODES
from tracekit.answer.fewest.frames import ADDED, BY_NODES
from tracekit.answer.fewest.study import NAME
from tracekit.answer.fewest.words import told as shrink_told
from tracekit.answer.fewest.words.nodes import rank
from tracekit.answer.may_answer import may_be_chosen
from tracekit.answer.standings import difference
from tracekit.replay.measures import small
from tracekit.replay.runs.results import Results
from tracekit.report.data import Data
from tracekit.study import Study
from tracekit.words import spaced

#: So much of the nodes is worth to be saved before anything else.
SAVES = 0.1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ahead:
    """A study of another policy that may be chosen, with fewer nodes than the run's own found.

    Parameters
    ----------
    study : Study
        It, with that policy as what it is about.
    folder : str
        Its folder, as it is named from the folder ``studies``.
    policy, own : str
        That policy, and the one that the run's own study is about.
    beside : str
        How the policy stands beside the run's own, by the measure that decides; a sentence.
    """

    study: Study
    folder: str
    policy: str
    own: str
    beside: str


def asks_the_same(one: Study, other: Study) -> bool:
    """Whether two studies ask how many nodes are enough for the same load, at the same limits."""
    if {one.name, other.name} != {NAME}:
        return False
    asked = [
        (load_of(about), about["limits"], about["scale"], about.get("least") or NODES)
        for about in (one.about, other.about)
    ]
    return asked[0] == asked[1]


def comparable(data: Data) -> list[tuple[str, Study]]:
    """The studies beside the one that is shown that ask the same in as many orders of arrival."""
    ours = data.studies.get(NAME)
    return [
        (folder, study)
        for folder, study in data.other_studies
        if ours is not None
        and asks_the_same(ours, study)
        and study.about["repeats"] >= ours.about["repeats"]
    ]


def ahead(data: Data) -> Ahead | None:
    """The study that found fewest nodes for another policy that may be chosen; None for none.

    It has to find fewer than the run's own did for any policy that may be; one that needs further
    nodes does not lead where that needs none.
    """
    ours, found, told = data.studies.get(NAME), data.results, data.decision
    if ours is None or found is None or told is None:
        return None
    fit = {name for names in may_be_chosen(found) for name in names}
    best = shrink_told.told(ours)
    own = str(ours.about.get("subject", "") if best is None else best.best["policy"])
    known = _enough(ours).to_dicts()
    least = [rank(row) for row in known if row["policy"] in {*fit, own}]
    rivals = [
        (rank(row), folder, row["policy"], study)
        for folder, study in comparable(data)
        for row in _enough(study).to_dicts()
        if row["policy"] in fit - {own} and all(rank(row) < one for one in least)
    ]
    if not rivals:
        return None
    _, folder, policy, study = min(rivals, key=lambda one: one[:3])
    kept = {"kept_placement": True} if ours.about.get("kept_placement") else {}
    about = {**study.about, "subject": policy, **kept}
    return Ahead(
        study=dataclasses.replace(study, about=about),
        folder=folder,
        policy=policy,
        own=own,
        beside=spaced(_beside(found, told, policy, told.subject or own)),
    )


def leading(data: Data) -> Study:
    """The study that the page on the fewest nodes is about."""
    first = ahead(data)
    return data.studies[NAME] if first is None else first.study


def rows(data: Data) -> pl.DataFrame:
    """What is known of each policy, the one that leads first, then by how few nodes are enough."""
    frames = [study.frames["policies"] for _, study in shown(data)]
    if len(frames) < 2:
        return data.result(f"{NAME}/policies")
    every = pl.concat(frames, how="diagonal_relaxed").unique(
        "policy", keep="first", maintain_order=True
    )
    if ADDED not in every.columns:
        every = every.with_columns(pl.lit(None, pl.Int64).alias(ADDED))
    others = every[1:].sort(BY_NODES, nulls_last=True, maintain_order=True)
    return pl.concat([every[:1], others])


def shown(data: Data) -> list[tuple[str, Study]]:
    """The studies whose rows the page shows, the first to count first; the run's own is ``""``."""
    first, others = ahead(data), comparable(data)
    lead = [] if first is None else [(first.folder, first.study)]
    own = [("", data.studies[NAME])] if NAME in data.studies else []
    led = {folder for folder, _ in lead}
    return [*lead, *own, *(one for one in others if one[0] not in led)]


def yardsticks(data: Data) -> set[str]:
    """Those of the policies that no scheduler runs."""
    return {name for _, study in shown(data) for name in study.about.get("yardsticks", ())}


def _enough(study: Study) -> pl.DataFrame:
    """The policies of a study that have an answer."""
    return study.frames["policies"].filter(pl.col("nodes").is_not_null())


def _beside(found: Results, told: Decision, policy: str, first: str) -> str:
    """That a policy may be chosen, too, and how it stands beside another by what decides."""
    measure = found.measures.get(told.criterion)
    apart = None if measure is None else difference(found, policy, first, measure.name)
    if measure is None or apart is None:
        return f"{policy} may be chosen, too."
    by, shown_ = small(measure.title), difference_text(measure, apart)
    if said := way(measure, apart):
        but = "though it is" if said == "worse" else "and is"
        return f"{policy} may be chosen, too, {but} {said} than {first} by {by} ({shown_})."
    if not apart.mean and not apart.high:
        return f"{policy} may be chosen, too: by {by} it does not differ from {first}."
    if apart.apart:
        return f"{policy} may be chosen, too; by {by} it differs too little from {first} to count."
    return f"{policy} may be chosen, too: by {by} it is within chance of {first} ({shown_})."
