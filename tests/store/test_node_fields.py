"""A row of a node that states some fields leaves the others as they were last stated."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import pytest

from tracekit.store.node_states import (
    nodes_of,
    repriced,
)

NOW = 1_767_225_600_000
GPU = '[{"key": "gpu", "effect": "NoSchedule"}]'
Row = tuple[int, str | None, str | None, str | None, float | None]


def _nodes(rows: Sequence[Row], node: str = "n1") -> pl.DataFrame:
    """Rows of time, state, zone, taints and price of a node; times of 1 or more are since NOW."""
    schema = {"time_ms": pl.Int64, "state": pl.String, "zone": pl.String,
              "taints": pl.String, "price_per_hour": pl.Float64}  # fmt: skip
    found = pl.DataFrame(rows, schema=schema, orient="row")
    since = pl.when(pl.col("time_ms") > 0).then(pl.col("time_ms") + NOW).otherwise(0)
    return found.with_columns(time_ms=since, node=pl.lit(node), position=pl.lit(0))


def _sizes(*times: int) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "time_ms": [NOW + one if one else 0 for one in times],
            "node": "n1",
            "resource": "cpu",
            "cell": None,
            "amount": 8.0,
            "unit": "cores",
        },
        schema_overrides={"time_ms": pl.Int64, "cell": pl.Int64, "node": pl.String},
    )


@pytest.mark.parametrize(
    ("rows", "sized", "expected"),
    [
        ([(1, "ready", "a", GPU, None), (10, None, None, None, 0.4)], (1,),
         (10, "ready", "a", GPU, 0.4)),
        ([(1, "closed", "a", GPU, None), (10, None, None, None, 0.4), (30, None, None, None, 0.9)],
         (1,), (10, "closed", "a", GPU, 0.9)),
        # a row of a price says of nothing else, and not that the node is there
        ([(5, None, None, None, 0.4), (30, "ready", "a", GPU, None)], (30,),
         (30, "ready", "a", GPU, 0.4)),
        ([(0, None, None, None, 0.4), (30, "ready", "a", GPU, None)], (30,),
         (30, "ready", "a", GPU, 0.4)),
        # a node that a file without times lists is there before its price changes
        ([(0, None, "a", None, 0.4), (30, None, None, None, 0.9)], (0,), (0, None, "a", None, 0.9)),
        # two files of the same time: of what both state the first counts
        ([(0, None, None, None, 0.3), (0, None, "a", "[]", 0.4)], (0,), (0, None, "a", "[]", 0.3)),
        # nothing but prices is known
        ([(1, None, None, None, 0.4), (30, None, None, None, 0.9)], (), (1, None, None, None, 0.9)),
        # none is stated, which is not the same as nothing stated
        ([(1, "ready", "a", GPU, None), (10, "ready", None, "[]", None)], (1,),
         (10, "ready", "a", "[]", None)),
        ([(1, "gone", "a", GPU, 0.2), (10, None, None, None, 0.4), (30, "ready", None, None, None)],
         (1,), (30, "ready", "a", GPU, 0.4)),
    ],
    ids=[
        "a price", "the last price", "a price before", "a price without a time",
        "listed without times", "of two files", "prices alone",
        "no taints any more", "it comes back",
    ],
)  # fmt: skip
def test_what_a_row_does_not_state_stays(
    rows: list[Row], sized: tuple[int, ...], expected: Row
) -> None:
    since, *fields = expected
    (found,) = nodes_of(_nodes(rows), _sizes(*sized), NOW + 20)[0].to_dicts()
    assert found["time_ms"] == (NOW + since if since else 0)
    assert [found[one] for one in ("state", "zone", "taints", "price_per_hour")] == fields


@pytest.mark.parametrize(
    ("prices", "begins", "changed"),
    [
        ((0.4, 0.4), 0, []),
        ((0.4, 0.9), 0, ["n1"]),
        ((0.4, None), 0, []),
        ((0.4, 0.9, 0.4), 0, ["n1"]),
        ((0.4, 0.9), 500, []),
        ((None, 0.9), 0, []),
    ],
)
def test_nodes_whose_price_changes_while_use_is_recorded_are_known(
    prices: tuple[float | None, ...], begins: int, changed: list[str]
) -> None:
    rows: list[Row] = [(1 + 100 * at, None, None, None, one) for at, one in enumerate(prices)]
    assert repriced(_nodes(rows), NOW + begins) == changed
