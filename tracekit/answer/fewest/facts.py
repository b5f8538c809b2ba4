"""What a study of the fewest nodes says of its workload."""

from collections.abc import Mapping
from typing import Any

from tracekit.answer.fewest.limits import Limits
from tracekit.answer.fewest.special import fixed_nodes, left_nodes
from tracekit.answer.followed import LARGEST, how_large
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import compared
from tracekit.replay.runs.grown import grown, span_ms
from tracekit.replay.runs.kept_back import shares
from tracekit.replay.runs.lost_nodes import counts_as_needed
from tracekit.replay.runs.unjudged import told_of, unjudged
from tracekit.replay.runs.varying import varying
from tracekit.replay.workload.changed.pinned import recorded_over_capacity
from tracekit.replay.workload.series import settled_steps
from tracekit.replay.workload.source import WorkloadSource
from tracekit.replay.workload.workload import Workload
from tracekit.store import open_store
from tracekit.words import agreeing, counted

#: What a count of nodes leaves out.
_COUNTS = (
    "nodes_set_aside",
    "nodes_without_own_use",
    "containers_left_waiting",
    "containers_left_waiting_too_large",
)
#: How many containers production ran where there was too little room for what they request.
OVER_CAPACITY = "containers_recorded_over_capacity"
#: Why one order of arrival was all there is.
ALIKE = "every time of arrival is recorded, so that there is one order"


def facts_of(load: Workload, given: Workload) -> dict[str, Any]:
    """Counts of nodes at the end, containers and steps, and what the load rests on.

    ``given`` is the workload before it was multiplied: production ran that one.
    """
    return {
        "name": load.name,
        "nodes": load.nodes - len(left_nodes(load)),
        "nodes_with_left": load.nodes,
        **{name: load.facts.get(name, 0) for name in _COUNTS},
        "containers": load.containers,
        "containers_recorded": given.containers,
        OVER_CAPACITY: recorded_over_capacity(given),
        "steps": len(load.times_ms),
        "settled_steps": len(settled_steps(load.times_ms, load.settled_ms)),
        "span_ms": span_ms(load),
        "varying": varying(load),
        "assumptions": dict(load.assumptions),
        "quantities": dict(load.quantities),
        "background": shares(load)["background"],
        **_told(load),
        "unjudged": unjudged(given),
        "growth": grown(given),
    }


def _told(load: Workload) -> dict[str, Any]:
    """What a document says of the workload in sentences, and of nodes that do not go."""
    found, left = told_of(load), len(left_nodes(load))
    lost = 0 if load.losses is None else len(load.losses.node) - left
    stay = int(fixed_nodes(load).sum()) - left - lost
    gone = agreeing(
        left,
        "[node|nodes] left within the recorded time: no count has [it|them], and until then"
        " [it carries|they carry] load that those that stay might not carry alone",
    )
    never = f"{counted(stay, 'node')} of the control plane {_stay(stay)}"
    pairs = ((gone, left), (counts_as_needed(found.get("lost", ())), lost), (never, stay))
    said = [text for text, many in pairs if many]
    return {**found, **({"told": [*found.get("told", ()), *said]} if said else {})}


def _stay(count: int) -> str:
    return "stays, whatever is asked" if count == 1 else "stay, whatever is asked"


def given_again(source: WorkloadSource, called: str | None) -> dict[str, Any]:
    """How the workload is asked for again."""
    store = source.store
    return {
        "store": "" if store is None else called or str(store),
        "loader": source.workload or "",
        "assume": list(source.assume),
        "gangs": source.gangs,
        "made_up": store is not None and open_store(str(store)).manifest.made_up,
    }


def of_production(observed: dict[str, Any] | None, limits: Limits) -> dict[str, Any]:
    """What production came to, and which limits it breaks itself; empty where not recorded."""
    if observed is None:
        return {}
    every = (*limits.ceiling, *limits.given)
    plain = [one for one in every if one.policy is None and not one.speaks_of("base")]
    broken = [one.text for one in plain if not one.met(observed, observed, observed)]
    measures = {name: observed[name] for name in compared(observed)}
    return {"nodes": observed["nodes_used_max"], "breaks": broken, "measures": measures}


def orders_of(facts: Mapping[str, Any], repeats: int | None) -> tuple[int, str]:
    """How many orders of arrival are searched; why it is one where more were not asked for."""
    if repeats is not None:
        return repeats, ""
    if not facts["varying"]:
        return 1, ALIKE
    if facts["containers"] * facts["nodes"] <= LARGEST:
        return FEWEST, ""
    why = how_large(facts["containers"], facts["nodes"])
    return 1, f"{why} (--repeat {FEWEST} asks for more)"
