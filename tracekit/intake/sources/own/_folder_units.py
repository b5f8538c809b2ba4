"""Refuses times and sizes of a folder that are in another unit than their column states."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.units import BYTES_PER_GIB, BYTES_PER_KIB, BYTES_PER_MIB
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._source import Opened
from tracekit.intake.sources.own._folder_rules import most_of

#: The least distance of samples of a monitoring, and the distances that are enough to judge.
_LEAST_STEP_MS = 1_000
_GAPS = 3
#: As seconds since 1970 these times are of 2001 to 2096; as milliseconds they are of January 1970.
_SINCE_1970_S = (1e9, 4e9)
#: The year 2200, in ms and in microseconds since 1970.
_MOST_MS = 7_258_118_400_000
_MOST_US = 1_000 * _MOST_MS
#: The least size of a node; smaller nodes are in the larger unit beside it.
_LEAST_OF_NODE = {"cpu_milli": (100, "cores"), "memory_bytes": (2**12, "GiB")}
#: A smaller request that is no whole number of millicores is in cores.
_LEAST_REQUEST_MILLI = 10
#: Requests up to this number, and up to the cores of a node, are in cores, unless all are multiples
#: of ``_ROUND_MILLI``.
_MOST_REQUEST_CORES = 64
_ROUND_MILLI = 5
#: The largest request of all containers is not smaller.
_LEAST_MOST_BYTES = BYTES_PER_MIB
#: Larger units, their bytes, and the largest plausible request in each without a known node.
_LARGER = (
    ("GiB", BYTES_PER_GIB, 64),
    ("MiB", BYTES_PER_MIB, 2**17),
    ("KiB", BYTES_PER_KIB, 2**30),
)
#: The least memory limit of Docker; the median request is not smaller.
_LEAST_MIDDLE_BYTES = 6 * BYTES_PER_MIB
#: The containers that are enough to judge a median.
_MANY = 20
#: The columns of containers that are judged.
_REQUESTS = {"container": pl.String, "cpu_milli": pl.Float64, "memory_bytes": pl.Float64}
_NOTHING_TAKEN = "nothing of the file was taken in"


def sizes_of_nodes(opened: Opened) -> Mapping[str, Mapping[str, float]]:
    """Return the cores and bytes of each node, from the store and the file ``nodes``."""
    return {**opened.stored_sizes, **_sizes_of_nodes(opened)}


def _sizes_of_nodes(opened: Opened) -> dict[str, dict[str, float]]:
    """The cores and bytes of each node in the file of nodes beside this one."""
    nodes: dict[str, dict[str, float]] = {}
    columns = {"cpu_milli": ("cpu", 1000.0), "memory_bytes": ("memory", 1.0)}
    for file in opened.beside.get("nodes", ()):
        for frame, _ in named_frames(file, "node", needed=("node", *columns)):
            rows = frame.select("node", *map(_amount, columns))
            for node, *amounts in rows.iter_rows():
                pairs = zip(columns.values(), amounts, strict=True)
                sizes = {what: (one or 0.0) / per for (what, per), one in pairs}
                nodes.setdefault(str(node), sizes)
    return nodes


def _amount(column: str) -> pl.Expr:
    """The value of a column; NULL where it is 0 or less, or more than a machine has."""
    value = pl.col(column).cast(pl.Float64, strict=False)
    most = most_of(column)
    return pl.when((value > 0) & (value <= (float("inf") if most is None else most))).then(value)


def check_steps(name: str, frame: pl.DataFrame, entity: str) -> None:
    """Raise TracekitError if times seem not to be in ms.

    That is so if the samples of an entity are usually less than a second apart, or if most times
    are after the year 2200.
    """
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
    """Raise TracekitError if arrivals seem to be in seconds, micro- or nanoseconds since 1970."""
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
    """Raise TracekitError where most times are after the year 2200."""
    late = times.filter(times >= _MOST_MS)
    if 2 * len(late) > len(times):
        likely, per = ("microseconds", "1,000") if late[0] < _MOST_US else ("nanoseconds", "10^6")
        raise TracekitError(
            f"{name}: {column} is in milliseconds, but {late[0]:.0f} would be after the year 2200",
            hint=f"it looks like {likely} since 1970: divide them by {per}; {_NOTHING_TAKEN}",
        )


def check_node_sizes(name: str, frame: pl.DataFrame) -> None:
    """Raise TracekitError where most nodes are smaller than any real node."""
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
    """Raise TracekitError if requests seem to be in another unit than their columns' names say.

    All requests are judged together, because single requests may be small.
    """
    requests = pl.concat([pl.DataFrame(schema=_REQUESTS), *_requests(opened)])
    _check_fractions(opened.name, requests)
    _check_cores(opened, requests)
    _check_bytes(opened, requests.drop_nulls("memory_bytes"))


def _requests(opened: Opened) -> Iterator[pl.DataFrame]:
    for file in opened.beside.get("containers", (opened,)):
        for frame, _ in named_frames(file, "container", needed=tuple(_REQUESTS)):
            # 0 or less is no request
            yield frame.select(
                pl.col("container").cast(pl.String), *map(_amount, ("cpu_milli", "memory_bytes"))
            )


def _check_fractions(name: str, rows: pl.DataFrame) -> None:
    """Raise TracekitError where most CPU requests are small and no whole numbers."""
    requests = rows["cpu_milli"].drop_nulls()
    small = requests.filter((requests < _LEAST_REQUEST_MILLI) & (requests != requests.floor()))
    if 2 * len(small) > len(requests):
        raise _in_cores(
            name,
            f"{len(small):,} of {len(requests):,} values of cpu_milli are no whole"
            f" numbers and below {_LEAST_REQUEST_MILLI}, {small[0]:g} for example",
        )


def _check_cores(opened: Opened, rows: pl.DataFrame) -> None:
    """Raise TracekitError where all CPU requests are whole numbers that fit a node as cores."""
    requests = rows.drop_nulls("cpu_milli")
    if not requests.height:
        return
    most = float(requests["cpu_milli"].max())  # type: ignore[arg-type]
    nodes = sizes_of_nodes(opened)
    cores = max((one.get("cpu", 0.0) for one in nodes.values()), default=_LEAST_REQUEST_MILLI)
    if most > cores:
        return
    values = requests["cpu_milli"]
    whole = bool((values == values.floor()).all() and (values % _ROUND_MILLI != 0).any())
    if whole and most <= _MOST_REQUEST_CORES:
        raise _in_cores(
            opened.name, f"the largest cpu_milli of {requests.height:,} containers is {most:g}"
        )


def _in_cores(name: str, fault: str) -> TracekitError:
    return TracekitError(
        f"{name}: {fault}",
        hint=f"it looks like cores: multiply them by 1,000; {_NOTHING_TAKEN}",
    )


def _check_bytes(opened: Opened, requests: pl.DataFrame) -> None:
    """Raise TracekitError where memory requests are smaller than a process or container takes."""
    values = requests["memory_bytes"]
    if not len(values):
        return
    most, middle = float(values.max()), float(values.median())  # type: ignore[arg-type]
    likely = _larger_unit(most, sizes_of_nodes(opened))
    if likely is None:
        return
    fault = ""
    if most < _LEAST_MOST_BYTES:
        fault = f"the largest memory_bytes of {len(values):,} containers is {most:,.10g}"
    elif middle < _LEAST_MIDDLE_BYTES and len(values) >= _MANY:
        fault = (
            f"the memory_bytes in the middle of {len(values):,} containers is {middle:,.10g}, less"
            f" than the {_LEAST_MIDDLE_BYTES:,} that a container takes to start"
        )
    if fault:
        raise _in_larger(opened.name, fault, likely)


def _in_larger(name: str, fault: str, likely: tuple[str, int]) -> TracekitError:
    unit, per = likely
    return TracekitError(
        f"{name}: {fault}",
        hint=f"it looks like {unit}: multiply them by {per:,}; {_NOTHING_TAKEN}",
    )


def _larger_unit(most: float, nodes: Mapping[str, Mapping[str, float]]) -> tuple[str, int] | None:
    """The largest unit in which a node has room for ``most``; None without one."""
    bytes_of = max((one.get("memory", 0.0) for one in nodes.values()), default=0.0)
    for unit, per, usual in _LARGER:
        if (most * per <= bytes_of) if bytes_of else (most <= usual):
            return unit, per
    return None
