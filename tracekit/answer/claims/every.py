"""Every claim with its verdict: of a store and of experiments, or as recorded."""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

import polars as pl

from tracekit.answer.claims import binding, extender, functions, placement, sizing, trace
from tracekit.answer.claims.judge import judged
from tracekit.answer.claims.reading import Reading
from tracekit.answer.claims.table import Claim, all_claims
from tracekit.base.assets import asset_dir
from tracekit.base.facts import Answer, Fact

#: Gives a frame by its name: a query, or ``<folder of results>/<frame>``; empty where absent.
Frame = Callable[[str], pl.DataFrame]
_EXPERIMENTS = {
    "trace": trace.readings,
    "placement": placement.readings,
    "functions": functions.readings,
    "extender": extender.readings,
    "sizing": sizing.readings,
    "binding": binding.readings,
}
#: Readings of the experiments as they were run with tracekit's defaults.
RECORDED = "claims.json"


def readings(frame: Frame, experiments: Iterable[str] = tuple(_EXPERIMENTS)) -> dict[str, Reading]:
    """What the claims of the experiments come to, by claim; those that can be read."""
    return dict(itertools.chain(*(_EXPERIMENTS[name](frame) for name in experiments)))


def claim_facts(frame: Frame, experiments: Iterable[str] = tuple(_EXPERIMENTS)) -> list[Fact]:
    """Every claim of the experiments that has a reading, judged, in the order of the table."""
    read = readings(frame, experiments)
    return [judged(claim, read[name]) for name, claim in all_claims().items() if name in read]


def with_all(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Every claim: the fact given, else one of the recorded reading, else that nothing was run."""
    path = asset_dir("reports") / RECORDED
    recorded = json.loads(path.read_text(encoding="utf-8"))
    known = {one.subject: one for one in facts}
    for name, claim in all_claims().items():
        read = Reading(**recorded[name]) if name in recorded else None
        yield known[name] if name in known else judged(claim, read)


def answer_of_claims(facts: Iterable[Fact]) -> Answer:
    """Every claim, and how many hold."""
    every = tuple(with_all(facts))
    many = Counter(one.verdict for one in every)
    why = Counter(one.because for one in every)
    counted = Fact(
        kind="claims_judged",
        value=many["holds"],
        about={
            "of": len(every),
            "failed": many["does_not_hold"],
            "untold": many["cannot_tell"],
            "few": why["few_samples"] or None,
            "chance": why["within_chance"] or None,
            "not_run": why["not_run"] or None,
        },
    )
    return Answer(facts=(counted, *every))


def by_experiment(facts: Iterable[Fact]) -> Iterator[tuple[Claim, list[Fact]]]:
    """Claims one experiment after another, each with its first claim."""
    known = all_claims()
    for _, those in itertools.groupby(
        facts, lambda one: (known[one.subject].source, known[one.subject].experiment)
    ):
        group = list(those)
        yield known[group[0].subject], group
