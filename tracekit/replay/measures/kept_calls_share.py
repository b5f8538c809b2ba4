"""The share of calls that stay on a node."""

from tracekit.replay.measures import Finished, Measure


def _kept(run: Finished) -> float | None:
    return None if run.load.calls is None else run.load.calls.kept_share(run.node)


MEASURE = Measure(
    title="Calls kept on a node",
    meaning="share of calls between services whose two ends share a node",
    formula="weight of calls whose two ends share a node, over the weight of all calls",
    group="answer",
    unit="0..1",
    better="high",
    because="a call that stays on its node crosses no network",
    order=38,
    of_run=_kept,
    needs="calls",
)
