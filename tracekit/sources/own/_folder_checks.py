"""What is checked across a folder's files: ids that another one holds, lives, sizes and steps."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources._cluster import Broken, Opened
from tracekit.sources._columns import named_frames
from tracekit.sources._rows import Rule, emptied

#: No monitoring samples so often; so many samples tell.
_LEAST_STEP_MS = 1_000
_GAPS = 3
#: As seconds since 1970 these are of 2001 to 2096; as milliseconds nothing would have arrived in
#: the first eleven days.
_SINCE_1970_S = (1e9, 4e9)
#: No node has so little, and a file of such nodes is in a larger unit.
_LEAST_OF_NODE = {"cpu_milli": (100, "cores"), "memory_bytes": (2**12, "GiB")}
_PRICE = "price_per_hour"
#: Nobody asks for less and for no whole number of thousandths of a core.
_LEAST_ASKED_MILLI = 10
#: What samples are given of their container, while they are looked at; no column of a file.
LIVES = ("arrival\0", "departure\0")


def known_ids(opened: Opened, words: Sequence[str], column: str) -> pl.Series | None:
    """The ids in the files of these kinds beside this one; None without any such file."""
    files = [one for word in words for one in opened.beside.get(word, ())]
    if not files:
        return None
    parts = [
        frame.select(pl.col(column).cast(pl.String).alias("id"))["id"].unique()
        for file in files
        for frame, _ in named_frames(file, column)
        if column in frame.columns
    ]
    return pl.concat(parts).unique() if parts else pl.Series("id", [], dtype=pl.String)


def unknown(frame: pl.DataFrame, column: str, ids: pl.Series | None) -> list[Rule]:
    """The rule that a column names ids of another file, where there is such a file."""
    if ids is None or column not in frame.columns:
        return []
    strange = ~pl.col(column).cast(pl.String).is_in(ids.implode())
    return [Rule(column=column, broken=strange, expected=f"a {column} of the files beside")]


def ended_early(frame: pl.DataFrame) -> list[Rule]:
    """The rule that a container departs after it arrived."""
    if "departure_ms" not in frame.columns:
        return []
    arrival, departure = (
        pl.col(name).cast(pl.Float64, strict=False) for name in ("arrival_ms", "departure_ms")
    )
    return [Rule(column="departure_ms", broken=departure <= arrival, expected="after arrival_ms")]


def with_lives(opened: Opened, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Rule]]:
    """Samples beside the lives of their containers, and the rule that they lie within these.

    The columns that are added are ``LIVES``: NULL where no file beside lists the container.
    """
    lives = _lives(opened)
    if lives is None or not {"container", "time_ms"} <= set(frame.columns):
        return frame.with_columns(pl.lit(None, pl.Float64).alias(one) for one in LIVES), []
    arrival, departure = LIVES
    known = frame.with_columns(pl.col("container").cast(pl.String)).join(
        lives, on="container", how="left", maintain_order="left"
    )
    time = pl.col("time_ms").cast(pl.Float64, strict=False)
    return known, [
        Rule(column="time_ms", broken=time < pl.col(arrival), expected="no time before arrival_ms"),
        Rule(
            column="time_ms", broken=time > pl.col(departure), expected="no time after departure_ms"
        ),
    ]


def _lives(opened: Opened) -> pl.DataFrame | None:
    """When each container of the files beside first arrived and last departed."""
    parts = []
    for file in opened.beside.get("containers", ()):
        for frame, _ in named_frames(file, "container", needed=("container", "arrival_ms")):
            there = frame.columns
            ends = pl.col("departure_ms") if "departure_ms" in there else pl.lit(None)
            parts.append(
                frame.select(
                    pl.col("container").cast(pl.String),
                    pl.col("arrival_ms").cast(pl.Float64, strict=False).alias(LIVES[0]),
                    ends.cast(pl.Float64, strict=False).alias(LIVES[1]),
                )
            )
    if not parts:
        return None
    arrival, departure = LIVES
    # one that is listed several times lives as long as the longest of its lives
    return (
        pl.concat(parts)
        .group_by("container")
        .agg(pl.col(arrival).min(), pl.col(departure).fill_null(float("inf")).max())
    )


def sizes_of_nodes(opened: Opened) -> dict[str, dict[str, float]]:
    """The cores and bytes of each node in the file of nodes beside this one."""
    found: dict[str, dict[str, float]] = {}
    columns = {"cpu_milli": ("cpu", 1000.0), "memory_bytes": ("memory", 1.0)}
    for file in opened.beside.get("nodes", ()):
        for frame, _ in named_frames(file, "node", needed=("node", *columns)):
            rows = frame.select(
                "node", *(pl.col(c).cast(pl.Float64, strict=False) for c in columns)
            )
            for node, *amounts in rows.iter_rows():
                pairs = zip(columns.values(), amounts, strict=True)
                found[str(node)] = {what: (one or 0.0) / per for (what, per), one in pairs}
    return found


def check_steps(name: str, frame: pl.DataFrame, entity: str) -> None:
    """Raise TracekitError where an entity's samples follow one another as seconds do."""
    if not {entity, "time_ms"} <= set(frame.columns):
        return
    times = frame.select(entity, pl.col("time_ms").cast(pl.Float64, strict=False)).drop_nulls()
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
            hint="it looks like seconds: multiply them by 1,000; nothing of the file was taken in",
        )


