"""A real Prometheus: values to the last digit, slices, resuming."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from prometheus_support import (
    END_S,
    SAMPLES,
    START_S,
    STEP_S,
    cluster,
    described,
    fetched,
    instant,
    prometheus,
    recorded,
)
from series_support import read

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.commands.shell import run
from tracekit.intake.fetch import prometheus_query as fetching
from tracekit.intake.sources.own._prometheus.metrics import QUERIES
from tracekit.store.folder import open_store
from tracekit.store.query import Database

PODS = 100


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real one, which answers at most 3,000 samples at once."""
    folder = tmp_path_factory.mktemp("prometheus") / "data"
    with prometheus(folder, recorded(PODS, SAMPLES), "--query.max-samples=3000") as url:
        yield url


def _amounts(out: Path) -> pl.DataFrame:
    frames = [
        read("kubernetes", path).tables["container_amount"] for path in sorted(out.glob("*.gz"))
    ]
    keys = ["container", "resource", "time_ms"]
    return pl.concat(frames).select(*keys, "amount").sort(keys)


def test_what_is_fetched_is_what_prometheus_says(server: str, tmp_path: Path) -> None:
    """Asked for too much at once, it is asked for less, until it answers."""
    summary = fetched(server, tmp_path / "out")
    by_query = {one.name: one for one in summary.queries}
    assert set(by_query) == {one.name for one in QUERIES}
    cpu = by_query["container_cpu_in_use"]
    assert (cpu.outcome, cpu.series, cpu.samples) == ("fetched", PODS, PODS * (SAMPLES - 1))
    assert len(cpu.files) > 1
    amounts = _amounts(tmp_path / "out")
    assert amounts.height == PODS * (2 * SAMPLES - 1)
    assert amounts.unique(["container", "resource", "time_ms"]).height == amounts.height
    for name, resource in (("container_cpu_in_use", "cpu"), ("container_memory_in_use", "memory")):
        for at in (START_S + STEP_S, START_S + 20 * STEP_S, END_S):
            theirs = instant(server, by_query[name].promql, at)
            ours = amounts.filter(
                (pl.col("resource") == resource) & (pl.col("time_ms") == at * 1000)
            )
            by_name = dict(ours.select("container", "amount").iter_rows())
            assert len(theirs) == len(by_name) == PODS
            for labels, value in theirs.items():
                own = dict(labels)
                assert by_name[f"{own['namespace']}/{own['pod']}"] == pytest.approx(value, rel=1e-9)


