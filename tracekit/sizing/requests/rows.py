"""What a study of requests holds, service by service and of all together."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.base.study import Study
from tracekit.base.units import BYTES_PER_GIB
from tracekit.cluster.requests.given import NOW, SERVICES, SUBJECT

#: Resources by their name on screens, their unit there, and how many of ours are one of it.
UNITS: Mapping[str, tuple[str, str, float]] = {
    "cpu": ("CPU", "cores", 1.0),
    "memory": ("memory", "GiB", float(BYTES_PER_GIB)),
}


def totals(study: Study, policy: str = "") -> Mapping[str, Mapping[str, Any]]:
    """The totals of a policy by resource, of the one to follow without a choice."""
    rows = study.frames["policies"].filter(policy=policy or _subject(study)).to_dicts()
    return {one["resource"]: one for one in rows}


def _subject(study: Study) -> str:
    return str(study.about[SUBJECT])


def measured(study: Study) -> list[str]:
    """The resources whose use there is to judge by."""
    return [name for name, one in totals(study, NOW).items() if one["above_share"] is not None]


def amount(value: float | None, resource: str) -> str:
    """An amount in the unit of screens, without it: three digits, whole ones from 100 on."""
    if value is None:
        return "-"
    shown = value / UNITS[resource][2]
    size = abs(shown)
    digits = 0 if size >= 100 or not size else 1 if size >= 10 else 2 if size >= 1 else 3
    text = f"{shown:,.{digits}f}"
    return text.removeprefix("-") if not float(text.replace(",", "")) else text


def services(study: Study, policy: str = "") -> pl.DataFrame:
    """The rows of a policy, the one to follow without a choice."""
    return study.frames[SERVICES].filter(policy=policy or _subject(study))


#: A change below this share of all that is requested is rounding.
_LITTLE = 1e-6


def by_change(study: Study) -> pl.DataFrame:
    """The rows that change, first those that move most of all that is requested of a resource."""
    rows = services(study).filter(pl.col("resource").is_in(measured(study)))
    whole = {name: _whole(one) for name, one in totals(study).items()}
    part = pl.col("freed").abs() / pl.col("resource").replace_strict(whole)
    return rows.filter(part > _LITTLE).sort(
        part, "service", "resource", descending=[True, False, False], maintain_order=True
    )


def is_within_risk(study: Study) -> bool:
    """Whether the policy to follow keeps within the accepted risk by every resource."""
    found = totals(study).values()
    return max(one["above_share"] or 0.0 for one in found) <= float(study.about["risk_share"])


def changed_of(study: Study, name: str) -> tuple[pl.Series, pl.Series]:
    """What each service frees of a resource, and what each needs more (below 0)."""
    total = totals(study)[name]
    least = _LITTLE * _whole(total)
    change = services(study).filter(pl.col("resource") == name)["freed"]
    return change.filter(change > least), change.filter(change < -least)


def _whole(total: Mapping[str, Any]) -> float:
    """All that is requested of a resource, now or as recommended: shares are of that."""
    return max(total["requested_now"], total["requested"]) or 1.0


def over_reserved(study: Study) -> pl.DataFrame:
    """Rows of which more stays reserved than is recommended, what keeps most first."""
    beyond = pl.col("reserved_then") - pl.col("recommended")
    found = services(study).filter(beyond > _LITTLE * pl.col("reserved_then"))
    whole = {name: one["requested_now"] or 1.0 for name, one in totals(study, NOW).items()}
    part = beyond * pl.col("containers") / pl.col("resource").replace_strict(whole)
    return found.sort(part, descending=True, maintain_order=True)


def at_risk(study: Study) -> pl.DataFrame:
    """Services that use more than recommended too often, the worst first."""
    return (
        services(study)
        .filter("at_risk")
        .sort("above_share", "service", descending=[True, False], maintain_order=True)
    )
