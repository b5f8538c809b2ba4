"""Resource names, integer arrays of amounts, and the part of a node that is reserved.

CPU is in millicores and memory in bytes; any other resource is counted in its own unit. Kubernetes
calls them ``cpu`` and ``memory``; columns of arrays have the unit in their name.

A kubelet takes ``kube-reserved`` and ``system-reserved`` off a node's capacity; schedulers have the
rest, which is called allocatable. The assumption ``reserved`` states it. A trace that shows how
much nodes use beyond their containers shows what would have to be reserved. Production's containers
fitted on their nodes, so no more is reserved than their requests left.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated

import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.parameters import About
from tracekit.base.units import MILLI_PER_CORE, memory

CPU = "cpu_milli"
MEMORY = "memory_bytes"
PODS = "pods"
#: What counts thousandths ends so.
_MILLI = "_milli"
#: Columns beyond these, when a workload has them: kbit/s, bytes, bytes/s.
NET = "net_kbit"
DISK = "disk_bytes"
DISK_IO = "disk_io_bytes"

#: The order of the columns that every workload has.
BASE = (CPU, MEMORY)

#: What a container that states no request counts as when nodes are scored (never when filtered).
NONZERO_DEFAULT = {CPU: 100, MEMORY: 200 * 2**20}
#: Decimal fractions times a unit miss whole numbers by rounding; that is no millicore and no byte.
_ROUNDING = 1e-6


def rounded_up(amounts: FloatArray) -> FloatArray:
    """Return the amounts rounded up to whole numbers, in the same shape."""
    return np.ceil(amounts - _ROUNDING)


def rounded_down(amounts: FloatArray) -> FloatArray:
    """Return the amounts rounded down to whole numbers, in the same shape."""
    return np.floor(amounts + _ROUNDING)


#: Stands for "no limit" in an int64 column; small enough that sums do not overflow.
UNLIMITED = 2**62

_SHORT = {"cpu": CPU, "memory": MEMORY}


def full_name(short: str) -> str:
    """Return ``cpu_milli`` for ``cpu``, ``memory_bytes`` for ``memory``, other names unchanged."""
    return _SHORT.get(short, short)


#: Other names of a column: policies that ask for it look at shares of capacity, whatever the unit.
_SAME = {NET: ("net",), DISK: ("disk",), DISK_IO: ("disk_io",)}


def amount_text(amount: float, resource: str) -> str:
    """Return an amount as people write it: 32 cores, 1.5 GiB, 0.5 gpu, 2 nvidia.com/gpu."""
    if resource.endswith("_bytes"):
        return memory(amount)
    thousandths = resource.endswith(_MILLI)
    shown = f"{amount / MILLI_PER_CORE:,.6g}" if thousandths else f"{amount:,.6g}"
    return f"{shown} {noun(resource)}"


def noun(resource: str) -> str:
    """Return the unit of a column that is not in bytes, as a noun: ``gpu`` for ``gpu_milli``."""
    return "cores" if resource == CPU else resource.removesuffix(_MILLI).replace("_", " ")


def column_of(resources: Sequence[str], name: str) -> int | None:
    """Return the position in ``resources`` of a resource, by name or alias; None without it."""
    for alias in (name, *_SAME.get(name, ())):
        if alias in resources:
            return list(resources).index(alias)
    return None


def lacking(wanted: Iterable[str], resources: Sequence[str]) -> list[str]:
    """Return the wanted resources that a workload does not have, under any name."""
    return [name for name in wanted if column_of(resources, name) is None]


#: What measures of a resource are called after, where its column says it in other words.
_IN_MEASURES = {
    CPU: "cpu",
    MEMORY: "memory",
    "net_kbit": "network",
    "net": "network",
    "disk_bytes": "disk",
}


def short_names(columns: Sequence[str]) -> list[str]:
    """Return names of resources for measures, such as ``cpu`` for cpu_milli.

    A name has only letters, digits and _. A column whose short name is taken keeps its long one.
    """
    names: list[str] = []
    for column in columns:
        letters = re.sub(r"[^0-9a-z]+", "_", column.lower()).strip("_")
        name = _IN_MEASURES.get(column, letters)
        names.append(letters if name in names else name)
    return names


def is_scalar(name: str) -> bool:
    """Return whether a resource is other than CPU, memory and ephemeral storage.

    Scoring leaves such a resource out for a container that does not request it.
    """
    return name not in (CPU, MEMORY, "ephemeral-storage")


def column_order(names: Iterable[str]) -> tuple[str, ...]:
    """Return the columns in order: cpu, memory, pods if present, then the others by name."""
    others = set(names) - set(BASE)
    pods = (PODS,) if PODS in others else ()
    return (*BASE, *pods, *sorted(others - {PODS}))


def amounts(resources: Sequence[str], given: Mapping[str, int]) -> IntArray:
    """Return the amounts of a mapping by resource as a row, shape (resources,); 0 if not given."""
    return np.array([given.get(name, 0) for name in resources], dtype=np.int64)


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
    """Return the amount that each node reserves for its background; None if nothing is reserved.

    It is the background's mean or percentile, but no more than ``held`` leaves of the capacity.

    Parameters
    ----------
    text : str
        ``none``, or such as ``background:memory:p95``; either word after a colon may be left out.
    background : float32, shape (2, steps, nodes)
        Use of nodes beyond their containers, in millicores and in bytes.
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
    reserved = np.zeros_like(capacity)
    for column in columns:
        amount = np.ceil(_typical(background[column], percentile)).astype(np.int64)
        free = np.maximum(capacity[:, column] - held[:, column], 0)
        limited = capacity[:, column] < UNLIMITED
        reserved[:, column] = np.where(limited, np.minimum(amount, free), 0)
    return reserved if reserved.any() else None


def held_at_most(
    node: IntArray, request: IntArray, arrival_ms: IntArray, departure_ms: IntArray, *, nodes: int
) -> IntArray:
    """Return the most that containers request on each node at one time, shape (nodes, resources).

    Parameters
    ----------
    node, arrival_ms, departure_ms : int64, shape (containers,)
        A node of -1 is none.
    request : int64, shape (containers, resources)
    """
    placed = np.flatnonzero(node >= 0)
    most = np.zeros((nodes, request.shape[1]), dtype=np.int64)
    if not len(placed):
        return most
    where = np.tile(node[placed], 2)
    when = np.concatenate([arrival_ms[placed], departure_ms[placed]])
    change = np.concatenate([request[placed], -request[placed]])
    is_arrival = np.repeat([1, 0], len(placed))
    # who goes makes room for who comes at that time; all go at last, so that nodes begin with 0
    order = np.lexsort((is_arrival, when, where))
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
    ranks = [float(match[1]) for one in rest if (match := _PERCENTILE.fullmatch(one))]
    valid = len(columns) + len(ranks) == len(rest) and len(columns) <= 1 and len(ranks) <= 1
    if first != "background" or not valid:
        raise TracekitError(f"reserved={text} is not known", hint=_FORM)
    return columns or list(range(len(BASE))), ranks[0] if ranks else None
