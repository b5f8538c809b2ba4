"""Rows of a comparison of two runs, as tables of all printers show them."""

from tracekit.base.facts import Fact
from tracekit.report.sentences import against, change, change_interval, value

#: Heads of a change, see ``cells``.
HEADS = ("policy", "measure", "base", "new", "change", "95 %", "verdict")


def verdict_of(fact: Fact) -> str:
    """The verdict on a change, in a word."""
    return (fact.because or fact.verdict).replace("_", " ")


def cells(fact: Fact) -> list[str]:
    """A change: policy, measure, both values, the change with its interval, and the verdict."""
    return [
        fact.subject,
        fact.measure,
        against(fact),
        value(fact),
        change(fact),
        change_interval(fact) or "-",
        verdict_of(fact),
    ]
