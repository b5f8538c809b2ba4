"""Which unit the times and sizes of a folder's files are in; another one than theirs is refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.units import BYTES_PER_GIB, BYTES_PER_KIB, BYTES_PER_MIB
from tracekit.intake.sources._cluster import Opened
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources.own._folder.checks import most_of

#: No monitoring samples so often; so many samples tell.
_LEAST_STEP_MS = 1_000
_GAPS = 3
#: As seconds since 1970 these are of 2001 to 2096; as milliseconds nothing would have arrived in
#: the first eleven days.
_SINCE_1970_S = (1e9, 4e9)
#: As milliseconds since 1970 such times lie after the year 2200, as microseconds after 1970; and as
#: microseconds after 2200.
_MOST_MS = 7_258_118_400_000
_MOST_US = 1_000 * _MOST_MS
#: No node has so little, and a file of such nodes is in a larger unit.
_LEAST_OF_NODE = {"cpu_milli": (100, "cores"), "memory_bytes": (2**12, "GiB")}
#: Nobody asks for less and for no whole number of thousandths of a core.
_LEAST_ASKED_MILLI = 10
#: Where the largest request of all is no larger, and no larger than a node has cores, it is cores;
#: unless all are multiples of what people count thousandths of a core in.
_MOST_CORES_ASKED = 64
_ROUND_MILLI = 5
#: No process makes do with a request of so little, if it is the largest of all.
_LEAST_MOST_BYTES = BYTES_PER_MIB
#: Units that it may be in, how many bytes each is, and up to how many of them are asked for where
#: no node is known that they would have to fit.
_LARGER = (
    ("GiB", BYTES_PER_GIB, 64),
    ("MiB", BYTES_PER_MIB, 2**17),
    ("KiB", BYTES_PER_KIB, 2**30),
)
#: Docker starts no container with a limit of less: the container in the middle asks for more.
_LEAST_MIDDLE_BYTES = 6 * BYTES_PER_MIB
#: Of so many containers one stands in the middle; what a few ask for may be anything.
_MANY = 20
#: What is read of containers to tell.
_ASKED = {"container": pl.String, "cpu_milli": pl.Float64, "memory_bytes": pl.Float64}
_NOTHING_TAKEN = "nothing of the file was taken in"


def known_sizes(opened: Opened) -> Mapping[str, Mapping[str, float]]:
    """The cores and bytes of each node of the store, and of the file of nodes beside this one."""
    return {**opened.stored_sizes, **_sizes_of_nodes(opened)}


def _sizes_of_nodes(opened: Opened) -> dict[str, dict[str, float]]:
    """The cores and bytes of each node in the file of nodes beside this one."""
    found: dict[str, dict[str, float]] = {}
    columns = {"cpu_milli": ("cpu", 1000.0), "memory_bytes": ("memory", 1.0)}
    for file in opened.beside.get("nodes", ()):
        for frame, _ in named_frames(file, "node", needed=("node", *columns)):
            rows = frame.select("node", *map(_amount, columns))
            for node, *amounts in rows.iter_rows():
                pairs = zip(columns.values(), amounts, strict=True)
                sizes = {what: (one or 0.0) / per for (what, per), one in pairs}
                found.setdefault(str(node), sizes)
    return found


def _amount(column: str) -> pl.Expr:
    """What a column holds, where that is more than 0 and something that a machine may have."""
    value = pl.col(column).cast(pl.Float64, strict=False)
    most = most_of(column)
    return pl.when((value > 0) & (value <= (float("inf") if most is None else most))).then(value)


def check_steps(name: str, frame: pl.DataFrame, entity: str) -> None:
    """Raise TracekitError where an entity's samples follow as seconds do, or lie too late."""
    if not {entity, "time_ms"} <= set(frame.columns):
        return
    times = frame.select(entity, pl.col("time_ms").cast(pl.Float64, strict=False)).drop_nulls()
    _check_epoch(name, "time_ms", times["time_ms"])
    gaps = (
        times.unique()
        .sort(entity, "time_ms")
        .select(pl.col("time_ms").diff().over(entity))
        .drop_nulls()["time_ms"]
    )
    if len(gaps) < _GAPS:
        return
    usual = float(gaps.mode().min())  # type: ignore[arg-type]
    if usual < _LEAST_STEP_MS:
        raise TracekitError(
            f"{name}: times are in milliseconds, but the samples of a {entity} are {usual:g} ms"
            " apart",
            hint=f"it looks like seconds: multiply them by 1,000; {_NOTHING_TAKEN}",
        )


def check_arrivals(name: str, frame: pl.DataFrame) -> None:
    """Raise TracekitError where all arrivals are seconds, or micro- or nanoseconds, since 1970."""
    times = frame["arrival_ms"].cast(pl.Float64, strict=False).drop_nulls()
    _check_epoch(name, "arrival_ms", times)
    low, high = _SINCE_1970_S
    if len(times) and times.is_between(low, high).all():
        raise TracekitError(
            f"{name}: arrival_ms is in milliseconds, but the containers arrive between"
            f" {min(times):.0f} and {max(times):.0f}",
            hint="it looks like seconds since 1970: multiply them by 1,000; nothing of the file"
            " was taken in",
        )


