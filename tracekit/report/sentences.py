"""Words of facts, made once, by the templates of ``reports/facts.toml``.

A template names the fields of a fact in braces: ``{value}``, ``{subject:policy}``, ``{of}``. A
field's text follows its unit: that of the fact for its values, the end of the name for a scalar of
``about``. A sentence of which a field is unknown is left out.
"""

import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracekit.answer.claims.table import all_claims
from tracekit.base.facts import SCHEMA, Answer, Fact, Followup, Scalar, kinds, questions
from tracekit.base.units import duration, memory, percent
from tracekit.base.words import plural, quoted, short_hash

#: Units whose values are counts of things, with the noun of one.
_NOUNS = {
    "nodes": "node",
    "containers": "container",
    "services": "service",
    "pods": "pod",
    "orders": "order",
    "rows": "row",
    "policies": "policy",
    "node_steps": "node-step",
    "events": "event",
    "moves": "move",
}
#: Money by the time it is paid for.
_PERIODS = {"per_hour": "an hour", "per_month": "a month"}
#: How amounts of other units are printed.
_PRINTED: Mapping[str, Callable[[float], str]] = {
    "fraction": percent,
    "points": lambda given: f"{100 * given:.1f} points",
    "bytes": memory,
    "cores": lambda given: f"{given:,.2f}".rstrip("0").rstrip(".") + " cores",
    "ms": duration,
}
#: Numbers from this value on are printed without decimals.
_WHOLE_FROM = 9_999.5
_VALUES = ("value", "low", "high", "against")
#: Ends of names that are units.
_ENDS = ("fraction", "bytes", "cores", "ms", "per_hour", "per_month", "points")


def short(fact: Fact) -> str:
    """Return the fact in one line."""
    return _rendered(fact, kinds()[fact.kind].short)


def long(fact: Fact) -> str:
    """Return the fact in full."""
    return _rendered(fact, kinds()[fact.kind].long)


def label(fact: Fact) -> str:
    """Return the label of the fact in a table."""
    return kinds()[fact.kind].label


def value(fact: Fact) -> str:
    """Return the value of the fact with its unit, for a cell."""
    return amount(fact.value, _unit_of(fact), fact.about)


def against(fact: Fact) -> str:
    """Return the value that the fact is compared with, for a cell."""
    return amount(fact.against, _unit_of(fact), fact.about)


def expected(fact: Fact) -> str:
    """Return the values that agree with a claim, as ``0.8 ± 0.05`` or ``> 0.5``."""
    claim, unit = all_claims()[fact.subject], _unit_of(fact)
    edges = [(">", claim.above), ("<", claim.below), ("\u00b1", claim.tolerance or None)]
    parts = [f"{sign} {amount(edge, unit)}" for sign, edge in edges if edge is not None]
    return " ".join([against(fact), *parts] if claim.tolerance is not None else parts)


def change(fact: Fact) -> str:
    """Return the change in a fact with its sign; a change of shares is in percentage points."""
    given = fact.about_it("change")
    if not isinstance(given, int | float):
        return ""
    text = amount(given, "points" if _unit_of(fact) == "fraction" else _unit_of(fact))
    return f"+{text}" if given > 0 else text


def change_interval(fact: Fact) -> str:
    """Return the interval of the change, in the unit of the change; empty for no interval."""
    ends = [fact.about_it(name) for name in ("change_low", "change_high")]
    share = _unit_of(fact) == "fraction"
    measured = [one for one in ends if isinstance(one, int | float)]
    return " to ".join(f"{100 * one:.1f}" if share else _number(one) for one in measured)


def interval(fact: Fact) -> str:
    """Return the interval of the fact, for a cell; empty for no interval."""
    if fact.low is None or fact.high is None:
        return ""
    low, high = (amount(one, _unit_of(fact), fact.about) for one in (fact.low, fact.high))
    return low if low == high else f"{low} to {high}"


def headline(answer: Answer) -> str:
    """Return the first fact of the answer, its verdict if it has one; empty without facts."""
    return short(answer.facts[0]) if answer.facts else ""


def question(followup: Followup) -> str:
    """Return the question of a follow-up."""
    return questions()[followup.question]


