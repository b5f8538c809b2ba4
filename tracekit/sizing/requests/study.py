"""The study of requests: policies recommend from the first part of the record, the rest judges.

``judge`` has the judgement, and ``tracekit.answer.requests`` the answer. The assumption
``requests=sized:DIR`` of a replay reads the study, too.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT, Progress
from tracekit.base.study import Study, write_study
from tracekit.cluster.request_table import use_over_requested
from tracekit.cluster.requests import NOW, REQUESTS_STUDY, SERVICES, SUBJECT
from tracekit.cluster.source import source_of
from tracekit.cluster.workload import Workload
from tracekit.sizing.policies import Advice, SizingPolicy, all_sizing_policies, parse_sizing_policy
from tracekit.sizing.policies.simple import Oracle
from tracekit.sizing.requests import LEARN_SHARE, RISK_SHARE
from tracekit.sizing.requests.judge import (
    JudgedRequests,
    services_of,
    totals_of,
    windows_of,
    without_risky_cuts,
)
from tracekit.sizing.requests.read_use import NoUseError, read_use
from tracekit.sizing.requests.rows import GROWTH, frame_of, growing, growth_of
from tracekit.sizing.use import RecordedUse
from tracekit.store.folder import Store
from tracekit.store.never_ran import never_ran
from tracekit.store.quantities import RECORDED, quantities

NAME = REQUESTS_STUDY
#: The default policies: the autoscaler, a common rule, the highest use, and perfect foresight.
POLICIES = (
    "vertical_pod_autoscaler",
    "percentile_request",
    "percentile_request[percentile=1,margin=0]",
    "oracle",
)
_QUANTILES = (0.5, 0.95, 1.0)


def recommend_requests(
    store: Store,
    policies: Sequence[SizingPolicy],
    *,
    learn_share: float = LEARN_SHARE,
    risk_share: float = RISK_SHARE,
    seed: int = 0,
    called: str = "",
    load: Workload | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Recommend requests from the first part of recorded use, and judge them by the rest.

    Parameters
    ----------
    called : str
        The name of the store in suggested commands; its path by default.
    load : Workload, optional
        The workload of the store, if it has been read.

    Returns
    -------
    Study
        ``services`` has a row for each policy, service and resource, the policy ``now`` first.
        ``containers`` is the mean number of the service's containers in the judged time.
        ``request_now`` is the request of one container, or of a pod's containers together; null for
        none. ``recommended`` is null if the present request stays: if the service has no use to
        learn from, if its use grows, or if it would be at risk with less (``kept_at_risk``). The
        policy leaves a request between ``lower`` and ``upper``. ``reserved_now`` and
        ``reserved_then`` are the amounts that the scheduler reserves, with init containers and
        overhead. ``freed`` is their difference over all containers. ``use_p50``, ``use_p95`` and
        ``use_max`` are of a container over the whole record.

        The other columns judge the request by container-steps, i.e. samples of single containers.
        ``above_share`` is the share with a use above the request, and ``excess_mean`` and
        ``excess_max`` are the use above it. ``beyond_limit_share`` is the share with a use above
        the limit if it changes in proportion. ``at_risk`` is whether ``above_share`` is too high.

        ``policies`` has a row for each policy and resource over all services, with 95 % intervals
        over windows. ``growth`` has the daily growth of services with two days of use or more.
        ``about`` has ``use_over_requested`` of the whole record, by resource.

    Raises
    ------
    TracekitError
        If no policy recommends from use alone, and for a store without recorded use.
    """
    _by_use(policies)  # raises before the use is read
    progress.stage("recorded use")
    workload = {
        "name": store.name,
        "store": called or str(store.path),
        "made_up": store.manifest.made_up,
        "never_ran": never_ran(store).height,
    }
    use = read_use(store)
    return requests_of(
        use,
        policies,
        workload=workload,
        over=_use_over_requested(store, seed, load),
        learn_share=learn_share,
        risk_share=risk_share,
        seed=seed,
        progress=progress,
    )


