"""What a run leaves for other programs: read again by those that know the formats."""

from __future__ import annotations

import json
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import yaml
from cluster_support import stored, workload
from cluster_support import written as written_files
from kubernetes_support import container, listed, node, pod, written
from replay_support import changed

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.base.facts import read_answer
from tracekit.cluster.workload import Workload
from tracekit.commands.shell import run as cli
from tracekit.live.export import all_formats
from tracekit.live.export._format import ExportSource
from tracekit.live.export._spelling import yaml_text
from tracekit.live.export.plans import drain_of
from tracekit.policy.entrant import parse_rebalancer
from tracekit.policy.kubernetes.scorers import PLUGIN_OF
from tracekit.policy.parse import parse_policy
from tracekit.policy.rebalance import all_rebalancers
from tracekit.policy.rebalance._descheduler_plugins import PLUGINS
from tracekit.replay.runs.one import replay_one
from tracekit.report.sentences import short
from tracekit.store.folder import Store, open_store

#: A name that a shell, YAML and a format of lines would each take for something else.
_HOSTILE = "$(touch x);'\"\n- a: &b *c `d`"
_HOURS = 3
_STEPS = range(0, _HOURS * 3_600_000, 60_000)


def _cluster(names: Mapping[str, str] | None = None) -> dict[str, list[str]]:
    """Six nodes in two zones, and twenty pods of five services that use a tenth of their CPU."""
    called = names or {}
    services = [f"shop/s{at % 5}" for at in range(20)]
    names_of = [called.get(f"p{at}", f"shop/p{at}").replace('"', '""') for at in range(20)]
    pods = [f'"{name}"' for name in names_of]
    return {
        "nodes.csv": [
            "node,cpu_milli,memory_bytes,zone",
            *(f"{called.get(f'n{at}', f'n{at}')},{8000 + at},{2**34},z{at % 2}" for at in range(6)),
        ],
        "containers.csv": [
            "container,service,node,arrival_ms,departure_ms,cpu_milli,memory_bytes",
            *(
                f"{name},{services[at]},n{at % 6},{at * 1000},,"
                f"{400 + 100 * (at % 7)},{2**28 * (1 + at % 3)}"
                for at, name in enumerate(pods)
            ),
        ],
        "usage.csv": [
            "container,time_ms,cpu_milli,memory_bytes",
            *(
                f"{name},{now},{40 + at + now % 7},{2**26}"
                for at, name in enumerate(pods)
                for now in _STEPS
            ),
        ],
    }


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(tmp_path_factory.mktemp("export"), _cluster())


@pytest.fixture(scope="module")
def run(store: Store) -> Path:
    """A run with a replay, nodes that can go, and requests that are to change."""
    out = store.path.parent / "run"
    policies = ["least_allocated", "least_allocated+low_node_utilization"]
    tracekit.replay(store.path, policies, out=out / "replay", repeats=1)
    tracekit.nodes(store.path, ["least_allocated"], repeats=1, out=out / "studies" / "fewest")
    tracekit.requests(store.path, out=out / "studies" / "requests")
    return out


@pytest.fixture(scope="module")
def objects(store: Store) -> Path:
    """Pods of the services: of a Deployment, of a CronJob's Job, bare, and with a hostile name."""
    owners = [("ReplicaSet", "s0-bcdfg"), ("StatefulSet", "s1"), ("Job", "s2-29000000"), None]
    pods = [
        pod(
            f"s{at}-x" if owner else f"s{at}",
            meta={
                "namespace": "shop",
                "ownerReferences": [{"kind": owner[0], "name": owner[1], "controller": True}]
                if owner
                else [],
            },
            containers=[
                container("300m", limits={"cpu": "1"}),
                {**container("100m"), "name": "side" if at else _HOSTILE},
                {**container(), "name": "none"},
            ],
        )
        for at, owner in enumerate(owners)
    ]
    return written(store.path.parent / "pods.json", listed(*pods))


