"""How long tracekit serve takes to answer, at 5,000 node names and 100 requests a second.

Liang's extender took 0.945 ms without it, 4.439 ms on cached metrics and 1,110.439 ms when it asked
Prometheus each time (means of 9 decisions, a handful of nodes, network included). Here a client in
a process of its own sends requests at fixed times over one connection, whether or not the one
before is answered, so that waiting counts. Between two requests a pod comes to a node. The server
has the last core to itself, as far as the system allows: it goes before whatever else runs, and so
does the client on the first core.

``python bench/bench_serve.py [SECONDS]`` prints the table; ``--million`` sends a million
small requests instead, and prints the memory in between.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.live.extender import Extender
from tracekit.live.feeds import apply
from tracekit.live.serve import Server
from tracekit.live.state import State
from tracekit.live.use import Use
from tracekit.live.web import Request
from tracekit.policy.parse import parse_policy

NODES, PODS, RATE = 5_000, 50_000, 100
#: So many small requests are sent at once.
_TOGETHER = 50
CORES = sorted(os.sched_getaffinity(0))
POLICIES = ("default_scheduler", "target_load_packing", "least_allocated")

#: Prints nodes and pods as kubectl does, then one more pod at a time.
_KUBECTL = """
import json, sys, time
nodes, pods, rate = {sizes}
def told(kind, name, **more):
    value = {{"kind": kind, "metadata": {{"name": name, "uid": name}}, **more}}
    print(json.dumps({{"type": "ADDED", "object": value}}), flush=False)
def pod(at):
    asked = {{"requests": {{"cpu": f"{{at % 9 + 1}}00m", "memory": "1Gi"}}}}
    spec = {{"nodeName": f"node-{{at * 7919 % nodes:05d}}", "containers": [{{"resources": asked}}]}}
    told("Pod", f"pod-{{at}}", spec=spec)
if "nodes" in sys.argv:
    for at in range(nodes):
        amounts = {{"cpu": "32", "memory": "128Gi", "pods": "110"}}
        told("Node", f"node-{{at:05d}}", status={{"capacity": amounts, "allocatable": amounts}})
else:
    for at in range(pods):
        pod(at)
sys.stdout.flush()
at = pods
time.sleep(5)
while True:
    time.sleep(1 / rate if rate else 3600)
    if "nodes" not in sys.argv:
        pod(at)
        sys.stdout.flush()
        at += 1
