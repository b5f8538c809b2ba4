"""Rejects of series that are no use of a container or node, and of several clusters."""

import re
from collections.abc import Collection, Iterable, Iterator

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._source import Broken
from tracekit.intake.sources.own._prometheus.metrics import STATES, USES
from tracekit.intake.sources.own._prometheus.series import Series
from tracekit.store.broken_rows import UNREAD

IDLE = 'is of modes alone that are no use; ask for the others, too: {mode!~"idle|iowait|steal"}'
ON_HOST = (
    "is of pods alone that are on the network of their host: the host's use, which is left out"
)
AROUND = (
    "is of cgroups alone that are no container's, and no pod's as a whole; ask for those of"
    ' containers: {container!=""}'
)


#: Names of metrics of use and sizes that other exporters give: cAdvisor, Windows, OpenTelemetry.
_OF_PODS = r"(windows[._])?(k8s[._])?(pod|container)[._]"
_OF_NODES = r"(windows[._])?(k8s[._])?(node|system)[._]"
_OF_SIZES = (
    r"kube_node_status_(allocatable|capacity)|k8s[._]node[._]allocatable",
    r"kube_pod_(init_)?container_resource|kube_pod_resource|k8s[._]container[._]\w+[._](request|limit)",
)
_MEANT: tuple[tuple[str, re.Pattern[str], frozenset[str]], ...] = (
    *(
        (
            f"{entity}_amount",
            re.compile(f"{prefix}{resource}[._]"),
            frozenset(
                name
                for name, use in USES.items()
                if (use.fills, use.resource) == (entity, resource)
            ),
        )
        for entity, prefix in (("container", _OF_PODS), ("node", _OF_NODES))
        for resource in ("cpu", "memory")
    ),
    *(
        (table, re.compile(names), frozenset(name for name in STATES if re.match(names, name)))
        for table, names in zip(("node_resource", "container_resource"), _OF_SIZES, strict=True)
    ),
)


def not_read(names: Iterable[str], met: Collection[str]) -> Iterator[Broken]:
    """Yield a reject for each kind of use or size that a file has only in unknown metrics.

    ``names`` are the unknown metrics of the file, ``met`` those that were read.
    """
    others = sorted(names)
    for table, meant, read in _MEANT:
        some = [name for name in others if meant.match(name)]
        if some and read.isdisjoint(met):
            readable = ", ".join(sorted(one for one in read if not one.endswith("_in_use")))
            yield Broken(
                table=table,
                line=1,
                reason=f"{UNREAD}, {some[0]} for one of {len(some):,}; expected one of {readable}",
                text=", ".join(some),
            )


class Unused:
    """The series of a file that are left out; a metric without any used series becomes a reject."""

    def __init__(self) -> None:
        self._why: dict[str, tuple[Series, str]] = {}
        self._others: set[str] = set()

    def note(self, series: Series, why: str) -> None:
        """Record a series and the reason to leave it out; ``why`` is empty if it is used."""
        if why:
            self._why.setdefault(series.name, (series, why))
        else:
            self._others.add(series.name)

    def reasons(self) -> Iterator[Broken]:
        """Yield a reject for each metric of which no series is used."""
        for name, (series, why) in self._why.items():
            if name not in self._others:
                yield _not_used(series, why)


def _not_used(series: Series, why: str) -> Broken:
    return Broken(
        table=f"{USES[series.name].fills}_amount",
        line=series.line,
        reason=why,
        text=f"{series.name}{dict(series.labels)}",
    )


def unnamed(series: Series, label: str) -> Broken:
    """Return the reject of a series that lacks ``label``, which names its container or node."""
    return _not_used(series, f"has no label {label}: it cannot be told whose use it is")


def unknown_node(series: Series, node: str) -> Broken:
    """Return the reject of a series of a node that no file describes."""
    return Broken(
        table="node_amount",
        line=series.line,
        column="node",
        reason=f"is '{node}', which no file describes, neither by its name nor by an address",
        text=f"{series.name}{dict(series.labels)}",
    )


#: Labels that name the cluster of a series.
_LABELS = ("cluster", "cluster_name", "k8s_cluster", "k8s_cluster_name", "kubernetes_cluster")
_NAMED = 5


def clusters_of(series: Series) -> set[str]:
    """Return the name of the cluster in a series' labels, as a set; empty if they name none."""
    named = (series.labels.get(label) for label in _LABELS)
    return {next(filter(None, named), "")} - {""}


def check_one_cluster(name: str, clusters: Collection[str]) -> None:
    """Raise TracekitError for more than one cluster; pods of two clusters may have one name."""
    if len(clusters) > 1:
        names = sorted(clusters)
        shown = ", ".join(names[:_NAMED]) + ", ..." * (len(names) > _NAMED)
        raise TracekitError(
            f"{name}: what is read together is of {len(names)} clusters, expected one: {shown}",
            hint=f'ask for one of them, as {{cluster="{names[0]}"}} in a query, or with: tracekit'
            f" fetch prometheus URL FOLDER --label cluster={names[0]}",
        )
