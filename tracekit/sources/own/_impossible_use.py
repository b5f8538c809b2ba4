"""Refuses use in another unit: what no node could give, or times of another scale."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources._cluster import Batch, Broken, lines_of
from tracekit.sources._stood import as_it_stands, row_text
from tracekit.units import BYTES_PER_GIB, SECONDS_UP_TO

#: Use of this many percent or less is more likely a percentage than millicores.
_MOST_PERCENT = 100.0
_NANOCORES_FROM = 1e6
#: No process makes do with so little; a container on a node of this size has one.
_LEAST_BYTES = 65_536
#: Containers that do nothing use a thousandth of a core.
_LEAST = {"cpu": 0.001, "memory": float(_LEAST_BYTES)}
_NODE_BYTES = BYTES_PER_GIB
_UNITS = {"cpu": "cores", "memory": "bytes"}
#: What a file states CPU in, and how many of these are a core.
CORES, MILLICORES = ("cores", 1.0), ("millicores", 1000.0)
_Stated = tuple[str, float]
#: Sums of samples that lie a little beside one another.
_SLACK = 1.1
_TWICE = ", or like series of which several count the same"
#: As seconds these times are after 1973.
_SECONDS_FROM = 1e8


@dataclass(kw_only=True)
class _Sum:
    """The use of a resource at each time, and how many values there are of which size."""

    rows: int = 0
    above: int = 0
    small: int = 0
    most: float = 0.0
    at: list[pl.DataFrame] = field(default_factory=list)


def possible(
    read: Iterable[Batch | Broken],
    name: str,
    nodes: Mapping[str, Mapping[str, float]],
    cpu: _Stated = CORES,
) -> Iterator[Batch | Broken]:
    """What is read, unless most of the use is impossible.

    A single value that no node could give is broken, whatever became of its counter.

    Parameters
    ----------
    name : str
        What messages call the file.
    nodes : mapping of str to mapping of str to float
        The cores and bytes of each node that is known: cpu, memory.
    cpu : (str, float)
        What the file states CPU in.

    Raises
    ------
    TracekitError
        When most values, or most sums over all containers or nodes, are more than the nodes have;
        or when most memory is less than any process takes.
    """
    whole = {what: _known(nodes, what) for what in _UNITS}
    sums: dict[tuple[str, str], _Sum] = {}
    for one in read:
        if isinstance(one, Batch) and one.table in ("container_amount", "node_amount"):
            _add(sums, one, whole)
            yield from _given(one, whole, cpu)
        else:
            yield one
    for of, found in sums.items():
        _check(name, of, found, whole[of[1]], _stated(of[1], cpu))


def _known(nodes: Mapping[str, Mapping[str, float]], what: str) -> list[float]:
    return [sizes[what] for sizes in nodes.values() if sizes.get(what, 0.0) > 0]


def _stated(what: str, cpu: _Stated) -> _Stated:
    """What a file states a resource in."""
    return cpu if what == "cpu" else (_UNITS[what], 1.0)


def _given(
    batch: Batch, whole: Mapping[str, list[float]], cpu: _Stated
) -> Iterator[Batch | Broken]:
    """The rows that a node could give, and the others, which are broken."""
    amount = pl.col("amount").cast(pl.Float64, strict=False)
    limits = [
        (pl.col("resource") == what) & (pl.col("unit") == unit) & (amount > _SLACK * max(most))
        for what, unit in _UNITS.items()
        if (most := whole[what])
    ]
    beyond = pl.any_horizontal(*limits).fill_null(False) if limits else pl.lit(value=False)
    yield replace(batch, rows=batch.rows.filter(~beyond))
    name = batch.table.partition("_")[0]
    wrong = batch.rows.filter(beyond)
    lines = lines_of(batch, wrong["line"])
    for row in wrong.iter_rows(named=True):
        what, stood = row["resource"], lines.get(row["line"])
        time = row["time_ms"] if stood is None else as_it_stands(stood, "time_ms")
        unit, per = _stated(what, cpu)
        yield Broken(
            table=batch.table,
            line=row["line"],
            column="amount",
            reason=f"is {float(row['amount']) * per:,.4g} {unit} of {what} at {time},"
            f" expected no more than the {max(whole[what]) * per:,.10g} of the largest node",
            text=str(row[name]) if stood is None else row_text(stood),
        )


def _add(sums: dict[tuple[str, str], _Sum], batch: Batch, whole: Mapping[str, list[float]]) -> None:
    for what, unit in _UNITS.items():
        ours = (pl.col("resource") == what) & (pl.col("unit") == unit)
        rows = batch.rows.filter(ours).select(
            pl.col("time_ms").cast(pl.Int64, strict=False),
            pl.col("amount").cast(pl.Float64, strict=False),
        )
        rows = rows.drop_nulls().filter(pl.col("amount") > 0)
        if not whole[what] or not rows.height:
            continue
        found = sums.setdefault((batch.table, what), _Sum())
        amounts = rows["amount"].to_numpy()
        found.rows += len(amounts)
        found.above += int((amounts > max(whole[what])).sum())
        found.small += int((amounts < _LEAST[what]).sum())
        found.most = max(found.most, float(amounts.max()))
        found.at.append(rows.group_by("time_ms").agg(pl.col("amount").sum()))


def _check(
    name: str, of: tuple[str, str], found: _Sum, nodes: list[float], stated: _Stated
) -> None:
    table, what = of
    unit, per = stated
    whose = table.partition("_")[0]
    totals = pl.concat(found.at).group_by("time_ms").agg(pl.col("amount").sum())["amount"]
    middle = float(np.median(totals.to_numpy()))
    above = found.above * 2 > found.rows
    if above or middle > _SLACK * sum(nodes):
        seen = (
            f"{found.above:,} of {found.rows:,} values of {what} are above the"
            f" {max(nodes) * per:,.10g} {unit} of the largest node, up to {found.most * per:,.10g}"
            if above
            else f"the {whose}s use {middle * per:,.10g} {unit} at a time, all {len(nodes):,}"
            f" nodes together have {sum(nodes) * per:,.10g}"
        )
        raise TracekitError(
            f"{name}: {what} in use is in {unit}, but {seen}",
            hint=f"it looks like {_likely(stated, found.most, max(nodes))}"
            f"{'' if above else _TWICE}; nothing of the file was taken in",
        )
    _check_small(name, what, found, nodes, stated)


def _check_small(name: str, what: str, found: _Sum, nodes: list[float], stated: _Stated) -> None:
    """Raise TracekitError where most use is less than any process's, and none is much."""
    if found.small * 2 <= found.rows:
        return
    if what == "memory" and min(nodes) >= _NODE_BYTES:
        raise TracekitError(
            f"{name}: memory in use is in bytes, but {found.small:,} of {found.rows:,} values are"
            f" below {_LEAST_BYTES:,}",
            hint="it looks like MiB, or another larger unit; nothing of the file was taken in",
        )
    # as cores they are what a node can give, as millicores nobody ever does anything
    if stated == MILLICORES and found.most * MILLICORES[1] <= max(nodes):
        raise TracekitError(
            f"{name}: CPU in use is in millicores, but {found.small:,} of {found.rows:,} values are"
            f" below 1, and none is above {found.most * MILLICORES[1]:,.4g}",
            hint="it looks like cores: multiply them by 1,000; nothing of the file was taken in",
        )


