"""Rows of nodes, containers and what they use out of time series."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._cluster import Broken, Opened, Read
from tracekit.intake.sources.own._impossible_use import possible
from tracekit.intake.sources.own._kubernetes.shape import batches
from tracekit.intake.sources.own._pod_use.parts import (
    NO_CONTAINER,
    Outer,
    ends_beside,
    is_idle,
    node_of,
    of_whole_pod,
    pod_of,
)
from tracekit.intake.sources.own._pod_use.seen import astray, described
from tracekit.intake.sources.own._pod_use.sums import Sums
from tracekit.intake.sources.own._prometheus.counters import (
    Before,
    Ends,
    check_apart,
    stored_ends,
)
from tracekit.intake.sources.own._prometheus.metrics import STATES, USES, Use
from tracekit.intake.sources.own._prometheus.nobody import (
    AROUND,
    IDLE,
    ON_HOST,
    Unused,
    check_one_cluster,
    clusters_of,
    nobody,
    not_read,
    unknown_node,
)
from tracekit.intake.sources.own._prometheus.series import Series, read_series
from tracekit.intake.sources.own._roster.roster import Roster, roster

#: Clocks and scrapes may differ so much; use from before that is not the pod's.
_EARLY_MS = 300_000


@dataclass(frozen=True)
class _To:
    """Where use goes: who is known, nodes of files from before, sums, what may count twice.

    ``clusters`` are the names of the clusters that were met, ``ends`` those of the counters of the
    file, ``before`` those of other files.
    """

    known: Roster
    stored: Collection[str]
    sums: Sums
    outer: Outer
    clusters: set[str]
    ends: Ends
    before: Before


def read_ranges(opened: Opened) -> Read:
    """Rows of answers to query_range."""
    return _read(opened, "range", scraped=False)


def read_exports(opened: Opened) -> Read:
    """Rows of VictoriaMetrics' export."""
    return _read(opened, "export", scraped=True)


def read_texts(opened: Opened) -> Read:
    """Rows of a dump of promtool, or of OpenMetrics."""
    return _read(opened, "text", scraped=True)


def _read(opened: Opened, word: str, *, scraped: bool) -> Read:
    known = roster(opened, word)
    stored = stored_ends(opened)
    before = Before(pl.concat([stored, ends_beside(opened, word)]))
    sums, clusters = Sums(scraped=scraped), set(known.state.clusters)
    to = _To(known, opened.stored_sizes, sums, Outer(), clusters, Ends(), before)
    met: set[str] = set()
    others: set[str] = set()

    def wanted(name: str) -> bool:
        (met if name in USES or name in STATES else others).add(name)
        return name in USES or name in STATES

    yield from _added(read_series(opened, word, wanted), to)
    to.ends.check_replicas(opened.name)
    check_apart(opened.name, to.ends.frame(), stored)
    if others and not met:
        _check_described(opened.name, others, known)
    yield from not_read(others, met)
    check_one_cluster(opened.name, to.clusters)
    sums.leave_out(to.outer.numbers())
    yield from astray(opened, known)
    yield from batches(described(opened, known))
    nodes = {**opened.stored_sizes, **_sizes_of_nodes(known)}
    yield from possible(sums.rows(), opened.name, nodes, places=known.places())
    yield from to.ends.rows()


def _added(some: Iterable[Series | Broken], to: _To) -> Iterator[Broken]:
    """Adds the series of the file to the sums."""
    unused = Unused()
    for series in some:
        if isinstance(series, Broken):
            yield series
        elif series.name in USES:
            use = USES[series.name]
            to.clusters.update(clusters_of(series))
            found = _use(series, use, to)
            unused.note(series, found if isinstance(found, str) else "")
            if isinstance(found, Broken):
                yield found
    yield from unused.reasons()


def _sizes_of_nodes(known: Roster) -> dict[str, dict[str, float]]:
    """Cores and bytes of each node: what kubectl said, else the most that was recorded."""
    seen = {
        name: {what: max(value for _, value in values) for what, values in node.resources.items()}
        for name, node in known.state.nodes.items()
    }
    return {**seen, **known.sizes}


def _check_described(name: str, others: Collection[str], known: Roster) -> None:
    """Raise TracekitError for a file of other metrics, unless something is described beside it."""
    if not (known.nodes or known.pods or known.state.nodes or known.state.pods):
        raise TracekitError(
            f"{name}: holds no metric that says what nodes or containers are or use; it"
            f" holds {', '.join(sorted(others)[:5])}",
            hint=f"these are read: {', '.join(sorted({*USES, *STATES}))}",
        )


def _use(series: Series, use: Use, to: _To) -> Broken | str | None:
    """Add a series to the sums of what its container or node uses; or says why not."""
    labels = series.labels
    if is_idle(labels, use):
        return IDLE
    if use.fills == "node":
        node = node_of(labels, to.known)
        if not node:
            return nobody(series, "node, nodename or instance")
        called = to.known.node_called(node, to.stored)
        if not called:
            return unknown_node(series, node)
        before = _before(series, use, to)
        to.sums.add(series, use, called, lambda _: called, lives=[], before=before)
        return None
    return _use_of_pod(series, use, to)


def _use_of_pod(series: Series, use: Use, to: _To) -> Broken | str | None:
    known, sums = to.known, to.sums
    labels = series.labels
    # the answer to a query of ours, or of a recording rule that has its name
    answered = not series.raw or series.name.endswith("_in_use")
    if not labels.get("pod"):
        # cgroups of the machine itself, and of what no cluster runs
        return nobody(series, "pod") if answered else AROUND
    # cgroups around a pod's containers count the same again
    inner = labels.get("container") not in NO_CONTAINER
    # an answer that was summed up by pod has neither of these labels any more
    apart = not answered or "container" in labels or "id" in labels
    if apart and not use.sandbox and not inner and not (series.raw and of_whole_pod(series)):
        return AROUND
    pod = pod_of(series)
    if use.sandbox and pod in known.state.on_host:
        return ON_HOST
    starts, names = known.lives(pod)
    if starts and series.times_ms[-1] < starts[0] - _EARLY_MS:
        return Broken(
            table="container_amount",
            line=series.line,
            column="time_ms",
            reason=f"is {series.times_ms[-1]} at last, but the pod began at {starts[0]}: the use of"
            " another pod of its name, or times that count otherwise",
            text=pod,
        )
    if not use.sandbox:
        to.outer.note(series, sums.part(series, use, pod))
    before = _before(series, use, to)
    uid = labels.get("uid", "")
    if uid or len(names) < 2:
        container = known.container(pod, uid)
        sums.add(series, use, pod, lambda _: container, lives=[], before=before)
    else:
        sums.add(series, use, pod, lambda at: names[max(at, 0)], lives=list(starts), before=before)
    return None


def _before(series: Series, use: Use, to: _To) -> tuple[int, float] | None:
    """The last sample of a counter in a file before, for its first samples in this one."""
    is_first = use.counter and series.raw and to.ends.note(series)
    return to.before.of(series) if is_first else None
