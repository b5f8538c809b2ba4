"""What changed between two runs, in words: the sentence, and the rows of tables.

The command line, notebooks and the report say these; none makes its own.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from tracekit.answer.amounts import difference_text, value_text
from tracekit.answer.comparison.compared_run import (
    ALIKE,
    CHANCE,
    NOT_COMPARABLE,
    SAME,
    TOO_FEW,
    UNCHANGED,
    compares_policies,
    verdict_told,
)
from tracekit.answer.standings import Difference
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import find_measure, title_of
from tracekit.replay.runs.threshold_values import WORST
from tracekit.study import Study
from tracekit.words import count, counted, listed

#: What the cells of a change are, in a table of all policies.
HEADS = ("policy", "measure", "base", "new", "change (95 %)", "verdict")
#: Verdicts, what is worse first and what is the same last.
_ORDER = ("worse", "better", "changed", NOT_COMPARABLE, CHANCE, TOO_FEW, *UNCHANGED)
#: What is said of values that are not shown one by one.
_QUIET = (
    (CHANCE, "within chance"),
    (ALIKE, "different by too little to count"),
    (SAME, "the same in both runs"),
)
#: So many of them are told by their titles; others are counted.
_TITLED = 3
#: So many thresholds are told with their orders of arrival.
_HELD = 8
#: What a threshold is held against.
THE_RULE = (
    "a threshold is held against the mean of the orders of arrival; worst(MEASURE) is of the"
    " worst, and base beside it"
)
#: How values of a verdict are counted in a sentence.
_COUNTED = (
    ("better", "better"),
    ("worse", "worse"),
    ("changed", "other, neither better nor worse"),
    (NOT_COMPARABLE, "not comparable, as containers are missing"),
    (CHANCE, CHANCE),
    (TOO_FEW, "too few orders of arrival to be told"),
)


def lead(study: Study) -> str:
    """What was compared, and how much of it changed; what is too close to count did not."""
    about, changes = study.about, study.frames["changes"]
    verdicts = changes["verdict"].to_list()
    of = f"{count(changes['measure'].n_unique(), 'measure')} of"
    policies = whose(about)
    if not differs(study):
        return (
            f"Nothing changed from {about['base']} to {about['new']}: {of} {policies}"
            f" came out {'alike' if ALIKE in verdicts else 'the same'}."
        )
    told = [f"{verdicts.count(word)} {said}" for word, said in _COUNTED if word in verdicts]
    many = changes.height - sum(map(verdicts.count, UNCHANGED))
    return (
        f"From {about['base']} to {about['new']},"
        f" {count(many, 'value')} of {changes.height:,} changed"
        f" ({of} {policies}): {listed(told)}."
    )


def whose(about: Mapping[str, Any]) -> str:
    """Of what the measures are, in a few words."""
    return count(len(about["policies"]), "policy") if compares_policies(about) else "production"


def differs(study: Study) -> bool:
    """Whether any measure of any policy changed."""
    return not study.frames["changes"]["verdict"].is_in(UNCHANGED).all()


def changed(study: Study) -> list[dict[str, Any]]:
    """The rows of what changed, policies and measures in the order of the study."""
    return [row for row in study.frames["changes"].to_dicts() if row["verdict"] not in UNCHANGED]


def quiet(study: Study) -> list[str]:
    """How many values are within chance, alike or the same, and whose; without full stops."""
    about, changes = study.about, study.frames["changes"]
    if (changes["verdict"] == SAME).all():
        return [f"nothing changed: all measures of {whose(about)} are the same in both runs"]
    said = []
    for verdict, told in _QUIET:
        rows = changes.filter(verdict=verdict).to_dicts()
        if rows:
            are = "is" if len(rows) == 1 else "are"
            said.append(f"{len(rows):,} of {changes.height:,} values {are} {told}: {_whose(rows)}")
    return said


def _whose(rows: Sequence[Mapping[str, Any]]) -> str:
    """Titles where they are few; else how many measures of each policy, or of all."""
    if len(rows) <= _TITLED:
        return listed([f"{title_of(row['measure'])} of {row['policy']}" for row in rows])
    many = Counter(row["policy"] for row in rows)
    if len(many) > _TITLED:
        return f"measures of {len(many)} policies"
    return listed([f"{counted(times, 'measure')} of {policy}" for policy, times in many.items()])


def place(verdict: str) -> tuple[int, str]:
    """Sorts verdicts: what is worse first, the same last."""
    return _ORDER.index(verdict) if verdict in _ORDER else len(_ORDER), verdict


def cells(row: Mapping[str, Any], about: Mapping[str, Any]) -> Sequence[str]:
    """A change as the cells of a table, see ``HEADS``."""
    told = verdict_told(row, about)
    return row["policy"], row["measure"], value(row, "base"), value(row, "new"), change(row), told


def change(row: Mapping[str, Any]) -> str:
    """A change with its interval, where there is one."""
    measure = find_measure(row["measure"])
    if row["change_low"] is None:
        return "-"
    if measure is None:
        return f"{row['change']:+.3g}"
    ends = {name: row[f"change_{name}"] for name in ("low", "high")}
    of = {name: row[name] for name in ("policy", "measure", "orders")}
    found = Difference(**of, other="", mean=row["change"], **ends, apart=False)
    return difference_text(measure, found)


def value(row: Mapping[str, Any], run: str) -> str:
    """What a measure came to in a run, ``base`` or ``new``."""
    measure, found = find_measure(_measure_of(row, run)), row[run]
    if measure is None or found is None:
        return "-" if found is None else f"{found:,.4g}"
    return value_text(measure, found)


def over_orders(row: Mapping[str, Any]) -> str:
    """What a threshold's measure came to in the new run: at the mean, and in the worst order.

    Parameters
    ----------
    row : mapping
        Of the frame ``thresholds``; one of an earlier version has the mean alone.
    """
    mean, orders, worst = value(row, "new"), row.get("orders") or 1, row.get("new_worst")
    if orders < 2 or row["new"] is None:
        return mean
    if worst is None:
        return f"{mean} on average of {orders} orders"
    edge = value({**row, "new": worst}, "new")
    if edge == mean:
        return f"{mean} in each of {orders} orders" if worst == row["new"] else mean
    if row["judged"] == WORST:
        return f"{edge} in the worst of {orders} orders, {mean} on average"
    side = "most" if worst > row["new"] else "least"
    return f"{mean} on average of {orders} orders, at {side} {edge} in one"


def judged(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row of ``thresholds``, ``base`` and ``new`` what it is held against: mean, or worst."""
    found = dict(row)
    for run, by in (("base", "base_judged"), ("new", "judged")):
        worst = row.get(f"{run}_worst") if row.get(by) == WORST else None
        found[run] = row[run] if worst is None else worst
    return found


