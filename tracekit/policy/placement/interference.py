"""Interference: the node with the lowest predicted cost of neighbours, by a fit."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import polars as pl

from tracekit.base import parameters
from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.files.result_folder import check_sound, read_frame
from tracekit.base.opened import NoFileError
from tracekit.base.parameters import About
from tracekit.base.units import MILLI_PER_CORE
from tracekit.interference.options import Aggregation
from tracekit.interference.room import NOTHING, sums
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.view.snapshot import Container, Placed, Snapshot


@dataclass(frozen=True)
class Profile:
    """The CPU fraction (use over request) and k2 (the cost of neighbours) of services.

    Parameters
    ----------
    by_service : mapping of str to (float, float)
        CPU fraction and k2 of each fitted service.
    cpu, k2 : float
        The values of every other service.
    """

    by_service: Mapping[str, tuple[float, float]]
    cpu: float
    k2: float

    def of(self, service: str) -> tuple[float, float]:
        """Return the CPU fraction and k2 of a service."""
        return self.by_service.get(service, (self.cpu, self.k2))


@dataclass(frozen=True)
class _Others:
    """Running containers: node, request in millicores, CPU fraction and k2 of the service."""

    node: IntArray
    size: FloatArray
    cpu: FloatArray
    k2: FloatArray


@dataclass(frozen=True)
class _Sums:
    """Sums over containers: requests times CPU fraction, requests, and available millicores."""

    total: FloatArray
    weight: FloatArray
    room: FloatArray


def of_fit(folder: Path) -> Profile:
    """Read the profile in the folder of a ``tracekit fit``; raises TracekitError without a fit."""
    check_sound(folder)
    try:
        table = read_frame(folder / "coefficients.parquet")
        pooled = read_frame(folder / "pooled.parquet")["k2"][0]
    except NoFileError:
        raise
    except (OSError, pl.exceptions.PolarsError):
        raise TracekitError(
            f"policy interference: {folder} holds no fit",
            hint="make one: tracekit fit STORE --out DIR, then interference[fit=DIR]",
        ) from None
    rows = table.select("service", "cpu_mean", pl.col("k2").fill_null(0.0)).iter_rows()
    services = {service: (cpu, k2) for service, cpu, k2 in rows}
    mean = table["cpu_mean"].mean()
    return Profile(services, float(mean or 0.0), float(pooled or 0.0))  # type: ignore[arg-type]


def node_scores(
    snapshot: Snapshot,
    container: Container,
    nodes: IntArray,
    profile: Profile,
    agg: Aggregation,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the interference before and after placing, and which nodes run the service.

    Interference is the predicted CPU that containers lose to neighbours, over the node's CPU.

    Returns
    -------
    three of float64, shape (nodes,)
        Before and after; then 1.0 for a node that runs the container's service, else 0.0.
    """
    many = len(nodes)
    place = np.full(len(snapshot.allocatable), -1)
    place[nodes] = np.arange(many)
    at, node = _beside(snapshot.placed, place)
    size = snapshot.placed.request[at, 0].astype(np.float64)
    cpu, k2, same = _services(snapshot.placed, at, profile, container.service)
    room = np.maximum(snapshot.allocatable[nodes, 0], 1).astype(np.float64)
    weight = sums(node, size, many)
    total = sums(node, size * cpu, many)
    own_cpu, own_k2 = profile.of(container.service)
    own = float(container.request[0])
    others = _Others(node, size, cpu, k2)
    before = _lost(others, _Sums(total, weight, room), agg)
    after = _lost(others, _Sums(total + own * own_cpu, weight + own, room), agg)
    newcomer = own * own_k2 * _pressed(_Sums(total, weight, room - own), agg)
    runs = sums(node, same, many) > 0
    return before / room, (after + newcomer) / room, runs.astype(np.float64)


def _beside(placed: Placed, place: IntArray) -> tuple[IntArray, IntArray]:
    """The containers on candidate nodes, and the candidate of each; two of shape (some,)."""
    candidate = place[placed.node]
    at = np.flatnonzero(candidate >= 0)
    return at, candidate[at]