#: What each format is asked with in the contract.
_ASKED: Mapping[str, Mapping[str, str]] = {
    "kube-scheduler": {"policy": "least_allocated"},
    "descheduler": {"policy": "least_allocated+low_node_utilization"},
}


@pytest.mark.parametrize("name", sorted(all_formats()))
def test_a_format_is_written_whole_and_says_what_it_leaves_out(
    name: str, run: Path, objects: Path, tmp_path: Path
) -> None:
    form = all_formats()[name]
    source = run / "studies" / "fewest" if name in ("moves.csv", "drain.sh") else run
    given: dict[str, Any] = {"objects": objects, **_ASKED.get(name, {})}
    answer = tracekit.export(source, to=name, out=tmp_path / "a", **given)
    again = tracekit.export(source, to=name, out=tmp_path / "b", **given)
    assert answer == again
    assert _bytes(tmp_path / "a") == _bytes(tmp_path / "b") != {}
    assert answer.facts[0].kind == "exported"
    assert all(short(one) for one in answer.facts)
    assert form.title
    wrong = tmp_path / ("a.file" if form.folder else "a.folder")
    wrong.touch() if form.folder else wrong.mkdir()
    with pytest.raises(TracekitError):
        tracekit.export(source, to=name, out=wrong, **given)


def _bytes(path: Path) -> dict[str, bytes]:
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    return {one.name if path.is_dir() else "": one.read_bytes() for one in files}


#: Policies that an extender answers for, and loses nothing by scores of 0 to 10.
_SERVED = ("bnp", "least_requested", "0.7*least_allocated+0.3*least_requested")


