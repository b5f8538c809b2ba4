"""tracekit fetch kubernetes: one's own cluster through kubectl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.commands._options import FolderToFill, Option
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json
from tracekit.commands.shell.signature import Call, JsonOption
from tracekit.commands.shell.streams import visible

if TYPE_CHECKING:
    from tracekit.intake.fetch.kubernetes import FetchedObjects


def fetch_kubernetes(
    out: FolderToFill,
    *,
    context: Annotated[str | None, Option("kubectl's context.", shown="its current one")] = None,
    kubectl: Annotated[str, Option("The program: oc, 'k3s kubectl', or a path.")] = "kubectl",
    timeout_s: Annotated[
        float, Option("Seconds to wait for its end.", minimum=0.1, names="--timeout")
    ] = 600.0,
    progress: Progress = SILENT,
) -> FetchedObjects:
    """Write what kubectl says of nodes and pods.

    See ``tracekit.intake.fetch.kubernetes.fetch_kubernetes``.
    """
    from tracekit.intake.fetch import kubernetes

    return kubernetes.fetch_kubernetes(
        out, context=context, kubectl=kubectl, timeout_s=timeout_s, progress=progress
    )


PANEL = Panel.data


def command(call: Call, json: JsonOption = False) -> None:
    """Fetch your cluster's nodes and pods through kubectl, as it is now.

    Persistent volumes and PodDisruptionBudgets are fetched if you may read them,
    and a sample of use if the cluster has a metrics-server. Use over time is in
    Prometheus: tracekit fetch prometheus.

    Example: tracekit fetch kubernetes mycluster
    """
    import dataclasses

    from tracekit.base import units

    summary = call()
    if json:
        document = dataclasses.asdict(summary) | {"out": str(summary.out)}
        print_json({"schema": "tracekit/fetch_kubernetes/1", **document})
        return
    print("\n".join(summary.commands))
    print(
        f"{counted(summary.nodes, 'node')} and {counted(summary.pods, 'pod')},"
        f" {units.size(summary.size_bytes)},"
        f" in {summary.out}"
    )
    if summary.rules_lacking:
        print(visible(f"no volumes, or no budgets of disruption: {summary.rules_lacking}"))
    if summary.lacking:
        print(visible(f"no use by metrics-server: {summary.lacking}"))
    print(f"next: tracekit ingest {summary.out} STORE")