def _services(
    placed: Placed, at: IntArray, profile: Profile, service: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """CPU fraction and k2 of the containers, and whether each belongs to the service."""
    every = placed.service[:]
    names = every if len(at) == len(every) else [every[one] for one in at.tolist()]
    same = np.fromiter((name == service for name in names), np.float64, len(at))
    if not profile.by_service:
        return np.full(len(at), profile.cpu), np.full(len(at), profile.k2), same
    values = np.array([profile.of(name) for name in names], dtype=np.float64).reshape(-1, 2)
    return values[:, 0], values[:, 1], same


def _lost(others: _Others, nodes: _Sums, agg: Aggregation) -> FloatArray:
    """The CPU that the containers of each node lose, shape (nodes,)."""
    at, own = others.node, others.size * others.cpu
    rest = _Sums(
        nodes.total[at] - own, nodes.weight[at] - others.size, nodes.room[at] - others.size
    )
    return sums(at, others.size * others.k2 * _pressed(rest, agg), len(nodes.room))


def _pressed(beside: _Sums, agg: Aggregation) -> FloatArray:
    """The pressure of neighbours from their sums."""
    if agg == "sum":
        return np.where(beside.weight > NOTHING, beside.total / MILLI_PER_CORE, 0.0)
    below = beside.weight if agg == "mean" else beside.room
    some = (beside.weight > NOTHING) & (below > NOTHING)
    return np.divide(beside.total, below, out=np.zeros(len(below)), where=some)


#: The value of ``fit`` for the fit beside the store.
BESIDE = "beside"


class _Beside(str):
    """The text ``beside`` with the folder of the fit."""

    __slots__ = ("folder",)
    folder: str

    def __new__(cls, folder: str) -> Self:
        made = super().__new__(cls, BESIDE)
        made.folder = folder
        return made

    def __reduce__(self) -> tuple[type[_Beside], tuple[str]]:
        return _Beside, (self.folder,)


@dataclass(frozen=True, kw_only=True)
class Interference(PlacementPolicy):
    """Place on the node where containers are predicted to cost each other the least CPU.

    All containers of a node count as neighbours, as a snapshot records no vCPUs.
    ``tracekit bind`` places on vCPUs.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "placed"})
    source: ClassVar[str] = (
        "patent CN116795487A [0033]-[0035], claims 5 and 10, on nodes instead of sockets;"
        " without a fit, k2 and cpu_fraction are tracekit's own"
    )

    fit: Annotated[
        str,
        About(
            "Folder of tracekit fit --out; beside: the folder fit beside the store; empty: k2 and"
            " cpu_fraction for all services."
        ),
    ] = ""
    choice: Annotated[
        Literal["score", "delta"],
        About("score: the node's interference after placing, as in the patent; delta: its rise."),
    ] = "score"
    agg: Annotated[
        Literal["mean", "occupancy", "sum"],
        About("Sum of neighbours: their mean, over all cores of the node, or in busy cores."),
    ] = "occupancy"
    k2: Annotated[float, About("Cost of neighbours without a fit.")] = 0.08
    cpu_fraction: Annotated[
        float, About("Use of a container's request without a fit.", minimum=0)
    ] = 0.5
    anti_affinity: Annotated[
        bool, About("Whether nodes that already run the service come last.")
    ] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        name, _, folder = self.fit.partition(":")
        if name == BESIDE and folder:
            object.__setattr__(self, "fit", _Beside(folder))

    def beside(self, folder: Path, *, by_default: bool = False) -> Self:
        """Return the policy with the fit in ``folder`` if its parameter ``fit`` is "beside".

        Any other policy is returned unchanged.

        Parameters
        ----------
        by_default : bool
            Whether a policy whose parameters are all defaults gets the fit, too.
        """
        asks = self.fit == BESIDE and not isinstance(self.fit, _Beside)
        if not asks and not (by_default and str(self) == self.name()):
            return self
        made = replace(self, fit=f"{BESIDE}:{folder}")
        object.__setattr__(made, "stated", self.stated | {"fit"})
        return made

    def address(self) -> str:
        """Return the policy's text with the folder of its fit, which ``str`` leaves out."""
        own = {"fit": f"{BESIDE}:{self.fit.folder}"} if isinstance(self.fit, _Beside) else {}
        given = parameters.spell_all(self, defaults=False, also=self.stated, instead=own)
        return f"{self.name()}[{given}]"

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Return minus the predicted interference of each node, as a fraction of its CPU.

        With ``anti_affinity`` a node that runs the service scores far lower.
        """
        parts = self.explain(snapshot, container, nodes)
        score = -(parts["after"] - (parts["before"] if self.choice == "delta" else 0.0))
        return score - (parts["same_service"] * _LAST if self.anti_affinity else 0.0)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Return the interference after and before placing, and which nodes run the service."""
        before, after, same = node_scores(snapshot, container, nodes, self._profile(), self.agg)
        return {"after": after, "before": before, "same_service": same}

    def _profile(self) -> Profile:
        if not self.fit:
            return Profile({}, self.cpu_fraction, self.k2)
        if isinstance(self.fit, _Beside):
            return _read(self.fit.folder)
        if self.fit == BESIDE:
            raise TracekitError(
                "policy interference: only a run or a replay of a store has a fit beside it",
                hint="name the folder of a fit: interference[fit=DIR]",
            )
        return _read(self.fit)


#: More than any difference of interference between two nodes.
_LAST = 1e6


@functools.lru_cache(maxsize=4)
def _read(folder: str) -> Profile:
    return of_fit(Path(folder))