def command(followup: Followup) -> str:
    """Return the command line that answers a follow-up question."""
    words = ["tracekit", *followup.command.split()]
    for name, given in followup.arguments.items():
        each = (
            list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
        )
        for one in each:
            if one is None or one is False:
                continue
            if not name.isupper():
                words.append(f"--{name.replace('_', '-')}")
            if one is not True:
                words.append(quoted(str(one)))
    return " ".join(words)


def document(answer: Answer) -> dict[str, Any]:
    """Return the answer as one JSON document."""
    return {
        "schema": SCHEMA,
        "headline": headline(answer),
        "facts": [one.document() for one in answer.facts],
        "next": [
            {
                "question": question(one),
                "command": command(one),
                "asks": one.question,
                "verb": one.command,
                "arguments": dict(one.arguments),
            }
            for one in answer.next
        ],
    }


def amount(given: Scalar, unit: str, about: Mapping[str, Scalar] | None = None) -> str:
    """Return a value with its unit, for people."""
    if given is None or isinstance(given, str):
        return given or ""
    if isinstance(given, bool):
        return "yes" if given else "no"
    if unit in _PERIODS:
        currency = str((about or {}).get("currency") or "")
        return f"{given:,.2f} {currency}".strip() + f" {_PERIODS[unit]}"
    if unit in _PRINTED:
        return _PRINTED[unit](given)
    return _number(given) if unit in _NOUNS else f"{_number(given)} {unit}".strip()


def _number(given: float) -> str:
    whole = given == round(given) or abs(given) >= _WHOLE_FROM
    return f"{given:,.0f}" if whole else f"{given:,.4g}"


def _rendered(fact: Fact, sentences: Mapping[str, tuple[str, ...]]) -> str:
    chosen = next(
        (sentences[key] for key in (fact.because, fact.verdict, "") if key in sentences), ()
    )
    fields = _Fields(fact)
    return " ".join(
        one.format_map(fields) for one in chosen if all(fields.has(name) for name in _names(one))
    )


def _names(sentence: str) -> list[str]:
    return [name for _, name, _, _ in string.Formatter().parse(sentence) if name]


def _policy(name: str) -> str:
    from tracekit.policy.placement import title_of_policy  # noqa: PLC0415 - loads all

    return title_of_policy(name)


def _measure(name: str) -> str:
    """The title of a measure of a replay or of a comparison of sizing policies."""
    from tracekit.replay.measures import title_of  # noqa: PLC0415 - loads all
    from tracekit.sizing.measures import MEASURES  # noqa: PLC0415 - loads all

    declared = MEASURES.get(name)
    return title_of(name) if declared is None else declared.title


#: How a field that is a name is shown, by its format.
_NAMED: Mapping[str, Callable[[str], str]] = {
    "policy": _policy,
    "measure": _measure,
    "claim": lambda name: all_claims()[name].text,
    "number": lambda name: all_claims()[name].number,
    "id": short_hash,
    "plain": str,
}


class _Text(str):
    """A field of a template, whose format says how it is shown."""

    __slots__ = ("given",)
    given: Scalar

    def __format__(self, spec: str) -> str:
        if spec in _NAMED:
            return _NAMED[spec](str(self.given))
        if spec and isinstance(self.given, int | float):
            return f"{_number(self.given)} {plural(self.given, spec)}"
        return str(self)


class _Fields(dict[str, _Text]):
    """The fields of a fact by name."""

    def __init__(self, fact: Fact) -> None:
        super().__init__()
        self._fact = fact

    def has(self, name: str) -> bool:
        return bool(self[name]) or self[name].given == 0

    def __missing__(self, name: str) -> _Text:
        fact = self._fact
        if name in ("subject", "measure"):
            text = _text(getattr(fact, name), "", fact)
        elif name in _VALUES:
            text = _text(getattr(fact, name), _unit_of(fact), fact)
        else:
            unit = next((end for end in _ENDS if name.endswith(end)), "")
            text = _text(fact.about.get(name), unit, fact)
        self[name] = text
        return text


def _unit_of(fact: Fact) -> str:
    """The unit of a fact's values: its own, else the unit of its measure."""
    if fact.unit or not fact.measure:
        return fact.unit
    from tracekit.replay.measures import find_measure  # noqa: PLC0415 - loads all

    measure = find_measure(fact.measure)
    return "fraction" if measure is not None and measure.share else ""


def _text(given: Scalar, unit: str, fact: Fact) -> _Text:
    text = _Text(amount(given, unit, fact.about))
    text.given = given
    return text
