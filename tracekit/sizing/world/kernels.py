"""Data of the compiled environment: the fixed world and the changing state.

``room`` resizes and ``periods`` runs; neither calls the other, since compiled code is kept on disk
under the file it stands in.
"""

from typing import NamedTuple

from tracekit.base.arrays import BoolArray, FloatArray, IntArray

#: Channels of a cycle's state.
CHANNELS = 20


class World(NamedTuple):
    """The fixed data.

    Parameters
    ----------
    need : float64, shape (containers, periods, 2), cores and GB
    first_edge : int64, shape (containers + 1,)
        Edges into container i are those from ``first_edge[i]`` to ``first_edge[i + 1]``.
    upstream : int64, shape (edges,)
    calls : float64, shape (edges, periods)
    throughput : float64, shape (containers, periods), calls
    total : float64, shape (nodes, 2), cores and GB
    first_fit : bool, shape (nodes,)
        Whether the node takes containers by first fit; the others by lowest debris.
    """

    need: FloatArray
    first_edge: IntArray
    upstream: IntArray
    calls: FloatArray
    throughput: FloatArray
    total: FloatArray
    first_fit: BoolArray


class State(NamedTuple):
    """The changes; shapes (containers, ...), ``node_*`` (nodes, ...), series (..., periods, 2).

    Parameters
    ----------
    by_first_fit : bool
        Which half of the nodes the container may be placed on.
    began : int64, the period in which the running cycle began
    kept : int64, K: cycles in a row whose limits were kept
    overflowed : bool, shape (containers, 2), in which resource the last cycle overflowed
    served, share : float64, what was served; and over the limit
    node_share : float64, what was served of the node's containers, over its capacity
    limits : float64, the limit in each period
    history : float64, shape (containers, channels, cycles), newest last
    """

    by_first_fit: BoolArray
    node: IntArray
    limit: FloatArray
    allocated: FloatArray
    began: IntArray
    kept: IntArray
    changed: BoolArray
    overflowed: BoolArray
    served: FloatArray
    share: FloatArray
    node_share: FloatArray
    limits: FloatArray
    history: FloatArray
