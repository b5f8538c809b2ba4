"""Interference: the node on which neighbours cost least, by a fit of what neighbours cost."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Self

from tracekit.arrays import FloatArray, IntArray
from tracekit.errors import TracekitError
from tracekit.parameters import About
from tracekit.replay.placement import PlacementPolicy, Reads, Scores
from tracekit.replay.placement._neighbours import Profile, node_scores, of_fit
from tracekit.replay.view.snapshot import Container, Snapshot

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

    All containers of a node count as neighbours on its sockets: a snapshot does not say who is
    bound where. ``tracekit bind`` places down to the vCPU.
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

    def address(self) -> str:
        """With the folder beside the store, which the name does not tell."""
        told = super().address()
        if not isinstance(self.fit, _Beside):
            return told
        return told.replace(f"fit={BESIDE}", f"fit={BESIDE}:{self.fit.folder}")

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
