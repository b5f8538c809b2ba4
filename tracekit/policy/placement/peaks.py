"""Peaks: the node whose power draw rises least."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About
from tracekit.policy.placement import Scores, UsedBy
from tracekit.policy.placement._parts.load import LoadAware, Reading, first_level
from tracekit.policy.placement._parts.requested import to_int
from tracekit.policy.view.snapshot import Container, Snapshot

Models = tuple[tuple[str, float, float, float], ...]

#: The number of integer steps of a score per unit of power.
_SCALE = 1e15


@dataclass(frozen=True, kw_only=True)
class Peaks(LoadAware):
    """Prefer the least rise in power; a node draws k0 + k1 * exp(k2 * CPU percent)."""

    source: ClassVar[str] = "scheduler-plugins 903da7df pkg/trimaran/peaks (Peaks)"
    used_by: ClassVar[UsedBy] = "scheduler"
    best_score = 100
    reading: ClassVar[Reading] = staticmethod(first_level)

    k0: Annotated[float, About("Constant of the power model; it cancels out.")] = 471.7412504314313
    k1: Annotated[
        float, About("Factor of the power model; the default is upstream's example.")
    ] = -91.50493019588365
    k2: Annotated[
        float, About("Exponent of the power model, per percent of CPU.")
    ] = -0.07186049052516228
    node_power_model: Annotated[
        Models, About("Power models of single nodes, name:k0:k1:k2, in recorded cases.")
    ] = ()

    @classmethod
    def upstream_arguments(cls, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """The power models of nodes; a node without a model has k0, k1 and k2 of 0."""
        models = arguments.get("node_power_model") or {}
        names = ("k0", "k1", "k2")
        rows = [[node, *(float(model.get(k, 0)) for k in names)] for node, model in models.items()]
        return {**dict.fromkeys(names, 0.0), "node_power_model": rows}

    def model(self, node: str) -> tuple[float, float, float]:
        """k0, k1, k2 of a node."""
        own = {name: (k0, k1, k2) for name, k0, k1, k2 in self.node_power_model}
        return own.get(node, (self.k0, self.k1, self.k2))

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """The rise in power, a cost; 0 without CPU metrics and for CPU above capacity."""
        parts = self.explain(snapshot, container, nodes)
        return to_int(np.nan_to_num(parts["power_rise"]) * _SCALE)

    def normalize(self, scores: Scores) -> Scores:
        """``100 - trunc(100 * (v - low)/(high - low))``, 100 for the least rise; all 0 stay 0."""
        low, high = int(scores.min()), int(scores.max())
        if low == 0 and high == 0:
            return scores
        cost = 100.0 * (scores - low).astype(np.float64)
        return 100 - to_int(cost / float(high - low) if high != low else cost)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """CPU percent without and with the pod, and the rise in power."""
        capacity = snapshot.capacity[nodes, 0].astype(np.float64)
        now = self.load(snapshot, nodes, 0).average
        some = capacity != 0
        used = now / 100 * capacity + float(container.request[0])
        then = np.where(some, 100 * used / np.where(some, capacity, 1.0), 0.0 * now)
        _, k1, k2 = self._models(snapshot, nodes)
        with np.errstate(over="ignore", invalid="ignore"):
            rise = k1 * (np.exp(k2 * then) - np.exp(k2 * now))
        return {
            "now_percent": now,
            "then_percent": then,
            "power_rise": np.where(then > 100, 0.0, rise),
        }

    def _models(self, snapshot: Snapshot, nodes: IntArray) -> FloatArray:
        """k0, k1 and k2 of the candidates, shape (3, candidates), or (3,) for one model."""
        if snapshot.recorded is None or not self.node_power_model:
            return np.array([self.k0, self.k1, self.k2])
        names = snapshot.recorded.nodes
        return np.array([self.model(names[at]) for at in nodes], np.float64).reshape(-1, 3).T
