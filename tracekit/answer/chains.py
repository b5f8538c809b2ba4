"""What follows from a comparison of sizing policies on call chains."""

from collections.abc import Iterator

from tracekit.answer.facts import Answer, Fact, Verdict, answer_of
from tracekit.sizing.inputs import lacks_torch
from tracekit.sizing.policies.ddqn import Ddqn
from tracekit.sizing.study import Study
from tracekit.sizing.verdict import Duel, claims, duels


def answer_of_chains(study: Study) -> Answer:
    """Whether the agent beats what practice uses, and whether the order of its study holds."""
    found = duels(study.summary, study.differences)
    return answer_of([*map(_duel, found), *_measures(found), *_order(study), *_left_out(study)])


def _outcome(duel: Duel) -> Verdict:
    if duel.beats:
        return "better"
    return "worse" if duel.worse else "same"


def _duel(duel: Duel) -> Fact:
    return Fact(
        kind="agent_against",
        subject=duel.rival,
        measure=next(iter(duel.worse), ""),
        verdict=_outcome(duel),
        about={"agent": duel.agent},
    )


def _measures(found: list[Duel]) -> Iterator[Fact]:
    for duel in found:
        for name, (ours, theirs) in duel.means.items():
            verdict: Verdict = (
                "better" if name in duel.better else "worse" if name in duel.worse else "same"
            )
            yield Fact(
                kind="policy_against",
                subject=duel.agent,
                measure=name,
                value=ours,
                unit="fraction",
                against=theirs,
                verdict=verdict,
                about={"other": duel.rival},
            )


def _order(study: Study) -> Iterator[Fact]:
    for row in claims(study.summary).to_dicts():
        holds = bool(row["holds"])
        yield Fact(
            kind="claim",
            subject=row["claim"],
            value=row["agent"],
            unit="fraction",
            verdict="holds" if holds else "does_not_hold",
            because="order_holds" if holds else "order_does_not_hold",
            about={
                "minimum_fraction": row["minimum_selection"],
                "random_fraction": row["random_selection"],
            },
        )


def _left_out(study: Study) -> Iterator[Fact]:
    if lacks_torch(study.policies):
        yield Fact(kind="skipped", subject=Ddqn.name(), because="no_torch")
