"""How large machine types are against each other, by what the same VM types take of them.

A VM type that takes half of one machine type and a quarter of another says that the other has
twice as much. So each resource gets capacities in one unit, and each VM type one request.
"""

import statistics
from collections import defaultdict
from collections.abc import Mapping

import polars as pl

#: Upstream's columns, and the resources they are.
RESOURCES = {"core": "cpu", "memory": "memory", "hdd": "hdd", "ssd": "ssd", "nic": "net"}
#: Requests are rounded down and capacities up to so many steps, so that VMs which fill a machine
#: on paper fill it here; what floats have lost of a step is none.
_STEPS, _LOST = 1e9, 1e-3

_Fractions = Mapping[tuple[str, str], float]


def capacities(types: pl.DataFrame) -> pl.DataFrame:
    """The capacity of each machine type, of each resource; the largest has 1.

    Where no VM type takes any of a resource there, the capacity is empty. Machine types that no
    VM type links to the others have 1.

    Parameters
    ----------
    types : DataFrame
        ``vmTypeId``, ``machineId``, ``line`` and a fraction for each of ``RESOURCES``.
    """
    rows = types.group_by("machineId", maintain_order=True).agg(pl.col("line").first())
    for name in RESOURCES:
        found = _relative(_fractions(types, name))
        values = [found.get(one) for one in rows["machineId"]]
        rows = rows.with_columns(pl.Series(name, values, dtype=pl.Float64))
    return rows


def requests(types: pl.DataFrame, sizes: pl.DataFrame) -> pl.DataFrame:
    """The request of each VM type, in the unit of the capacities: the median over its machines.

    In whole steps, rounded down; ``sizes`` are the capacities before they are rounded.
    """
    joined = types.join(sizes, on="machineId", suffix="_of_machine")
    medians = joined.group_by("vmTypeId", maintain_order=True).agg(
        (pl.col(name) * pl.col(f"{name}_of_machine")).median().alias(name) for name in RESOURCES
    )
    return medians.with_columns(
        ((pl.col(name) * _STEPS + _LOST).floor() / _STEPS).alias(name) for name in RESOURCES
    )


def rounded_up(sizes: pl.DataFrame) -> pl.DataFrame:
    """The capacities in whole steps."""
    return sizes.with_columns(
        ((pl.col(name) * _STEPS - _LOST).ceil() / _STEPS).alias(name) for name in RESOURCES
    )


def _fractions(types: pl.DataFrame, name: str) -> _Fractions:
    rows = types.filter(pl.col(name) > 0).select("vmTypeId", "machineId", name)
    return {(vm, machine): share for vm, machine, share in rows.iter_rows()}


def _relative(fractions: _Fractions) -> dict[str, float]:
    """Capacities one after another: next the machine that most of the known VM types fit."""
    of_machine: dict[str, dict[str, float]] = defaultdict(dict)
    for (vm, machine), share in fractions.items():
        of_machine[machine][vm] = share
    amounts: dict[str, float] = {}
    found: dict[str, float] = {}
    while left := [machine for machine in of_machine if machine not in found]:
        machine = max(left, key=lambda one: _known(of_machine[one], amounts))
        shares = of_machine[machine]
        ratios = [amounts[vm] / share for vm, share in shares.items() if vm in amounts]
        found[machine] = statistics.median_low(ratios) if ratios else 1.0
        for vm, share in shares.items():
            amounts.setdefault(vm, share * found[machine])
    largest = max(found.values(), default=1.0)
    return {machine: size / largest for machine, size in found.items()}


def _known(shares: Mapping[str, float], amounts: Mapping[str, float]) -> tuple[int, int]:
    return len(shares.keys() & amounts.keys()), len(shares)
