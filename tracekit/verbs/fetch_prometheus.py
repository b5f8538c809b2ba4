"""Fetch one's own cluster from Prometheus."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import Argument, FolderToFill, Option

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
