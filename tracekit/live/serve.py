"""The server: its addresses, its counts, and its life from start to stop."""

import asyncio
import bisect
import functools
import gc
import json
import logging
import resource
import signal
import ssl
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import numpy as np

from tracekit.base.errors import TracekitError
from tracekit.live.extender import Candidates, Decided, Extender, read_args
from tracekit.live.feeds import Poll, Watch
from tracekit.live.names import Names
from tracekit.live.shadow import Shadow
from tracekit.live.web import Limits, Request, Response, Web, refusal

#: The upper ends of the histogram of times, in seconds.
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0)
_GRACE_S = 5.0
_HELP = {
    "decisions_total": "Decisions answered.",
    "unknown_nodes_total": "Candidates that are not in the state.",
    "coarse_decisions_total": "Decisions in which 0 to 10 makes the best and a worse node equal.",
    "coarse_loss_total": "How many of 100 points such nodes are worse on average, added up.",
    "nodes": "Nodes in the state.",
    "pods": "Pods in the state.",
    "use_age_seconds": "Age of the newest sample of use.",
    "poll_failures_total": "Questions to Prometheus that failed.",
    "watch_up": "Whether kubectl watches.",
    "watch_starts_total": "Starts of kubectl.",
    "objects_refused_total": "Objects that cannot be read.",
    "requests_total": "Requests by path and status.",
    "shadow_decisions_total": "Decisions by policy, and whether production chose the same node.",
}


def log(event: str, **about: Any) -> None:
    """Print a line of JSON to stderr: the time, the event and ``about``."""
    line = {"time_ms": int(time.time() * 1000), "event": event, **about}
    print(json.dumps(line), file=sys.stderr, flush=True)  # noqa: T201 - the log is its output


@dataclass(kw_only=True)
class Server:
    """The request handler of ``tracekit serve``, with its counts. ``run`` makes it listen.

    Parameters
    ----------
    shadow : Shadow, optional
        If given, every candidate gets 0, and the choices of policies are only recorded.
    filters : {'', 'names', 'whole'}
        What ``/v1/filter`` answers: nothing, lists of names, or also lists of whole nodes.
    """

    extender: Extender
    shadow: Shadow | None = None
    filters: str = ""
    log_requests: bool = False
    watches: Sequence[Watch] = ()
    poll: Poll | None = None
    needs_use: bool = False
    stopping: bool = False
    counts: Counter[tuple[str, int]] = field(default_factory=Counter)
    seconds: Counter[int] = field(default_factory=Counter)
    seconds_sum: float = 0.0

    def handle(self, request: Request) -> Response:
        """Return the response to a request. An error gives a response with its status."""
        began = time.perf_counter()
        parts = urlsplit(request.target)
        path = parts.path.rstrip("/") or "/"
        try:
            answer = self._answer(request, path, parse_qs(parts.query))
        except TracekitError as error:
            answer = refusal(400, f"{error.what}; {error.hint}" if error.hint else error.what)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next request is answered
            answer = refusal(500, f"{type(error).__name__}: {error}")
        took = time.perf_counter() - began
        counted_path = path if answer.status not in (404, 405) else "other"
        self.counts[counted_path, answer.status] += 1
        if answer.status == HTTPStatus.OK and request.method == "POST":
            self.seconds[bisect.bisect_left(_SECONDS, took)] += 1
            self.seconds_sum += took
        if self.log_requests or answer.status >= 400:
            about = {"error": answer.body.decode()[:300]} if answer.status >= 400 else {}
            log("request", path=path, status=answer.status, ms=round(1000 * took, 3), **about)
        return answer

    def _answer(self, request: Request, path: str, query: dict[str, list[str]]) -> Response:
        verbs = ("prioritize", self.extender.policy.name())
        posts = dict.fromkeys((f"/v1/{verb}" for verb in verbs), self._prioritize)
        if self.filters:
            posts["/v1/filter"] = self._filter
        gets: dict[str, Callable[[dict[str, list[str]]], Response]] = {
            "/explain": functools.partial(self._of_pod, self.extender.explained),
            "/case": functools.partial(self._of_pod, self.extender.case),
            "/metrics": lambda _: Response(
                status=200, body=self.metrics().encode(), kind="text/plain; version=0.0.4"
            ),
            "/healthz": lambda _: Response(status=200, body=b'{"status":"ok"}\n'),
            "/readyz": lambda _: self._ready(),
        }
        if path in posts and request.method == "POST":
            return posts[path](read_args(request.body, self.extender.state))
        if path in gets and request.method in ("GET", "HEAD"):
            return gets[path](query)
        if path in posts or path in gets:
            return refusal(405, f"{path} takes {'POST' if path in posts else 'GET'}")
        return refusal(404, f"nothing is here; there are {', '.join([*posts, *gets])}")

    def _prioritize(self, candidates: Candidates) -> Response:
        """The scores, in a shadow 0 for each node; the decision is recorded after the response."""
        decided = self.extender.decide(candidates) if self.shadow is None else None
        tenths = np.zeros_like(candidates.listed.positions) if decided is None else decided.tenths
        then = functools.partial(self._after, candidates, decided)
        return Response(status=200, body=candidates.listed.answer(tenths), then=then)

    def _after(self, candidates: Candidates, early: Decided | None) -> None:
        """Record a decision, once the response is sent."""
        try:
            decided = early or self.extender.decide(candidates)
            self.extender.remember(decided)
            if self.shadow is not None:
                self.shadow.note(decided)
        except Exception as error:  # noqa: BLE001 - whatever it is, the next request is answered
            log("fault", pod=candidates.pod.name, error=f"{type(error).__name__}: {error}")

    def _filter(self, candidates: Candidates) -> Response:
        if candidates.nodes is not None and self.filters != "whole":
            why = "whole nodes are not filtered: set nodeCacheCapable: true (kubernetes#141781)"
            document: dict[str, Any] = {"NodeNames": None, "Error": why}
        else:
            document = self.extender.filtered(candidates)
        return Response(status=200, body=msgspec.json.encode(document))

    def _of_pod(self, of: Callable[[str], dict[str, Any]], query: dict[str, list[str]]) -> Response:
        pods = query.get("pod") or []
        if len(pods) != 1:
            return refusal(400, "name one pod: ?pod=NAMESPACE/NAME")
        try:
            return Response(status=200, body=json.dumps(of(pods[0])).encode() + b"\n")
        except TracekitError as error:
            return refusal(404, f"{error.what}; {error.hint}")

    def _ready(self) -> Response:
        """200 if the state has what the policy reads; 503 before, and while it is out of date."""
        wants = {
            "stopping": self.stopping,
            **{f"no {one.kind}s yet": not one.ready for one in self.watches},
            "no measured use, or too old": self.needs_use and not self._has_use(),
        }
        lacking = [name for name, holds in wants.items() if holds]
        body = json.dumps({"ready": not lacking, "lacking": lacking}).encode() + b"\n"
        return Response(status=503 if lacking else 200, body=body)

    def _has_use(self) -> bool:
        use = self.extender.state.use
        return use.newest_ms is not None and use.age_ms(self.extender.clock()) <= use.most_age_ms

    def metrics(self) -> str:
        """Return all counts in the text format of Prometheus."""
        one, state, lines = self.extender, self.extender.state, []
        age_s = round(state.use.age_ms(one.clock()) / 1000, 3)
        watched = {f'{{kind="{watch.kind}"}}': watch for watch in self.watches}
        series: dict[str, dict[str, float]] = {
            "decisions_total": {"": one.decisions},
            "unknown_nodes_total": {"": one.unknown},
            "coarse_decisions_total": {"": one.coarse},
            "coarse_loss_total": {"": round(one.lost, 6)},
            "nodes": {"": len(state.nodes)},
            "pods": {"": len(state.pods)},
            "use_age_seconds": {} if state.use.newest_ms is None else {"": age_s},
            "poll_failures_total": {"": self.poll.failures} if self.poll else {},
            "watch_up": {label: int(watch.up) for label, watch in watched.items()},
            "watch_starts_total": {label: watch.starts for label, watch in watched.items()},
            "objects_refused_total": {label: watch.broken for label, watch in watched.items()},
            "requests_total": {
                f'{{path="{path}",status="{status}"}}': count
                for (path, status), count in sorted(self.counts.items())
            },
            "shadow_decisions_total": {
                f'{{policy="{policy}",as_production="{same}"}}': count
                for (policy, same), count in (
                    sorted(self.shadow.counts.items()) if self.shadow else ()
                )
            },
        }
        for name, values in series.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# HELP tracekit_{name} {_HELP[name]}", f"# TYPE tracekit_{name} {kind}"]
            lines += [f"tracekit_{name}{label} {value}" for label, value in values.items()]
        return "\n".join([*lines, *self._times()]) + "\n"

    def _times(self) -> Iterator[str]:
        """The histogram of response times."""
        name, total = "tracekit_prioritize_seconds", 0
        yield from (f"# HELP {name} Time of an answer.", f"# TYPE {name} histogram")
        for at, end in enumerate((*_SECONDS, "+Inf")):
            total += self.seconds[at]
            yield f'{name}_bucket{{le="{end}"}} {total}'
        yield from (f"{name}_sum {self.seconds_sum:.6f}", f"{name}_count {total}")