@pytest.mark.parametrize("name", [*PLUGIN_OF, *_SERVED, "default_scheduler"])
def test_a_configuration_places_as_the_policy_did(
    name: str, store: Store, run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "kube-scheduler.yaml"
    tracekit.export(run, to="kube-scheduler", out=file, policy=name)
    policy, load = parse_policy(name), workload(store)
    again = parse_policy(f"{file}[tie={policy.tie}]")
    if name == "default_scheduler":
        assert yaml.safe_load(file.read_text())["profiles"] == [
            {"schedulerName": "default-scheduler"}
        ]
    else:
        assert _places(load, again) == _places(load, policy)


def _places(load: Workload, policy: Any) -> list[int | None]:
    return replay_one(load, policy, 0).placements["node"].to_list()


@pytest.mark.parametrize(
    "name", [name for name, kind in all_rebalancers().items() if kind.__name__ in PLUGINS]
)
def test_a_policy_of_the_descheduler_is_the_rebalancer_again(
    name: str, run: Path, tmp_path: Path
) -> None:
    file = tmp_path / "descheduler.yaml"
    answer = tracekit.export(run, to="descheduler", out=file, policy=f"least_allocated+{name}")
    read = parse_rebalancer(str(file)).spelled()
    around = {"interval_ms", "move_downtime_ms", "node_fit", "evictor_limit_node"}
    lost = {one.about["name"] for one in answer.of("left_out") if one.because == "parameter"}
    for parameter, value in parse_rebalancer(name).spelled().items():
        if parameter not in around and f"{name}.{parameter}" not in lost:
            assert read[f"{name}.{parameter}"] == value


@pytest.mark.parametrize("name", ["kwok", "opendc", "simkube", "swf"])
def test_what_was_replayed_is_placed_alike_once_it_is_back(
    name: str, store: Store, run: Path, tmp_path: Path
) -> None:
    given = tmp_path / "given"
    given.mkdir()
    file = {"kwok": "objects.json", "simkube": "a.sktrace", "swf": "a.swf"}
    out = given / file[name] if name in file else given / "opendc"
    answer = tracekit.export(run, to=name, out=out)
    load = workload(store)
    if name == "simkube":
        nodes = ["node,cpu_milli,memory_bytes,zone", *_cluster()["nodes.csv"][1:]]
        (given / "nodes.csv").write_text("\n".join(nodes) + "\n")
    tracekit.ingest(given, tmp_path / "store")
    again = workload(open_store(tmp_path / "store"))
    if any(one.because == "parts_of_cores" for one in answer.facts):
        core = np.array([1000, 1])
        cores, nodes_of = (
            -(-load.containers.request // core) * core,
            load.nodes.capacity // core * core,
        )
        load = changed(
            load,
            containers={"request": cores, "nonzero_request": cores},
            nodes={"capacity": nodes_of},
        )
    policy = parse_policy("least_allocated")
    if name == "swf":  # a log has no sizes of nodes but CPU, and cuts seconds
        policy = parse_policy("least_allocated[resources=cpu:1]")
        wide = np.full_like(load.nodes.capacity[:, 1], 2**50)
        load = changed(
            load, nodes={"capacity": np.stack([load.nodes.capacity[:, 0], wide], axis=1)}
        )
    assert _places(again, policy) == _places(load, policy)


def test_requests_are_split_as_containers_request_now(
    run: Path, objects: Path, tmp_path: Path
) -> None:
    answer = tracekit.export(run, to="kubectl-patch", out=tmp_path / "a.sh", objects=objects)
    tracekit.export(run, to="vpa", out=tmp_path / "a.yaml", objects=objects)
    patches = _patches(tmp_path / "a.sh")
    advice = pl.read_parquet(run / "studies" / "requests" / "services.parquet")
    subject = answer.facts[0].subject
    assert set(patches) == {"statefulset/s1", "cronjob/s2"}  # s0 has a hostile name, s3 is bare
    for what, some in patches.items():
        rows = advice.filter(policy=subject, service=f"shop/{what[-2:]}", resource="cpu")
        requests = [one["resources"]["requests"] for one in some]
        cpu = [int(one["cpu"].removesuffix("m")) for one in requests if "cpu" in one]
        assert sum(cpu) == round(rows["recommended"][0] * 1000)
        assert cpu[0] == pytest.approx(3 * cpu[1], abs=3)
        assert len(cpu) == 2  # one requests nothing
    targets = [
        one["spec"]["targetRef"] for one in yaml.safe_load_all((tmp_path / "a.yaml").read_text())
    ]
    assert [(one["kind"], one["name"]) for one in targets] == [
        (what.replace("statefulset", "StatefulSet").replace("cronjob", "CronJob")[:-3], what[-2:])
        for what in patches
    ]
    lost = {one.because: one.value for one in answer.of("left_out")}
    assert lost == {"unknown_pods": 2, "no_template": 1}


def _patches(script: Path) -> dict[str, list[dict[str, Any]]]:
    """The containers of each patch, by what is patched."""
    results = {}
    for line in script.read_text().splitlines():
        words = shlex.split(line, comments=True)
        if words[:2] == ["kubectl", "patch"]:
            spec = json.loads(words[-1])["spec"]
            spec = spec.get("jobTemplate", {"spec": spec})["spec"]
            results[words[2]] = spec["template"]["spec"]["containers"]
    return results


def test_a_plan_keeps_budgets_and_moves_nobody_twice(tmp_path: Path) -> None:
    label = {"matchLabels": {"app": "a"}}
    pods = [
        pod(f"p{at}", meta={"labels": {"app": "ab"[at % 2]}}, nodeName=f"n{at % 4}")
        for at in range(16)
    ]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "one", "namespace": "default"},
        "spec": {"maxUnavailable": 2, "selector": label},
    }
    nodes = [node(f"n{at}") for at in range(4)]
    written(tmp_path / "cluster.json", listed(*nodes, *pods, budget))
    tracekit.ingest(tmp_path / "cluster.json", tmp_path / "store")
    study = tmp_path / "study"
    tracekit.nodes(tmp_path / "store", ["least_allocated"], repeats=1, out=study)
    plan = drain_of(ExportSource(study))
    assert len(plan.nodes) == 2 or len(plan.nodes) == 3
    moves = plan.moves
    assert set(moves["from_node"]) == set(plan.nodes)
    assert not set(moves["to_node"]) & {*plan.nodes, None}
    assert moves["container"].is_unique().all()
    assert moves.height == 4 * len(plan.nodes)
    even = moves.filter(~pl.col("container").str.contains("[13579]$"))
    assert even["wave"].value_counts()["count"].max() == 2
    answer = tracekit.export(study, to="drain.sh", out=tmp_path / "drain.sh")
    lines = [shlex.split(one) for one in (tmp_path / "drain.sh").read_text().splitlines()[4:]]
    assert [one[-1] for one in lines] == [*plan.nodes, *plan.nodes]
    assert answer.facts[0].about["twice"] == 0
    # without recorded use the request stands for it: half a core of eight a pod
    stay = [f"n{at % 4}" for at in range(16) if f"n{at % 4}" not in plan.nodes]
    fullest = max(Counter([*stay, *moves["to_node"]]).values())
    assert answer.of("fullest_node")[0].value == pytest.approx(fullest * 0.5 / 8)


