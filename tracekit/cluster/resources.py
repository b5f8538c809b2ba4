"""Resource names, and integer arrays of amounts.

CPU is in millicores and memory in bytes; any other resource is counted in its own unit. Kubernetes
calls them ``cpu`` and ``memory``; columns of arrays have the unit in their name.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
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
    """Amounts rounded up to whole numbers; any shape."""
    return np.ceil(amounts - _ROUNDING)


def rounded_down(amounts: FloatArray) -> FloatArray:
    """Amounts rounded down to whole numbers; any shape."""
    return np.floor(amounts + _ROUNDING)


#: Stands for "no limit" in an int64 column; small enough that sums do not overflow.
UNLIMITED = 2**62

_SHORT = {"cpu": CPU, "memory": MEMORY}


def full_name(short: str) -> str:
    """The column of a resource as Kubernetes names it: ``cpu_milli`` for ``cpu``."""
    return _SHORT.get(short, short)


#: Other names of a column: policies that ask for it look at shares of capacity, whatever the unit.
_SAME = {NET: ("net",), DISK: ("disk",), DISK_IO: ("disk_io",)}


def amount_text(amount: float, resource: str) -> str:
    """An amount of a column as people write it: 32 cores, 1.5 GiB, 0.5 gpu, 2 nvidia.com/gpu."""
    if resource.endswith("_bytes"):
        return memory(amount)
    thousandths = resource.endswith(_MILLI)
    shown = f"{amount / MILLI_PER_CORE:,.6g}" if thousandths else f"{amount:,.6g}"
    return f"{shown} {noun(resource)}"


def noun(resource: str) -> str:
    """The unit of a column that is not in bytes, as a noun."""
    return "cores" if resource == CPU else resource.removesuffix(_MILLI).replace("_", " ")


def column_of(resources: Sequence[str], name: str) -> int | None:
    """The column of a resource, under its own name or an alias; None if there is none."""
    for known in (name, *_SAME.get(name, ())):
        if known in resources:
            return list(resources).index(known)
    return None


def lacking(wanted: Iterable[str], resources: Sequence[str]) -> list[str]:
    """The wanted resources that a workload does not have, under any name."""
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
    """Names of resources for measures, as ``cpu`` for cpu_milli; letters, digits and _ alone.

    If that name is taken, the name is made of all letters of the column.
    """
    found: list[str] = []
    for column in columns:
        letters = re.sub(r"[^0-9a-z]+", "_", column.lower()).strip("_")
        name = _IN_MEASURES.get(column, letters)
        found.append(letters if name in found else name)
    return found


def is_scalar(name: str) -> bool:
    """Whether scoring leaves the resource out if a container does not request it."""
    return name not in (CPU, MEMORY, "ephemeral-storage")


def column_order(names: Iterable[str]) -> tuple[str, ...]:
    """Column names: cpu, memory, pods if there is such a column, then the others by name."""
    others = set(names) - set(BASE)
    pods = (PODS,) if PODS in others else ()
    return (*BASE, *pods, *sorted(others - {PODS}))


def amounts(resources: Sequence[str], given: Mapping[str, int]) -> IntArray:
    """The amounts of a mapping of resources as a row, shape (resources,); 0 if not given."""
    return np.array([given.get(name, 0) for name in resources], dtype=np.int64)
