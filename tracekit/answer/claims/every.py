"""Every claim with its verdict, from a store, from experiments, or from recorded readings.

A claim holds where the whole interval agrees with it, and does not hold where no part does. It
cannot be told where only a part agrees, or where there are fewer samples than the claim needs. A
claim whose precondition is not met does not hold.
"""

import functools
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tracekit.answer.claims import experiments, trace
from tracekit.answer.claims.experiments import Frame, Readings
from tracekit.answer.claims.reading import Reading
from tracekit.answer.claims.table import TRACE, Claim, all_claims
from tracekit.base.facts import Answer, Fact, Verdict
from tracekit.base.folders import asset_dir

_EXPERIMENTS: Mapping[str, Callable[[Frame], Readings]] = {
    TRACE: trace.readings,
    "placement": experiments.placement,
    "functions": experiments.functions,
    "extender": experiments.extender,
    "sizing": experiments.sizing,
    "binding": experiments.binding,
}
#: The recorded readings by experiment, with the command, version and commit that gave them.
RECORDED = "claims.json"


def readings(frame: Frame, names: Iterable[str] = tuple(_EXPERIMENTS)) -> dict[str, Reading]:
    """Return the measured number for each claim, by the claim's name.

    Claims without a measured number are left out.

    Parameters
    ----------
    frame : callable
        Returns a frame by its name: a query, or ``<folder of results>/<frame>``.
    names : iterable of str
        The experiments whose claims are read.
    """
    return dict(itertools.chain(*(_EXPERIMENTS[name](frame) for name in names)))


def claim_facts(frame: Frame, names: Iterable[str] = tuple(_EXPERIMENTS)) -> list[Fact]:
    """Return the verdicts on the claims of some experiments, given by name.

    Claims without a measured number have no verdict.
    """
    read = readings(frame, names)
    return [judged(claim, read[name]) for name, claim in all_claims().items() if name in read]


@functools.cache
def recorded() -> Mapping[str, Mapping[str, Any]]:
    """Return the measured numbers that tracekit ships, by experiment.

    An entry has ``command``, ``version``, ``commit`` and, by claim, ``readings``.
    """
    made: dict[str, Any] = json.loads((asset_dir("reports") / RECORDED).read_text(encoding="utf-8"))
    return made


def with_all(facts: Iterable[Fact]) -> Iterator[Fact]:
    """Yield one fact for every claim of all experiments.

    It is the given fact if there is one. Otherwise the measured number that tracekit ships is
    judged; without such a number the verdict is that it cannot be told.
    """
    fact_of = {one.subject: one for one in facts}
    for name, claim in all_claims().items():
        source = recorded().get(claim.experiment, {})
        read = source.get("readings", {}).get(name)
        if name in fact_of or read is None:
            yield fact_of.get(name) or judged(claim, None)
        else:
            verdict = judged(claim, Reading(**read))
            origin = {"version": source["version"], "commit": source["commit"]}
            yield replace(verdict, about={**verdict.about, **origin})


def answer_of_claims(facts: Iterable[Fact]) -> Answer:
    """Return the facts of every claim, and how many hold."""
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
            "recorded": sum("commit" in one.about for one in every) or None,
        },
    )
    return Answer(facts=(counted, *every))


def by_experiment(facts: Iterable[Fact]) -> Iterator[tuple[Claim, Fact, list[Fact]]]:
    """Yield adjacent facts of one experiment and one origin as a group.

    A group is given as its first claim, a fact that says where its measured numbers come from, and
    its facts.
    """
    claims = all_claims()
    for _, those in itertools.groupby(
        facts,
        lambda one: (claims[one.subject].source, claims[one.subject].experiment, _origin(one)),
    ):
        group = list(those)
        claim, origin = claims[group[0].subject], _origin(group[0])
        yield claim, Fact(kind="claims_from", because=origin[0], about=dict(origin[1:])), group


def _origin(fact: Fact) -> tuple[Any, ...]:
    """The origin of a claim's reading, by which claims of one experiment are grouped."""
    if fact.because == "not_run":
        return ("not_run",)
    if "commit" in fact.about:
        return ("recorded", *((name, fact.about[name]) for name in ("version", "commit")))
    return ("store" if fact.about["experiment"] == TRACE else "command",)


def judged(claim: Claim, reading: Reading | None) -> Fact:
    """Return the verdict on a claim; without a reading the verdict is that it cannot be told."""
    read = reading or Reading()
    verdict, because = _verdict(claim, read)
    if reading is None:
        verdict, because = "cannot_tell", "not_run"
    return Fact(
        kind="claim",
        subject=claim.name,
        value=read.value,
        unit=claim.unit,
        low=read.low,
        high=read.high,
        against=claim.printed,
        verdict=verdict,
        because=because,
        about={
            "experiment": claim.experiment,
            "samples": read.samples,
            "of": claim.of,
            "fewest": claim.fewest,
            "worse_fraction": read.worse,
        },
    )


def _verdict(claim: Claim, read: Reading) -> tuple[Verdict, str]:
    if read.value is None or read.samples < claim.fewest:
        return "cannot_tell", "few_samples"
    if claim.if_met and not read.met:
        return "does_not_hold", "not_met"
    first, last = claim.agreeing()
    low = read.value if read.low is None else read.low
    high = read.value if read.high is None else read.high
    strict = claim.tolerance is None
    if (first < low and high < last) if strict else (first <= low and high <= last):
        return "holds", ""
    if (high <= first or low >= last) if strict else (high < first or low > last):
        return "does_not_hold", ""
    return "cannot_tell", "within_chance"
