"""What measures of nodes in use have in common; nodes with nothing but daemons are empty."""

from __future__ import annotations

from typing import Any

from tracekit.replay.measures import Measure, Step


def of_nodes_used(**said: Any) -> Measure:
    """A measure of the nodes that hold a container at a step."""
    return Measure(
        unit="nodes",
        better=None,
        step=Step(
            column="nodes_used",
            at=lambda sampled: (sampled.containers_but_daemons > 0).sum(axis=-1),
            whole=True,
            drawn="Nodes used [nodes]",
        ),
        because="no policy is better for merely using fewer nodes: they save only where nodes can"
        " be switched off, and the load they hold is denser",
        **said,
    )
