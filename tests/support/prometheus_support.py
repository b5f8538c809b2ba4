"""A real Prometheus on this machine, filled by promtool, and a server whose answers are made up."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from kubernetes_support import Object, answer, container, listed, node, owned, pod, series

from tracekit.commands.fetch_prometheus import fetch_prometheus
from tracekit.intake.fetch.http import Retries
from tracekit.intake.fetch.prometheus import PrometheusSummary

#: When the made-up cluster was recorded: on a multiple of five minutes.
START_S = 1_767_225_600
STEP_S = 30
_READY_S = 20.0


@contextmanager
def prometheus(folder: Path, lines: Iterable[str], *options: str) -> Iterator[str]:
    """The address of a Prometheus that holds samples given in OpenMetrics; skips without one."""
    for program in ("prometheus", "promtool"):
        if shutil.which(program) is None:
            pytest.skip("prometheus is not installed (Debian package prometheus)")
    folder.mkdir(parents=True)
    source = folder / "in.om"
    with source.open("w") as out:
        out.writelines(lines)
        out.write("# EOF\n")
    blocks = ["promtool", "tsdb", "create-blocks-from", "openmetrics", str(source)]
    subprocess.run([*blocks, str(folder / "data")], check=True, capture_output=True)
    (folder / "empty.yml").write_text("{}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    command = [
        "prometheus",
        f"--config.file={folder / 'empty.yml'}",
        f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=100y",
        f"--web.listen-address=127.0.0.1:{port}",
        *options,
    ]
    log = (folder / "log").open("wb")
    with log, subprocess.Popen(command, stdout=log, stderr=log) as running:
        try:
            _wait_until_ready(url, running, folder / "log")
            yield url
        finally:
            running.terminate()


def _wait_until_ready(url: str, running: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _READY_S
    while time.monotonic() < end and running.poll() is None:
        try:
            with _opened(f"{url}/-/ready"):
                return
        except (urllib.error.URLError, ConnectionError):
            time.sleep(0.05)
    raise AssertionError(log.read_text(errors="replace")[-2000:])


def instant(url: str, promql: str, at_s: float) -> dict[tuple[tuple[str, str], ...], float]:
    """The answer to a query at one time, asked for by hand: value by sorted labels."""
    wanted = urllib.parse.urlencode({"query": promql, "time": at_s})
    with _opened(f"{url}/api/v1/query?{wanted}") as reply:
        result = json.load(reply)["data"]["result"]
    return {tuple(sorted(one["metric"].items())): float(one["value"][1]) for one in result}


def _opened(url: str) -> Any:
    """Proxies are for the world, not for this machine."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    return opener.open(url, timeout=30)


def cluster(nodes: int, pods: int) -> Object:
    """A cluster as kubectl prints it: a daemon on each node, the other pods of 40 Deployments."""
    things = [
        node(f"n{at:03}", labels={"topology.kubernetes.io/zone": f"z{at % 3}"})
        for at in range(nodes)
    ]
    for at in range(pods):
        where = f"n{at % nodes:03}"
        owner = (
            owned("DaemonSet", "agent")
            if at < nodes
            else owned("ReplicaSet", f"app{at % 40}-7d4b9c6f5d")
        )
        sizes = [container("250m" if at < nodes else f"{100 * (1 + at % 8)}m")]
        sizes[0]["resources"]["requests"]["memory"] = f"{64 * (1 + at % 5)}Mi"
        things.append(pod(f"p{at:05}", meta=owner, nodeName=where, containers=sizes))
    return listed(*things)


def recorded(pods: int, samples: int) -> Iterator[str]:
    """What cAdvisor says of these pods, as OpenMetrics; every 97th counter is reset on the way."""
    yield "# TYPE container_cpu_usage_seconds counter\n"
    for at in range(pods):
        labels = f'{{namespace="default",pod="p{at:05}",container="main"}}'
        total = 0.0
        for sample in range(samples):
            total += STEP_S * 0.01 * (1 + (at + 3 * sample) % 17)
            total = 1.5 if at % 97 == 0 and sample == samples // 2 else total
            time_s = START_S + sample * STEP_S
            yield f"container_cpu_usage_seconds_total{labels} {total!r} {time_s}\n"
    yield "# TYPE container_memory_working_set_bytes gauge\n"
    for at in range(pods):
        labels = f'{{namespace="default",pod="p{at:05}",container="main"}}'
        for sample in range(samples):
            used = (1 << 20) * (20 + (at + sample) % 40)
            yield f"container_memory_working_set_bytes{labels} {used} {START_S + sample * STEP_S}\n"


