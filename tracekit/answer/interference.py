"""What neighbours cost, and what a binding to vCPUs saves: facts of a fit and of a replay."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tracekit.base.facts import Answer, Fact, Verdict, answer_of
from tracekit.binding.run import VcpuRun
from tracekit.interference.fit.run import Fit
from tracekit.interference.fit.verdict import USABLE
from tracekit.replay.chance.student import FEWEST

#: The measure that bindings are compared by, and the one that counts each container alike.
_LOST, _SHARE = "inflation_vcpus", "inflation_mean_fraction"
#: The coefficients of a fit, and who stands behind each.
_COEFFICIENTS = {"k1": "core", "k2": "socket"}


def answer_of_binding(run: VcpuRun) -> Answer:
    """What ways to bind lose to neighbours, the first of them beside each other one."""
    return answer_of([*facts_of_binding(run.differences, run.summary), *run.remarks])


def facts_of_binding(differences: pl.DataFrame, summary: pl.DataFrame) -> Iterator[Fact]:
    """The facts of a replay down to the vCPU; see ``binding.tables`` for the frames."""
    rows = differences.filter(measure=_LOST).to_dicts()
    few = [row["repeats"] for row in rows if row["repeats"] < FEWEST]
    if few:
        about = {"orders": few[0], "needed": FEWEST}
        yield Fact(
            kind="binding",
            subject=rows[0]["policy"],
            verdict="cannot_tell",
            because="few_orders",
            about=about,
        )
    yield from (_difference(row) for row in rows)
    for row in rows:
        share = differences.filter(measure=_SHARE, against=row["against"]).to_dicts()
        if share and _opposite(row, share[0]):
            yield Fact(
                kind="binding",
                subject=row["policy"],
                measure=_SHARE,
                value=share[0]["difference_mean"],
                unit="points",
                because="share_disagrees",
                rank=2,
                about={"other": row["against"]},
            )
    for row in summary.to_dicts():
        yield Fact(
            kind="policy_value",
            subject=row["policy"],
            measure=_LOST,
            value=row[_LOST],
            unit="vCPUs",
            about={"bound_vcpus": row["bound_vcpus"], "nodes_used": row["nodes_used_max"]},
        )


def _difference(row: Mapping[str, Any]) -> Fact:
    """One way to bind beside another, by the vCPUs that neighbours cost."""
    apart, orders = row["difference_mean"], row["repeats"]
    enough = orders >= FEWEST
    ends = (
        sorted(abs(row[name]) for name in ("difference_low", "difference_high")) if enough else ()
    )
    verdict: Verdict = "better" if apart < 0 else "worse"
    return Fact(
        kind="binding",
        subject=row["policy"],
        measure=_LOST,
        value=apart,
        unit="vCPUs",
        low=row["difference_low"] if enough else None,
        high=row["difference_high"] if enough else None,
        verdict=verdict if enough and row["separated"] else "cannot_tell",
        rank=None if enough else 3,
        about={
            "other": row["against"],
            "apart_vcpus": abs(apart),
            "least_vcpus": ends[0] if ends else None,
            "most_vcpus": ends[1] if ends else None,
            "share_fraction": row["share_mean"],
            "orders": orders,
        },
    )


def _opposite(lost: Mapping[str, Any], share: Mapping[str, Any]) -> bool:
    """Whether the mean share of containers orders two ways as lost vCPUs do not, beyond chance."""
    apart = all(row["separated"] or row["repeats"] == 1 for row in (lost, share))
    return bool(apart and lost["difference_mean"] * share["difference_mean"] < 0)


def answer_of_fit(fit: Fit) -> Answer:
    """What neighbours cost, of all services together, and how many services tell it alone."""
    return answer_of(facts_of_fit(fit))


def facts_of_fit(fit: Fit) -> Iterator[Fact]:
    """The facts of a fit: each coefficient over all services, and services by their verdict."""
    pooled = fit.fitted.pooled.row(0, named=True)
    for name, where in _COEFFICIENTS.items():
        if pooled.get(name) is not None:
            yield Fact(
                kind="neighbour_cost",
                subject=where,
                measure=name,
                value=pooled[name],
                low=pooled[f"{name}_low"],
                high=pooled[f"{name}_high"],
                verdict="holds" if pooled["verdict"] == USABLE else "cannot_tell",
                rank=1,
                about={"mode": fit.mode, "level": fit.options.level},
            )
    yield from fit.remarks
    if pooled["verdict"] != USABLE:
        yield Fact(kind="neighbour_cost", subject=pooled["verdict"], because="unusable", rank=1)
    services = fit.fitted.services
    for verdict, many in services["verdict"].value_counts(sort=True).rows():
        yield Fact(
            kind="neighbour_cost",
            subject=verdict,
            value=many,
            unit="services",
            because="services",
            about={"of": services.height},
        )
