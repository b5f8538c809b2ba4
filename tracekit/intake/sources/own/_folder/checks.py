"""Rules of a folder's files: ids of other files, lives of containers, possible amounts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from tracekit.base.units import EPOCH_FROM_MS, MS_PER_DAY
from tracekit.intake.sources._cluster import Broken, Opened
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._rows import Rule, emptied, numbers

#: A million cores, and an EiB: a larger size is an error, and would spoil every figure.
_MOST_OF_A_MACHINE = {"_milli": 10**9, "_bytes": 2**60}
#: Columns with the life of a sample's container; no file has columns of these names.
LIVES = ("its arrival\0", "its departure\0")
#: A sample ten years away from its container's life shows that the two files count times from
#: different beginnings.
_APART_MS = 10 * 365 * MS_PER_DAY
_OTHER_BEGINNING = (
    "times of one beginning: usage and containers are years apart, as one counts from 1970 and the"
    " other from a start of its own"
)


#: The owner of ids in messages, where the store lists some too.
_STORED = "the files beside or of the store"


@dataclass(frozen=True)
class Known:
    """The ids that a column may have.

    ``owner`` names their files in messages. ``rejected`` has, by file, the ids of rejected rows.
    """

    ids: pl.Series
    owner: str = "the files beside"
    rejected: Mapping[str, pl.Series] = field(default_factory=dict)


def with_stored(opened: Opened, ids: pl.Series | None, entity: str) -> Known | None:
    """The ids of the files beside and of the store; None where neither lists any."""
    path = opened.stored.get(f"{entity}_ids")
    if path is None:
        return None if ids is None else Known(ids)
    listed = pl.read_parquet(path)[entity].cast(pl.String)
    both = listed if ids is None else pl.concat([listed, ids.alias(entity)])
    return Known(both.unique(), _STORED)


def unknown(frame: pl.DataFrame, column: str, known: Known | None) -> list[Rule]:
    """The rules that a column has known ids; no rules where ``known`` is None."""
    if known is None or column not in frame.columns:
        return []
    ids = pl.col(column).cast(pl.String)
    strange = ~ids.is_in(known.ids.implode())
    expected = f"a {column} of {known.owner}"
    return [
        *(
            Rule(
                column=column,
                broken=strange & ids.is_in(some.implode()),
                expected=f"{expected}; its own row in {file} is a reject",
            )
            for file, some in known.rejected.items()
        ),
        Rule(column=column, broken=strange, expected=expected),
    ]


def ended_early(frame: pl.DataFrame) -> list[Rule]:
    """The rule that a container departs after its arrival."""
    if "departure_ms" not in frame.columns:
        return []
    arrival, departure = (
        pl.col(name).cast(pl.Float64, strict=False) for name in ("arrival_ms", "departure_ms")
    )
    return [Rule(column="departure_ms", broken=departure <= arrival, expected="after arrival_ms")]


def with_lives(frame: pl.DataFrame, lives: pl.DataFrame | None) -> tuple[pl.DataFrame, list[Rule]]:
    """The samples with the lives of their containers, and the rules that samples lie within them.

    The lives are the columns ``LIVES``, NULL where no file beside lists the container.
    """
    if lives is None or not {"container", "time_ms"} <= set(frame.columns):
        return frame.with_columns(pl.lit(None, pl.Float64).alias(one) for one in LIVES), []
    arrival, departure = LIVES
    living = frame.with_columns(pl.col("container").cast(pl.String)).join(
        lives, on="container", how="left", maintain_order="left"
    )
    time = pl.col("time_ms").cast(pl.Float64, strict=False)
    return living, [
        *(
            Rule(
                column="time_ms",
                broken=(later - earlier > _APART_MS)
                & (earlier < EPOCH_FROM_MS)
                & (later >= EPOCH_FROM_MS),
                expected=_OTHER_BEGINNING,
            )
            for earlier, later in ((time, pl.col(arrival)), (pl.col(departure), time))
        ),
        Rule(column="time_ms", broken=time < pl.col(arrival), expected="no time before arrival_ms"),
        Rule(
            column="time_ms", broken=time > pl.col(departure), expected="no time after departure_ms"
        ),
    ]


def lives_beside(opened: Opened) -> pl.DataFrame | None:
    """The first arrival and last departure of each container of the files beside."""
    parts = []
    for file in opened.beside.get("containers", ()):
        for frame, _ in named_frames(file, "container", needed=("container", "arrival_ms")):
            stated = "departure_ms" in frame.columns
            ends = pl.col("departure_ms") if stated else pl.lit(None)
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
    # a container that is listed several times lives from its first to its last time
    return (
        pl.concat(parts)
        .group_by("container")
        .agg(pl.col(arrival).min(), pl.col(departure).fill_null(float("inf")).max())
    )


def no_numbers(frame: pl.DataFrame, columns: Sequence[str]) -> list[Rule]:
    """The rules that these columns hold numbers, for columns of texts."""
    return numbers(*(one for one in columns if frame.schema.get(one) == pl.String))


def no_amounts(columns: Sequence[str]) -> list[Rule]:
    """The rules that the numbers of these columns are amounts that a machine may have."""
    rules = []
    for one in columns:
        value = pl.col(one).cast(pl.Float64, strict=False)
        broken = (value < 0) | ~value.is_finite()
        rules.append(Rule(column=one, broken=broken, expected="0 or more"))
        most = most_of(one)
        if most is not None:
            expected = f"no more than {most:,}, as no machine has more"
            # the first rule covers NaN and inf
            beyond = value.is_finite() & (value > most)
            rules.append(Rule(column=one, broken=beyond, expected=expected))
    return rules


def most_of(column: str) -> int | None:
    """The largest size of a machine, in the unit of a column's name; None without a limit."""
    return next((most for end, most in _MOST_OF_A_MACHINE.items() if column.endswith(end)), None)


def with_amounts(
    frame: pl.DataFrame, columns: Sequence[str], table: str
) -> tuple[pl.DataFrame, list[Broken]]:
    """The frame with impossible values set to NULL, and a reject for each such value."""
    return emptied(frame, [*no_numbers(frame, columns), *no_amounts(columns)], table)
