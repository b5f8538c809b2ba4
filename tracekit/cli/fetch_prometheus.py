"""tracekit fetch prometheus: one's own cluster from Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_table, right

if TYPE_CHECKING:
    from tracekit.intake.fetch.prometheus import PrometheusSummary

PANEL = Panel.data


def command(asked: Asked, show: bool, json: JsonOption = False) -> None:
    """Fetch your cluster from Prometheus; run again to go on where it stopped.

    Sizes, places, lives and use of nodes and pods come in slices that the
    server allows. A file gets its name once it is whole. Each query is
    printed, so that it can be run by hand.

    Example: tracekit fetch prometheus http://localhost:9090 mycluster --from now-1d
    """
    import dataclasses

    from tracekit.base import units
    from tracekit.intake.fetch.spans import spelled_time

    summary = asked()
    if json:
        document = {
            "url": summary.url,
            "out": str(summary.out),
            "from": spelled_time(summary.start_s),
            "to": spelled_time(summary.end_s),
            "queries": [dataclasses.asdict(one) for one in summary.queries],
        }
        print_json({"schema": "tracekit/fetch_prometheus/1", **document})
        return
    for one in summary.queries:
        print(f"# {one.name}\n{one.by_hand}")
        for said in one.warnings:
            print(f"# the server warned: {said}")
    if show:
        return
    print_table(
        f"{spelled_time(summary.start_s)} to {spelled_time(summary.end_s)}, in {summary.out}",
        ["query", *right("series", "samples", "size"), "outcome"],
        [
            [one.name, one.series, one.samples, units.size(one.size_bytes), one.outcome]
            for one in summary.queries
        ],
        note=_next(summary),
    )


def _next(summary: PrometheusSummary) -> str:
    """The next command; none where the server had nothing to ingest."""
    if any(one.samples for one in summary.queries):
        return f"next: tracekit ingest {summary.out} STORE"
    return (
        "the server has nothing of this span: no query has a series; look at --from, --to and"
        " --label, and ask into another folder"
    )
