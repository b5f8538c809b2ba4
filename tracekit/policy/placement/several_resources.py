"""Policies that weigh several resources: the Liang extender's, and rivals in the paper of TBESK."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.parameters import About, ParameterError
from tracekit.cluster.resources import BASE, CPU, DISK, DISK_IO, NET
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.placement._extender import ExtenderPolicy, balance_resource
from tracekit.policy.placement._parts.load import (
    fraction_after,
    has_room,
    left_of,
    measured_fraction,
    used_amount,
    used_fraction,
)
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
class Bnp(ExtenderPolicy):
    """Balanced NetIO Priority: keep the network loads of nodes close to each other.

    If the workload lacks the network resource, or the container requests none of it, the extender
    scores every node 0 and the built-in scores decide.
    """

    source: ClassVar[str] = "Liang extender (github.com/adolphlwq/liang @56384517), BNP"
    title: ClassVar[str] = "balanced network use"
    wants: ClassVar[tuple[str, ...]] = (NET,)

    def extender(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
        """Return BNP's score of each candidate, 0..100; 0 for a node without room."""
        return balance_resource(NET, snapshot, container, nodes)


@dataclass(frozen=True, kw_only=True)
class Bdi(ExtenderPolicy):
    """Balanced disk IO: the rule of bnp, by disk transfer rates in place of the network.

    Modelled on the policy of that name, whose formulas are not published.
    """

    source: ClassVar[str] = "inspired by 'balanced disk IO' as cited by Geng and Wang 2023, ref. 6"
    title: ClassVar[str] = "balanced disk use"
    wants: ClassVar[tuple[str, ...]] = (DISK_IO,)

    def extender(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
        """Return the score of bnp on disk IO, 0..100."""
        return balance_resource(DISK_IO, snapshot, container, nodes)


def faithful_matrix(snapshot: Snapshot, nodes: IntArray, limit_fraction: float) -> FloatArray:
    """Return the decision matrix of CMDN's original code, shape (nodes, 5).

    The columns are cpu %, memory %, network %, disk bytes/s and bandwidth kbit/s. A value above the
    limit in percent becomes 0, whatever the unit of its column, and so does a missing value. The
    column of a resource that the workload lacks is 0.
    """
    net, disk = snapshot.column(NET), snapshot.column(DISK_IO)
    columns = [_percent(measured_fraction(snapshot, at)) for at in range(len(BASE))]
    nothing = np.zeros(len(snapshot.capacity))
    columns.append(nothing if net is None else _percent(used_fraction(snapshot, net)))
    columns.append(nothing if disk is None else used_amount(snapshot, disk))
    usage = np.nan_to_num(np.stack(columns, axis=1)[nodes], nan=0.0)
    usage[usage > 100.0 * limit_fraction] = 0.0
    bandwidth = nothing if net is None else snapshot.capacity[:, net].astype(np.float64)
    return np.column_stack([usage, bandwidth[nodes]])


def fixed_matrix(
    snapshot: Snapshot, container: Container, nodes: IntArray
) -> tuple[FloatArray, BoolArray]:
    """Return the decision matrix of CMDN without its defects, and which columns are use.

    The columns are the fractions used after placing, at most 1, and then the bandwidth.

    Returns
    -------
    float64, shape (nodes, columns); bool, shape (columns,)
        A resource that the workload lacks has no column.
    """
    columns = [
        np.minimum(fraction_after(snapshot, at, container), 1.0) for at in _columns_of_use(snapshot)
    ]
    usage = [True] * len(columns)
    net = snapshot.column(NET)
    if net is not None:
        columns.append(snapshot.capacity[:, net].astype(np.float64))
        usage.append(False)
    return np.stack(columns, axis=1)[nodes], np.array(usage)


def within_limit(snapshot: Snapshot, nodes: IntArray, limit_fraction: float) -> BoolArray:
    """Return which nodes use no resource above the limit, shape (nodes,)."""
    used = np.stack([used_fraction(snapshot, at) for at in _columns_of_use(snapshot)], axis=1)
    return np.asarray((used[nodes] <= limit_fraction).all(axis=1))


def _columns_of_use(snapshot: Snapshot) -> list[int]:
    extra = (snapshot.column(name) for name in (NET, DISK_IO))
    return [*range(len(BASE)), *(at for at in extra if at is not None)]


def _percent(fraction: FloatArray) -> FloatArray:
    return np.floor(100.0 * fraction + 0.5)


@dataclass(frozen=True, kw_only=True)
class Cmdn(ExtenderPolicy):
    """Pack nodes by CPU, memory, disk and network together, or keep the nodes level.

    ``faithful`` repeats the defects of the original. Columns are divided by their sum of squares,
    so that bandwidth hardly counts. Disk is in bytes per second, which is nearly always above the
    limit. Use above the limit counts as 0, so that a full node looks empty. If some nodes are
    filtered out, scores go to the first names of the unfiltered list. Percentages are rounded, and
    the container's own request is left out. ``fixed`` repairs each of these defects.
    """

    source: ClassVar[str] = "Liang extender (github.com/adolphlwq/liang @56384517), CMDN"
    title: ClassVar[str] = "TOPSIS over CPU, memory, disk and network"
    wants: ClassVar[tuple[str, ...]] = (NET, DISK_IO)

    mode: Annotated[
        Literal["faithful", "fixed"],
        About("The original, or the original with its defects repaired."),
    ] = "faithful"
    balanced: Annotated[
        bool, About("true: prefer nodes used little; false: compact, prefer nodes used much.")
    ] = False
    limit_fraction: Annotated[
        float,
        About(
            "Use above this counts as 0 (faithful) or excludes the node (fixed).",
            minimum=0,
            maximum=1,
        ),
    ] = 0.8

    def extender(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
        """Return CMDN's score of each candidate, 0..100; 0 for a node without network room."""
        column = snapshot.column(NET)
        valid = np.arange(len(nodes))
        if column is not None:
            valid = has_room(snapshot, column, container, nodes)
        if self.mode == "fixed":
            valid = valid[within_limit(snapshot, nodes[valid], self.limit_fraction)]
        scores = np.zeros(len(nodes), dtype=np.int64)
        if len(valid):
            scores[valid] = self._valid_scores(snapshot, container, nodes[valid])
        if self.mode == "faithful":
            scores[len(valid) :] = 0
        return scores

    def joined_is_cacheable(self, snapshot: Snapshot) -> bool:
        """Return whether ``mode`` is faithful and the cluster lacks network and disk resources."""
        other = (snapshot.column(name) for name in self.wants)
        return self.mode == "faithful" and all(column is None for column in other)

    def _valid_scores(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> IntArray:
        if self.mode == "fixed":
            matrix, usage = fixed_matrix(snapshot, container, nodes)
            return rounded(closeness(matrix, benefit=~usage | (not self.balanced)))
        matrix = faithful_matrix(snapshot, nodes, self.limit_fraction)
        scores = faithful_scores(matrix)
        return 100 - scores if self.balanced else scores


def faithful_scores(matrix: FloatArray) -> IntArray:
    """Return the original's scores, 0..100, of ``faithful_matrix``; the most used is the best."""
    if len(matrix) == 1:
        return np.array([100], dtype=np.int64)
    return rounded(closeness(matrix, norm="sum_of_squares"))


def rounded(fractions: FloatArray) -> IntArray:
    """Return fractions of 0 or more in whole percent, halves rounded away from zero."""
    return np.floor(100.0 * fractions + 0.5).astype(np.int64)


@dataclass(frozen=True, kw_only=True)
class Bcdi(PlacementPolicy):
    """Balanced CPU and disk IO: keep both loads close to each other on every node.

    Modelled on the policy of that name, whose formulas are not published. If the workload lacks the
    disk transfer resource, every node scores 0.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "usage"})
    source: ClassVar[str] = (
        "inspired by 'balanced CPU and disk IO' as cited by Geng and Wang 2023, ref. 6"
    )
    title: ClassVar[str] = "balanced CPU and disk use"
    wants: ClassVar[tuple[str, ...]] = (DISK_IO,)

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return ``trunc(100 (1 - |cpu fraction - disk fraction|))`` after placing, 0..100."""
        parts = list(self.explain(snapshot, container, nodes).values())
        if len(parts) < 2:
            return np.zeros(len(nodes), dtype=np.int64)
        level = 1.0 - np.abs(parts[0] - parts[1])
        return np.trunc(100.0 * np.clip(level, 0.0, 1.0)).astype(np.int64)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the loads of CPU and disk transfer after placing, if the workload has them."""
        columns = {name: snapshot.column(name) for name in (CPU, DISK_IO)}
        return {
            name: fraction_after(snapshot, column, container)[nodes]
            for name, column in columns.items()
            if column is not None
        }


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
        """Return the closeness of each candidate to the best, 0..1."""
        free = self._free(snapshot, container, nodes)
        weights = self.weights(snapshot, container, free)
        return closeness(free, weights=weights, ideal=self.ideal)

    def weights(self, snapshot: Snapshot, container: Container, free: FloatArray) -> FloatArray:
        """Return the criteria's weights, of sum 1: those of ``judged`` combined with entropy."""
        judged = self.judged(snapshot, container)
        return combine(judged, entropy_weights(free), self.combine == "linear")

    def judged(self, snapshot: Snapshot, container: Container) -> FloatArray:
        """Return the weights of the criteria by judgement alone, of sum 1."""
        names = list(present(snapshot))
        if self.judgements:
            return ahp(given(self.judgements, names)).weights
        mean_node = snapshot.capacity.mean(axis=0)
        kind = kind_of(container.request, mean_node, snapshot.resources)
        return ahp(by_kind(int(kind), names, self.dominance)).weights

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the free fraction of each criterion after placing."""
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