def test_slices_join_to_what_one_answer_says(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched(server, tmp_path / "one")
    monkeypatch.setattr(fetching, "_USUAL_SAMPLES", 5 * PODS)
    many = {one.name: one for one in fetched(server, tmp_path / "many").queries}
    assert len(many["container_memory_in_use"].files) == SAMPLES // 5
    assert _amounts(tmp_path / "many").equals(_amounts(tmp_path / "one"))


def _twice(lines: Iterable[str]) -> Iterator[str]:
    """The same as two replicas of a Prometheus saw it."""
    for line in lines:
        labelled = (line.replace("{", f'{{prometheus_replica="p{at}",', 1) for at in range(2))
        yield from [line] if line.startswith("#") else labelled


def test_what_two_replicas_saw_counts_once(tmp_path: Path) -> None:
    amounts = []
    for name, lines in (("one", recorded(5, 12)), ("two", _twice(recorded(5, 12)))):
        with prometheus(tmp_path / name / "data", lines) as url:
            fetched(url, tmp_path / name / "out", end=str(START_S + 11 * STEP_S))
        amounts.append(_amounts(tmp_path / name / "out"))
    assert amounts[0].height == 5 * (2 * 12 - 1)
    assert_frame_equal(amounts[0], amounts[1])


def _of_pods(lines: Iterable[str]) -> Iterator[str]:
    """The same as a runtime tells it that knows of no container: the cgroup around each pod."""
    for line in lines:
        whole = re.sub(r'container="[^"]*"', 'id="/kubepods/burstable/pod0a-1b"', line)
        yield line if line.startswith("#") else whole


def test_where_no_container_is_seen_the_cgroup_of_the_pod_counts(tmp_path: Path) -> None:
    amounts = []
    for name, change in (("containers", lambda lines: lines), ("pods", _of_pods)):
        with prometheus(tmp_path / name / "data", change(recorded(5, 12))) as url:
            fetched(url, tmp_path / name / "out", end=str(START_S + 11 * STEP_S))
        amounts.append(_amounts(tmp_path / name / "out"))
    assert amounts[0].height == 5 * (2 * 12 - 1)
    assert_frame_equal(amounts[0], amounts[1])


def _without_honor_labels(lines: Iterable[str]) -> Iterator[str]:
    """The same as Prometheus keeps it where the labels of the exporter's pod go first."""
    own = 'namespace="monitoring",pod="cadvisor-x",container="cadvisor"'
    for line in lines:
        renamed = re.sub(r"(namespace|pod|container)=", r"exported_\1=", line)
        yield line if line.startswith("#") else renamed.replace("{", f"{{{own},", 1)


def _beside_the_machine(lines: Iterable[str]) -> Iterator[str]:
    """With the cgroups of the machine and of each pod, as an exporter tells of them, too."""
    for line in lines:
        yield line
        if not line.startswith("#"):
            around = re.sub(r'container="[^"]*"', 'id="/kubepods/burstable/pod0a-1b"', line)
            yield around
    # samples of one series lie together: that of the machine comes last
    for at in range(12):
        time_s = START_S + at * STEP_S
        yield f'container_memory_working_set_bytes{{id="/"}} 5e9 {time_s}\n'


@pytest.mark.slow
def test_use_that_was_scraped_without_honor_labels_is_that_of_its_pods(tmp_path: Path) -> None:
    made = {
        "honored": recorded(5, 12),
        "renamed": _without_honor_labels(recorded(5, 12)),
        "around": _without_honor_labels(_beside_the_machine(recorded(5, 12))),
    }
    amounts = {}
    for name, lines in made.items():
        with prometheus(tmp_path / name / "data", lines) as url:
            fetched(url, tmp_path / name / "out", end=str(START_S + 11 * STEP_S))
        amounts[name] = _amounts(tmp_path / name / "out")
    assert amounts["honored"].height == 5 * (2 * 12 - 1)
    assert_frame_equal(amounts["honored"], amounts["renamed"])
    assert_frame_equal(amounts["honored"], amounts["around"])


def test_what_is_shown_can_be_asked_by_hand(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A week at 30 s: each command asks for no more points than Prometheus answers."""
    week = ["--from", "2026-01-01", "--to", "2026-01-08", "--step", "30s", "--show"]
    assert run(["fetch", "prometheus", server, str(tmp_path / "out"), *week]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("promtool")]
    files = [line.rpartition("> ")[2] for line in lines]
    assert len(set(files)) == len(files) > len(QUERIES)
    for query in QUERIES:
        mine = [
            [int(option[1]) for option in re.finditer(r"--(?:start|end|step)=(\d+)", line)]
            for line, file in zip(lines, files, strict=True)
            if re.fullmatch(rf"{query.name}(-\d+T\d+Z)?\.json", file)
        ]
        assert all((end - start) // step + 1 <= 11_000 for start, end, step in mine)
        ends = [end + step for _, end, step in mine]
        assert [start for start, _, _ in mine[1:]] == ends[:-1]
        assert (mine[0][0], mine[-1][1]) == (START_S, START_S + 7 * 86_400)


def test_running_again_asks_for_what_is_missing_only(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetching, "_USUAL_SAMPLES", 10 * PODS)
    first = {one.name: one for one in fetched(server, tmp_path).queries}
    assert {one.outcome for one in fetched(server, tmp_path).queries} == {"known"}
    before = _amounts(tmp_path)
    lost = tmp_path / first["container_memory_in_use"].files[1]
    content = lost.read_bytes()
    lost.unlink()
    again = {one.name: one for one in fetched(server, tmp_path).queries}
    outcomes = {name: one.outcome for name, one in again.items()}
    assert outcomes.pop("container_memory_in_use") == "resumed"
    assert set(outcomes.values()) == {"known"}
    assert lost.read_bytes() == content
    assert _amounts(tmp_path).equals(before)
    with pytest.raises(TracekitError):
        fetched(server, tmp_path, step="1m")


def test_the_command_prints_each_query_and_what_is_next(
    server: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ["fetch", "prometheus", server, str(tmp_path / "out")]
    times = ["--from", str(START_S), "--to", str(END_S), "--label", "cluster=x"]
    assert run([*call, *times, "--show"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("promtool query range") == len(QUERIES)
    assert 'kube_pod_info{cluster="x"}[5m]' in shown
    assert not (tmp_path / "out").exists()
    assert run([*call, *times, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["from"] == "2026-01-01T00:00:00Z"
    assert {one["series"] for one in document["queries"]} == {0}
    assert list((tmp_path / "out").glob("*.gz")) == []


@pytest.mark.slow
def test_a_cluster_comes_in_with_its_use(server: str, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "cluster.json").write_text(json.dumps(cluster(10, PODS)))
    fetched(server, tmp_path / "mine")
    summary = tracekit.ingest(tmp_path / "mine", tmp_path / "store")
    rows: dict[str, int] = {}
    for entry in summary.ingested:
        assert (entry.rejected, entry.duplicates_dropped) == (0, 0)
        rows[entry.table] = rows.get(entry.table, 0) + entry.rows
    assert rows == {
        "container": PODS,
        "container_amount": PODS * (2 * SAMPLES - 1),
        "container_resource": 2 * PODS,
        "node": 10,
        "node_resource": 30,
    }


@pytest.mark.slow
def test_a_cluster_comes_in_from_prometheus_alone(tmp_path: Path) -> None:
    """kube-state-metrics twice, node exporters known by address, a pod that comes back."""
    gib = 1 << 30
    with prometheus(tmp_path / "data", described(3, 5, 40)) as url:
        fetched(url, tmp_path / "mine")
    summary = tracekit.ingest(tmp_path / "mine", tmp_path / "store")
    assert {(entry.rejected, entry.duplicates_dropped) for entry in summary.ingested} == {(0, 0)}
    with Database(open_store(tmp_path / "store")) as database:
        nodes = database.frame("SELECT node, state, zone, platform, taints FROM node ORDER BY node")
        pods = database.frame(
            "SELECT container, service, node, departure_ms FROM container ORDER BY container"
        )
        sizes = database.frame("SELECT DISTINCT resource, request, unit FROM container_resource")
        used = database.frame(
            "SELECT node, resource, max(amount) AS most, count(*) AS samples FROM node_amount"
            " GROUP BY ALL ORDER BY ALL"
        )
    assert nodes.drop("taints").rows() == [
        ("n0", "closed", "z1", "big"),
        ("n1", "ready", "z1", "big"),
        ("n2", "ready", "z1", "big"),
    ]
    assert [taints is None for taints in nodes["taints"]] == [True, True, False]
    others = [(f"shop/p{at}", "shop/web", f"n{at % 3}") for at in range(1, 5)]
    assert pods.drop("departure_ms").rows() == [
        ("shop/p0", "shop/web", "n0"),
        ("shop/p0@u0second", "shop/web", "n1"),
        *others,
    ]
    assert [departure is None for departure in pods["departure_ms"]] == [False, *[True] * 5]
    assert sorted(sizes.rows()) == [("cpu", 0.25, "cores"), ("memory", float(gib), "bytes")]
    assert used.rows() == [
        (f"n{at}", resource, pytest.approx(amount), samples)
        for at in range(3)
        for resource, amount, samples in (("cpu", 1.5, 39), ("memory", 3 * gib, 40))
    ]
