"""How many containers a policy may leave waiting, and how many it does: one rule for every verb.

A replay places everything anew, in an order of arrival that nobody recorded. A few containers that
ran in production may then find no node, as small ones came first and took the room. That says
little against a policy. A policy that leaves more than ``runs.may_wait`` allows carries less load
than production did. The few that may wait request too little of each resource to make a mean of use
better. They can make the highest use better. So by measures of use, a policy that left some waiting
is not compared with those that placed all.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tracekit.replay.measures import Measure, of_use
from tracekit.replay.runs.may_wait import MAY_WAIT, WAITING_SHARE
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.words import counted, few

#: Measures of who was left out; every policy competes in them.
WAITING = PENDING, STEPS = "pending", "pending_container_steps"
#: Of what the share that may wait is.
OF_WHAT = f"{WAITING_SHARE:.1%} of the containers and of what they request of each resource"


def placed_all(production: Mapping[str, Any] | None) -> bool:
    """Whether production's placement is known and left nothing waiting: then all have room.

    Parameters
    ----------
    production : mapping, optional
        Its row of a summary.
    """
    return production is not None and not any(production.get(name) for name in WAITING)


def may_wait(found: Results) -> int:
    """How many containers a policy of a run may leave waiting.

    The number holds for containers never placed in any one order of arrival, and for the mean over
    the steps. It is 0 for a run of an earlier version, which does not say what containers request.
    """
    if OBSERVED not in found.policies or found.waited(OBSERVED):
        return 0
    return int(found.manifest.get("workload", {}).get(MAY_WAIT) or 0)


def carries_less(found: Results, policy: str, measure: Measure) -> bool:
    """Whether a measure of use is of less load under a policy, as that left containers waiting.

    It is not better for that than where all are placed.
    """
    return of_use(measure) and found.waited(policy)


def waits_too_much(found: Results, policy: str) -> bool:
    """Whether a policy left more waiting than it may: it carried less load, and is not compared.

    As many may wait as production itself left waiting.
    """
    if not found.waited(policy):
        return False
    steps = found.manifest.get("workload", {}).get("steps") or 0
    most, usual = may_wait(found), OBSERVED in found.policies
    allowed = max(most, left(found, OBSERVED) if usual else 0)
    allowed_steps = max(most * steps, steps_waited(found, OBSERVED) if usual else 0.0)
    return left(found, policy) > allowed or steps_waited(found, policy) > allowed_steps


def left(found: Results, policy: str) -> int:
    """How many containers it never placed, in the order of arrival with most of them."""
    return int(found.of(policy, PENDING).max()) if found.known(policy, PENDING) else 0


def mean_left(found: Results, policy: str) -> tuple[float, float]:
    """How many it never placed, on average, and how long all waited: the fewest come first."""
    never = float(found.of(policy, PENDING).mean()) if found.known(policy, PENDING) else 0.0
    return never, steps_waited(found, policy)


def steps_waited(found: Results, policy: str) -> float:
    """How many container-steps containers waited in the first order; no other tells."""
    if STEPS not in found.summary.columns:
        return 0.0
    return float(found.summary.filter(policy=policy)[STEPS].item() or 0.0)


def leaves(found: Results, policy: str) -> str:
    """What a policy leaves waiting that may be chosen, a clause; empty where it places all."""
    if policy == OBSERVED or not found.waited(policy) or waits_too_much(found, policy):
        return ""
    some = left(found, policy)
    if not some:
        return "lets some containers wait before they get a node"
    of = found.manifest["workload"]["containers"]
    up_to = "up to " if found.orders(policy) > 1 else ""
    return f"leaves {up_to}{some:,} of {counted(of, 'container')} without a node"


def waits_in_others(found: Results, policies: Iterable[str]) -> list[str]:
    """Policies under which containers wait in some order of arrival, not in the first; sentences.

    Who waits is noted of the first order alone.
    """
    told = []
    for policy in policies:
        if not found.known(policy, PENDING):
            continue
        first, *others = found.of(policy, PENDING).tolist()
        some = [one for one in others if one]
        if not first and some:
            most = counted(int(max(some)), "container")
            in_each = f"in {len(some)} of {found.orders(policy)} orders of arrival"
            up_to = "up to " if len(some) > 1 else ""
            told.append(
                f"{policy} left {up_to}{most} without a node {in_each}, but none in the first, of"
                " which alone it is noted who waits"
            )
    return told


def few_wait(found: Results) -> str:
    """Which policies may be chosen though containers wait under them, a sentence; or nothing."""
    told = [(name, said) for name in found.policies if (said := leaves(found, name))]
    if not told:
        return ""
    most, first = may_wait(found), f"{told[0][0]} {told[0][1]}"
    others = f"; so {'does' if len(told) == 2 else 'do'} {few([name for name, _ in told[1:]])}"
    usual = left(found, OBSERVED) if OBSERVED in found.policies else 0
    may = f"Where production placed all, a policy may leave up to {most:,} waiting ({OF_WHAT})"
    may = f"A policy may leave as many waiting as production did ({usual:,})" if usual else may
    return f"{may}: {first}{others * (len(told) > 1)}."
