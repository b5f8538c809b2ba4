"""Which policies of a run may be recommended: the allowance for overload and waiting.

A policy is admissible if it overloads nodes no more than production and leaves no more containers
waiting, within an allowance. Where production's placement is not recorded, the allowance for
overload is absolute, and the allowance for waiting starts at the best policy.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tracekit.replay.chance import FEWEST
from tracekit.replay.measures import OVERLOAD, Measure, of_use
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.waiting import MAY_WAIT

#: The share of all node-steps that may be overloaded under any policy.
OVERLOAD_SHARE = 1e-4
#: Measures of containers without a node.
WAITING = PENDING, STEPS = "pending", "pending_container_steps"

Because = Literal["yardstick", "paper", "waiting", "overload", "orders"]


@dataclass(frozen=True, kw_only=True)
class Barred:
    """The reason for which a run may not recommend a policy.

    Parameters
    ----------
    because : str
        The reason's key, such as ``waiting`` for too many waiting containers.
    measure, value, allowed
        The measure that bars the policy, its value, and the largest allowed value.
    """

    policy: str
    because: Because
    measure: str = ""
    value: float | None = None
    allowed: float | None = None


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """The limits that a policy of a run must keep so that the run may recommend it.

    Parameters
    ----------
    overloaded_node_steps : float
        The largest number of overloaded nodes, summed over steps; it holds for the mean over the
        orders of arrival.
    waiting : float
        The largest number of containers that are never placed, in the worst order of arrival.
    waiting_steps : float
        The largest number of waiting containers, summed over the steps of the first order.
    """

    overloaded_node_steps: float
    waiting: float
    waiting_steps: float


def node_steps(load: Mapping[str, Any]) -> float:
    """Return the number of nodes times the number of time steps that measures count.

    Parameters
    ----------
    load : mapping
        The entry ``workload`` of a run's manifest.
    """
    return float((load.get("nodes") or 0) * (load.get("settled_steps") or load.get("steps") or 0))


def allowance(results: Results) -> Allowance:
    """Return the limits that a policy must keep so that a run may recommend it.

    What production itself reaches is always allowed.
    """
    load = results.manifest.get("workload", {})
    steps = load.get("steps") or 0
    few = int(load.get(MAY_WAIT) or 0)
    overload = OVERLOAD_SHARE * node_steps(load)
    if OBSERVED in results.policies:
        left, waited = never_placed(results, OBSERVED), steps_waited(results, OBSERVED)
        few = 0 if left or waited else few
        if results.has_value(OBSERVED, OVERLOAD):
            overload = max(overload, float(results.of(OBSERVED, OVERLOAD).mean()))
    else:
        left = min((never_placed(results, one) for one in results.policies), default=0)
        waited = min((steps_waited(results, one) for one in results.policies), default=0.0)
    return Allowance(
        overloaded_node_steps=overload,
        waiting=left + few,
        waiting_steps=waited + few * steps,
    )


def barred(results: Results, policy: str, *, named: Collection[str] = ()) -> Barred | None:
    """Return why a policy may not be recommended; None where it may be.

    Parameters
    ----------
    named : collection of str
        The policies that the user named. Other policies must be used by schedulers in practice.
    """
    kind = used_by(results, policy)
    if kind == "yardstick" or (kind == "paper" and policy not in named):
        return Barred(policy=policy, because="paper" if kind == "paper" else "yardstick")
    may, orders = allowance(results), results.orders(policy)
    if waits_too_much(results, policy, may):
        left = float(never_placed(results, policy))
        return Barred(
            policy=policy, because="waiting", measure=PENDING, value=left, allowed=may.waiting
        )
    if results.has_value(policy, OVERLOAD):
        mean = float(results.of(policy, OVERLOAD).mean())
        if mean > may.overloaded_node_steps:
            return Barred(
                policy=policy,
                because="overload",
                measure=OVERLOAD,
                value=mean,
                allowed=may.overloaded_node_steps,
            )
    if orders < min(FEWEST, results.most_orders):
        return Barred(policy=policy, because="orders", value=orders, allowed=results.most_orders)
    return None


def barred_for_good(results: Results, policy: str) -> bool:
    """Return whether a policy stays barred, whatever further orders of arrival bring."""
    may = allowance(results)
    if waits_too_much(results, policy, may):
        return True
    if not results.has_value(policy, OVERLOAD):
        return False
    least = float(results.of(policy, OVERLOAD).sum()) / max(results.most_orders, 1)
    return least > may.overloaded_node_steps


def used_by(results: Results, policy: str) -> str:
    """Return who uses a policy of a run: ``scheduler``, ``paper`` or ``yardstick``.

    ``paper`` means that only a paper describes it, ``yardstick`` that it serves comparison alone.
    """
    policies = results.manifest.get("policies") or ()
    return str(next((one["used_by"] for one in policies if one["policy"] == policy), "paper"))


def waits_too_much(results: Results, policy: str, may: Allowance | None = None) -> bool:
    """Return whether more containers wait under a policy than the allowance permits."""
    allowed = may or allowance(results)
    return (
        never_placed(results, policy) > allowed.waiting
        or steps_waited(results, policy) > allowed.waiting_steps
    )


def never_placed(results: Results, policy: str) -> int:
    """Return how many containers a policy never placed, in the worst order of arrival."""
    return int(results.of(policy, PENDING).max()) if results.has_value(policy, PENDING) else 0


def steps_waited(results: Results, policy: str) -> float:
    """Return a policy's waiting containers, summed over the steps of the first order of arrival."""
    if STEPS not in results.summary.columns:
        return 0.0
    return float(results.summary.filter(policy=policy)[STEPS].item() or 0.0)


def carries_less(results: Results, policy: str, measure: Measure) -> bool:
    """Return whether a policy's value is too low to compare, because some containers waited.

    Only a measure of use can be too low in this way: a waiting container uses no node.
    """
    return of_use(measure) and results.waited(policy)


def placed_all(production: Mapping[str, Any] | None) -> bool:
    """Return whether production's placement is recorded, and no container waited in it.

    Parameters
    ----------
    production : mapping, optional
        Production's row of a summary.
    """
    return production is not None and not any(production.get(name) for name in WAITING)
