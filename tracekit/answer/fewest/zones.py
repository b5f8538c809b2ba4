"""The zones of nodes, where any one of them may be lost."""

from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.series import settled_steps
from tracekit.cluster.workload import Workload

#: What ``--survive`` may name: the kind of domain that is lost.
ZONE = "zone"


def zones_of(load: Workload) -> IntArray:
    """The zone of each node, -1 where it has none, shape (nodes,).

    Raises
    ------
    TracekitError
        Where no node has a zone, or all are in one.
    """
    zone = None if load.nodes.domains is None else load.nodes.domains.by(ZONE)
    if load.nodes.domains is None or zone is None:
        raise TracekitError(
            f"no node of '{load.name}' has a zone, so none can be lost",
            hint="the label topology.kubernetes.io/zone or the column zone of nodes says it",
        )
    if (zone == zone[0]).all():
        raise TracekitError(
            f"all {load.nodes.count:,} nodes of '{load.name}' are in zone"
            f" '{load.nodes.domains.names[zone[0]]}', so that nothing is left without it",
            hint="--survive zone needs nodes in two zones or more",
        )
    return zone


def zones_among(load: Workload, nodes: IntArray) -> list[tuple[str, int]]:
    """The zones that these nodes are in, and how many in each; that with most nodes first."""
    zone = zones_of(load)[nodes]
    each, many = np.unique(zone[zone >= 0], return_counts=True)
    assert load.nodes.domains is not None  # noqa: S101 - as it has zones
    names = load.nodes.domains.names
    return [(names[each[at]], int(many[at])) for at in np.argsort(-many, kind="stable").tolist()]


@dataclass(frozen=True, kw_only=True)
class Bound:
    """Containers that may run in one zone alone, by rules or by their size.

    Parameters
    ----------
    containers, container_steps : int
        How many, and at how many judged steps they exist, added up.
    service : str
        That of the first.
    """

    containers: int
    container_steps: int
    service: str


def bound_to_zones(load: Workload) -> dict[str, Bound]:
    """Who is bound to each zone, by its name: no number of nodes in others helps them."""
    zone, bound = zones_of(load), np.full(load.containers.count, -1)
    rules = [] if load.rules.constraints is None else load.rules.constraints.parts
    masks = [one for one in rules if isinstance(one, Allowed)]
    kinds = np.column_stack([load.containers.request, *(one.of for one in masks)])
    each, first, of = np.unique(kinds, axis=0, return_index=True, return_inverse=True)
    for kind, at in enumerate(first.tolist() if len(each) else ()):
        open_ = (load.nodes.allocatable >= load.containers.request[at]).all(axis=1)
        for one in masks:
            open_ &= one.mask[one.of[at]] | (one.of[at] < 0)
        among = np.unique(zone[open_])
        if len(among) == 1:
            bound[of.reshape(-1) == kind] = among[0]
    if load.rules.daemon is not None:
        bound[load.rules.daemon] = -1
    steps = settled_steps(load.use.times_ms, load.use.settled_ms).tolist()
    present = np.sum([load.present(step) for step in steps], axis=0)
    bound[present == 0] = -1
    assert load.nodes.domains is not None  # noqa: S101 - as it has zones
    return {
        load.nodes.domains.names[one]: Bound(
            containers=int((bound == one).sum()),
            container_steps=int(present[bound == one].sum()),
            service=load.containers.services[int(np.argmax(bound == one))],
        )
        for one in np.unique(bound[bound >= 0]).tolist()
    }


def evened(zone: IntArray, size: FloatArray, rank: IntArray) -> IntArray:
    """Nodes in another order, shape (nodes,), so that the zones of the first of them are alike.

    The zone that is smallest so far goes on. The order is kept in each zone. Nodes without a zone
    are in front, as they are never lost.

    Parameters
    ----------
    zone, size, rank : shape (nodes,)
        Of nodes in their order. Those of a lower rank are in front.
    """
    before = np.full(len(zone), -1.0)
    for one in np.unique(zone[zone >= 0]):
        mine = np.flatnonzero(zone == one)
        before[mine] = size[mine].cumsum() - size[mine]
    return np.lexsort((before, rank))


def least_beside_a_zone(least: int, zone: IntArray) -> int:
    """How many nodes are needed at least, that so many are left without any one zone.

    Of the largest zone there are as many as of each other, or more. Nodes without a zone are never
    lost, and always stay.
    """
    zones, free = len(np.unique(zone[zone >= 0])), int((zone < 0).sum())
    every = np.arange(1, len(zone) + 1)
    left = every - np.ceil(np.maximum(every - free, 0) / zones)
    enough = np.flatnonzero(left >= least)
    return int(every[enough[0]]) if len(enough) else len(zone)
