"""One workload in several orders of arrival, under several seeds: how much is chance."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import polars as pl

from tracekit.errors import TracekitError
from tracekit.progress import SILENT, Progress
from tracekit.replay.compare import MEASURES, differences, with_intervals
from tracekit.replay.entrant import Entrant
from tracekit.replay.one import in_order
from tracekit.replay.replayer import Replayer
from tracekit.replay.run import BOUND, Run, replay
from tracekit.replay.seeds import stream
from tracekit.replay.workload import Workload


def repeat_replay(
    workload: Workload,
    policies: Sequence[Entrant],
    *,
    seed: int,
    repeats: int,
    replayer: Replayer | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay the workload ``repeats`` times; each time in another order, under another seed.

    Repeat 0 is the workload as given, under ``seed``; repeat k has its arrivals rearranged and
    seed + k. Every policy meets the same orders, so that differences between policies are paired.

    Returns
    -------
    Run
        The replay in the workload's own order. Its summary has intervals over all repeats;
        ``repeats`` has one row per repeat and policy: repeat, seed, policy and the measures that
        are compared; ``differences`` is as ``tracekit.replay.compare.differences`` gives it.

    Raises
    ------
    TracekitError
        For fewer than one repeat.
    """
    if repeats < 1:
        raise TracekitError(f"{repeats} repeats, expected at least 1")
    replayer = replayer or Replayer()
    first = replay(workload, policies, seed=seed, replayer=replayer, progress=progress)
    bound = first.steps.filter(pl.col("policy") == BOUND).drop("policy")
    rows = [_measures(first, 0)]
    with progress.task("other orders of arrival", repeats - 1, "orders") as task:
        for number in range(1, repeats):
            load = in_order(workload, seed + number)
            ordered = replayer.for_repeat(number)
            run = replay(load, policies, seed=seed + number, bound=bound, replayer=ordered)
            rows.append(_measures(run, number))
            task.advance(1)
    measures = pl.concat(rows)
    return dataclasses.replace(
        first,
        summary=with_intervals(first.summary, measures, stream(seed, "intervals")),
        repeats=measures,
        differences=differences(measures, stream(seed, "differences")),
    )


def _measures(run: Run, number: int) -> pl.DataFrame:
    columns = [name for name in MEASURES if name in run.summary.columns]
    return run.summary.filter(pl.col("policy") != BOUND).select(
        pl.lit(number, dtype=pl.Int64).alias("repeat"),
        pl.lit(run.seed, dtype=pl.Int64).alias("seed"),
        "policy",
        *columns,
    )
