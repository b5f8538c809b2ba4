"""The rows of a regression as arrays: regressors, target, service and instance by number."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray

#: The last counts only where it is asked for: the patent looks at one socket.
PRESSURES = ("cpu_sc", "cpu_ss", "cpu_os")
LOAD = "load"
#: What a coefficient is called, by its regressor.
COEFFICIENTS = {"cpu_sc": "k1", "cpu_ss": "k2", "cpu_os": "k3", "load": "k_load"}


@dataclass(frozen=True)
class Table:
    """Rows ordered by service.

    Parameters
    ----------
    names : tuple of str
        The regressors: of ``cpu_sc, cpu_ss, cpu_os, load``.
    regressors : float64, shape (rows, regressors)
    target : float64, shape (rows,)
    service, instance : int64, shape (rows,)
    services : tuple of str
    left_out : int
        Rows without a load, where load is a regressor.
    """

    names: tuple[str, ...]
    regressors: FloatArray
    target: FloatArray
    service: IntArray
    instance: IntArray
    services: tuple[str, ...]
    left_out: int = 0

    @property
    def coefficients(self) -> tuple[str, ...]:
        """Names of the coefficients, without the intercept."""
        return tuple(COEFFICIENTS[name] for name in self.names)

    @property
    def pressures(self) -> int:
        """How many of the regressors, the first ones, are neighbours."""
        return sum(name in PRESSURES for name in self.names)

    def ranges(self) -> Iterator[tuple[int, slice]]:
        """Each service with the range of its rows."""
        starts = np.searchsorted(self.service, np.arange(len(self.services) + 1))
        for at in range(len(self.services)):
            yield at, slice(int(starts[at]), int(starts[at + 1]))


def make_table(rows: pl.DataFrame, *, load: bool = False, other_sockets: bool = False) -> Table:
    """The table of rows; without ``cpu_sc`` anywhere that regressor is left out.

    Load is relative to the service's mean load: its coefficient is the CPU of a doubling, so that
    services can be pooled.
    """
    asked = PRESSURES if other_sockets else PRESSURES[:2]
    names: Sequence[str] = [name for name in asked if rows[name].is_not_null().any()]
    whole = rows.height
    if load:
        names = [*names, LOAD]
        mean = pl.col(LOAD).mean().over("service")
        relative = pl.when(mean > 0).then(pl.col(LOAD) / mean - 1)
        rows = rows.with_columns(relative.alias(LOAD)).filter(pl.col(LOAD).is_not_null())
    rows = rows.sort("service", maintain_order=True)
    services = rows["service"].unique().sort()
    return Table(
        names=tuple(names),
        regressors=np.ascontiguousarray(rows.select(names).to_numpy().astype(np.float64)),
        target=rows["cpu"].to_numpy().astype(np.float64),
        service=_numbered(rows["service"]),
        instance=_numbered(rows["instance"]),
        services=tuple(services),
        left_out=whole - rows.height,
    )


def _numbered(names: pl.Series) -> IntArray:
    return (names.rank("dense") - 1).to_numpy().astype(np.int64)


def service_means(table: Table, values: FloatArray, train: BoolArray) -> FloatArray:
    """Mean of ``values`` over each service's training rows, shape (services, ...); NaN if none."""
    count = len(table.services)
    many = np.bincount(table.service[train], minlength=count)
    columns = values.reshape(len(values), -1)[train]
    sums = np.stack(
        [np.bincount(table.service[train], column, count) for column in columns.T], axis=1
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        return (sums / many[:, None]).reshape(count, *values.shape[1:])
