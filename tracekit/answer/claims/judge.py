"""The one rule that judges a claim.

A claim holds where the whole interval agrees with it, does not hold where none of it does, and
cannot be told where chance decides, or where fewer samples stand behind it than it needs. Where
the value depends on something that is not so, the claim does not hold.
"""

from tracekit.answer.claims.reading import Reading
from tracekit.answer.claims.table import Claim
from tracekit.base.facts import Fact, Verdict


def judged(claim: Claim, found: Reading | None) -> Fact:
    """The verdict on a claim as a fact; without a reading nothing was run for it."""
    read = found or Reading()
    verdict, because = _verdict(claim, read)
    if found is None:
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
