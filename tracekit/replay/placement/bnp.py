"""BNP: the node whose network load would vary least from the others'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.placement._extender import ExtenderPolicy, has_room
from tracekit.replay.placement._load_variance import balance_scores
from tracekit.replay.placement._measured import NET, used_amount
from tracekit.replay.snapshot import Container, Snapshot


@dataclass(frozen=True, kw_only=True)
class Bnp(ExtenderPolicy):
    """Balanced NetIO Priority: keep the network load of the nodes close together.

    Where the workload has no network resource, or the container needs none of it, the extender
    gives every node 0 and the built-in scores decide.
    """

    source: ClassVar[str] = "Liang extender (github.com/adolphlwq/liang @56384517), BNP"
    wants: ClassVar[tuple[str, ...]] = (NET,)

    def extender(
        self, snapshot: Snapshot, container: Container, nodes: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """BNP's score of each candidate, 0..100; 0 where the need does not fit."""
        return balance_resource(NET, snapshot, container, nodes)


def balance_resource(
    resource: str, snapshot: Snapshot, container: Container, nodes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """BNP's rule on a resource: 0 everywhere without it, else balance among nodes with room."""
    scores = np.zeros(len(nodes), dtype=np.int64)
    column = snapshot.column(resource)
    if column is None:
        return scores
    valid = has_room(snapshot, column, container, nodes)
    scores[valid] = balance_scores(
        float(container.request[column]),
        used_amount(snapshot, column)[nodes[valid]],
        snapshot.capacity[nodes[valid], column].astype(np.float64),
    )
    return scores
