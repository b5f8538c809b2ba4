"""Files that a source reads by code: several tables at once, rejects, what is worked out."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cluster_support import CLUSTER, cluster, rows, stored
from facts_support import causes, the
from kubernetes_support import CREATED_MS, answer, listed, node, pod, series

from tracekit.intake.ingest import ingest
from tracekit.store.checksums import damaged_parts
from tracekit.store.doubts import WITHOUT_USE, doubts
from tracekit.store.folder import Store, open_store
from tracekit.store.manifest import DERIVED
from tracekit.store.quantities import quantities
from tracekit.store.query.describe import describe


def parts(store: Store) -> dict[str, int]:
    return {entry.table: entry.rows for entry in store.manifest.sources if entry.release != DERIVED}


def test_a_file_gives_rows_to_several_tables(tmp_path: Path) -> None:
    store = stored(tmp_path)
    entries = [e for e in store.manifest.sources if e.file == "containers.csv"]
    assert {entry.table: entry.rows for entry in entries} == {
        "container": 3,
        "container_resource": 4,
    }
    assert len({entry.content for entry in entries}) == 1
    assert parts(store)["node_resource"] == 4


@pytest.mark.slow
def test_again_is_nothing_new_and_the_same_bytes(tmp_path: Path) -> None:
    store = stored(tmp_path)
    before = (store.path / "manifest.json").read_bytes()
    summary = ingest(cluster(tmp_path / "cluster"), store.path)
    assert not summary.ingested
    assert {name for name, _ in summary.known} == set(CLUSTER)
    assert (store.path / "manifest.json").read_bytes() == before
    other = stored(tmp_path / "other")
    for one in sorted(store.path.rglob("*.parquet")):
        assert (other.path / one.relative_to(store.path)).read_bytes() == one.read_bytes(), one


def test_a_broken_row_goes_to_the_rejects_with_its_place(tmp_path: Path) -> None:
    lines = [*CLUSTER["usage.csv"], "b,240000,-5,1", "b,270000,x,1", "b,300000,1", "b,,1,1"]
    store = stored(tmp_path, {"usage.csv": lines})
    first = len(CLUSTER["usage.csv"]) + 1
    found = rows(store, "SELECT source_file, line, reason FROM reject ORDER BY line, reason")
    assert {row["source_file"] for row in found} == {"usage.csv"}
    assert sorted({int(str(row["line"])) for row in found}) == [
        first,
        first + 1,
        first + 2,
        first + 3,
    ]
    reasons = {int(str(row["line"])): str(row["reason"]) for row in found}
    assert "'-5'" in reasons[first]
    assert "expected a number" in reasons[first + 1]
    assert "fields" in reasons[first + 2]
    assert parts(store)["container_amount"] >= 32


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["gz", "tar.gz"])
def test_packed_files_give_the_same_rows(tmp_path: Path, packing: str) -> None:
    plain = stored(tmp_path)
    folder = tmp_path / "packed"
    folder.mkdir()
    for name, lines in CLUSTER.items():
        text = ("\n".join(lines) + "\n").encode()
        if packing == "gz":
            (folder / f"{name}.gz").write_bytes(gzip.compress(text, mtime=0))
            continue
        with tarfile.open(folder / f"{name}.tar.gz", "w:gz") as archive:
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text))
    ingest(folder, tmp_path / "other")
    for table in ("container", "container_resource", "container_amount", "node_resource"):
        sql = f"SELECT * FROM {table} ORDER BY ALL"
        assert rows(open_store(tmp_path / "other"), sql) == rows(plain, sql)


@pytest.mark.slow
def test_a_damaged_part_of_a_file_of_two_tables_is_mended(tmp_path: Path) -> None:
    store = stored(tmp_path)
    target = next(store.path.glob("tables/container_resource/*.parquet"))
    whole = target.read_bytes()
    target.write_bytes(whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:])
    assert [d.path for d in damaged_parts(store.path, store.manifest.sources)]
    summary = ingest(tmp_path / "cluster", store.path)
    assert summary.mended == ["containers.csv"]
    assert target.read_bytes() == whole
    assert not list(damaged_parts(store.path, open_store(store.path).manifest.sources))


def test_the_manifest_says_what_is_recorded(tmp_path: Path) -> None:
    store = stored(tmp_path)
    document = json.loads((store.path / "manifest.json").read_text())
    told = document["quantities"]
    assert told["node sizes"] == told["requests"] == told["fault domains"] == "recorded"
    assert told["calls"] == told["prices"] == "absent"
    only = stored(tmp_path / "amounts", {"containers.csv": None})
    assert only.manifest.quantities["requests"] == "absent"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("usage", "samples"), [({"cpu": "1m", "memory": "1Mi"}, 2), ({"cpu": "1m"}, 1)]
)
def test_use_of_a_pod_that_no_file_lists_is_a_doubt(
    tmp_path: Path, usage: dict[str, str], samples: int
) -> None:
    (tmp_path / "mine").mkdir()
    objects = listed(node("n1"), pod(nodeName="n1"))
    (tmp_path / "mine" / "cluster.json").write_text(json.dumps(objects))
    measured = [
        {
            "metadata": {"name": name, "namespace": "default"},
            "timestamp": "2026-01-01T00:00:30Z",
            "containers": [{"usage": usage}],
        }
        for name in ("web-1", "ghost")
    ]
    metrics = {"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "items": measured}
    (tmp_path / "mine" / "metrics.json").write_text(json.dumps(metrics))
    doubt = the(ingest(tmp_path / "mine", tmp_path / "store").doubts, "use_of_unlisted")
    assert (doubt.value, doubt.about["of"], doubt.about["example"]) == (samples, 1, "default/ghost")


def test_a_gap_is_held_and_what_lacks_use_is_told(tmp_path: Path) -> None:
    times = (0, 30_000, 60_000, 90_000)
    lines = [f"b,{at},100,1000" for at in times if at != 30_000]
    used = [*lines, *(f"a,{at},100,1000" for at in times)]
    things = ["b,web,n1,0,,1000,2000", "a,web,n1,0,,500,1000", "c,db,n1,0,,500,1000"]
    files = {
        "containers.csv": [CLUSTER["containers.csv"][0], *things],
        "usage.csv": [CLUSTER["usage.csv"][0], *used],
    }
    made = cluster(tmp_path / "cluster", files)
    summary = ingest(made, tmp_path / "store")
    store = open_store(tmp_path / "store")
    found = rows(store, "SELECT cpu_fraction FROM node_usage ORDER BY time_ms")
    assert [row["cpu_fraction"] for row in found] == pytest.approx([0.05] * 4)
    assert "sum_of_some" in causes(summary.doubts)
    [entry] = [one for one in store.manifest.sources if one.table == "node_usage"]
    assert [defect.defect for defect in entry.defects] == ["sum_of_some"]


def measured(name: str, of: Mapping[str, object], **more: str) -> dict[str, object]:
    return {
        "metadata": {"name": name, **more},
        "timestamp": "2026-01-01T00:01:00Z",
        "window": "30s",
        **of,
    }


#: Seconds between what metrics-server answers for nodes, and how many samples of pods there are.
MOMENTS = [
    ((0,), 20, True),
    ((0, 60), 20, True),
    ((0, 540), 20, False),
    ((0,), 1, False),
    # one answer, too, whose samples of pods lie a minute apart
    ((0,), 3, False),
]


@pytest.mark.slow
@pytest.mark.parametrize(("seconds", "samples", "aside"), MOMENTS)
def test_a_moment_of_nodes_takes_no_history_away(
    tmp_path: Path, seconds: tuple[int, ...], samples: int, aside: bool
) -> None:
    """Ten minutes of a pod that takes a quarter of a node, which once was at a half."""
    folder, begin = tmp_path / "mine", CREATED_MS // 1000 + 600
    folder.mkdir()
    (folder / "cluster.json").write_text(json.dumps(listed(node("n1"), pod("web", nodeName="n1"))))
    times = [begin + 30 * at for at in range(samples)]
    for name, value in (("container_cpu_in_use", 2), ("container_memory_in_use", 8 * 2**30)):
        made = series(name, [(time, value) for time in times], namespace="default", pod="web")
        (folder / f"{name}.json").write_text(json.dumps(answer(made)))
    for at in seconds:
        taken = datetime.fromtimestamp(begin + at, UTC).isoformat().replace("+00:00", "Z")
        item = {
            "metadata": {"name": "n1"},
            "timestamp": taken,
            "window": "30s",
            "usage": {"cpu": "4", "memory": "16Gi"},
        }
        listing = {"kind": "NodeMetricsList", "apiVersion": "metrics.k8s.io/v1beta1"}
        (folder / f"nodes-{at}.json").write_text(json.dumps({**listing, "items": [item]}))
    ingest(folder, tmp_path / "store")
    store = open_store(tmp_path / "store")
    found = rows(store, "SELECT count(*) AS times, max(cpu_fraction) AS most FROM node_usage")
    wanted = (samples, 0.25) if aside else (len(seconds), 0.5)
    assert (found[0]["times"], found[0]["most"]) == wanted
    assert quantities(store)["use of nodes"] == ("inferred" if aside else "recorded")
    assert ("moment" in causes(doubts(store))) == aside


def test_containers_without_use_are_told_where_use_of_nodes_is_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    pods = [pod(name, nodeName="n1") for name in ("web-1", "web-2")]
    (folder / "cluster.json").write_text(json.dumps(listed(node("n1"), *pods)))
    used = {"containers": [{"usage": {"cpu": "1m", "memory": "1Mi"}}]}
    of_nodes = {"usage": {"cpu": "100m", "memory": "1Gi"}}
    for kind, item in (
        ("PodMetricsList", measured("web-1", used, namespace="default")),
        ("NodeMetricsList", measured("n1", of_nodes)),
    ):
        answer = {"kind": kind, "apiVersion": "metrics.k8s.io/v1beta1", "items": [item]}
        (folder / f"{kind}.json").write_text(json.dumps(answer))
    summary = ingest(folder, tmp_path / "store")
    store = open_store(tmp_path / "store")
    assert causes(summary.doubts) == [WITHOUT_USE]
    assert describe(store)["doubts"] == [one.document() for one in summary.doubts]
    assert doubts(store, counted=frozenset({WITHOUT_USE})) == ()
