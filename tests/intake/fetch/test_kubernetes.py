"""kubectl, played by a script: what it prints comes in, what goes wrong is one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kubernetes_support import listed, node, pod
from series_support import read

from tracekit.base.errors import TracekitError
from tracekit.commands.fetch_kubernetes import fetch_kubernetes
from tracekit.commands.shell import run

METRICS = {
    "kind": "NodeMetricsList",
    "apiVersion": "metrics.k8s.io/v1beta1",
    "items": [
        {"metadata": {"name": "n1"}, "timestamp": "2026-01-01T00:00:30Z", "usage": {"cpu": "2"}}
    ],
}


def _kubectl(
    folder: Path,
    objects: str,
    *,
    metrics: str = "",
    volumes: str = "",
    budgets: str = "",
    code: int = 0,
) -> str:
    """A program that prints objects, or metrics where there are any."""
    folder.mkdir(exist_ok=True)
    (folder / "objects").write_text(objects)
    (folder / "metrics").write_text(metrics)
    (folder / "volumes").write_text(volumes or json.dumps(listed()))
    (folder / "budgets").write_text(budgets)
    script = folder / "kubectl"
    script.write_text(
        f"""#!/bin/sh
echo "$@" >> {folder}/calls
case "$*" in
  *raw*) [ -s {folder}/metrics ] || {{ echo "no metrics API" >&2; exit 1; }}
         cat {folder}/metrics ;;
  *volumes*) cat {folder}/volumes ;;
  *budgets*) [ -s {folder}/budgets ] || {{ echo "may not list budgets" >&2; exit 1; }}
         cat {folder}/budgets ;;
  *) cat {folder}/objects
     [ {code} = 0 ] || echo "Unable to connect to the server" >&2
     exit {code} ;;
esac
"""
    )
    script.chmod(0o755)
    return str(script)


CLUSTER = json.dumps(listed(node("n1"), pod(nodeName="n1"), pod("web-2", nodeName="n1")))


def test_nodes_pods_and_their_use_come_in(tmp_path: Path) -> None:
    program = _kubectl(tmp_path / "bin", CLUSTER, metrics=json.dumps(METRICS))
    summary = fetch_kubernetes(tmp_path / "out", kubectl=program, context="prod")
    assert (summary.nodes, summary.pods, summary.lacking) == (1, 2, "")
    assert (tmp_path / "bin" / "calls").read_text().splitlines()[0] == (
        "--context=prod get nodes,pods --all-namespaces --output json"
    )
    objects = read("kubernetes", tmp_path / "out" / "kubernetes.json.gz")
    assert objects.rows("container", "container") == [("default/web-1",), ("default/web-2",)]
    used = read("kubernetes", tmp_path / "out" / "kubernetes-node-metrics.json.gz")
    assert used.rows("node_amount", "node", "amount") == [("n1", 2.0)]


def test_volumes_and_budgets_come_along_where_they_may_be_seen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": "v"}, "spec": {}}
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
              "metadata": {"name": "web", "namespace": "default"}, "spec": {}}  # fmt: skip
    some = json.dumps(listed(volume)), json.dumps(listed(budget))
    program = _kubectl(tmp_path / "all", CLUSTER, volumes=some[0], budgets=some[1])
    summary = fetch_kubernetes(tmp_path / "out", kubectl=program)
    names = ("kubernetes", "kubernetes-volumes", "kubernetes-budgets")
    assert summary.files == tuple(f"{name}.json.gz" for name in names)
    assert summary.rules_lacking == ""
    assert len(summary.commands) == 3
    # there are no volumes any more, and budgets may not be seen
    program = _kubectl(tmp_path / "few", CLUSTER)
    assert run(["fetch", "kubernetes", str(tmp_path / "out"), "--kubectl", program]) == 0
    capsys.readouterr()
    assert not (tmp_path / "out" / "kubernetes-volumes.json.gz").exists()


def test_without_a_metrics_server_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = _kubectl(tmp_path / "bin", CLUSTER)
    out = tmp_path / "out"
    assert run(["fetch", "kubernetes", str(out), "--kubectl", program]) == 0
    capsys.readouterr()
    assert [path.name for path in out.iterdir()] == ["kubernetes.json.gz"]
    assert run(["fetch", "kubernetes", str(out), "--kubectl", program, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["pods"] == 2


BAD = [
    (CLUSTER, 1),
    (CLUSTER[:300], 0),
    ("error: you are not logged in", 0),
    (json.dumps(listed()), 0),
]


@pytest.mark.parametrize(("objects", "code"), BAD)
def test_what_goes_wrong_is_told_and_what_was_there_stays(
    tmp_path: Path, objects: str, code: int
) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "kubernetes.json.gz").write_text("of yesterday")
    program = _kubectl(tmp_path / "bin", objects, code=code)
    with pytest.raises(TracekitError):
        fetch_kubernetes(out, kubectl=program)
    assert [(path.name, path.read_text()) for path in out.iterdir()] == [
        ("kubernetes.json.gz", "of yesterday")
    ]


def _program(folder: Path, script: str) -> str:
    path = folder / "kubectl"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize(
    "script",
    ["exec sleep 600", "sleep 600", "trap '' TERM; while :; do sleep 1; done", "exec yes"],
    ids=["silent", "a child of its own", "deaf to SIGTERM", "never ending"],
)
def test_a_program_that_does_not_end_is_waited_for_as_long_as_asked(
    tmp_path: Path, script: str
) -> None:
    started = time.monotonic()
    with pytest.raises(TracekitError):
        fetch_kubernetes(tmp_path / "out", kubectl=_program(tmp_path, script), timeout_s=0.5)
    assert time.monotonic() - started < 60
    assert list((tmp_path / "out").iterdir()) == []


def test_a_program_may_say_as_much_as_it_likes(tmp_path: Path) -> None:
    (tmp_path / "objects").write_text(CLUSTER)
    script = f"head -c 300000 /dev/zero | tr '\\0' 'x' >&2\ncat {tmp_path}/objects"
    program = _program(tmp_path, script)
    assert fetch_kubernetes(tmp_path / "out", kubectl=program, timeout_s=120).pods == 2
    with pytest.raises(TracekitError):
        fetch_kubernetes(tmp_path / "out", kubectl=_program(tmp_path, f"{script}\nexit 3"))


def test_a_signal_ends_the_program_too(tmp_path: Path) -> None:
    program = _program(tmp_path, f"echo $$ > {tmp_path}/id\nexec sleep 600")
    words = ["fetch", "kubernetes", "out", "--kubectl", program]
    with subprocess.Popen([sys.executable, "-m", "tracekit", *words], cwd=tmp_path) as running:
        while not (tmp_path / "id").exists() or not (tmp_path / "id").read_text().strip():
            assert running.poll() is None
            time.sleep(0.05)
        running.terminate()
        assert running.wait(60) == 128 + signal.SIGTERM
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "id").read_text()), 0)
