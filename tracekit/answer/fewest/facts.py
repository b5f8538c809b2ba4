"""The entries of a study of the fewest nodes on its workload and on production."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from tracekit.answer.fewest.cluster import left_nodes
from tracekit.answer.fewest.limits import Limits
from tracekit.answer.production import production_use
from tracekit.answer.repeat import LARGEST
from tracekit.cluster.on_nodes import recorded_over_capacity
from tracekit.cluster.parts import zone_counts
from tracekit.cluster.series import settled_steps
from tracekit.cluster.source import WorkloadSource
from tracekit.cluster.workload import Workload
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import compared
from tracekit.replay.runs.one import shares, varying
from tracekit.replay.runs.remarks import span_ms

#: Counts of nodes and containers that a count of nodes leaves out.
_COUNTS = (
    "nodes_set_aside",
    "nodes_without_own_use",
    "containers_left_waiting",
    "containers_left_waiting_too_large",
)
#: The entry for containers that production ran on nodes without room for their requests.
OVER_CAPACITY = "containers_recorded_over_capacity"


def facts_of(load: Workload, given: Workload) -> dict[str, Any]:
    """Counts of nodes, containers and steps, assumptions, and production's use.

    Parameters
    ----------
    load : Workload
        The workload of the study.
    given : Workload
        The workload that production ran, before it was multiplied.
    """
    return {
        "name": load.name,
        "nodes": load.nodes.count - len(left_nodes(load)),
        "nodes_with_left": load.nodes.count,
        **{name: load.provenance.facts.get(name, 0) for name in _COUNTS},
        "containers": load.containers.count,
        "containers_recorded": given.containers.count,
        OVER_CAPACITY: recorded_over_capacity(given),
        "steps": len(load.use.times_ms),
        "settled_steps": len(settled_steps(load.use.times_ms, load.use.settled_ms)),
        "span_ms": span_ms(load),
        "varying": varying(load),
        **zone_counts(load.nodes.domains),
        "assumptions": dict(load.provenance.assumptions),
        "quantities": dict(load.provenance.quantities),
        "background": shares(load)["background"],
        "currency": load.nodes.currency,
        "production": dataclasses.asdict(production_use(given)),
    }


def given_again(source: WorkloadSource, called: str | None) -> dict[str, Any]:
    """The arguments that name the workload in a command."""
    store = source.store
    return {
        "store": "" if store is None else called or str(store.path),
        "loader": source.workload or "",
        "assume": list(source.assume),
        "gangs": source.gangs,
        "made_up": store is not None and store.manifest.made_up,
    }


def of_production(observed: dict[str, Any] | None, limits: Limits) -> dict[str, Any]:
    """Production's measures, and the limits that it breaks; empty where it is not recorded."""
    if observed is None:
        return {}
    every = (*limits.ceiling, *limits.given)
    plain = [one for one in every if one.policy is None and not one.speaks_of("base")]
    broken = [one.text for one in plain if not one.met(observed, observed, observed)]
    measures = {name: observed[name] for name in compared(observed)}
    return {"nodes": observed["nodes_used_max"], "breaks": broken, "measures": measures}


def orders_of(facts: Mapping[str, Any], repeats: int | None) -> int:
    """How many orders of arrival are searched; one where they are alike, or the load is large."""
    if repeats is not None:
        return repeats
    large = facts["containers"] * facts["nodes"] > LARGEST
    return FEWEST if facts["varying"] and not large else 1
