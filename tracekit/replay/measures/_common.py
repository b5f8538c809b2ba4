"""Parts shared by measures of moves, of nodes in use and of who found no other node."""

from typing import Any

from tracekit.replay.measures import Measure, Step

#: Ends the formula of every measure over all nodes.
EMPTY = "; a node that is lost, or not yet there, counts as an empty one"
#: Why load that lies evenly is better.
EVEN = "load that is spread leaves every node the same room for a peak"
#: Who found no other node, of those that lost theirs: see ``engine.displaced``.
NOT_AGAIN = "did not run again before they departed or the replay ended"


def of_moves(*, column: str, **said: Any) -> Measure:
    """A count of moves over the whole run, the filling included, unless ``said`` otherwise."""
    about = {"during": "whole", "group": "answer", **said}
    return Measure(
        unit="moves",
        better="low",
        step=Step(column=column, whole=True),
        over_steps="sum",
        **about,
    )


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
        falls=True,
        because="no policy is better for merely using fewer nodes: they save only where nodes can"
        " be switched off, and the load they hold is denser",
        **said,
    )
