"""What a study of the fewest nodes says of its workload."""

from typing import Any

from tracekit.replay.runs.kept_back import shares
from tracekit.replay.runs.unjudged import told_of, unjudged
from tracekit.replay.runs.varying import varying
from tracekit.replay.studies.shrink.trials import fixed_nodes, left_nodes
from tracekit.replay.workload.workload import Workload


def facts_of(load: Workload, given: Workload) -> dict[str, Any]:
    """Counts of nodes at the end, containers and steps, and what the load rests on.

    ``given`` is the workload before it was multiplied: production ran that one.
    """
    return {
        "name": load.name,
        "nodes": load.nodes - len(left_nodes(load)),
        "containers": load.containers,
        "steps": len(load.times_ms),
        "span_ms": int(load.times_ms[-1] - load.times_ms[0]),
        "varying": varying(load),
        "assumptions": dict(load.assumptions),
        "quantities": dict(load.quantities),
        "background": shares(load)["background"],
        **_told(load),
        "unjudged": unjudged(given),
    }


def _told(load: Workload) -> dict[str, Any]:
    """What a document says of the workload in sentences, and of nodes that do not go."""
    found, left = told_of(load), len(left_nodes(load))
    stay = 0 if load.stays is None else int((fixed_nodes(load)).sum()) - left
    it = "it" if left == 1 else "them"
    gone = f"{_nodes(left)} left within the recorded time, and no count has {it}"
    never = f"{_nodes(stay)} of the control plane {_stay(stay)}"
    said = [*([gone] if left else []), *([never] if stay else [])]
    return {**found, **({"told": [*found.get("told", ()), *said]} if said else {})}


def _nodes(count: int) -> str:
    return f"{count:,} node{'s' * (count != 1)}"


def _stay(count: int) -> str:
    return "stays, whatever is asked" if count == 1 else "stay, whatever is asked"
