"""A server whose answers to a fetch are made up, and a fetch that waits for nothing."""

from __future__ import annotations

import json
import threading
import urllib.parse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from kubernetes_support import answer, series
from prometheus_support import START_S, STEP_S

from tracekit.commands.fetch_prometheus import fetch_prometheus
from tracekit.intake.fetch.prometheus import PrometheusSummary
from tracekit.intake.fetch.retry import Retries

AT_ONCE = Retries(tries=3, sleep=lambda _: None)
#: The span that is fetched: so many samples.
SAMPLES = 40
END_S = START_S + (SAMPLES - 1) * STEP_S


def fetched(url: str, out: Path, **more: Any) -> PrometheusSummary:
    """Fetch the span."""
    given = {"start": str(START_S), "end": str(END_S), "retries": AT_ONCE, **more}
    return fetch_prometheus(url, out, **given)


Reply = Callable[[str], tuple[int, bytes]]


@dataclass
class Made:
    """A server whose replies to /api/v1/query_range are made; ``heard`` are their headers."""

    replies: list[Reply] = field(default_factory=list)
    heard: list[dict[str, str]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    url: str = ""
    moved_to: Made | None = None
    cut: bool = False


def some(query: str) -> tuple[int, bytes]:
    """One sample; of how many there are, one."""
    if query.startswith("count("):
        return 200, json.dumps(answer(series(None, [(START_S, 1)]))).encode()
    one = series(None, [(START_S, 2.5)], namespace="default", pod="p")
    return 200, json.dumps(answer(one)).encode()


@contextmanager
def serving(made: Made) -> Iterator[Made]:
    """The server, while it runs."""

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Say nothing."""

        def do_GET(self) -> None:
            made.heard.append(dict(self.headers))
            asked = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            made.asked.append(asked["query"][0])
            if made.moved_to is not None:
                self.send_response(302)
                path = self.path.removeprefix("/prefix")
                self.send_header("Location", f"{made.moved_to.url}{path}")
                self.end_headers()
                return
            code, body = (made.replies.pop(0) if made.replies else some)(asked["query"][0])
            self.send_response(code)
            if made.cut:
                self.send_header("Content-Length", str(2 * len(body)))
            self.end_headers()
            self.wfile.write(body)

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        made.url = f"http://127.0.0.1:{server.server_port}/prefix"
        try:
            yield made
        finally:
            server.shutdown()
