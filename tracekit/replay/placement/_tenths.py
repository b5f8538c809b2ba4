"""The priorities that scored cpu and memory in integers of a small scale, before 1.22."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np

from tracekit.arrays import FloatArray, IntArray
from tracekit.parameters import About
from tracekit.replay.placement import Formula, PlacementPolicy
from tracekit.replay.placement._legacy import half, in_whole_cores
from tracekit.replay.view.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class TenthsPolicy(PlacementPolicy):
    """Base of the priorities that take the integer mean of two integer scores."""

    max_score: Annotated[int, About("The best score: 10 up to v1.16, then 100.", minimum=1)] = 10

    def best_score(self) -> float | None:
        """As large as is asked for."""
        return self.max_score

    def of_tenths(self, part: Callable[..., Any], better: Literal["emptier", "fuller"]) -> Formula:
        """The integer mean of a part of cpu and of memory, 0..max_score."""
        return Formula(
            part=part,
            resources=(("cpu", 1), ("memory", 1)),
            total=half,
            better=better,
            nonzero=True,
            constants=(self.max_score,),
            asked=in_whole_cores,
        )

    def explain(
        self, snapshot: Snapshot, container: Container, nodes: IntArray
    ) -> dict[str, FloatArray]:
        """Share per resource, on the score's scale; 0 where a node has none."""
        formula = self.score_formula()
        parts = {} if formula is None else formula.explain(snapshot, container, nodes)
        return {name: np.nan_to_num(part) for name, part in parts.items()}
