"""tracekit fetch kubernetes: one's own cluster through kubectl."""

from tracekit.base.words import counted
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json
from tracekit.cli._streams import visible

PANEL = Panel.data


def command(asked: Asked, json: JsonOption = False) -> None:
    """Fetch your cluster's nodes and pods through kubectl, as it is now.

    Persistent volumes and PodDisruptionBudgets come along where you may see them,
    a metrics-server's sample of their use where there is one; use
    over time is in Prometheus: tracekit fetch prometheus.

    Example: tracekit fetch kubernetes mycluster
    """
    import dataclasses

    from tracekit.base import units

    summary = asked()
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