def judged_value(row: Mapping[str, Any], run: str) -> str:
    """What a threshold is held against in a run, ``base`` or ``new``."""
    return value(judged(row), run)


def base_told(row: Mapping[str, Any]) -> str:
    """What a threshold is held against in the base: the measure, and whether the worst order."""
    said = judged_value(row, "base")
    other = f" ({_measure_of(row, 'base')})" if of_another(row) and row["base"] is not None else ""
    return f"{said}{other}{'' if said == value(row, 'base') else ' in the worst order'}"


def of_another(row: Mapping[str, Any]) -> bool:
    """Whether a threshold is held against other measures of the base than its own."""
    return "base_measure" in row and row["base_measure"] != row["measure"]


def _measure_of(row: Mapping[str, Any], run: str) -> str:
    """The measure that a value is of; runs of earlier versions have one for both."""
    other = row.get("base_measure") if run == "base" else None
    return str(other or row["measure"])


def _threshold(row: Mapping[str, Any]) -> str:
    """A threshold and the policy that it is held to, once."""
    own = str(row["threshold"]).strip().startswith(f"{row['policy']}:")
    return str(row["threshold"] if own else f"{row['policy']}: {row['threshold']}")


def held(study: Study) -> list[str]:
    """A sentence on each threshold whose measure differs between orders, and the rule once."""
    rows = [
        row
        for row in study.frames["thresholds"].to_dicts()
        if over_orders(row) != value(row, "new")
    ]
    said = [f"{_threshold(row)}: {over_orders(row)}: {row['outcome']}" for row in rows[:_HELD]]
    more = [f"and {len(rows) - _HELD} more: --json has them"] if len(rows) > _HELD else []
    means = any(row["judged"] != WORST for row in rows)
    return [*said, *more, *([THE_RULE] if means else [])]


def too_few(study: Study) -> str:
    """A sentence if changes have no interval, with what gives them one; empty if all have."""
    untold = ~pl.col("verdict").is_in(UNCHANGED) & pl.col("change_low").is_null()
    changes = study.frames["changes"].filter(untold)
    if not changes.height:
        return ""
    orders = changes["orders"].to_list()[0] if "orders" in changes.columns else 1
    met = "one order" if orders == 1 else counted(orders, "order")
    return (
        f"With {met} of arrival it cannot be told which changes are chance, {FEWEST} are needed:"
        f" replay both with --repeat {FEWEST} or more and compare again."
    )