@pytest.mark.slow
def test_names_stay_names(tmp_path: Path) -> None:
    for value in (_HOSTILE, "1e3", "yes", "0x1f", "~", "a: b", "#c", "2026-01-01", "- d", ""):
        assert yaml.safe_load(yaml_text({value: [value]})) == {value: [value]}
    name = _HOSTILE.replace("\n", "")
    store = stored(tmp_path, _cluster({"p3": name}))
    run = tmp_path / "run"
    tracekit.replay(store.path, ["least_allocated"], out=run, repeats=1)
    for form in ("kwok", "simkube", "swf", "opendc"):
        tracekit.export(run, to=form, out=tmp_path / form)
    items = json.loads((tmp_path / "kwok").read_text())["items"]
    annotated = {one["metadata"]["annotations"].get("tracekit.io/container") for one in items}
    assert name in annotated
    assert len((tmp_path / "swf").read_text().splitlines()) == 7 + 20


def test_what_a_run_lacks_is_one_line(run: Path, tmp_path: Path) -> None:
    wrong: Sequence[tuple[Path, str, dict[str, Any]]] = (
        (run, "kube-schedule", {}),
        (tmp_path, "swf", {}),
        (run, "kube-scheduler", {"policy": "tbesk"}),
        (run, "kube-scheduler", {"policy": "0.5*least_allocated+0.5*most_allocated"}),
        (run, "descheduler", {"policy": "least_allocated"}),
        (run, "descheduler", {"policy": "least_allocated+load_spread"}),
        (run, "kubectl-patch", {}),
        (run, "kwok", {"policy": "first_fit"}),
        (run / "studies" / "fewest", "swf", {}),
        (run / "studies" / "requests", "drain.sh", {}),
    )
    for source, name, given in wrong:
        with pytest.raises(TracekitError):
            tracekit.export(source, to=name, out=tmp_path / "out", **given)
        assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_out_of_a_whole_run(objects: Path, tmp_path: Path) -> None:
    written_files(tmp_path / "traces", _cluster())
    out, policy = tmp_path / "run", "most_allocated+low_node_utilization"
    arguments = ["--policy", "least_allocated", "--policy", policy, "--repeat", "2"]
    assert cli(["run", str(tmp_path / "traces"), "--out", str(out), *arguments]) == 0
    for name, more in (
        ("moves.csv", []),
        ("drain.sh", []),
        ("kube-scheduler", []),
        ("descheduler", ["--policy", policy]),
        ("kubectl-patch", ["--objects", str(objects)]),
        ("opendc", []),
    ):
        assert cli(["export", str(out), "--to", name, "--out", str(tmp_path / name), *more]) == 0
    counted = read_answer(out)
    assert counted is not None
    needed = counted.facts[0].value
    drained = [one for one in (tmp_path / "drain.sh").read_text().splitlines() if " drain " in one]
    assert len(drained) == 6 - int(str(needed))
    moved = pl.read_csv(tmp_path / "moves.csv")
    assert moved["container"].is_unique().all()
    assert set(moved["from_node"]) == {one.split()[-1] for one in drained}
    assert not set(moved["to_node"]) & set(moved["from_node"])
