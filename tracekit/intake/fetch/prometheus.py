"""Asks a Prometheus for what a store needs, slice by slice; run again to go on."""

import json
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tracekit.base.errors import TracekitError
from tracekit.base.files.durable import held, make_folder
from tracekit.base.files.places import check_no_link, written_of_fetch
from tracekit.base.progress import SILENT, Progress, Task
from tracekit.base.shown import Shown
from tracekit.intake.fetch.part import disk_error
from tracekit.intake.fetch.prometheus_query import Asked, FetchedQuery, QueryPlan, fetch_query
from tracekit.intake.fetch.retry import FetchError, Retries
from tracekit.intake.fetch.server import RefusedError, Server, address, header
from tracekit.intake.fetch.slices import NAME, Slices
from tracekit.intake.fetch.spans import span_s, time_s
from tracekit.intake.sources.own._prometheus.metrics import QUERIES
from tracekit.intake.sources.own._prometheus.warnings import of_missing_data

_RATE_S = 120
#: So many warnings are quoted.
_TOLD = 3
_LABEL = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


@dataclass(frozen=True, kw_only=True, repr=False)
class PrometheusSummary(Shown):
    """The files of ``out``, in the order of the queries."""

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
    """Ask for sizes, places, lives and use of nodes and pods, into files that ``ingest`` takes.

    Parameters
    ----------
    url : address of the server, with the prefix of its API if it has one
    start, end : ``2026-01-31``, ``2026-01-31T12:00:00Z``, seconds since 1970, or ``now-24h``
    step : time between two samples; times lie on multiples of it
    rate : span over which rates are made; two minutes, or the step where that is longer
    labels : ``cluster=x``: what every series must have
    headers : ``Authorization: Bearer ...``: sent along, and written down nowhere
    show : ask nothing, and return what would be asked

    Raises
    ------
    TracekitError
        For what cannot be read of these; when the folder holds what another fetch asked for; when
        the server refuses, or warns that data is missing: what came is kept, and asked for again.
        Slices that are whole are kept for the next call.
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
    asked = {"url": server.url, "from": start, "to": end, "step": step_s, "rate": rate_s}
    asked |= {"label": sorted(labels)} if labels else {}
    all_of_it = Asked(url=server.url, match=match, rate_s=rate_s, step_s=step_s, times=times)
    if show:
        plans = [QueryPlan(one, replace(all_of_it, times=times)) for one in QUERIES]
        return _summary(
            server.url, folder, times, [plan.progress_of([], "shown") for plan in plans]
        )
    try:
        make_folder(folder)
    except OSError as error:
        raise disk_error(error, folder) from error
    with held(folder / f"{NAME}.lock", busy=f"{folder} is being filled"):
        check_no_link(written_of_fetch(folder))
        slices = Slices(folder, asked)
        times = slices.times(*times)
        plans = [QueryPlan(one, replace(all_of_it, times=times)) for one in QUERIES]
        total = sum(plan.points for plan in plans)
        with progress.task("fetch", total, "points") as task:
            told, refused = _fetch_all(plans, folder, slices, server, task)
    if refused:
        raise _some_refused(refused, told, folder)
    if missing := [
        f"{one.name}: {said}" for one in told for said in one.warnings if of_missing_data(said)
    ]:
        raise _some_missing(missing)
    return _summary(server.url, folder, times, told)


def _fetch_all(
    plans: Sequence[QueryPlan], folder: Path, slices: Slices, server: Server, task: Task
) -> tuple[list[FetchedQuery], list[FetchError]]:
    """Every query; one that the server refuses for itself does not hinder the others."""
    told, refused = [], []
    for plan in plans:
        try:
            told.append(fetch_query(plan, folder, slices, server, task))
        except RefusedError as error:
            refused.append(error)
    return told, list(refused)


def _some_refused(
    refused: Sequence[FetchError], told: Sequence[FetchedQuery], folder: Path
) -> TracekitError:
    first = refused[0]
    kept = f"{len(told)} queries are complete in {folder}"
    if len(refused) == 1:
        return TracekitError(f"{first.what}; {kept}", hint=first.hint)
    return TracekitError(
        f"{len(refused)} queries were refused; {kept}; the first: {first.what}", hint=first.hint
    )


def _some_missing(missing: Sequence[str]) -> TracekitError:
    """``missing`` are the names of queries, each with a warning."""
    more = f"; and {len(missing) - _TOLD} more warnings" if len(missing) > _TOLD else ""
    return TracekitError(
        f"the server warned that data is missing: {'; '.join(missing[:_TOLD])}{more}",
        hint="what came is kept, but is not whole; run the same command again once all its stores"
        " answer: it asks for these slices anew",
    )


def _summary(
    url: str, folder: Path, times: tuple[int, int], told: Sequence[FetchedQuery]
) -> PrometheusSummary:
    return PrometheusSummary(
        url=url, out=folder, start_s=times[0], end_s=times[1], queries=tuple(told)
    )


def _matcher(text: str) -> str:
    name, equals, value = text.partition("=")
    if not equals or not _LABEL.fullmatch(name.strip()):
        raise TracekitError(
            f"--label {text}: expected NAME=VALUE", hint="for example --label cluster=production"
        )
    return f"{name.strip()}={json.dumps(value.strip(), ensure_ascii=False)}"