def tls_context(cert: Path, key: Path, client_ca: Path | None) -> ssl.SSLContext:
    """Return TLS settings. With ``client_ca`` a client needs a certificate that this CA signed."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(cert, key)
        if client_ca is not None:
            context.load_verify_locations(client_ca)
            context.verify_mode = ssl.CERT_REQUIRED
    except OSError as error:
        raise TracekitError(f"no TLS by {cert} and {key}: {error.strerror or error}") from None
    return context


async def run(
    server: Server,
    *,
    host: str,
    port: int,
    limits: Limits,
    tls: ssl.SSLContext | None,
    started: Callable[[int], None],
) -> None:
    """Listen and answer until SIGTERM or SIGINT. Call ``started`` with the port once listening.

    Raises TracekitError if the address cannot be listened on.
    """
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for one in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(one, stop.set)
    # the log has lines of JSON alone, and a watch logs how its program ended
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    web = Web(server.handle, limits)
    Names(("a",)).find(b'["a"]').answer(np.zeros(1, dtype=np.int64))  # compiled before it listens
    try:
        at = await web.start(host, port, tls)
    except OSError as error:
        raise TracekitError(
            f"cannot listen on {host}:{port}: {error.strerror}", hint="another one: --port 8081"
        ) from None
    others = [one for one in (server.poll, server.shadow) if one is not None]
    tasks = [asyncio.create_task(one.run()) for one in (*server.watches, *others)]
    gc.collect()
    gc.freeze()
    started(at)
    log("started", host=host, port=at, policy=str(server.extender.policy))
    await stop.wait()
    server.stopping = True
    log("stopping")
    await web.stop(_GRACE_S)
    left = set(tasks)
    while left:
        for task in left:
            task.cancel()
        # a task that has just been resumed may miss the first cancel (Python 3.11)
        _, left = await asyncio.wait(left, timeout=0.2)
    if server.shadow is not None:
        server.shadow.close()
    log("stopped", decisions=server.extender.decisions)


def more_files(clients: int) -> None:
    """Raise this process's limit of open files for so many clients, as far as permitted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = clients + 256
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