def recommended(
    store: Store,
    out: Path | None = None,
    *,
    seed: int = 0,
    called: str = "",
    load: Workload | None = None,
    progress: Progress = SILENT,
) -> Study | None:
    """Return the study of a store's requests with every policy, written to ``out`` if given.

    The result is None for a store without a basis for recommendations. A store has no basis if its
    sizes are assumed or inferred, or if its use is not recorded or too short. ``--assume
    requests=sized:OUT`` replays the whole record with the recommended requests.
    """
    if quantities(store)["requests"] != RECORDED:
        return None
    try:
        study = recommend_requests(
            store, every_policy(), seed=seed, called=called, load=load, progress=progress
        )
    except NoUseError:
        return None
    if out is not None:
        write_study(study, out)
    return study


def _use_over_requested(store: Store, seed: int, load: Workload | None) -> Mapping[str, float]:
    """Use over requests of a store's workload; empty for a store that cannot be replayed."""
    try:
        return use_over_requested(load or source_of(store, None, seed=seed).load())
    except TracekitError:
        return {}


def requests_of(
    use: RecordedUse,
    policies: Sequence[SizingPolicy],
    *,
    workload: Mapping[str, Any],
    over: Mapping[str, float] | None = None,
    learn_share: float = LEARN_SHARE,
    risk_share: float = RISK_SHARE,
    seed: int = 0,
    progress: Progress = SILENT,
) -> Study:
    """Return the study of ``recommend_requests`` from recorded use.

    Parameters
    ----------
    workload : mapping
        Facts of the store, such as its name, for ``about``.
    over : mapping of str to float, optional
        Use of the whole record over requests, by resource, for ``about``.
    """
    chosen, left_out = _by_use(policies)
    past, rest = _parted(use, learn_share)
    seen = past.quantiles(0.5)[:, :, 0]
    grown, present = growth_of(use), use.requested()
    grows = growing(use, grown)
    advised: dict[str, Advice] = {NOW: Advice(np.full(seen.shape, np.nan))}
    for policy in chosen:
        progress.stage(f"requests by {policy}")
        given = policy.recommend(rest if "ahead" in policy.reads else past)
        assert given is not None  # noqa: S101 - every chosen policy recommends
        # a request stays without past use, also under the oracle; it is not cut where use grows
        unchanged = np.isnan(seen) | (grows & (given.request <= present))
        advised[str(policy)] = given._replace(request=np.where(unchanged, np.nan, given.request))
    quantiles = use.quantiles(*_QUANTILES)
    judged = _judged(advised, rest, present, risk_share)
    services = pl.concat(
        services_of(
            name,
            use,
            advised[name]._replace(request=one.request),
            one.judgement,
            quantiles=quantiles,
            risk_share=risk_share,
            staying=one.staying,
        )
        for name, one in judged.items()
    )
    totals = pl.concat(
        totals_of(name, one.judgement, services, seed) for name, one in judged.items()
    )
    return Study(
        name=NAME,
        about={
            "asked": [str(policy) for policy in chosen],
            SUBJECT: subject_of(totals, chosen, risk_share),
            "left_out": left_out,
            "learn_share": learn_share,
            "risk_share": risk_share,
            "seed": seed,
            "workload": dict(workload),
            "use_over_requested": dict(over or {}),
            "facts": _facts(use, past, rest, seen),
        },
        frames={SERVICES: services, "policies": totals, GROWTH: frame_of(use, grown)},
    )


def _judged(
    advised: Mapping[str, Advice], rest: RecordedUse, present: FloatArray, risk_share: float
) -> dict[str, JudgedRequests]:
    return {
        name: without_risky_cuts(one.request, rest, present, risk_share)
        for name, one in advised.items()
    }


def _parted(use: RecordedUse, learn_share: float) -> tuple[RecordedUse, RecordedUse]:
    """The use that recommends, and the use that judges, each of at least one step."""
    cut = int(np.clip(round(len(use.times_ms) * learn_share), 1, len(use.times_ms) - 1))
    past, rest = use.part(slice(0, cut)), use.part(slice(cut, None))
    if np.isnan(past.values).all():
        raise NoUseError(
            f"no container has a sample in the first {learn_share:.0%} of the recorded time",
            hint="--learn a larger share, or record more",
        )
    return past, rest


