"""The comparison of a shadow's record with production."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.comparison.compared_run import CHANCE, SAME, THRESHOLD_SCHEMA, TOO_FEW
from tracekit.answer.comparison.run_compare import CHANGES_SCHEMA, NAME, SETTINGS_SCHEMA
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.study import Study
from tracekit.cluster.declared import Ceiling
from tracekit.replay.chance import FEWEST, compare
from tracekit.store.folder import Store
from tracekit.store.query.run import open_database

TABLE = "shadow_choice"
PRODUCTION = "production"
_HOUR_MS = 3_600_000
#: The deciding measure; lower is better. Changes of other measures have no verdict.
DECIDES = "above_ceiling_share"
_SHARE = "_share"
_MEASURES = (DECIDES, "cpu_fraction", "memory_fraction", "other_node_share")


def compare_shadow(store: Store) -> Study:
    """Compare policies with production by a shadow record: decisions that they made beside it.

    A decision counts where production's choice is known. Decisions within an hour depend on each
    other, so hours are the samples of the intervals.

    Returns
    -------
    Study
        The frames of ``compare_runs``, with hours in place of orders of arrival.

    Raises
    ------
    TracekitError
        Where no decision has both production's choice and a policy's choice.
    """
    with open_database(store, None) as database:
        rows = database.frame(f"SELECT * FROM {TABLE} ORDER BY time_ms, container, policy", {})
    if rows.is_empty():
        raise TracekitError(
            f"{store.path} holds no record of a shadow",
            hint="make one: tracekit serve --shadow FOLDER; two runs: tracekit compare BASE NEW",
        )
    pairs = _pairs(rows)
    policies = sorted(set(pairs["policy"]))
    if not policies:
        raise TracekitError(
            "the record has no decision with production's choice and another",
            hint="pods must be watched: tracekit serve --shadow FOLDER --kubectl kubectl",
        )
    changes = pl.DataFrame(
        [row for name in policies for row in _changes(name, pairs.filter(policy=name))],
        schema=CHANGES_SCHEMA,
    )
    return Study(
        name=NAME,
        about={
            "base": PRODUCTION,
            "new": "shadow",
            "policies": policies,
            "only_base": [],
            "only_new": [],
            "other_workload": False,
            "settings": [],
            "decisions": pairs.select("time_ms", "container").n_unique(),
            "hours": (pairs["time_ms"] // _HOUR_MS).n_unique(),
        },
        frames={
            "changes": changes,
            "thresholds": pl.DataFrame(schema=THRESHOLD_SCHEMA),
            "settings": pl.DataFrame(schema=SETTINGS_SCHEMA),
        },
    )


def _pairs(rows: pl.DataFrame) -> pl.DataFrame:
    """A row for each decision and policy, with production's choice."""
    full = Ceiling()
    above = (pl.col("cpu_fraction") > full.cpu_fraction) | (
        pl.col("memory_fraction") > full.memory_fraction
    )
    rows = rows.with_columns(above.cast(pl.Float64).alias(DECIDES))
    own = rows.filter(policy=PRODUCTION)
    joined = rows.filter(pl.col("policy") != PRODUCTION).join(
        own, on=["time_ms", "container"], suffix="_base", maintain_order="left"
    )
    other = (pl.col("node") != pl.col("node_base")).cast(pl.Float64)
    return joined.with_columns(other.alias("other_node_share")).with_columns(
        pl.lit(0.0).alias("other_node_share_base")
    )


def _changes(policy: str, pairs: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """The changes of a policy by every measure."""
    new = pairs.select(_MEASURES).to_numpy()
    base = pairs.select([f"{name}_base" for name in _MEASURES]).to_numpy()
    hours = (pairs["time_ms"] // _HOUR_MS).to_numpy()
    differences = compare(_by_hour(new - base, hours))
    many = len(np.unique(hours))
    for at, name in enumerate(_MEASURES):
        low, change, high = (
            float(one[at]) for one in (differences.low, differences.mean, differences.high)
        )
        if name.endswith(_SHARE):
            low, high = max(low, -1.0), min(high, 1.0)
        yield {
            "policy": policy,
            "measure": name,
            "base": float(base[:, at].mean()),
            "new": float(new[:, at].mean()),
            "change": change,
            "change_low": low if many >= FEWEST else None,
            "change_high": high if many >= FEWEST else None,
            "paired": True,
            "orders": many,
            "placed_change": 0.0,
            "verdict": _verdict(name, change, many, separated=bool(differences.separated[at])),
        }


def _by_hour(differences: Any, hours: Any) -> Any:
    """A value for each hour, (hours, measures); their mean is the mean over all decisions.

    Each hour weighs as much as its decisions (the linear form of a ratio).
    """
    _, at, counts = np.unique(hours, return_inverse=True, return_counts=True)
    sums = np.zeros((len(counts), differences.shape[1]))
    np.add.at(sums, at, differences)
    mean = differences.mean(axis=0)
    return mean + (sums - mean * counts[:, None]) / counts.mean()


def _verdict(measure: str, change: float, hours: int, *, separated: bool) -> str:
    if change == 0:
        return SAME
    if hours < FEWEST:
        return TOO_FEW
    if not separated:
        return CHANCE
    if measure != DECIDES:
        return "changed"
    return "better" if change < 0 else "worse"


def shadow_verdict(study: Study) -> Fact:
    """Return whether to switch from production's scheduler to the best policy of a shadow run.

    In a shadow run policies choose nodes beside the scheduler, and nothing moves. A policy is
    judged by the share of its choices that leave a node above the used fraction of a full node.
    """
    rows = study.frames["changes"].filter(measure=DECIDES).sort("change").to_dicts()
    best, hours = rows[0], study.about["hours"]
    pays = best["verdict"] == "better"
    cause = "shadow_pays" if pays else "shadow_keep" if hours >= FEWEST else "shadow_few_hours"
    return Fact(
        kind="verdict",
        subject=best["policy"],
        measure=DECIDES,
        value=best["new"],
        unit="fraction",
        low=best["change_low"],
        high=best["change_high"],
        against=best["base"],
        verdict="better" if pays else "cannot_tell",
        because=cause,
        about={"decisions": study.about["decisions"], "hours": hours, "needed": FEWEST},
    )
