"""Imbalance of the nodes over time, under each policy."""

from __future__ import annotations

import polars as pl

from tracekit.replay.runs.run import OBSERVED
from tracekit.report import over_time
from tracekit.report.figures import Figure
from tracekit.report.measures import SAME
from tracekit.report.policies import tested
from tracekit.report.words import listed, number, percent

_COLUMN = "imbalance"


def _takeaway(frame: pl.DataFrame) -> str:
    means = over_time.amounts(frame, "mean")
    policies = {name: means[name] for name in tested(frame) if name in means}
    if not policies:
        known = next(iter(means.values()), 0.0)
        return f"No policy was replayed; the one line's mean imbalance is {number(known)}."
    low = min(policies.values())
    best = [name for name, value in policies.items() if value - low <= SAME * low]
    verb = "uses" if len(best) == 1 else "use"
    head = f"{listed(best)} {verb} nodes most evenly, with a mean imbalance of {number(low)}"
    observed = means.get(OBSERVED)
    if not observed:
        return f"{head}."
    change = low / observed - 1
    way = "below" if change < 0 else "above"
    return f"{head}, {percent(abs(change))} {way} production\u2019s {number(observed)}."


FIGURE = Figure(
    title="Imbalance Z over time, mean over the nodes",
    question="Which policy uses each node's CPU and memory most evenly?",
    how_to_read="Lower is better: at 0 every node uses the same share of its CPU as of its memory."
    " The thick line is production's own placement, the dashed grey one is a lower bound that no"
    " placement can beat. While the cluster is being filled (shaded) lines do not count.",
    reads=("replay/steps",),
    prepare=over_time.prepare(_COLUMN),
    draw=over_time.draw(_COLUMN, "Imbalance Z, mean over nodes [0..1]"),
    takeaway=_takeaway,
    table=over_time.summary_table(_COLUMN),
    absent="The run holds no samples over time, so there is no imbalance to show.",
    csv=("policy", "time_ms", _COLUMN),
    note=over_time.note,
)
