"""tracekit serve as it is started: watched by a program that prints as kubectl does, and asked."""

import contextlib
import http.client
import http.server
import json
import os
import shutil
import signal
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fleet import args, node, pod

#: Prints the events of a file as kubectl does, follows it, and ends where the file says so.
_KUBECTL = """
import json, sys, time
kind = "node" if "nodes" in sys.argv else "pod"
assert sys.argv[1] == "get" and "--output-watch-events" in sys.argv
with open(f"{FOLDER}/{kind}.events") as lines:
    while True:
        line = lines.readline()
        if not line:
            time.sleep(0.05)
        elif line == "end\\n":
            sys.exit(1)
        elif line == "strange\\n":
            print("Error from server", flush=True)
        else:
            print(json.dumps(json.loads(line), indent=4), flush=True)
"""


class _Cluster:
    """The events of a cluster, in files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        program = folder / "kubectl.py"
        program.write_text(f"FOLDER = {str(folder)!r}\n{_KUBECTL}")
        self.kubectl = f"{sys.executable} {program}"
        for kind in ("node", "pod"):
            (folder / f"{kind}.events").touch()

    def tell(self, value: dict[str, Any], event: str = "ADDED") -> None:
        path = self.folder / f"{value['kind'].lower()}.events"
        with path.open("a") as out:
            out.write(json.dumps({"type": event, "object": value}) + "\n")

    def start_again(self, kind: str, *values: dict[str, Any]) -> None:
        """The watch breaks off; what there is from then on."""
        path = self.folder / f"{kind}.events"
        fresh = "".join(json.dumps({"type": "ADDED", "object": one}) + "\n" for one in values)
        before = path.open("a")
        next_one = path.with_suffix(".next")
        next_one.write_text(fresh)
        next_one.replace(path)
        before.write("strange\nend\n")
        before.close()


@contextlib.contextmanager
def _serving(options: Sequence[str], log: Path) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    command = [sys.executable, "-m", "tracekit", "serve", "--port", "0", *options]
    with (
        log.open("w") as message,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=message, text=True) as running,
    ):
        assert running.stdout is not None
        try:
            first = running.stdout.readline()
            assert first, log.read_text()
            yield urlsplit(first.split()[-1]).port or 0, running
        finally:
            running.send_signal(signal.SIGTERM)
            assert running.wait(20) == 0
            assert "Traceback" not in log.read_text()


def _ask(port: int, method: str, target: str, document: Any = None) -> tuple[int, bytes]:
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as line:
        line.request(method, target, None if document is None else json.dumps(document))
        answer = line.getresponse()
        return answer.status, answer.read()


def _until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


def _scores(port: int, waiting: Any, names: list[str]) -> dict[str, int]:
    status, body = _ask(port, "POST", "/v1/prioritize", args(waiting, names))
    assert status == 200, body
    return {one["Host"]: one["Score"] for one in json.loads(body)}


@pytest.mark.slow
def test_a_watched_cluster_is_answered_for(tmp_path: Path) -> None:
    cluster, waiting = _Cluster(tmp_path), pod("waits")
    for name in ("n0", "n1"):
        cluster.tell(node(name))
    cluster.tell(pod("there", "n0", cpu="6"))
    options = ["--policy", "least_allocated", "--kubectl", cluster.kubectl]
    with _serving(options, tmp_path / "log") as (port, _):
        _until(lambda: _ask(port, "GET", "/readyz")[0] == 200)
        result = _scores(port, waiting, ["n0", "n1"])
        assert result["n0"] < result["n1"]
        with (tmp_path / "pod.events").open("a") as out:
            out.write("strange\n")  # a line that is no object costs no other
        cluster.tell(pod("more", "n1", cpu="7"))
        _until(lambda: (now := _scores(port, waiting, ["n0", "n1"]))["n0"] > now["n1"])
        cluster.tell(pod("more", "n1", cpu="7"), "DELETED")
        _until(lambda: _scores(port, waiting, ["n0", "n1"]) == result)
        # the watch breaks off: what is not there any more is forgotten
        cluster.start_again("pod", pod("other", "n1", cpu="7"))
        _until(lambda: (now := _scores(port, waiting, ["n0", "n1"]))["n0"] > now["n1"])
        metrics = _ask(port, "GET", "/metrics")[1].decode()
        assert 'tracekit_watch_starts_total{kind="Pod"} 2' in metrics
        assert 'tracekit_objects_refused_total{kind="Node"} 0' in metrics
        status, body = _ask(port, "GET", "/explain?pod=shop/waits")
        assert status == 200
        assert [one["node"] for one in json.loads(body)["nodes"]] == ["n0", "n1"]
    events = [json.loads(line)["event"] for line in (tmp_path / "log").read_text().splitlines()]
    assert events[-1] == "stopped"


class _Prometheus(http.server.BaseHTTPRequestHandler):
    busy: str = "n0"

    def do_GET(self) -> None:
        wanted = parse_qs(urlsplit(self.path).query)
        start, end, step = (int(wanted[name][0]) for name in ("start", "end", "step"))
        cpu = "node_cpu" in wanted["query"][0]
        result = [
            {
                "metric": {"nodename": name},
                "values": [
                    [at, str((7 if name == self.busy else 1) * (1 if cpu else 2**30))]
                    for at in range(start, end + 1, step)
                ],
            }
            for name in ("n0", "n1")
        ]
        document = {"status": "success", "data": {"resultType": "matrix", "result": result}}
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.slow
def test_use_comes_from_prometheus(tmp_path: Path) -> None:
    listed = tmp_path / "objects.json"
    items = [node("n0"), node("n1")]
    listed.write_text(json.dumps({"kind": "List", "apiVersion": "v1", "items": items}))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Prometheus)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    options = [
        *(str(listed), "--policy", "load_variation_risk_balancing", "--step", "1s"),
        *("--prometheus", f"http://127.0.0.1:{server.server_port}"),
    ]
    with _serving(options, tmp_path / "log") as (port, _):
        _until(lambda: _ask(port, "GET", "/readyz")[0] == 200)
        result = _scores(port, pod("waits"), ["n0", "n1"])
        assert result["n0"] < result["n1"]
    server.shutdown()
    server.server_close()


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate")
def test_https_and_a_wrong_certificate(tmp_path: Path) -> None:
    cert, key = tmp_path / "server.crt", tmp_path / "server.key"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"),
            *("-keyout", str(key), "-out", str(cert)),
        ],
        check=True,
        capture_output=True,
    )
    options = ["--policy", "first_fit", "--tls-cert", str(cert), "--tls-key", str(key)]
    with _serving(options, tmp_path / "log") as (port, _):
        trusted = ssl.create_default_context(cafile=cert)
        line = http.client.HTTPSConnection("127.0.0.1", port, timeout=20, context=trusted)
        line.request("GET", "/healthz")
        assert line.getresponse().status == 200
        line.close()
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=20)) as plain:
            plain.request("GET", "/healthz")
            with pytest.raises((http.client.HTTPException, ConnectionError)):
                plain.getresponse()
    wrong = subprocess.run(
        [sys.executable, "-m", "tracekit", "serve", *options[:3], str(key), *options[4:]],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ,
    )
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("error: ")