def _likely(stated: _Stated, most: float, largest: float) -> str:
    """The unit that use of up to ``most`` is in, on nodes of up to ``largest``."""
    if stated == MILLICORES:
        return "microcores" if most <= 1000.0 * largest else "nanocores"
    if stated != CORES:
        return "a smaller unit than bytes, or the sum of several series"
    if most <= _MOST_PERCENT:
        return "percent"
    if most <= _MOST_PERCENT * largest:
        return "percent of a core, or millicores"
    return "nanocores" if most >= _NANOCORES_FROM else "millicores"


def check_times(name: str, times: np.ndarray, *, in_seconds: bool) -> None:
    """Raise TracekitError where times since 1970 are of another scale than they should be."""
    # a median takes ten times as long as these
    least, most = float(times.min()), float(times.max())
    right = most < SECONDS_UP_TO if in_seconds else least >= SECONDS_UP_TO or most < _SECONDS_FROM
    if right:
        return
    middle = float(np.median(times))
    if in_seconds and middle >= SECONDS_UP_TO:
        likely = "milliseconds" if middle < SECONDS_UP_TO * 1000 else "micro- or nanoseconds"
        raise TracekitError(
            f"{name}: its times are seconds since 1970, but {middle:.0f} is far ahead of today",
            hint=f"it looks like {likely}; nothing of the file was taken in",
        )
    if not in_seconds and _SECONDS_FROM <= middle < SECONDS_UP_TO:
        raise TracekitError(
            f"{name}: its times are milliseconds since 1970, but {middle:.0f} is before 1974",
            hint="it looks like seconds; nothing of the file was taken in",
        )