"""


class Served:
    """A server in a process of its own, on a cluster that a program makes up."""

    def __init__(self, policy: str, nodes: int, pods: int, rate: int) -> None:
        self.folder = tempfile.TemporaryDirectory()
        program = Path(self.folder.name) / "kubectl.py"
        program.write_text(_KUBECTL.format(sizes=(nodes, pods, rate)))
        kubectl = f"{sys.executable} {program}"
        command = [sys.executable, "-m", "tracekit", "serve", "--policy", policy, "--port", "0"]
        self.running = subprocess.Popen(
            [*command, "--kubectl", kubectl],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        assert self.running.stdout is not None
        self.port = int(self.running.stdout.readline().split(":")[-1].split("/")[0])
        self.line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while self.get("/readyz")[0] != 200:
            time.sleep(0.2)

    def first(self) -> None:
        """Have the server, and this client, go before whatever else runs, on a core each."""
        for task in Path(f"/proc/{self.running.pid}/task").iterdir():
            _first_on(int(task.name), CORES[-1])
        _first_on(0, CORES[0])

    def get(self, target: str) -> tuple[int, bytes]:
        self.line.request("GET", target)
        answer = self.line.getresponse()
        return answer.status, answer.read()

    def post(self, body: bytes) -> bytes:
        self.line.request("POST", "/v1/prioritize", body)
        return self.line.getresponse().read()

    def post_all(self, bodies: list[bytes]) -> None:
        """Send requests one behind the other, and only then read the answers."""
        head = "POST /v1/prioritize HTTP/1.1\r\nContent-Length: {}\r\n\r\n"
        sent = b"".join(head.format(len(body)).encode() + body for body in bodies)
        self.line.sock.sendall(sent)
        with self.line.sock.makefile("rb", buffering=1 << 20) as answers:
            for _ in bodies:
                assert answers.readline() == b"HTTP/1.1 200 OK\r\n"
                length = 0
                while (line := answers.readline()) != b"\r\n":
                    name, _, value = line.partition(b":")
                    length = int(value) if name == b"Content-Length" else length
                assert len(answers.read(length)) == length

    def rss_mib(self) -> float:
        pages = int(Path(f"/proc/{self.running.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20

    def cpu_s(self) -> float:
        fields = Path(f"/proc/{self.running.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self.line.close()
        self.running.terminate()
        self.running.wait()
        self.folder.cleanup()


def _first_on(task: int, core: int) -> None:
    """A task runs on one core, before others where the system allows it."""
    os.sched_setaffinity(task, {core})
    with contextlib.suppress(PermissionError):
        os.sched_setscheduler(task, os.SCHED_FIFO, os.sched_param(1))


def _body(nodes: int, at: int, rng: np.random.Generator) -> bytes:
    names = [f"node-{one:05d}" for one in rng.permutation(nodes)]
    asked = {"requests": {"cpu": "500m", "memory": "1Gi"}}
    pod: dict[str, Any] = {
        "metadata": {"name": f"new-{at}", "uid": f"new-{at}"},
        "spec": {"containers": [{"resources": asked}]},
    }
    return json.dumps({"Pod": pod, "Nodes": None, "NodeNames": names}).encode()


def latency(policy: str, seconds: int) -> str:
    """A row: percentiles from when a request was due, and processor time a request."""
    rng = np.random.default_rng(0)
    served = Served(policy, NODES, PODS, RATE)
    bodies = [_body(NODES, at, rng) for at in range(50)]
    for body in bodies:
        served.post(body)
    served.first()
    took, used, begin = [], served.cpu_s(), time.perf_counter()
    for at in range(seconds * RATE):
        due = begin + at / RATE
        time.sleep(max(due - time.perf_counter(), 0.0))
        served.post(bodies[at % len(bodies)])
        took.append(1000 * (time.perf_counter() - due))
    used = 1000 * (served.cpu_s() - used) / len(took)
    served.close()
    p50, p99, most = (float(np.quantile(took, one)) for one in (0.5, 0.99, 1.0))
    return f"{policy:24} {p50:8.3f} {p99:8.3f} {most:9.3f} {used:12.3f}"


def memory(requests: int) -> None:
    """Memory of a server of 20 nodes over many requests."""
    rng = np.random.default_rng(0)
    served = Served("least_allocated", 20, 200, 0)
    bodies = [_body(20, at, rng) for at in range(50_000)]
    print(f"{'requests':>10} {'MiB':>8}")
    for at in range(0, requests + 1, _TOGETHER):
        if at % (requests // 20) == 0:
            print(f"{at:10,} {served.rss_mib():8.1f}", flush=True)
        start = at % len(bodies)
        served.post_all(bodies[start : start + _TOGETHER])
    served.close()


def alone(policy: str) -> str:
    """Percentiles of the processor time of an answer, in this process and without a network."""
    rng = np.random.default_rng(0)
    state = State(Use(most_age_ms=10**15, samples=40))
    amounts = {"cpu": "32", "memory": "128Gi", "pods": "110"}
    for at in range(NODES):
        meta = {"name": f"node-{at:05d}"}
        status = {"capacity": amounts, "allocatable": amounts}
        apply(state, "ADDED", {"kind": "Node", "metadata": meta, "status": status})
    for at in range(PODS):
        apply(state, "ADDED", _pod(at))
    now_s = int(time.time())
    for step in range(40, 0, -1):
        state.use.add((now_s - 30 * step) * 1000, dict.fromkeys(state.nodes, (0.3, 0.4)))
    server = Server(extender=Extender(state=state, policy=parse_policy(policy)))
    bodies = [_body(NODES, at, rng) for at in range(50)]
    took = []
    for at in range(1_000):
        apply(state, "ADDED", _pod(PODS + at))
        request = Request(method="POST", target="/v1/prioritize", body=bodies[at % len(bodies)])
        begin = time.thread_time()
        answer = server.handle(request)
        took.append(1000 * (time.thread_time() - begin))
        answer.then()
    p50, p99 = (float(np.quantile(took, one)) for one in (0.5, 0.99))
    return f"{p50:10.3f} {p99:8.3f}"


def _pod(at: int) -> dict[str, Any]:
    asked = {"requests": {"cpu": f"{at % 9 + 1}00m", "memory": "1Gi"}}
    spec = {
        "nodeName": f"node-{at * 7919 % NODES:05d}",
        "containers": [{"resources": asked}],
    }
    return {"kind": "Pod", "metadata": {"name": f"pod-{at}", "uid": f"pod-{at}"}, "spec": spec}


def main() -> None:
    if "--million" in sys.argv:
        memory(1_000_000)
        return
    seconds = int(sys.argv[1]) if sys.argv[1:] else 30
    print(f"{NODES:,} node names, {PODS:,} pods, {RATE} requests a second, times in ms")
    print(f"load of the machine: {', '.join(f'{one:.1f}' for one in os.getloadavg())}")
    print("over the network, from when a request was due; processor: of the server, a request")
    print(f"{'policy':24} {'p50':>8} {'p99':>8} {'longest':>9} {'processor':>12}")
    for policy in POLICIES:
        print(latency(policy, seconds), flush=True)
    print("processor time of an answer alone, which does not wait for others at work")
    print(f"{'policy':24} {'p50':>10} {'p99':>8}")
    for policy in POLICIES:
        print(f"{policy:24} {alone(policy)}", flush=True)
    print("Liang: 0.945 without, 4.439 with metrics cached, 1,110.439 asking Prometheus (means)")


if __name__ == "__main__":
    main()