def _check_epoch(name: str, column: str, times: pl.Series) -> None:
    """Raise TracekitError where most times would lie after the year 2200."""
    late = times.filter(times >= _MOST_MS)
    if 2 * len(late) > len(times):
        likely, per = ("microseconds", "1,000") if late[0] < _MOST_US else ("nanoseconds", "10^6")
        raise TracekitError(
            f"{name}: {column} is in milliseconds, but {late[0]:.0f} would be after the year 2200",
            hint=f"it looks like {likely} since 1970: divide them by {per}; {_NOTHING_TAKEN}",
        )


def check_node_sizes(name: str, frame: pl.DataFrame) -> None:
    """Raise TracekitError where most nodes are smaller than any node is."""
    for column, (least, likely) in _LEAST_OF_NODE.items():
        sizes = frame[column].cast(pl.Float64, strict=False).drop_nulls()
        sizes = sizes.filter(sizes > 0)
        small = sizes.filter(sizes < least)
        if 2 * len(small) > len(sizes):
            raise TracekitError(
                f"{name}: {len(small):,} of {len(sizes):,} values of {column} are below"
                f" {least:,}, {small[0]:g} for example",
                hint=f"it looks like {likely}; nothing of the file was taken in",
            )


def check_requests(opened: Opened) -> None:
    """Raise TracekitError where the containers' requests are in another unit than their column's.

    The largest request of all containers decides: a small one is no sign of a wrong unit.
    """
    asked = pl.concat([pl.DataFrame(schema=_ASKED), *_asked(opened)])
    _check_fractions(opened.name, asked)
    _check_cores(opened, asked)
    _check_bytes(opened, asked.drop_nulls("memory_bytes"))


def _asked(opened: Opened) -> Iterator[pl.DataFrame]:
    for file in opened.beside.get("containers", (opened,)):
        for frame, _ in named_frames(file, "container", needed=tuple(_ASKED)):
            # nobody asks for 0 or less: it is no request
            yield frame.select(
                pl.col("container").cast(pl.String), *map(_amount, ("cpu_milli", "memory_bytes"))
            )


def _check_fractions(name: str, rows: pl.DataFrame) -> None:
    """Most are less than anybody asks for, and no whole ones."""
    asked = rows["cpu_milli"].drop_nulls()
    small = asked.filter((asked < _LEAST_ASKED_MILLI) & (asked != asked.floor()))
    if 2 * len(small) > len(asked):
        raise _in_cores(
            name,
            f"{len(small):,} of {len(asked):,} values of cpu_milli are no whole"
            f" numbers and below {_LEAST_ASKED_MILLI}, {small[0]:g} for example",
        )


def _check_cores(opened: Opened, rows: pl.DataFrame) -> None:
    """As cores even the largest request fits a node, and as thousandths of one it is hardly one."""
    asked = rows.drop_nulls("cpu_milli")
    if not asked.height:
        return
    most = float(asked["cpu_milli"].max())  # type: ignore[arg-type]
    nodes = known_sizes(opened)
    cores = max((one.get("cpu", 0.0) for one in nodes.values()), default=_LEAST_ASKED_MILLI)
    if most > cores:
        return
    values = asked["cpu_milli"]
    whole = bool((values == values.floor()).all() and (values % _ROUND_MILLI != 0).any())
    if whole and most <= _MOST_CORES_ASKED:
        raise _in_cores(
            opened.name, f"the largest cpu_milli of {asked.height:,} containers is {most:g}"
        )


def _in_cores(name: str, told: str) -> TracekitError:
    return TracekitError(
        f"{name}: {told}",
        hint=f"it looks like cores: multiply them by 1,000; {_NOTHING_TAKEN}",
    )


def _check_bytes(opened: Opened, asked: pl.DataFrame) -> None:
    """Requests of memory are less than a process, or a container, takes, or are far below use."""
    values = asked["memory_bytes"]
    if not len(values):
        return
    most, middle = float(values.max()), float(values.median())  # type: ignore[arg-type]
    likely = _larger_unit(most, known_sizes(opened))
    if likely is None:
        return
    told = ""
    if most < _LEAST_MOST_BYTES:
        told = f"the largest memory_bytes of {len(values):,} containers is {most:,.10g}"
    elif middle < _LEAST_MIDDLE_BYTES and len(values) >= _MANY:
        told = (
            f"the memory_bytes in the middle of {len(values):,} containers is {middle:,.10g}, less"
            f" than the {_LEAST_MIDDLE_BYTES:,} that a container takes to start"
        )
    if told:
        raise _in_larger(opened.name, told, likely)


def _in_larger(name: str, told: str, likely: tuple[str, int]) -> TracekitError:
    unit, per = likely
    return TracekitError(
        f"{name}: {told}",
        hint=f"it looks like {unit}: multiply them by {per:,}; {_NOTHING_TAKEN}",
    )


def _larger_unit(most: float, nodes: Mapping[str, Mapping[str, float]]) -> tuple[str, int] | None:
    """The largest unit in which a node has room for so many; None for none."""
    bytes_of = max((one.get("memory", 0.0) for one in nodes.values()), default=0.0)
    for unit, per, usual in _LARGER:
        if (most * per <= bytes_of) if bytes_of else (most <= usual):
            return unit, per
    return None
