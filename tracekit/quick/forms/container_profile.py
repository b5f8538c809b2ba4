"""``usage/container_profile``: a walk over each part, and the parts of a stay joined."""

from __future__ import annotations

import polars as pl

from tracekit.quick.forms import Quick, Sorted
from tracekit.quick.forms._named import ids_of

_STAY = ("node_key", "container_key")
_USED = ("cpu", "memory")
_TIME, _SAMPLES = pl.col("time_ms"), pl.col("samples")


def container_profile(given: Sorted) -> pl.DataFrame:
    """The columns of ``queries/usage/container_profile.sql``."""
    pieces = pl.concat(pl.collect_all([_pieces(part) for part in given.parts], engine="streaming"))
    stays = pieces.group_by("stay").agg(
        pl.col(*_STAY).first(),
        pl.col("service_key").min(),
        _SAMPLES.sum(),
        pl.col("first_ms").min(),
        pl.col("last_ms").max(),
        *(moment for used in _USED for moment in _joined(used)),
    )
    for entity in ("container", "node", "service"):
        stays = stays.join(ids_of(entity, given), on=f"{entity}_key", how="inner")
    moments = [f"{used}_{name}" for used in _USED for name in ("mean", "std", "max")]
    return stays.select(
        "container", "node", "service", "samples", "first_ms", "last_ms", *moments
    ).sort("container", "node")


def _pieces(part: pl.LazyFrame) -> pl.LazyFrame:
    """The moments of each stay within one part."""
    # one number for node and container, so that the order of both is known to the reader
    stay = pl.col("node_key").cast(pl.Int64) * 2**31 + pl.col("container_key")
    return (
        part.with_columns(stay.alias("stay"))
        .set_sorted("stay")
        .group_by("stay")
        .agg(
            pl.col(*_STAY).first(),
            pl.col("service_key").min(),
            pl.len().cast(pl.Int64).alias("samples"),
            _TIME.first().alias("first_ms"),
            _TIME.last().alias("last_ms"),
            *(moment for used in _USED for moment in _moments(used)),
        )
    )


def _moments(used: str) -> list[pl.Expr]:
    values = pl.col(f"{used}_fraction")
    return [
        values.mean().alias(f"{used}_mean"),
        values.var(ddof=0).alias(f"{used}_var"),
        values.max().alias(f"{used}_max"),
    ]


def _joined(used: str) -> list[pl.Expr]:
    """Moments of a whole from those of its pieces: variance within, and between their means."""
    mean, var = pl.col(f"{used}_mean"), pl.col(f"{used}_var")
    whole = (_SAMPLES * mean).sum() / _SAMPLES.sum()
    spread = (_SAMPLES * (var + (mean - whole) ** 2)).sum() / _SAMPLES.sum()
    return [
        whole.round(12).alias(f"{used}_mean"),
        spread.sqrt().round(12).alias(f"{used}_std"),
        pl.col(f"{used}_max").max(),
    ]


QUICK = Quick(
    query="usage/container_profile",
    table="container_usage",
    joins_parts=True,
    function=container_profile,
)
