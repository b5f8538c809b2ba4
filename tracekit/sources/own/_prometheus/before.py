"""The sample before each stretch of a counter, of the same replica of Prometheus or of another."""

import polars as pl

from tracekit.sources.own._prometheus.woven import SEEN, hole_ms, usual_of
from tracekit.sources.silence import ENOUGH_DISTANCES, LEAST_MS, USUAL_DISTANCES

#: What is known of the sample before a stretch, and by what a stretch is known.
_BEFORE = ("before_ms", "before_value", "before_file", "before_replica", "apart_ms")
_STRETCH = (*SEEN, "file", "first_ms")


def followed(runs: pl.DataFrame, stored: int) -> pl.DataFrame:
    """The stretches with the last sample before each, in no silence; null where none is needed.

    It is one of the replica itself or, where samples of that are lacking before, of another one. A
    stretch of a file, and not of what is ``stored``, needs none where the other one has samples all
    the time: there it is its own first sample, since which it rose by nothing.
    """
    own = _after(runs, SEEN)
    if not (runs["replica"] != 0).any():
        return own
    any_one = _after(runs, ("series",)).unique(_STRETCH, keep="first", maintain_order=True)
    names = (*_BEFORE, "until_ms")
    others = any_one.select(*_STRETCH, pl.col(names).name.suffix("_other"))
    found = own.join(others, on=_STRETCH, how="left")
    first = pl.col("first_ms")
    hole = pl.col("apart_ms") > hole_ms()
    lacks = (pl.col("before_ms").is_null() | hole) & pl.col("before_ms_other").is_not_null()
    idle = hole & (pl.col("until_ms_other") >= first) & (pl.col("file") != stored)
    return found.select(
        pl.exclude("^.*_other$", *_BEFORE),
        *(pl.when(lacks).then(f"{name}_other").otherwise(name).alias(name) for name in _BEFORE),
        idle=idle.fill_null(value=False),
    ).select(
        pl.exclude("idle", "before_ms"),
        before_ms=pl.when("idle").then(first).otherwise("before_ms"),
    )


def _after(runs: pl.DataFrame, by: tuple[str, ...]) -> pl.DataFrame:
    """The same where stretches count that are alike in some columns."""
    one = (*by, "first_ms")
    reach = (
        runs.group_by(one)
        .agg(pl.col("last_ms").max())
        .sort(one)
        .select(*one, until_ms=pl.col("last_ms").cum_max().shift(1).over(by))
    )
    ends = runs.sort("last_ms", "file", descending=[False, True]).select(
        *by,
        before_ms="last_ms",
        before_value="value",
        before_file="file",
        before_replica="replica",
    )
    found = runs.sort("first_ms").join_asof(
        ends,
        left_on="first_ms",
        right_on="before_ms",
        by=by,
        allow_exact_matches=False,
        check_sortedness=False,
    )
    found = found.join(reach, on=one, how="left").with_columns(
        apart_ms=pl.col("first_ms") - pl.col("before_ms")
    )
    apart = pl.col("apart_ms")
    usual = pl.max_horizontal(
        usual_of(
            pl.col("usual_ms").max().over(by),
            pl.when(apart.count().over(by) >= ENOUGH_DISTANCES).then(apart.median().over(by)),
        ),
        pl.lit(step_ms(found)),
    )
    needed = pl.col("until_ms").is_null() | (pl.col("until_ms") < pl.col("first_ms"))
    near = apart <= pl.max_horizontal(pl.lit(LEAST_MS), usual * USUAL_DISTANCES)
    return found.with_columns(
        pl.when(needed & near).then(pl.col(name)).alias(name) for name in _BEFORE
    )


def step_ms(runs: pl.DataFrame) -> int:
    """The most common distance within stretches, else between them; 1 where few are known."""
    for name, enough in (("usual_ms", 1), ("apart_ms", ENOUGH_DISTANCES)):
        seconds = (runs[name].drop_nulls() / 1000.0).round().cast(pl.Int64)
        known = seconds.filter(seconds > 0)
        if known.len() >= enough:
            return int(known.mode().min()) * 1000  # type: ignore[arg-type]
    return 1