def every_policy() -> list[SizingPolicy]:
    """Return the policies of ``POLICIES``, then every other sizing policy with its defaults."""
    others = [kind() for name, kind in all_sizing_policies().items() if name not in POLICIES]
    return [*map(parse_sizing_policy, POLICIES), *others]


def _by_use(
    policies: Sequence[SizingPolicy],
) -> tuple[list[SizingPolicy], list[dict[str, str]]]:
    """The policies that recommend from use alone, and each other policy with the reason."""
    left_out = [one for one in policies if type(one).recommend is SizingPolicy.recommend]
    chosen = [one for one in policies if one not in left_out]
    if not chosen:
        raise TracekitError(
            f"no policy goes by recorded use alone: {', '.join(map(str, left_out))}",
            hint=f"--policy {POLICIES[0]}, or --by calls with a store that has calls",
        )
    return chosen, [{"policy": str(one), "why": _why(one)} for one in left_out]


def _why(policy: SizingPolicy) -> str:
    """The key of the reason why a policy does not recommend from use."""
    if policy.reads & {"state", "model"}:
        return "needs_calls"
    return "by_cycle"


def _facts(
    use: RecordedUse, past: RecordedUse, rest: RecordedUse, seen: FloatArray
) -> dict[str, Any]:
    """The extent of the use that recommends, and of the use that judges."""
    span = (int(rest.times_ms[0]), int(rest.times_ms[-1]) + use.step_ms)
    alive = rest.alive_ms(*span) > 0
    services = np.unique(use.service[alive])
    without_request = (np.isnan(use.requested()) & ~np.isnan(seen))[services].any(axis=1)
    return {
        "containers": int(alive.sum()),
        "containers_measured": len(use.measured),
        "services": len(services),
        "services_without_request": int(without_request.sum()),
        "services_without_past": int(np.isnan(seen[services]).all(axis=1).sum()),
        "step_ms": use.step_ms,
        "learned_ms": len(past.times_ms) * use.step_ms,
        "judged_ms": span[1] - span[0],
        "windows": len(windows_of(rest)),
    }


# The recommended policy among the judged policies.


def margin_of(policy: SizingPolicy) -> float:
    """Return the share of recorded use that a policy adds as a margin; 0 for none."""
    return float(getattr(policy, "margin", 0.0))


def subject_of(totals: pl.DataFrame, chosen: Sequence[SizingPolicy], risk_share: float) -> str:
    """Return the text of the recommended policy among ``chosen``.

    Candidates are the policies with a margin, else all policies but the oracle, else the oracle. A
    candidate is within the risk if its ``above_share`` is at most ``risk_share`` for CPU and
    memory. Of those within it the one with the fewest services at risk wins; among equals the one
    whose smaller freed share, of CPU or of memory, is largest. If no candidate is within the risk,
    the one with the lowest ``above_share`` wins.
    """
    real = [policy for policy in chosen if not isinstance(policy, Oracle)]
    names = [str(policy) for policy in real if margin_of(policy) > 0] or [str(one) for one in real]
    rows = {name: totals.filter(policy=name) for name in names or [str(chosen[0])]}

    def risk(name: str) -> float:
        return float(rows[name]["above_share"].fill_null(0.0).max())  # type: ignore[arg-type]

    def merit(name: str) -> tuple[int, float]:
        judged = rows[name].filter(pl.col("above_share").is_not_null())
        whole = judged.select(pl.max_horizontal("requested_now", "requested")).to_series()
        saved = (judged["freed"] / whole).fill_nan(0.0).min()
        return -int(judged["services_at_risk"].sum()), float(saved or 0.0)  # type: ignore[arg-type]

    within = [name for name in rows if risk(name) <= risk_share]
    return max(within, key=merit) if within else min(rows, key=risk)
