"""Refuses series of several clusters: a name of a pod or node may mean another one in each."""

from collections.abc import Collection

from tracekit.base.errors import TracekitError
from tracekit.intake.sources.own._prometheus.series import Series

#: Labels by which those who store series of several clusters tell them apart.
_LABELS = ("cluster", "cluster_name", "k8s_cluster", "k8s_cluster_name", "kubernetes_cluster")
_NAMED = 5


def clusters_of(series: Series) -> set[str]:
    """What the labels of a series call its cluster; empty where they do not."""
    named = (series.labels.get(label) for label in _LABELS)
    return {next(filter(None, named), "")} - {""}


def check_one_cluster(name: str, clusters: Collection[str]) -> None:
    """Raise TracekitError where what is read is of more than one cluster."""
    if len(clusters) > 1:
        known = sorted(clusters)
        shown = ", ".join(known[:_NAMED]) + ", ..." * (len(known) > _NAMED)
        raise TracekitError(
            f"{name}: what is read together is of {len(known)} clusters, expected one: {shown}",
            hint=f'ask for one of them, as {{cluster="{known[0]}"}} in a query, or with: tracekit'
            f" fetch prometheus URL FOLDER --label cluster={known[0]}",
        )
