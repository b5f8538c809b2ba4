"""What a study of requests holds, service by service and of all together: rows to tell of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.replay.workload.requests.given import NOW, SERVICES, SUBJECT
from tracekit.study import Study
from tracekit.units import BYTES_PER_GIB

#: Resources by their name on screens, their unit there, and how many of ours are one of it.
UNITS: Mapping[str, tuple[str, str, float]] = {
    "cpu": ("CPU", "cores", 1.0),
    "memory": ("memory", "GiB", float(BYTES_PER_GIB)),
}


@dataclass(frozen=True)
class Row:
    """One policy over all services: its two rows, by resource."""

    of: Mapping[str, Mapping[str, Any]]


def row(study: Study, policy: str) -> Row:
    """The totals of a policy."""
    rows = study.frames["policies"].filter(policy=policy).to_dicts()
    return Row({one["resource"]: one for one in rows})


def _subject(study: Study) -> str:
    return str(study.about[SUBJECT])


def measured(study: Study) -> list[str]:
    """The resources whose use there is to judge by."""
    return [name for name, one in row(study, NOW).of.items() if one["above_share"] is not None]


def amount(value: float | None, resource: str) -> str:
    """An amount in the unit of screens, without it: three digits, whole ones from 100 on."""
    if value is None:
        return "-"
    shown = value / UNITS[resource][2]
    size = abs(shown)
    digits = 0 if size >= 100 or not size else 1 if size >= 10 else 2 if size >= 1 else 3
    text = f"{shown:,.{digits}f}"
    return text.removeprefix("-") if not float(text.replace(",", "")) else text


def then(row: Mapping[str, Any], resource: str, *, now: str, recommended: str) -> str:
    """What a container is to request: an amount, or that it keeps what it has.

    ``now`` and ``recommended`` are the columns that have them.
    """
    if row[recommended] is None and row[now] is not None:
        return "kept"
    return amount(row[recommended], resource)


def services(study: Study, policy: str = "") -> pl.DataFrame:
    """The rows of a policy, the one to follow without a choice."""
    return study.frames[SERVICES].filter(policy=policy or _subject(study))


def freeing_most(study: Study) -> pl.DataFrame:
    """The services that free CPU or memory and need more of neither, the largest part first.

    Cores and bytes count as shares of all that is requested, now or as recommended.
    """
    found = _by_service(study).filter(~pl.col("needs"), pl.col("frees"))
    return found.sort("part", descending=True, maintain_order=True).drop(_OF_ORDER)


def needing_more(study: Study) -> pl.DataFrame:
    """The services that need more of a resource than they request, the largest addition first."""
    found = _by_service(study).filter("needs")
    return found.sort("added", maintain_order=True).drop(_OF_ORDER)


#: An addition below this share of all that is requested is rounding.
_LITTLE = 1e-6
#: What tells which list a service is in, and where.
_OF_ORDER = ("part", "added", "needs", "frees")


def by_change(study: Study) -> pl.DataFrame:
    """The rows that change, first those that move most of all that is requested of a resource."""
    rows = services(study).filter(pl.col("resource").is_in(measured(study)))
    whole = {name: _whole(one) for name, one in row(study, _subject(study)).of.items()}
    part = pl.col("freed").abs() / pl.col("resource").replace_strict(whole)
    return rows.filter(part > _LITTLE).sort(
        part, "service", "resource", descending=[True, False, False], maintain_order=True
    )


def is_within_risk(study: Study) -> bool:
    """Whether the policy to follow keeps within the accepted risk by every resource."""
    found = row(study, _subject(study)).of.values()
    return max(one["above_share"] or 0.0 for one in found) <= float(study.about["risk_share"])


def changed_of(study: Study, name: str) -> tuple[pl.Series, pl.Series]:
    """What each service frees of a resource, and what each needs more (below 0)."""
    total = row(study, _subject(study)).of[name]
    least = _LITTLE * _whole(total)
    change = services(study).filter(pl.col("resource") == name)["freed"]
    return change.filter(change > least), change.filter(change < -least)


def _whole(total: Mapping[str, Any]) -> float:
    """All that is requested of a resource, now or as recommended: shares are of that."""
    return max(total["requested_now"], total["requested"]) or 1.0


def _by_service(study: Study) -> pl.DataFrame:
    """A row for each service: both resources beside each other, and what changes as shares."""
    found = row(study, _subject(study)).of
    rows = services(study)
    frames: list[pl.DataFrame] = []
    for name, total in found.items():
        mine = rows.filter(resource=name).select(
            "service",
            "containers",
            pl.col("request_now").alias(f"{name}_now"),
            pl.col("recommended").alias(f"{name}_recommended"),
            pl.col("use_p95").alias(f"{name}_p95"),
            pl.col("freed").alias(f"{name}_freed"),
            pl.col("above_share").alias(f"{name}_above_share"),
            pl.col("at_risk").alias(f"{name}_at_risk"),
            (pl.col("freed") / _whole(total)).alias(f"{name}_part"),
        )
        frames.append(mine if not frames else mine.drop("containers"))
    both = frames[0].join(frames[1], on="service", how="left", maintain_order="left")
    parts = [pl.col(name).fill_null(0.0) for name in ("cpu_part", "memory_part")]
    return both.with_columns(
        part=pl.sum_horizontal(parts),
        added=pl.sum_horizontal(one.clip(upper_bound=0) for one in parts),
        needs=pl.any_horizontal(one < -_LITTLE for one in parts),
        frees=pl.any_horizontal(one > _LITTLE for one in parts),
        at_risk=pl.any_horizontal("cpu_at_risk", "memory_at_risk").fill_null(value=False),
    ).drop("cpu_part", "memory_part")


def kept(study: Study) -> pl.DataFrame:
    """Rows of which more stays reserved than is recommended, what keeps most first."""
    beyond = pl.col("reserved_then") - pl.col("recommended")
    found = services(study).filter(beyond > _LITTLE * pl.col("reserved_then"))
    whole = {name: one["requested_now"] or 1.0 for name, one in row(study, NOW).of.items()}
    part = beyond * pl.col("containers") / pl.col("resource").replace_strict(whole)
    return found.sort(part, descending=True, maintain_order=True)


def at_risk(study: Study, policy: str = "") -> pl.DataFrame:
    """Services that use more than recommended too often, the worst first."""
    return (
        services(study, policy)
        .filter("at_risk")
        .sort("above_share", "service", descending=[True, False], maintain_order=True)
    )
