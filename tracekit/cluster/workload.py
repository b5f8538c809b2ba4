"""Workload: nodes, containers in order of arrival, use over time, rules, and provenance.

Checks that a workload is possible; each error is one line.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.base.errors import TracekitError
from tracekit.cluster.parts import Containers, Nodes, Provenance, Rules, Use
from tracekit.cluster.resources import BASE, CPU, MEMORY, NONZERO_DEFAULT


def check_unique(kind: str, ids: tuple[str, ...]) -> None:
    """Raise TracekitError if there is no id, or one occurs twice."""
    if not ids:
        raise TracekitError(f"the workload has no {kind}", hint=f"give at least one {kind}")
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        twice = next(one for one in ids if one in seen or seen.add(one))  # type: ignore[func-returns-value]
        raise TracekitError(
            f"{kind} '{twice}' is there twice, expected every {kind} once",
            hint=f"a {kind} is one row of the workload's {kind}s",
        )


def check_amounts(
    capacity: IntArray,
    request: IntArray,
    resources: tuple[str, ...],
    node_ids: tuple[str, ...],
    container_ids: tuple[str, ...],
) -> None:
    """Raise TracekitError for a node without cpu or memory, and for a negative request.

    Parameters
    ----------
    capacity, request : shape (nodes, resources), (containers, resources)
    """
    base = capacity[:, : len(BASE)]
    bad = np.argwhere(base <= 0)
    if len(bad):
        node, column = (int(at) for at in bad[0])
        raise TracekitError(
            f"node '{node_ids[node]}' has {resources[column]}"
            f" {base[node, column]}, expected more than 0",
            hint="leave out nodes without capacity",
        )
    negative = np.argwhere(request < 0)
    if len(negative):
        at, column = (int(where) for where in negative[0])
        raise TracekitError(
            f"container '{container_ids[at]}' requests {request[at, column]}"
            f" {resources[column]}, expected 0 or more"
        )


def check_times(
    arrival_ms: IntArray, departure_ms: IntArray, container_ids: tuple[str, ...]
) -> None:
    """Raise TracekitError for a container that departs before it arrives, or is out of order."""
    wrong = np.flatnonzero(departure_ms <= arrival_ms)
    if len(wrong):
        at = int(wrong[0])
        raise TracekitError(
            f"container '{container_ids[at]}' departs at {departure_ms[at]} ms,"
            f" expected after its arrival at {arrival_ms[at]} ms",
            hint="a departure_ms left empty means that it stays to the end",
        )
    if (np.diff(arrival_ms) < 0).any():
        raise TracekitError("containers of a workload must be in order of arrival")


def check_per_container(
    containers: int, nodes: int, pinned: IntArray | None, lengths: Mapping[str, int]
) -> None:
    """Raise TracekitError for a wrong length of a field, or a pin to an unknown node.

    ``lengths`` has the length of each field that needs one entry for every container.
    """
    for name, length in lengths.items():
        if length != containers:
            raise TracekitError(f"{name} has {length} entries, expected {containers}")
    if pinned is not None and ((pinned < -1) | (pinned >= nodes)).any():
        at = int(np.flatnonzero((pinned < -1) | (pinned >= nodes))[0])
        raise TracekitError(
            f"container {at} is pinned to node {pinned[at]}, expected -1 or a number below {nodes}"
        )


def nothing_observed() -> TracekitError:
    """Return the error of a replay with ``start=observed`` when no node is recorded."""
    return TracekitError(
        "start=observed, but of nothing that was there at the beginning it is known where it ran",
        hint="leave out --start: everything is placed anew",
    )


def all_sound(amounts: Float32Array) -> bool:
    """Return whether every amount, needed or not, is a finite number of 0 or more."""
    return amounts.size == 0 or bool(amounts.min() >= 0 and amounts.max() < np.inf)


def check_further(
    usage: Float32Array | None, used: tuple[int, ...], like: tuple[int, ...], names: Sequence[str]
) -> None:
    """Raise TracekitError where use of resources beyond CPU and memory has a wrong shape or value.

    Parameters
    ----------
    usage : float32, shape (used, steps, columns), or None
    used : positions of these resources in ``names``, the workload's resources
    like : shape of the use of CPU and memory
    """
    actual = (0, *like[1:]) if usage is None else usage.shape
    if actual != (len(used), *like[1:]):
        raise TracekitError(
            f"further_usage has shape {actual}, expected {(len(used), *like[1:])}:"
            " resources, steps and columns"
        )
    if not set(used) <= set(range(2, len(names))):
        raise TracekitError(f"further_used is {used}, expected columns 2 to {len(names) - 1}")
    for resource, amounts in zip(used, () if usage is None else usage, strict=True):
        wrong = amounts[(amounts < 0) | np.isinf(amounts)]
        if len(wrong):
            raise TracekitError(f"use of {names[resource]} is {wrong[0]:g}, expected 0 or more")


def check_usage(
    kind: str,
    ids: tuple[str, ...],
    due: BoolArray,
    amounts: Float32Array,
    now_ms: int,
) -> None:
    """Raise TracekitError for needed use that is no number of 0 or more.

    Parameters
    ----------
    due : bool, shape (ids,); whether the use is needed
    amounts : shape (2, ids), of CPU and memory
    """
    at = _first_bad(due, amounts)
    if at is not None:
        cpu, memory = amounts[:, at]
        raise TracekitError(
            f"{kind} '{ids[at]}' uses {cpu:g} {CPU} and {memory:g} {MEMORY} at {now_ms} ms,"
            " expected numbers of 0 or more",
            hint="usage must be a number wherever the container is there",
        )


def _first_bad(due: BoolArray, amounts: Float32Array) -> int | None:
    """The first entry with an amount that is no number of 0 or more."""
    cpu, memory = ((amount >= 0) & (amount < np.inf) for amount in amounts)
    bad = due & ~(cpu & memory)
    return int(np.argmax(bad)) if bad.any() else None


#: The service of a container of which none is known.
UNKNOWN = "?"

#: So many steps of usage are looked at together.
_STEPS_AT_ONCE = 64


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The input of a replay: nodes, containers, use, rules on placement, and the numbers' origin.

    Making a workload checks that these parts fit together.

    Parameters
    ----------
    resources : tuple of str
        Names of the columns of amounts; the first two are cpu_milli and memory_bytes.
    """

    name: str
    nodes: Nodes
    containers: Containers
    use: Use
    rules: Rules = field(default_factory=Rules)
    provenance: Provenance = field(default_factory=Provenance)
    resources: tuple[str, ...] = BASE

    def __post_init__(self) -> None:
        nodes, containers, use, rules = self.nodes, self.containers, self.use, self.rules
        check_unique("node", nodes.ids)
        check_unique("container", containers.ids)
        check_amounts(nodes.capacity, containers.request, self.resources, nodes.ids, containers.ids)
        check_times(containers.arrival_ms, containers.departure_ms, containers.ids)
        lengths = rules.lengths()
        if containers.exchangeable is not None:
            lengths["exchangeable"] = len(containers.exchangeable)
        check_per_container(containers.count, nodes.count, rules.pinned, lengths)
        if rules.constraints is not None:
            rules.constraints.check(containers.count, nodes.count)
        check_further(use.further, use.further_resources, use.values.shape, self.resources)
        self._check_usage()

    def _check_usage(self) -> None:
        """Check that use is known from each arrival on, or from the start if exchangeable."""
        containers, use = self.containers, self.use
        first = np.searchsorted(use.times_ms, containers.arrival_ms).astype(np.int32)
        if containers.exchangeable is not None:
            first[containers.exchangeable] = 0
        until = np.searchsorted(use.times_ms, containers.departure_ms).astype(np.int32)
        every = np.ones(self.nodes.count, dtype=np.bool_)
        for begin in range(0, len(use.times_ms), _STEPS_AT_ONCE):
            steps = slice(begin, begin + _STEPS_AT_ONCE)
            if all_sound(use.values[:, steps]) and all_sound(use.background[:, steps]):
                continue
            for step, now in enumerate(use.times_ms[steps].tolist(), begin):
                due = (first <= step) & (step < until)
                check_usage("container", containers.ids, due, use.at(step), now)
                check_usage("node", self.nodes.ids, every, use.background[:, step], now)

    def too_large(self) -> IntArray:
        """Return the positions of the containers that fit on no node, even an empty one."""
        return np.flatnonzero(~fit_somewhere(self.containers.request, self.nodes.allocatable))

    @property
    def daemons(self) -> BoolArray:
        """Which containers are daemons, shape (containers,)."""
        if self.rules.daemon is None:
            return np.zeros(self.containers.count, dtype=np.bool_)
        return self.rules.daemon

    def present(self, step: int) -> BoolArray:
        """Return which containers exist at a sampling step, shape (containers,)."""
        now = self.use.times_ms[step]
        return np.asarray(
            (self.containers.arrival_ms <= now) & (now < self.containers.departure_ms)
        )

    def present_but_daemons(self, step: int) -> BoolArray:
        """Return which containers exist at a step, daemons aside, shape (containers,)."""
        return self.present(step) & ~self.daemons


def fit_somewhere(request: IntArray, capacity: IntArray) -> BoolArray:
    """Return which requests fit on some empty node, shape (containers,)."""
    shapes, of = np.unique(request, axis=0, return_inverse=True)
    fits = [(capacity >= shape).all(axis=1).any() for shape in shapes]
    return np.array(fits, dtype=np.bool_)[of.reshape(-1)]


def nonzero(request: IntArray, stated: BoolArray, resources: tuple[str, ...]) -> IntArray:
    """Return the requests, with the scheduler's default where CPU or memory is not stated.

    The defaults are 100 millicores and 200 MiB. Any other resource that is not stated gets 0.
    """
    defaults = np.array([NONZERO_DEFAULT.get(name, 0) for name in resources], dtype=np.int64)
    return np.asarray(np.where(stated, request, defaults))
