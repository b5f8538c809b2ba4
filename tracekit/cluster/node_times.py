"""When nodes are lost, come, leave for a while and return."""

from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import BoolArray, IntArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Losses:
    """Nodes that are lost, or that come, in the order of their times.

    Parameters
    ----------
    node, time_ms : int64, shape (losses,)
        Each node once, but for those that leave and come back.
    assumed : bool, shape (losses,), optional
        Which are lost because that was asked, and are there in production. None: none is.
    drawn : bool, shape (losses,), optional
        Which of these the seed chose, as a number of nodes was asked for. None: none.
    """

    node: IntArray
    time_ms: IntArray
    assumed: BoolArray | None = None
    drawn: BoolArray | None = None

    @property
    def recorded(self) -> IntArray:
        """The nodes that production lost, in the order of their times."""
        return self.node if self.assumed is None else self.node[~self.assumed]

    def on(self, place: IntArray) -> "Losses":
        """Those of the nodes that are left, at their new places; -1 is one that goes.

        Parameters
        ----------
        place : int64, shape (nodes + 1,)
        """
        return self.of(place[self.node] >= 0, place)

    def of(self, kept: BoolArray, place: IntArray | None = None) -> "Losses":
        """Some of them, shape (losses,), at the same places if no others are given."""
        node = self.node[kept]
        return Losses(
            node=node if place is None else np.asarray(place[node]),
            time_ms=self.time_ms[kept],
            assumed=None if self.assumed is None else self.assumed[kept],
            drawn=None if self.drawn is None else self.drawn[kept],
        )
