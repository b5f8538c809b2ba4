"""tracekit serve: a policy answers kube-scheduler."""

from pathlib import Path

from tracekit.cli._asked import Asked
from tracekit.cli._command import Panel

PANEL = Panel.replay


def command(
    asked: Asked,
    policies: list[str],
    host: str,
    tls_cert: Path | None,
) -> None:
    """Answer kube-scheduler by the policy that won, as a scheduler extender.

    POST /v1/prioritize takes ExtenderArgs and answers scores 0 to 10, by the code of the replay:
    tracekit score gives the same of the case at /case?pod=NAMESPACE/NAME.
    GET /explain?pod=NAMESPACE/NAME says why, part by part; /metrics, /healthz and /readyz are
    there for the cluster. Nodes come from the request, from --kubectl or from a store; pods from
    the last two; use from --prometheus. With nodeCacheCapable: false each request
    carries every node whole: 5,000 nodes are about 50 MB. Set it to true, and give --kubectl.

    With --shadow every node gets 0, which changes no decision, and what the policies would have
    done is recorded: tracekit ingest takes the record, tracekit compare judges it.

    Example: tracekit serve --policy least_allocated --kubectl kubectl --port 8080
    """
    scheme = "https" if tls_cert else "http"

    def started(port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        print(f"{policies[0]} answers at {scheme}://{shown}:{port}/v1/prioritize", flush=True)

    asked(started=started)
