"""CWT: TOPSIS over the free fractions of each node after placing, by combined weights."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.cluster.resources import DISK, DISK_IO, NET
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.placement._parts.load import fraction_after, left_of
from tracekit.policy.placement._parts.weights import (
    CONSISTENCY_LIMIT,
    CRITERIA,
    DOMINANCE,
    Dominance,
    Ideal,
    Judgements,
    ahp,
    by_kind,
    closeness,
    combine,
    entropy_weights,
    given,
    kind_of,
    present,
)
from tracekit.policy.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Cwt(PlacementPolicy):
    """Combined-weight TOPSIS in our reading: weights by judgement times weights by entropy.

    The abstract of the paper names these parts. Its formulas and judgements are not published.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "usage"})
    source: ClassVar[str] = "our reading of CWT (Zhang and Wang 2022) from its abstract"
    title: ClassVar[str] = "TOPSIS with combined weights"
    joint: ClassVar[bool] = True
    wants: ClassVar[tuple[str, ...]] = (NET, DISK, DISK_IO)

    dominance: Dominance = DOMINANCE
    judgements: Annotated[
        Judgements,
        About("Judgements first:second:ratio for every container; none: by the container's kind."),
    ] = ()
    combine: Annotated[
        Literal["product", "linear"], About("The combination of both weights: product or mean.")
    ] = "product"
    ideal: Annotated[
        Ideal,
        About("Best and worst: those of the candidates, or absolute: all free, none free."),
    ] = "observed"

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self.judgements)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """The closeness of each candidate to the best, 0..1."""
        free = self._free(snapshot, container, nodes)
        weights = self.weights(snapshot, container, free)
        return closeness(free, weights=weights, ideal=self.ideal)

    def weights(self, snapshot: Snapshot, container: Container, free: FloatArray) -> FloatArray:
        """The weights of the criteria for a decision, of sum 1."""
        judged = self.judged(snapshot, container)
        return combine(judged, entropy_weights(free), self.combine == "linear")

    def judged(self, snapshot: Snapshot, container: Container) -> FloatArray:
        """The weights of the criteria by judgement alone, of sum 1."""
        names = list(present(snapshot))
        if self.judgements:
            return ahp(given(self.judgements, names)).weights
        mean_node = snapshot.capacity.mean(axis=0)
        kind = kind_of(container.request, mean_node, snapshot.resources)
        return ahp(by_kind(int(kind), names, self.dominance)).weights

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """The free fraction of each criterion after placing."""
        free = self._free(snapshot, container, nodes)
        return {f"{name} free": free[:, at] for at, name in enumerate(present(snapshot))}

    def _free(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> FloatArray:
        columns = present(snapshot).values()
        used = [fraction_after(snapshot, column, container)[nodes] for column in columns]
        return np.asarray(left_of(np.stack(used, axis=1)))


def _check(judgements: Judgements) -> None:
    for first, second, ratio in judgements:
        strange = next((name for name in (first, second) if name not in CRITERIA), None)
        if strange or ratio <= 0 or first == second:
            raise ParameterError(
                "judgements",
                f"judgement {first}:{second}:{ratio:g} must be of two of {', '.join(CRITERIA)}"
                " and a ratio above 0",
            )
    judged = {name for first, second, _ in judgements for name in (first, second)}
    criteria = [resource for name, resource in CRITERIA.items() if name in judged]
    ratio = ahp(given(judgements, criteria)).consistency_ratio if criteria else 0.0
    if ratio >= CONSISTENCY_LIMIT:
        raise ParameterError(
            "judgements",
            f"the judgements contradict each other: consistency ratio {ratio:.3f},"
            f" expected below {CONSISTENCY_LIMIT:g}",
            hint="pairs that are not given count as equal; give them too",
        )
