"""The assumption ``reserved``: the part of a node that is kept for use outside of containers.

A kubelet takes ``kube-reserved`` and ``system-reserved`` off a node's capacity; schedulers have the
rest, which is called allocatable. A trace that shows how much nodes use beyond their containers
shows what would have to be reserved. Production's containers fitted on their nodes, so no more is
reserved than their requests left.
"""

import re
from typing import Annotated

import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.cluster.resources import BASE, UNLIMITED, short_names

NONE = "none"
#: What a trace that does not tell what is allocatable has: CPU can be shared for a while, memory
#: cannot.
OF_TRACE = "background:memory"
_FORM = "write none, background, background:memory, background:p95 or background:memory:p95"
_PERCENTILE = re.compile(r"p(\d{1,2}(?:\.\d+)?|100)")

#: The assumption's type in every set of assumptions that has it.
Reserved = Annotated[
    str,
    About(
        "The part of each node that policies by request may not use. none: nothing;"
        " background: the mean of what it uses that no container explains, as far as production's"
        " requests left room; background:p95: that percentile of it; background:memory: memory"
        " alone."
    ),
]


def reserved_of(
    text: str,
    *,
    background: Float32Array,
    capacity: IntArray,
    held: IntArray,
) -> IntArray | None:
    """The amount that each node reserves for its background; None if nothing is reserved.

    Parameters
    ----------
    text : str
        ``none``, or ``background`` with a percentile and a resource after colons.
    background : float32, shape (2, steps, nodes)
        Use of millicores and of bytes over the whole time.
    capacity : int64, shape (nodes, resources)
    held : int64, shape (nodes, resources)
        The most that production's containers requested on each node at one time.

    Returns
    -------
    int64, shape (nodes, resources)
        Rounded up; 0 for a resource without limit.

    Raises
    ------
    TracekitError
        For a text of another form.
    """
    if text == NONE:
        return None
    columns, percentile = _parsed(text)
    kept = np.zeros_like(capacity)
    for column in columns:
        amount = np.ceil(_typical(background[column], percentile)).astype(np.int64)
        free = np.maximum(capacity[:, column] - held[:, column], 0)
        limited = capacity[:, column] < UNLIMITED
        kept[:, column] = np.where(limited, np.minimum(amount, free), 0)
    return kept if kept.any() else None


def held_at_most(
    node: IntArray, request: IntArray, arrival_ms: IntArray, departure_ms: IntArray, *, nodes: int
) -> IntArray:
    """The most that containers request on each node at one time, shape (nodes, resources).

    Parameters
    ----------
    node, arrival_ms, departure_ms : int64, shape (containers,)
        A node of -1 is none.
    request : int64, shape (containers, resources)
    """
    known = np.flatnonzero(node >= 0)
    most = np.zeros((nodes, request.shape[1]), dtype=np.int64)
    if not len(known):
        return most
    where = np.tile(node[known], 2)
    when = np.concatenate([arrival_ms[known], departure_ms[known]])
    change = np.concatenate([request[known], -request[known]])
    goes = np.repeat([1, 0], len(known))
    # who goes makes room for who comes at that time; all go at last, so that nodes begin with 0
    order = np.lexsort((goes, when, where))
    first = np.flatnonzero(np.diff(where[order], prepend=-1))
    most[where[order][first]] = np.maximum.reduceat(change[order].cumsum(axis=0), first)
    return most


def _typical(series: Float32Array, percentile: float | None) -> FloatArray:
    """The mean over the steps, or a percentile if given, shape (nodes,)."""
    if percentile is None:
        return np.asarray(series.mean(axis=0, dtype=np.float64))
    return np.asarray(np.percentile(series, percentile, axis=0))


def _parsed(text: str) -> tuple[list[int], float | None]:
    """The columns that are reserved, and the percentile; None for the mean."""
    first, *rest = text.split(":")
    names = short_names(list(BASE))
    columns = [names.index(one) for one in rest if one in names]
    ranks = [float(found[1]) for one in rest if (found := _PERCENTILE.fullmatch(one))]
    known = len(columns) + len(ranks) == len(rest) and len(columns) <= 1 and len(ranks) <= 1
    if first != "background" or not known:
        raise TracekitError(f"reserved={text} is not known", hint=_FORM)
    return columns or list(range(len(BASE))), ranks[0] if ranks else None
