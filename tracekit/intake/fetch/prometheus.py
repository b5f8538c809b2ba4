"""Fetches the series that a store needs from a Prometheus, slice by slice."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import locked, make_folder
from tracekit.base.files.places import check_no_link, written_of_fetch
from tracekit.base.progress import SILENT, Progress, Task
from tracekit.base.shown import Shown
from tracekit.intake.fetch.download import disk_error
from tracekit.intake.fetch.http import FetchError, Retries
from tracekit.intake.fetch.prometheus_query import (
    NAME,
    Common,
    FetchedQuery,
    QueryPlan,
    Slices,
    fetch_query,
)
from tracekit.intake.fetch.server import RefusedError, Server, address, header, span_s, time_s
from tracekit.intake.sources.own._prometheus.forms import of_missing_data
from tracekit.intake.sources.own._prometheus.metrics import QUERIES

_RATE_S = 120
#: The number of warnings that a message repeats.
_SHOWN_WARNINGS = 3
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, kw_only=True, repr=False)
class PrometheusSummary(Shown):
    """The result of ``fetch_prometheus``: its queries, in order, with the files in ``out``."""

    url: str
    out: Path
    start_s: int
    end_s: int
    queries: tuple[FetchedQuery, ...]


def fetch_prometheus(
    url: str,
    out: str | Path,
    *,
    start: str,
    end: str,
    step: str,
    rate: str | None = None,
    labels: Sequence[str] = (),
    headers: Sequence[str] = (),
    show: bool = False,
    timeout_s: float,
    retries: Retries | None = None,
    seed: int = 0,
    progress: Progress = SILENT,
) -> PrometheusSummary:
    """Fetch the metrics of nodes and pods into files that ``ingest`` reads.

    They give the sizes and the use of nodes and pods, the node of each pod, and when each existed.

    Parameters
    ----------
    url : str
        The address of the server, with the prefix of its API where it has one.
    start, end : str
        ``2026-01-31``, ``2026-01-31T12:00:00Z``, seconds since 1970, or ``now-24h``.
    step : str
        The time between two samples, as ``30s``; all times are multiples of it.
    rate : str, optional
        The range of each ``rate()``; two minutes, or the step where the step is longer.
    labels : sequence of str
        Labels that every series must have, as ``cluster=x``.
    headers : sequence of str
        Headers of every request, as ``Authorization: Bearer ...``; no file holds them.
    show : bool
        Return the queries without sending them.

    Raises
    ------
    TracekitError
        For a wrong argument; when the folder has the files of another fetch; when the server
        refuses a query or warns of missing data. Complete slices stay for the next call, and slices
        with missing data are fetched again.
    """
    server = Server(
        url=address(url),
        headers=dict(header(one) for one in headers),
        timeout_s=timeout_s,
        retries=retries or Retries(),
        rng=np.random.default_rng(seed),
    )
    step_s = span_s(step, "--step")
    rate_s = span_s(rate, "--rate") if rate else max(_RATE_S, step_s)
    match = ",".join(_matcher(one) for one in labels)
    now = time.time()
    times = time_s(start, "--from", now), time_s(end, "--to", now)
    if times[0] >= times[1]:
        raise TracekitError(
            f"--from {start} is not before --to {end}", hint="for example --from now-1d --to now"
        )
    folder = Path(out)
    arguments = {"url": server.url, "from": start, "to": end, "step": step_s, "rate": rate_s}
    arguments |= {"label": sorted(labels)} if labels else {}
    common = Common(url=server.url, match=match, rate_s=rate_s, step_s=step_s, times=times)
    if show:
        shown = [QueryPlan(one, common).progress_of([], "shown") for one in QUERIES]
        return _summary(server.url, folder, times, shown)
    try:
        make_folder(folder)
    except OSError as error:
        raise disk_error(error, folder) from error
    with locked(folder / f"{NAME}.lock", busy=f"{folder} is being filled"):
        check_no_link(written_of_fetch(folder))
        slices = Slices(folder, arguments)
        times = slices.times(*times)
        plans = [QueryPlan(one, replace(common, times=times)) for one in QUERIES]
        total = sum(plan.points for plan in plans)
        with progress.task("fetch", total, "points") as task:
            fetched, refused = _fetch_all(plans, folder, slices, server, task)
    if refused:
        raise _some_refused(refused, fetched, folder)
    if missing := [
        f"{one.name}: {warning}"
        for one in fetched
        for warning in one.warnings
        if of_missing_data(warning)
    ]:
        raise _some_missing(missing)
    return _summary(server.url, folder, times, fetched)


def _fetch_all(
    plans: Sequence[QueryPlan], folder: Path, slices: Slices, server: Server, task: Task
) -> tuple[list[FetchedQuery], list[FetchError]]:
    """Fetch every query; the fetched queries, and the errors of the refused ones."""
    fetched, refused = [], []
    for plan in plans:
        try:
            fetched.append(fetch_query(plan, folder, slices, server, task))
        except RefusedError as error:
            refused.append(error)
    return fetched, list(refused)


def _some_refused(
    refused: Sequence[FetchError], fetched: Sequence[FetchedQuery], folder: Path
) -> TracekitError:
    first = refused[0]
    complete = f"{len(fetched)} queries are complete in {folder}"
    if len(refused) == 1:
        return TracekitError(f"{first.what}; {complete}", hint=first.hint)
    return TracekitError(
        f"{len(refused)} queries were refused; {complete}; the first: {first.what}", hint=first.hint
    )


def _some_missing(missing: Sequence[str]) -> TracekitError:
    """The error for warnings of missing data, each with the name of its query."""
    more = (
        f"; and {len(missing) - _SHOWN_WARNINGS} more warnings"
        if len(missing) > _SHOWN_WARNINGS
        else ""
    )
    return TracekitError(
        f"the server warned that data is missing: {'; '.join(missing[:_SHOWN_WARNINGS])}{more}",
        hint="what came is kept, but is not whole; run the same command again once all its stores"
        " answer: it asks for these slices anew",
    )


def _summary(
    url: str, folder: Path, times: tuple[int, int], queries: Sequence[FetchedQuery]
) -> PrometheusSummary:
    return PrometheusSummary(
        url=url, out=folder, start_s=times[0], end_s=times[1], queries=tuple(queries)
    )


def _matcher(text: str) -> str:
    name, equals, value = text.partition("=")
    if not equals or not _LABEL.fullmatch(name.strip()):
        raise TracekitError(
            f"--label {text}: expected NAME=VALUE", hint="for example --label cluster=production"
        )
    return f"{name.strip()}={json.dumps(value.strip(), ensure_ascii=False)}"
