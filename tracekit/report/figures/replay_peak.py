"""CPU of the fullest node over time, under each policy."""

import polars as pl

from tracekit.replay.runs.run import OBSERVED
from tracekit.report import over_time
from tracekit.report.figures import Figure
from tracekit.report.policies import FULLEST, label, tested
from tracekit.report.words import percent
from tracekit.words import counted

_AXIS = "CPU of the fullest node [%]"


def _takeaway(frame: pl.DataFrame) -> str:
    known = over_time.amounts(frame, "most")
    peaks = {name: known[name] for name in tested(frame) if name in known} or known
    if not peaks:
        return f"CPU of the fullest node is not known for any of {counted(frame.height, 'sample')}."
    low = min(peaks, key=lambda name: (peaks[name], name))
    high = max(peaks, key=lambda name: (peaks[name], name))
    if peaks[high] - peaks[low] < 0.0005:
        return f"The fullest node reaches {percent(peaks[low], 1)} CPU whatever the policy."
    usual = f"{percent(known[OBSERVED], 1)} CPU in production, " if OBSERVED in known else ""
    cpu = "" if usual else " CPU"
    return (
        f"The fullest node reaches {usual}{percent(peaks[low], 1)}{cpu} under {label(low)} and"
        f" {percent(peaks[high], 1)} under {label(high)}, once the cluster is"
        " filled, in the first order of arrival."
    )


FIGURE = Figure(
    title="CPU in use on the fullest node, over time",
    question="How close does the hottest node come to its limit?",
    how_to_read="Lower is better. Above 100 % the containers on a node want more CPU than it has,"
    " and all of them slow down. Use is what containers, daemons and background take of all that a"
    " node has, in the first order of arrival; tables have the mean over all orders. What is"
    " reached while nodes are still being filled does not count, and production, which fills"
    " nothing, is not drawn there. The dashed grey line is the least"
    " that any placement could do."
    " Drawn are production, the policy that the first page names, and the one that goes highest;"
    " the page on two policies draws any. A narrow screen has the highest value of each of"
    f" {over_time.NARROW_POINTS} stretches of time.",
    reads=("replay/steps",),
    prepare=over_time.prepare(FULLEST),
    draw=over_time.draw(FULLEST, _AXIS),
    narrow=over_time.narrow(FULLEST, _AXIS),
    takeaway=_takeaway,
    table=over_time.summary_table(FULLEST),
    absent="The run holds no samples over time, so there are no peaks to show.",
    csv=("policy", "time_ms", FULLEST),
    note=over_time.note,
)