def check_arrivals(name: str, frame: pl.DataFrame) -> None:
    """Raise TracekitError where all arrivals are seconds since 1970."""
    times = frame["arrival_ms"].cast(pl.Float64, strict=False).drop_nulls()
    low, high = _SINCE_1970_S
    if len(times) and times.is_between(low, high).all():
        raise TracekitError(
            f"{name}: arrival_ms is in milliseconds, but the containers arrive between"
            f" {min(times):.0f} and {max(times):.0f}",
            hint="it looks like seconds since 1970: multiply them by 1,000; nothing of the file"
            " was taken in",
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


def check_requests(name: str, frame: pl.DataFrame) -> None:
    """Raise TracekitError where most requests are less than anybody asks for, and no whole ones."""
    asked = frame["cpu_milli"].cast(pl.Float64, strict=False).drop_nulls()
    asked = asked.filter(asked > 0)
    small = asked.filter((asked < _LEAST_ASKED_MILLI) & (asked != asked.floor()))
    if 2 * len(small) > len(asked):
        raise TracekitError(
            f"{name}: {len(small):,} of {len(asked):,} values of cpu_milli are no whole"
            f" numbers and below {_LEAST_ASKED_MILLI}, {small[0]:g} for example",
            hint="it looks like cores: multiply them by 1,000; nothing of the file was taken in",
        )


def no_numbers(frame: pl.DataFrame, columns: Sequence[str]) -> list[Rule]:
    """The rules that these columns hold numbers, where they hold texts."""
    return [
        Rule(
            column=one,
            broken=pl.col(one).is_not_null() & pl.col(one).cast(pl.Float64, strict=False).is_null(),
            expected="a number",
        )
        for one in columns
        if frame.schema.get(one) == pl.String
    ]


def no_amounts(columns: Sequence[str]) -> list[Rule]:
    """The rules that what these columns hold as numbers is an amount."""
    found = []
    for one in columns:
        value = pl.col(one).cast(pl.Float64, strict=False)
        broken = (value < 0) | ~value.is_finite()
        found.append(Rule(column=one, broken=broken, expected="0 or more"))
    return found


def with_amounts(
    frame: pl.DataFrame, columns: Sequence[str], table: str
) -> tuple[pl.DataFrame, list[Broken]]:
    """The frame without values that are no amounts, and a reject for each of them."""
    return emptied(frame, no_amounts(columns), table)


def check_spelling(name: str, frame: pl.DataFrame, table: str, columns: AbstractSet[str]) -> None:
    """Raise TracekitError for a column of the table that is written with other letters."""
    for one in frame.columns:
        if one not in columns and one.lower() in columns:
            raise TracekitError(
                f"{name} has a column '{one}'; that of the table {table} is '{one.lower()}'",
                hint="rename it; nothing of the file was taken in",
            )


def priced_twice(frame: pl.DataFrame) -> list[Rule]:
    """The rule that a node has one price at a time: another one is no second row of the first."""
    if _PRICE not in frame.columns:
        return []
    price = pl.col(_PRICE).cast(pl.Float64, strict=False)
    times = [pl.col("time_ms").cast(pl.String)] if "time_ms" in frame.columns else []
    first = price.drop_nulls().first().over("node", *times)
    return [Rule(column=_PRICE, broken=price != first, expected="the price that was said before")]
