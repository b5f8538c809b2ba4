"""Interference: the node on which neighbours cost least, by a fit of what neighbours cost."""

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
from tracekit.base.files.parquet import read_frame
from tracekit.base.files.result_folder import check_sound
from tracekit.base.opened import NoFileError
from tracekit.base.parameters import About
from tracekit.base.units import MILLI_PER_CORE
from tracekit.interference.options import Aggregation
from tracekit.interference.room import NOTHING, sums
from tracekit.policy.placement import PlacementPolicy, Reads, Scores
from tracekit.policy.view.snapshot import Container, Placed, Snapshot


@dataclass(frozen=True)
class Profile:
    """CPU and k2 of services; those that are not known have the usual ones."""

    known: Mapping[str, tuple[float, float]]
    cpu: float
    k2: float

    def of(self, service: str) -> tuple[float, float]:
        """CPU fraction and k2 of a service."""
        return self.known.get(service, (self.cpu, self.k2))


@dataclass(frozen=True)
class _Others:
    """Containers that run: node, request in millicores, CPU fraction and k2 of their services."""

    node: IntArray
    size: FloatArray
    cpu: FloatArray
    k2: FloatArray


@dataclass(frozen=True)
class _Sums:
    """Containers together: requests times CPU, requests, and millicores they could have."""

    total: FloatArray
    weight: FloatArray
    room: FloatArray


def of_fit(folder: Path) -> Profile:
    """The profile of a fit's folder; raises TracekitError when it holds none."""
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
    known = {service: (cpu, k2) for service, cpu, k2 in rows}
    mean = table["cpu_mean"].mean()
    return Profile(known, float(mean or 0.0), float(pooled or 0.0))  # type: ignore[arg-type]


def node_scores(
    snapshot: Snapshot,
    container: Container,
    nodes: IntArray,
    profile: Profile,
    agg: Aggregation,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Interference of nodes before and after placing, and whether they run the service already.

    Returns
    -------
    tuple of float64, shape (nodes,)
        Predicted CPU lost over the node's CPU; 1.0 where the service runs, else 0.0.
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
    """The containers on nodes that have a place, and those places; two of shape (some,)."""
    found = place[placed.node]
    at = np.flatnonzero(found >= 0)
    return at, found[at]


def _services(
    placed: Placed, at: IntArray, profile: Profile, service: str
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """CPU and k2 of the containers, and whether they are of the service."""
    every = placed.service[:]
    names = every if len(at) == len(every) else [every[one] for one in at.tolist()]
    same = np.fromiter((name == service for name in names), np.float64, len(at))
    if not profile.known:
        return np.full(len(at), profile.cpu), np.full(len(at), profile.k2), same
    found = np.array([profile.of(name) for name in names], dtype=np.float64).reshape(-1, 2)
    return found[:, 0], found[:, 1], same


def _lost(others: _Others, nodes: _Sums, agg: Aggregation) -> FloatArray:
    """CPU that the containers of each node lose, shape (all nodes,)."""
    at, own = others.node, others.size * others.cpu
    rest = _Sums(
        nodes.total[at] - own, nodes.weight[at] - others.size, nodes.room[at] - others.size
    )
    return sums(at, others.size * others.k2 * _pressed(rest, agg), len(nodes.room))


def _pressed(beside: _Sums, agg: Aggregation) -> FloatArray:
    """The pressure of neighbours, by what they are together."""
    if agg == "sum":
        return np.where(beside.weight > NOTHING, beside.total / MILLI_PER_CORE, 0.0)
    below = beside.weight if agg == "mean" else beside.room
    there = (beside.weight > NOTHING) & (below > NOTHING)
    return np.divide(beside.total, below, out=np.zeros(len(below)), where=there)


#: The word for the fit that lies beside the store.
BESIDE = "beside"


class _Beside(str):
    """The word, which knows the folder it stands for."""

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
    """Place where containers of one node are predicted to cost each other least CPU.

    All containers of a node count as neighbours on its sockets: a snapshot does not record
    bindings. ``tracekit bind`` places down to the vCPU.
    """

    reads: ClassVar[frozenset[Reads]] = frozenset({"requests", "placed"})
    source: ClassVar[str] = (
        "patent CN116795487A [0033]-[0035], claims 5 and 10, on nodes instead of sockets;"
        " without a fit, k2 and cpu_fraction are tracekit's own"
    )

    fit: Annotated[
        str,
        About(
            "Folder that tracekit fit --out wrote; beside: the folder fit beside the store; empty:"
            " k2 and cpu_fraction."
        ),
    ] = ""
    choice: Annotated[
        Literal["score", "delta"],
        About("score: the node's interference after placing, as printed; delta: its rise."),
    ] = "score"
    agg: Annotated[
        Literal["mean", "occupancy", "sum"],
        About("How neighbours add up: their mean, over all the node's cores, or busy cores."),
    ] = "occupancy"
    k2: Annotated[float, About("Cost of neighbours where no fit is given.")] = 0.08
    cpu_fraction: Annotated[
        float, About("Use of a container's request where no fit is given.", minimum=0)
    ] = 0.5
    anti_affinity: Annotated[
        bool, About("Whether nodes that run the service already come last.")
    ] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        name, _, folder = self.fit.partition(":")
        if name == BESIDE and folder:
            object.__setattr__(self, "fit", _Beside(folder))

    def beside(self, folder: Path, *, unasked: bool = False) -> Self:
        """The policy with the fit in that folder, if it asks for the one beside its store.

        Parameters
        ----------
        unasked : bool
            Whether the policy takes the fit with its defaults, too.
        """
        asks = self.fit == BESIDE and not isinstance(self.fit, _Beside)
        if not asks and not (unasked and str(self) == self.name()):
            return self
        made = replace(self, fit=f"{BESIDE}:{folder}")
        object.__setattr__(made, "stated", self.stated | {"fit"})
        return made

    def address(self) -> str:
        """The spelling with the folder beside the store, which the name leaves out."""
        own = {"fit": f"{BESIDE}:{self.fit.folder}"} if isinstance(self.fit, _Beside) else {}
        given = parameters.spell_all(self, defaults=False, also=self.stated, instead=own)
        return f"{self.name()}[{given}]"

    def score(self, snapshot: Snapshot, container: Container, nodes: IntArray) -> Scores:
        """Less the node's predicted interference, as a share of its CPU; same service: 1 lower."""
        parts = self.explain(snapshot, container, nodes)
        found = -(parts["after"] - (parts["before"] if self.choice == "delta" else 0.0))
        return found - (parts["same_service"] * _LAST if self.anti_affinity else 0.0)

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Interference of the node after and before, and whether it runs the service already."""
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


#: More than any difference between two nodes' interference.
_LAST = 1e6


@functools.lru_cache(maxsize=4)
def _read(folder: str) -> Profile:
    return of_fit(Path(folder))
