"""tracekit fetch prometheus: one's own cluster from Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from tracekit.base.progress import SILENT, Progress
from tracekit.commands._options import Argument, FolderToFill, Option
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_table, right
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.intake.fetch.prometheus import PrometheusSummary


def fetch_prometheus(
    url: Annotated[str, Argument("The server's address: http://localhost:9090.")],
    out: FolderToFill,
    *,
    start: Annotated[
        str, Option("2026-01-31T12:00:00Z, seconds since 1970, or now-1d.", names="--from")
    ] = "now-1d",
    end: Annotated[str, Option("The same.", names="--to")] = "now",
    step: Annotated[str, Option("Time between two samples.")] = "30s",
    rate: Annotated[
        str | None, Option("Span over which rates are made.", shown="2m, or the step")
    ] = None,
    labels: Annotated[
        Sequence[str],
        Option(
            "What every series must have: cluster=x; may be repeated.",
            names="--label",
            metavar="NAME=VALUE",
        ),
    ] = (),
    headers: Annotated[
        Sequence[str],
        Option(
            "Sent with each request: 'Authorization: ...'; may be repeated.",
            names="--header",
            metavar="NAME:VALUE",
        ),
    ] = (),
    show: Annotated[bool, Option("Print the queries, ask nothing.")] = False,
    timeout_s: Annotated[
        float, Option("Seconds to wait for an answer.", minimum=0.1, names="--timeout")
    ] = 120.0,
    progress: Progress = SILENT,
    **further: Any,
) -> PrometheusSummary:
    """Fetch sizes, places and use of nodes and pods; run again to go on.

    See ``tracekit.intake.fetch.prometheus.fetch_prometheus``.
    """
    from tracekit.intake.fetch import prometheus

    return prometheus.fetch_prometheus(
        url,
        out,
        start=start,
        end=end,
        step=step,
        rate=rate,
        labels=labels,
        headers=headers,
        show=show,
        timeout_s=timeout_s,
        progress=progress,
        **further,
    )


PANEL = Panel.data


def command(call: Call, show: bool, json: JsonOption = False) -> None:
    """Fetch your cluster from Prometheus; run again to go on where it stopped.

    Sizes, places, lives and use of nodes and pods come in slices that the
    server allows. A file gets its name once it is whole. Each query is
    printed, so that it can be run by hand.

    Example: tracekit fetch prometheus http://localhost:9090 mycluster --from now-1d
    """
    import dataclasses

    from tracekit.base import units
    from tracekit.intake.fetch.server import spelled_time

    summary = call()
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
        for warning in one.warnings:
            print(f"# the server warned: {warning}")
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
    """The next command, or the advice for a server without any series."""
    if any(one.samples for one in summary.queries):
        return f"next: tracekit ingest {summary.out} STORE"
    return (
        "the server has nothing of this span: no query has a series; look at --from, --to and"
        " --label, and ask into another folder"
    )
