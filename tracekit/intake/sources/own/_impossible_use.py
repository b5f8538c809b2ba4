"""Refuses use that no node could give, and times of another scale: both are in another unit."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.units import BYTES_PER_GIB, BYTES_PER_KIB, BYTES_PER_MIB, SECONDS_UP_TO
from tracekit.intake.sources._rows import Places
from tracekit.intake.sources._source import Batch, Broken, as_it_stands, lines_of, row_text

#: Use of this many percent or less is more likely a percentage than millicores.
_MOST_PERCENT = 100.0
_NANOCORES_FROM = 1e6
#: The least memory of a process; a container on a node of ``_NODE_BYTES`` has a process.
_LEAST_BYTES = 65_536
#: The least memory of a node, and the least memory limit of a container in Docker.
_LEAST_MIDDLE_BYTES = {"node": 128 * BYTES_PER_MIB, "container": 6 * BYTES_PER_MIB}
#: The entities at a time that are enough to judge them by the least memory.
_MANY = {"node": 1, "container": 20}
#: The use of an idle container.
_LEAST = {"cpu": 0.001, "memory": float(_LEAST_BYTES)}
_NODE_BYTES = BYTES_PER_GIB
_UNITS = {"cpu": "cores", "memory": "bytes"}
#: The unit of CPU in a file, and the number of them in a core.
CORES, MILLICORES = ("cores", 1.0), ("millicores", 1000.0)
_Stated = tuple[str, float]
#: The tolerance for sums of samples that are not quite of one time.
_SLACK = 1.1
_TWICE = ", or like series of which several count the same"
#: As seconds these times are after 1973.
_SECONDS_FROM = 1e8


@dataclass(kw_only=True)
class _Sum:
    """The use of a resource at each time, and the numbers of large and small values."""

    rows: int = 0
    above: int = 0
    small: int = 0
    little: int = 0
    most: float = 0.0
    #: The size of the node of the largest value.
    room: float = 0.0
    at: list[pl.DataFrame] = field(default_factory=list)


class _Room:
    """The size of the node of each row; a row without a known node gets the largest size."""

    def __init__(
        self, nodes: Mapping[str, Mapping[str, float]], places: Places | None, what: str
    ) -> None:
        sizes = {node: size[what] for node, size in nodes.items() if size.get(what, 0.0) > 0}
        self._sizes = pl.DataFrame(
            {"node": list(sizes), "room": list(sizes.values())},
            schema={"node": pl.String, "room": pl.Float64},
        )
        self._places = places
        self.whole = list(sizes.values())

    def beside(self, rows: pl.DataFrame, table: str) -> pl.DataFrame:
        """The rows with ``node``, NULL for an unknown node, and ``room``, the size of the node."""
        if table == "container_amount" and self._places is not None:
            rows = self._places.of(rows)
        elif "node" not in rows.columns:
            rows = rows.with_columns(node=pl.lit(None, pl.String))
        placed = rows.with_columns(pl.col("node").cast(pl.String)).join(
            self._sizes, on="node", how="left", maintain_order="left"
        )
        node = pl.when(pl.col("room").is_not_null()).then("node")
        return placed.with_columns(node.alias("node"), pl.col("room").fill_null(max(self.whole)))


def possible(
    read: Iterable[Batch | Broken],
    name: str,
    nodes: Mapping[str, Mapping[str, float]],
    cpu: _Stated = CORES,
    places: Places | None = None,
) -> Iterator[Batch | Broken]:
    """Yield what ``read`` yields, with a reject in place of each use that its node cannot provide.

    Parameters
    ----------
    name : str
        The name of the file in messages.
    nodes : mapping of str to mapping of str to float
        The cores and bytes (``cpu``, ``memory``) of each known node.
    cpu : (str, float)
        The unit of CPU in the file, and how many of it make a core.
    places : Places, optional
        The node of each container.

    Raises
    ------
    TracekitError
        If the unit of the file seems wrong: when most values, or most sums at one time, are above
        the size of their node or of all nodes, or when most memory is less than a process takes.
    """
    rooms = {what: _Room(nodes, places, what) for what in _UNITS}
    sums: dict[tuple[str, str], _Sum] = {}
    for one in read:
        if isinstance(one, Batch) and one.table in ("container_amount", "node_amount"):
            yield from _given(one, rooms, sums, cpu)
        else:
            yield one
    for of, total in sums.items():
        _check(name, of, total, rooms[of[1]], _stated(of[1], cpu))


def _stated(what: str, cpu: _Stated) -> _Stated:
    """The unit of a resource in a file, and the number of them in the unit of the store."""
    return cpu if what == "cpu" else (_UNITS[what], 1.0)


def _given(
    batch: Batch, rooms: Mapping[str, _Room], sums: dict[tuple[str, str], _Sum], cpu: _Stated
) -> Iterator[Batch | Broken]:
    """Yield the rows that a node could give, and a reject for each other row; count all rows."""
    numbered = batch.rows.with_row_index("at")
    beyond: list[pl.DataFrame] = []
    for what, unit in _UNITS.items():
        ours = (pl.col("resource") == what) & (pl.col("unit") == unit)
        rows = numbered.filter(ours).with_columns(
            pl.col("time_ms").cast(pl.Int64, strict=False),
            pl.col("amount").cast(pl.Float64, strict=False),
        )
        if rooms[what].whole and rows.height:
            both = rooms[what].beside(rows.filter(pl.col("amount") > 0), batch.table)
            _add(sums, (batch.table, what), both.drop_nulls("time_ms"))
            beyond.append(both.filter(pl.col("amount") > _SLACK * pl.col("room")))
    wrong = pl.concat(beyond).sort("at") if beyond else numbered.clear()
    if not wrong.height:
        yield batch
        return
    yield replace(
        batch, rows=batch.rows.filter(~pl.Series(numbered["at"].is_in(wrong["at"].implode())))
    )
    lines = lines_of(batch, wrong["line"])
    name = batch.table.partition("_")[0]
    for row in wrong.iter_rows(named=True):
        original = lines.get(row["line"])
        time = row["time_ms"] if original is None else as_it_stands(original, "time_ms")
        unit, per = _stated(row["resource"], cpu)
        limit = f"its node {row['node']}" if row["node"] and name != "node" else "the largest node"
        yield Broken(
            table=batch.table,
            line=row["line"],
            column="amount",
            reason=f"is {row['amount'] * per:,.4g} {unit} of {row['resource']} at {time},"
            f" expected no more than the {row['room'] * per:,.10g} of {limit}",
            text=str(row[name]) if original is None else row_text(original),
        )


def _add(sums: dict[tuple[str, str], _Sum], of: tuple[str, str], rows: pl.DataFrame) -> None:
    if not rows.height:
        return
    what = of[1]
    total = sums.setdefault(of, _Sum())
    amount, room = pl.col("amount"), pl.col("room")
    small = (amount < _LEAST[what]) & (room >= (_NODE_BYTES if what == "memory" else 0.0))
    total.rows += rows.height
    total.above += rows.filter(amount > room).height
    total.small += rows.filter(small).height
    if what == "memory":
        least = _LEAST_MIDDLE_BYTES[of[0].partition("_")[0]]
        total.little += rows.filter((amount < least) & (room >= _NODE_BYTES)).height
    largest = rows.sort("amount").row(-1, named=True)
    if largest["amount"] > total.most:
        total.most, total.room = largest["amount"], largest["room"]
    total.at.append(rows.group_by("time_ms", "node").agg(amount.sum(), room.first(), pl.len()))


def _check(name: str, of: tuple[str, str], total: _Sum, room: _Room, stated: _Stated) -> None:
    table, what = of
    unit, per = stated
    entity = table.partition("_")[0]
    cells = (
        pl.concat(total.at)
        .group_by("time_ms", "node")
        .agg(pl.col("amount", "len").sum(), pl.col("room").first())
    )
    at_once = cells.group_by("time_ms").agg(pl.col("amount", "len").sum())
    totals = at_once["amount"]
    middle, nodes = float(np.median(totals.to_numpy())), room.whole
    of_node = cells.drop_nulls("node")
    full = of_node.filter(pl.col("amount") > _SLACK * pl.col("room"))
    above = total.above * 2 > total.rows
    if above:
        seen = (
            f"{total.above:,} of {total.rows:,} values of {what} are above what their node has, up"
            f" to {total.most * per:,.10g} on one of {total.room * per:,.10g} {unit}"
        )
    elif middle > _SLACK * sum(nodes):
        seen = (
            f"the {entity}s use {middle * per:,.10g} {unit} at a time, all {len(nodes):,} nodes"
            f" together have {sum(nodes) * per:,.10g}"
        )
    elif full.height * 2 > of_node.height:
        most = full.sort("amount", "time_ms", "node").row(-1, named=True)
        seen = (
            f"the {entity}s of node {most['node']} use {most['amount'] * per:,.10g} {unit}"
            f" together, it has {most['room'] * per:,.10g}, and so it is on most nodes"
        )
    else:
        _check_small(name, what, total, stated)
        many = float(np.median(at_once["len"].to_numpy())) >= _MANY[entity]
        # as KiB even the largest would fit its node
        if many and total.little * 2 > total.rows and total.most * BYTES_PER_KIB <= total.room:
            raise _in_kib(name, entity, total)
        return
    raise TracekitError(
        f"{name}: {what} in use is in {unit}, but {seen}",
        hint=f"it looks like {_likely(stated, total.most, total.room)}{'' if above else _TWICE};"
        " nothing of the file was taken in",
    )


def _check_small(name: str, what: str, total: _Sum, stated: _Stated) -> None:
    """Raise TracekitError where most use is below that of a process and no use is large."""
    if total.small * 2 <= total.rows:
        return
    if what == "memory":
        raise TracekitError(
            f"{name}: memory in use is in bytes, but {total.small:,} of {total.rows:,} values are"
            f" below {_LEAST_BYTES:,}",
            hint="it looks like MiB, or another larger unit; nothing of the file was taken in",
        )
    # as cores a node can give them; as millicores all containers are idle
    if stated == MILLICORES and total.most * MILLICORES[1] <= total.room:
        raise TracekitError(
            f"{name}: CPU in use is in millicores, but {total.small:,} of {total.rows:,} values are"
            f" below 1, and none is above {total.most * MILLICORES[1]:,.4g}",
            hint="it looks like cores: multiply them by 1,000; nothing of the file was taken in",
        )


def _in_kib(name: str, entity: str, total: _Sum) -> TracekitError:
    return TracekitError(
        f"{name}: memory in use is in bytes, but {total.little:,} of {total.rows:,} values of"
        f" {entity}s are below {_LEAST_MIDDLE_BYTES[entity]:,}, and none is above"
        f" {total.most:,.10g}",
        hint="it looks like KiB: multiply them by 1,024; nothing of the file was taken in",
    )


def _likely(stated: _Stated, most: float, largest: float) -> str:
    """The likely unit of use up to ``most``, on nodes of up to ``largest``."""
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
    """Raise TracekitError if times seem not to be in seconds (or else in ms) since 1970."""
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
