"""The answer of a comparison of sizing policies on call chains."""

from collections.abc import Iterator

import polars as pl

from tracekit.answer.claims.every import claim_facts
from tracekit.answer.claims.experiments import Frame
from tracekit.base.facts import Answer, Fact, Verdict, answer_of
from tracekit.sizing.measures import Duel, duels
from tracekit.sizing.study import Study


def answer_of_chains(study: Study) -> Answer:
    """Facts: whether the agent beats policies of practice, and whether the claims on it hold."""
    contests = duels(study.summary, study.differences)
    return answer_of(
        [
            *map(_duel, contests),
            *_measures(contests),
            *claim_facts(_frames(study), ("sizing",)),
            *_network(study),
        ]
    )


def _frames(study: Study) -> Frame:
    """A function that gives the frames of a study by name, for claims."""
    absent = pl.DataFrame()
    frames = {"size/table": study.table, "size/training": study.training}
    return lambda name: absent if (frame := frames.get(name)) is None else frame


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


def _measures(duels: list[Duel]) -> Iterator[Fact]:
    for duel in duels:
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


def _network(study: Study) -> Iterator[Fact]:
    """The source of the agent's network; nothing where the study trained it."""
    if study.network:
        yield Fact(
            kind="agent_network",
            subject=str(study.network.get("set", "")),
            value=study.network.get("epochs"),
        )
