"""tracekit serve: a policy answers kube-scheduler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.commands._options import Argument, Option, size_bytes
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.signature import Call

if TYPE_CHECKING:
    from tracekit.intake.fetch.server import Server
    from tracekit.store.folder import Store


def serve(
    store: Annotated[
        Path | str | None,
        Argument(
            "A store, or a file or folder of what kubectl printed: nodes and pods to begin with.",
            metavar="STORE|FOLDER",
            completes="stores",
        ),
    ] = None,
    *,
    policies: Annotated[
        Sequence[str],
        Option(
            "The policy that answers; further ones are recorded by --shadow.",
            names="--policy",
            metavar="NAME[param=value,...]|FILE.yaml",
            completes="policies",
        ),
    ] = (),
    host: Annotated[str, Option("The address to listen on.", metavar="ADDRESS")] = "127.0.0.1",
    port: Annotated[
        int, Option("The port; 0: any free one.", minimum=0, maximum=65535, metavar="PORT")
    ] = 8080,
    kubectl: Annotated[
        str | None,
        Option("Watch nodes and pods by this program: kubectl, 'kubectl --context prod'."),
    ] = None,
    prometheus: Annotated[
        str | None, Option("Ask this Prometheus for the use of nodes.", metavar="URL")
    ] = None,
    headers: Annotated[
        Sequence[str],
        Option("A header for Prometheus; repeatable.", names="--header", metavar="'NAME: VALUE'"),
    ] = (),
    step: Annotated[str, Option("Time between two samples of use.")] = "30s",
    max_age: Annotated[
        str, Option("Use that is older counts as not measured.", metavar="SPAN")
    ] = "5m",
    shadow: Annotated[
        Path | str | None,
        Option("Give every node 0, and record there what policies would do.", metavar="FOLDER"),
    ] = None,
    filter_names: Annotated[
        bool, Option("Answer /v1/filter, of lists of node names.", names="--filter")
    ] = False,
    filter_whole: Annotated[
        bool,
        Option(
            "Answer /v1/filter of whole nodes, too. With nodeCacheCapable: false a filter makes"
            " every node look empty to two plugins of kube-scheduler (kubernetes#141781).",
            names="--filter-whole-nodes",
        ),
    ] = False,
    tls_cert: Annotated[
        Path | None, Option("Serve HTTPS by this certificate.", metavar="FILE")
    ] = None,
    tls_key: Annotated[Path | None, Option("Its key.", metavar="FILE")] = None,
    client_ca: Annotated[
        Path | None, Option("Take only clients with a certificate of this CA.", metavar="FILE")
    ] = None,
    body_bytes: Annotated[
        int,
        Option(
            "The longest request; 5,000 whole nodes take about 50 MB.",
            names="--max-request",
            metavar="SIZE",
            takes=str,
            read=size_bytes,
            default="64MiB",
        ),
    ] = 64 << 20,
    timeout_s: Annotated[
        float,
        Option("Seconds that a request may take to come in.", minimum=0.1, names="--timeout"),
    ] = 10.0,
    log_requests: Annotated[bool, Option("Log every request, not only refused ones.")] = False,
    started: Callable[[int], None] = lambda _: None,
) -> int:
    """Serve until SIGTERM; return the number of decisions. See ``tracekit.live.serve``.

    Parameters
    ----------
    started : callable
        Called with the port once it listens.
    """
    import asyncio

    from tracekit.base.errors import TracekitError
    from tracekit.intake.fetch.server import span_s
    from tracekit.live import serve as live
    from tracekit.live.build import build_server
    from tracekit.live.web import Limits
    from tracekit.policy.parse import parse_policy

    if (client_ca is not None and tls_cert is None) or (tls_cert is None) != (tls_key is None):
        raise TracekitError(
            "TLS needs a certificate and its key", hint="--tls-cert server.crt --tls-key server.key"
        )
    filters = "whole" if filter_whole else "names" if filter_names else ""
    made = build_server(
        [parse_policy(text) for text in policies],
        None if store is None else _begin(Path(store)),
        kubectl=kubectl,
        prometheus=_prometheus(prometheus, headers) if prometheus else None,
        step_s=span_s(step, "--step"),
        max_age_s=span_s(max_age, "--max-age"),
        shadow=None if shadow is None else Path(shadow),
    )
    made.filters, made.log_requests = filters, log_requests
    tls = live.tls_context(tls_cert, tls_key, client_ca) if tls_cert and tls_key else None
    limits = Limits(
        body_bytes=body_bytes, together_bytes=max(4 * body_bytes, 256 << 20), request_s=timeout_s
    )
    live.more_files(limits.clients)
    asyncio.run(live.run(made, host=host, port=port, limits=limits, tls=tls, started=started))
    return made.extender.decisions


def _begin(given: Path) -> Store | Path:
    """A store, or a file or folder of what kubectl printed."""
    from tracekit.base.errors import TracekitError
    from tracekit.store.folder import open_store

    if not given.exists():
        raise TracekitError(
            f"'{given}' is not there",
            hint="give a store, or what 'kubectl get nodes,pods -A -o json' prints",
        )
    return open_store(given) if (given / "tables").is_dir() else given


def _prometheus(url: str, headers: Sequence[str]) -> Server:
    import numpy as np

    from tracekit.intake.fetch.http import Retries
    from tracekit.intake.fetch.server import Server, address, header

    return Server(
        url=address(url),
        headers=dict(header(one) for one in headers),
        timeout_s=_PATIENCE_S,
        retries=Retries(),
        rng=np.random.default_rng(0),
    )


#: The timeout of Prometheus in seconds.
_PATIENCE_S = 10.0
PANEL = Panel.replay


def command(
    call: Call,
    policies: list[str],
    host: str,
    tls_cert: Path | None,
) -> None:
    """Answer kube-scheduler by the policy that won, as a scheduler extender.

    POST /v1/prioritize takes ExtenderArgs and answers scores 0 to 10, by the code of the replay:
    tracekit score gives the same scores for the case at /case?pod=NAMESPACE/NAME.
    GET /explain?pod=NAMESPACE/NAME shows a decision part by part. The cluster reads /metrics,
    /healthz and /readyz. Nodes come from the request, from --kubectl or from a store; pods from
    the last two; use from --prometheus. With nodeCacheCapable: false each request
    carries every node whole: 5,000 nodes are about 50 MB. Set it to true, and give --kubectl.

    With --shadow every node gets 0, which changes no decision. The choices of the policies are
    recorded: tracekit ingest takes the record, tracekit compare judges it.

    Example: tracekit serve --policy least_allocated --kubectl kubectl --port 8080
    """
    scheme = "https" if tls_cert else "http"

    def started(port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        print(f"{policies[0]} answers at {scheme}://{shown}:{port}/v1/prioritize", flush=True)

    call(started=started)
