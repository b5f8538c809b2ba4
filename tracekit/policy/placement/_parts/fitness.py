"""Fitness of a container on a node by four resources: the free amounts, and the load.

Source: Geng and Wang, C.S.A. 2023 32(4) 187-196, eqs 16-27. The paper does not print weights,
critical loads and the number of samples; the values here are tracekit's own.
"""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.cluster.resources import DISK, NET
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.placement._parts.formula import either
from tracekit.policy.placement._parts.weights import (
    COMPRESSIBLE,
    DOMINANCE,
    FOUR,
    INCOMPRESSIBLE,
    THROTTLED,
    Dominance,
    kind_of,
)
from tracekit.policy.view.snapshot import Container, Snapshot

Shares = tuple[tuple[str, float], ...]
Basis = Literal["peak", "latest", "requests"]

#: The cost of a load above the critical load under ``tcrit_mode=penalty``, per unit of load.
PENALTY = 10.0


# Eqs 16-27 of one resource, for arrays and, compiled, for numbers: see ``formula.py``.


def suits_left(request: Any, left: Any, weight: Any) -> Any:
    """Return ``weight * (1 - request / left)``, or ``weight`` if nothing is requested or free."""
    some = left > 0
    share = either(some & (request > 0), request / either(some, left, 1.0), 0.0)
    return weight * (1.0 - share)


def load_with(request: Any, used: Any, total: Any) -> Any:
    """Return the load with the container, as a fraction; 1 for a node that lacks the resource."""
    some = total > 0
    return either(some, (request + used) / either(some, total, 1.0), 1.0)


def suits_load(load: Any, tcrit: Any, weight: Any) -> Any:
    """Return ``weight * (tcrit - load)``, the weighted distance below the critical load."""
    return weight * (tcrit - load)


def is_enough(request: Any, left: Any) -> Any:
    """Return whether the amount left is enough for a request; a request of 0 always fits."""
    return (request <= left) | (request == 0)


def excess(load: Any, tcrit: Any) -> Any:
    """Return how far a load is above the critical load, or 0."""
    return either(load > tcrit, load - tcrit, 0.0)


