"""What requests free and what they add, and what stays reserved, in sentences."""

from tracekit.replay.workload.requests.given import SUBJECT
from tracekit.sizing.requests.rows import (
    UNITS,
    amount,
    changed_of,
    kept,
    measured,
    needing_more,
    row,
)
from tracekit.study import Study
from tracekit.words import counted, few, short_hash


def both_ways(study: Study) -> str:
    """What is freed and what is added, where it is both: a net sum hides who needs more."""
    subject, said = str(study.about[SUBJECT]), []
    for name, found in row(study, subject).of.items():
        less, more = changed_of(study, name)
        if name in measured(study) and len(more) and amount(float(more.sum()), name) != "0":
            what, unit, _ = UNITS[name]
            freed, added = (amount(abs(float(one.sum())), name) for one in (less, more))
            said.append(
                f"{freed} {unit} of {what} are freed of {counted(len(less), 'service')} and {added}"
                f" added to {counted(len(more), 'service')}: net {_net(found['freed'], name)}"
                if len(less)
                else f"{added} {unit} of {what} are added to {counted(len(more), 'service')}"
            )
    if not said:
        return ""
    text = "; ".join(said)
    rows = needing_more(study)
    kinds = " or ".join(UNITS[name][0] for name in measured(study))
    named = few(list(map(short_hash, rows["service"].head(_NAMED_MORE))))
    if rows.height == 1:
        return f"{text}. Most is added to {named}."
    return f"{text}. {rows.height:,} services need more of {kinds}; most is added to {named}."


#: So many services that need more are named in a sentence.
_NAMED_MORE = 3


def stays(study: Study) -> str:
    """Where init containers and overhead keep more of a request than its containers ask for."""
    rows = kept(study)
    if not rows.height:
        return ""
    named = [
        f"{short_hash(one['service'])} {amount(one['reserved_then'], one['resource'])}"
        f" {UNITS[one['resource']][1]} of {UNITS[one['resource']][0]} a pod, with"
        f" {amount(one['recommended'], one['resource'])} for its containers"
        for one in rows.head(_NAMED_MORE).to_dicts()
    ]
    many = rows["service"].n_unique()
    return (
        f"Init containers and overhead keep part of what is reserved for"
        f" {counted(many, 'service')}, whatever containers request; no sum here counts it as"
        f" freed: {'; '.join(named)}."
    )


def _net(freed: float, resource: str) -> str:
    return f"{amount(abs(freed), resource)} {'freed' if freed >= 0 else 'added'}"
