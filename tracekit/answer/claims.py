"""Claims of papers beside what comes out here, as facts."""

from collections.abc import Iterator, Mapping

from tracekit.answer.facts import Answer, Fact, Verdict, answer_of
from tracekit.study import Study

#: The verdict on each outcome of the placement experiment.
_VERDICTS: Mapping[str, Verdict] = {
    "direction agrees": "holds",
    "direction is the opposite": "does_not_hold",
    "no difference seen": "cannot_tell",
    "agrees": "holds",
    "the opposite": "does_not_hold",
}


def answer_of_placement(study: Study) -> Answer:
    """What the placement experiment of the TBESK paper comes to here."""
    return answer_of([*_changes(study), *_statements(study)])


def _changes(study: Study) -> Iterator[Fact]:
    """The change of imbalance from each other policy to TBESK."""
    for row in study.frames["claims"].iter_rows(named=True):
        yield Fact(
            kind="claim",
            subject=row["against"],
            measure="imbalance_mean",
            value=row["change"],
            unit="fraction",
            low=row["change_low"],
            high=row["change_high"],
            against=row["reported_change"],
            verdict=_VERDICTS.get(row["verdict"], "cannot_tell"),
            because="imbalance",
            about={"over": row["over"], "below_fraction": row["below_share"]},
        )


def _statements(study: Study) -> Iterator[Fact]:
    for row in study.frames["statements"].iter_rows(named=True):
        yield Fact(
            kind="claim",
            subject=row["statement"],
            value=row["here"],
            unit="fraction",
            low=row["here_low"],
            high=row["here_high"],
            verdict=_VERDICTS.get(row["verdict"], "cannot_tell"),
            because="statement",
            about={"outcome": row["verdict"]},
        )