def within(position: Any, nodes: int) -> Any:
    """Clip a position to 0 <= position < nodes, so that its whole part is a node's number."""
    return np.maximum(np.minimum(position, nodes - 1e-9), 0.0)


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Capacity and use of some nodes, on which the fitness depends; see ``FitnessPolicy.ground``.

    Parameters
    ----------
    names : tuple of str
        The workload's resources among cpu, memory, net and disk, in this order.
    columns : tuple of int
        The column of each resource in the snapshot.
    total : float64, shape (nodes, resources)
        Capacities.
    used, peak : float64, shape (nodes, resources)
        The use S of eqs 17 to 20 for free amounts, and of eqs 22 to 25 for loads.
    """

    names: tuple[str, ...]
    columns: tuple[int, ...]
    total: FloatArray
    used: FloatArray
    peak: FloatArray


@dataclass(frozen=True, kw_only=True)
class FitnessPolicy(PlacementPolicy):
    """Base of the policies that score nodes by the fitness of TBESK (Geng and Wang 2023)."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "usage"})
    source: ClassVar[str] = "Geng and Wang, C.S.A. 2023 32(4) 187-196"
    wants: ClassVar[tuple[str, ...]] = (NET, DISK)

    dominance: Dominance = DOMINANCE
    left_weights: Annotated[
        Shares,
        About(
            "Weights of free amounts, mu of the paper, cpu:1+memory:1+net:1+disk:1, for containers"
            " of every kind; none: by kind and dominance."
        ),
    ] = ()
    load_weights: Annotated[
        Shares, About("Weights of the loads, cpu:1+memory:1+net:1+disk:1; none: equal weights.")
    ] = ()
    tcrit: Annotated[
        float, About("Critical load of every resource, as a fraction.", minimum=0, maximum=1)
    ] = 0.9
    critical_loads: Annotated[
        Shares, About("Critical loads of single resources, cpu:0.8+net:0.9; tcrit for the others.")
    ] = ()
    tcrit_mode: Annotated[
        Literal["soft", "hard", "penalty"],
        About("Above the critical load: as printed, no room, or minus 10 times the excess."),
    ] = "soft"
    basis: Annotated[
        Basis, About("The use of a node: the measured peak, the newest sample, or requests.")
    ] = "peak"
    left_basis: Annotated[
        Literal["basis", "peak", "latest", "requests"],
        About("The use of a node in free amounts (eqs 17 to 20): as basis, or another one."),
    ] = "basis"
    samples: Annotated[int, About("Newest samples of the peak.", minimum=1)] = 20
    type_ref: Annotated[
        Literal["node", "mean"],
        About("A container's kind depends on each node's capacities, or on their mean."),
    ] = "node"

    def __post_init__(self) -> None:
        super().__post_init__()
        for parameter, most in (("left_weights", np.inf), ("load_weights", np.inf),
                                ("critical_loads", 1.0)):  # fmt: skip
            for name, amount in getattr(self, parameter):
                if name not in FOUR or not 0 <= amount <= most:
                    raise ParameterError(
                        parameter,
                        f"{name}:{amount:g} of {parameter} must be of one of {', '.join(FOUR)}"
                        f" and at least 0{'' if most == np.inf else ', at most 1'}",
                    )
        for parameter in ("left_weights", "load_weights"):
            given = getattr(self, parameter)
            if given and not sum(weight for _, weight in given) > 0:
                raise ParameterError(parameter, f"{parameter} sum to 0, expected above 0")

    def metric_samples(self) -> int:
        """Return how many newest samples the peak use is taken over; 1 if no peak is used."""
        return self.samples if "peak" in (self.basis, self.left_basis) else 1

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return the fitness of the container on each node, -0.1 .. 1.9 on nodes with room."""
        ground = self.ground(snapshot, nodes)
        remaining, load = self._parts(ground, container)
        score = remaining.sum(axis=1) + load.sum(axis=1)
        if self.tcrit_mode == "penalty":
            score = score - PENALTY * self._excess(ground, container).sum(axis=1)
        return np.asarray(score)

    def admits(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> BoolArray:
        """Return which nodes have room for the request in addition to their present use.

        With ``tcrit_mode=hard`` the load of every resource must also stay within its critical load.
        """
        ground = self.ground(snapshot, nodes)
        request = self.request(ground, container)
        room = is_enough(request, ground.total - ground.used)
        if self.tcrit_mode == "hard":
            room &= self._excess(ground, container) <= 0
        return np.asarray(room.all(axis=1))

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return each resource's two terms of the fitness, as ``cpu left`` and ``cpu load``."""
        ground = self.ground(snapshot, nodes)
        remaining, load = self._parts(ground, container)
        labels = {resource: name for name, resource in FOUR.items()}
        parts = {}
        for at, name in enumerate(ground.names):
            parts[f"{labels[name]} left"] = remaining[:, at]
            parts[f"{labels[name]} load"] = load[:, at]
        return parts

    def ground(self, snapshot: Snapshot, nodes: IntArray) -> Ground:
        """Return the capacities and the use of some nodes."""
        pairs = [(name, snapshot.column(name)) for name in FOUR.values()]
        names = tuple(name for name, column in pairs if column is not None)
        columns = tuple(column for _, column in pairs if column is not None)
        total = snapshot.capacity[nodes][:, columns].astype(np.float64)
        peak = self._used(snapshot, columns, nodes, total, self.basis)
        apart = self.left_basis not in ("basis", self.basis)
        used = self._used(snapshot, columns, nodes, total, self.left_basis) if apart else peak
        return Ground(names=names, columns=columns, total=total, used=used, peak=peak)

    def request(self, ground: Ground, container: Container) -> FloatArray:
        """Return the container's request, shape (resources,)."""
        return container.request[list(ground.columns)].astype(np.float64)

    def kinds(self, ground: Ground, container: Container) -> IntArray:
        """Return the container's kind on each node, shape (nodes,): its row in ``mu``."""
        total = ground.total
        if self.type_ref == "mean":
            total = np.broadcast_to(total.mean(axis=0), total.shape)
        return kind_of(self.request(ground, container), total, ground.names)

    def mu(self, ground: Ground) -> FloatArray:
        """Return the weights of free amounts, shape (kinds, resources), of sum 1 for each kind."""
        if self.left_weights:
            return np.tile(_weights(self.left_weights, ground), (3, 1))
        leading = np.array([name in THROTTLED for name in ground.names])
        rows = np.ones((3, len(leading)))
        rows[COMPRESSIBLE, leading] = self.dominance
        rows[INCOMPRESSIBLE, ~leading] = self.dominance
        return np.asarray(rows / rows.sum(axis=1, keepdims=True))

    def nu(self, ground: Ground) -> FloatArray:
        """Return the weights of the loads, shape (resources,), of sum 1."""
        return _weights(self.load_weights, ground)

    def critical(self, ground: Ground) -> FloatArray:
        """Return the critical loads, shape (resources,)."""
        given = {FOUR[name]: load for name, load in self.critical_loads}
        return np.array([given.get(name, self.tcrit) for name in ground.names])

    def _parts(self, ground: Ground, container: Container) -> tuple[FloatArray, FloatArray]:
        """The weighted terms of R and of L, each of shape (nodes, resources)."""
        request = self.request(ground, container)
        left = ground.total - ground.used
        mu, load = self.mu(ground)[self.kinds(ground, container)], self._load(ground, request)
        return suits_left(request, left, mu), suits_load(
            load, self.critical(ground), self.nu(ground)
        )

    def _load(self, ground: Ground, request: FloatArray) -> FloatArray:
        return np.asarray(load_with(request, ground.peak, ground.total))

    def _excess(self, ground: Ground, container: Container) -> FloatArray:
        load = self._load(ground, self.request(ground, container))
        return np.asarray(excess(load, self.critical(ground)))

    def _used(
        self,
        snapshot: Snapshot,
        columns: Sequence[int],
        nodes: IntArray,
        total: FloatArray,
        basis: str,
    ) -> FloatArray:
        """The use S of resources on some nodes; the sum of requests without a measurement.

        Requests of containers placed since the newest sample are added to the measurement.
        """
        requested: FloatArray = snapshot.requested[nodes][:, columns].astype(np.float64)
        usage = snapshot.usage
        if basis == "requests" or usage.time_ms is None:
            return requested
        fresh = np.zeros_like(requested)
        if usage.requested is not None:
            fresh = np.maximum(requested - usage.requested[nodes][:, columns], 0.0)
        measured = np.full_like(requested, np.nan)
        for at, column in enumerate(columns):
            with contextlib.suppress(IndexError):  # a history of cpu and memory alone
                measured[:, at] = usage.peak(column, self.samples if basis == "peak" else 1)[nodes]
        used = measured * total + fresh
        return np.where(np.isnan(used), requested, used)


def _weights(given: Shares, ground: Ground) -> FloatArray:
    """Weights of the workload's resources, of sum 1; equal weights if all of them are 0."""
    stated = {FOUR[name]: weight for name, weight in given}
    weights = np.array([stated.get(name, 0.0 if stated else 1.0) for name in ground.names])
    if not weights.sum() > 0:
        weights = np.ones(len(weights))
    return np.asarray(weights / weights.sum())