def described(nodes: int, pods: int, samples: int) -> Iterator[str]:
    """What kube-state-metrics, cAdvisor and node exporters say of a small cluster, as OpenMetrics.

    kube-state-metrics runs twice. The first pod goes half way, and one of its name comes on the
    next node. Node ``n0`` takes nothing new. Nodes use 1.5 cores and 3 GiB of 8.
    """
    half = samples // 2
    names: set[str] = set()
    for number, (name, rows) in enumerate(_families(nodes, pods)):
        kind = "counter" if name.endswith("_total") else "gauge"
        if name not in names:
            yield f"# TYPE {name.removesuffix('_total')} {kind}\n"
        names.add(name)
        for labels, value, life in rows:
            first, last = {"": (0, samples), "first": (0, half), "second": (half, samples)}[life]
            for twice in ("a", "b") if name.startswith("kube_") else ("a",):
                for at in range(first, last):
                    time_s = START_S + at * STEP_S
                    shown = value * at * STEP_S if name.endswith("_total") else value
                    more = f'job="{number % 3}",replica="{twice}"'
                    yield f"{name}{{{labels},{more}}} {shown} {time_s}\n"


def _families(nodes: int, pods: int) -> Iterator[tuple[str, list[tuple[str, float, str]]]]:
    gib = float(1 << 30)
    places = [f'node="n{at}"' for at in range(nodes)]
    homes = [f'instance="10.0.0.{at}:9100"' for at in range(nodes)]
    lives = [(0, 0, "first"), (0, 1, "second"), *((at, at % nodes, "") for at in range(1, pods))]

    def each(value: float, more: str = "", uid: bool = True) -> list[tuple[str, float, str]]:
        return [
            (
                f'namespace="shop",pod="p{at}"'
                + (f',uid="u{at}{life}",node="n{where}"' if uid else "")
                + more,
                value,
                life,
            )
            for at, where, life in lives
        ]

    for resource, unit, amount in (("cpu", "core", 8.0), ("memory", "byte", 8 * gib)):
        more = f',resource="{resource}",unit="{unit}"'
        yield "kube_node_status_allocatable", [(one + more, amount, "") for one in places]
    label = ',label_topology_kubernetes_io_zone="z1",label_node_kubernetes_io_instance_type="big"'
    yield "kube_node_labels", [(one + label, 1.0, "") for one in places]
    taint = ',key="gpu",value="",effect="NoSchedule"'
    yield "kube_node_spec_taint", [(places[-1] + taint, 1.0, "")]
    closed = [(one, float(at == 0), "") for at, one in enumerate(places)]
    yield "kube_node_spec_unschedulable", closed
    owner = 'owner_kind="Deployment",owner_name="web"'
    yield "kube_replicaset_owner", [(f'namespace="shop",replicaset="rs",{owner}', 1.0, "")]
    made = ',created_by_kind="ReplicaSet",created_by_name="rs"'
    yield "kube_pod_info", each(1.0, made)
    for resource, unit, amount in (("cpu", "core", 0.25), ("memory", "byte", gib)):
        more = f',container="main",resource="{resource}",unit="{unit}"'
        yield "kube_pod_container_resource_requests", each(amount, more)
    yield "container_memory_working_set_bytes", each(gib / 2, ',container="main"', uid=False)[1:]
    yield "node_uname_info", [(f'{one},nodename="n{at}"', 1.0, "") for at, one in enumerate(homes)]
    modes = (("user", 1.0), ("system", 0.5), ("idle", 6.5))
    yield (
        "node_cpu_seconds_total",
        [(f'{one},cpu="0",mode="{mode}"', rate, "") for one in homes for mode, rate in modes],
    )
    yield "node_memory_MemTotal_bytes", [(one, 8 * gib, "") for one in homes]
    yield "node_memory_MemAvailable_bytes", [(one, 5 * gib, "") for one in homes]


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
            wanted = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            made.asked.append(wanted["query"][0])
            if made.moved_to is not None:
                self.send_response(302)
                path = self.path.removeprefix("/prefix")
                self.send_header("Location", f"{made.moved_to.url}{path}")
                self.end_headers()
                return
            code, body = (made.replies.pop(0) if made.replies else some)(wanted["query"][0])
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
