"""Fetch one's own cluster's nodes and pods through kubectl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import FolderToFill, Option

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
