"""A gang that states no minimum begins with those that are left, through every loader."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from cluster_support import stored, workload
from kubernetes_support import CREATED_MS, Object, container, listed, node, pod
from kubernetes_support import written as document

from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds.requests import never_placed
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import PlainPlacer
from tracekit.replay.fast.choose import fast_placer, rows_placer
from tracekit.store.folder import open_store

END_S = 3600
#: Name, arrival, departure (None: stays), in seconds. g0 leaves before g2 and g3 are there.
Pod = tuple[str, int, int | None]
GANG: list[Pod] = [("g0", 400, 1600), ("g2", 2900, None), ("g3", 3000, None)]
#: A member that is replaced by another once it has ended.
REPLACED: list[Pod] = [("g0", 60, 1800), ("g1", 60, None), ("g2", 1860, None)]


def from_csv(tmp_path: Path, pods: Sequence[Pod], stated: Sequence[int | None]) -> Workload:
    header = "container,service,arrival_ms,departure_ms,cpu_milli,memory_bytes,gang,gang_minimum"
    lines = [header, "x,x,0,,1000,4096,,"]
    for (name, at, end), least in zip(pods, stated, strict=True):
        until = "" if end is None else 1000 * end
        lines.append(f"{name},{name},{1000 * at},{until},1000,4096,g,{least or ''}")
    use = [f"x,{at},500,4096" for at in range(0, END_S * 1000 + 1, 60_000)]
    files = {
        "nodes.csv": ["node,cpu_milli,memory_bytes", "n0,8000,100000", "n1,8000,100000"],
        "containers.csv": lines,
        "usage.csv": ["container,time_ms,cpu_milli,memory_bytes", *use],
    }
    return workload(stored(tmp_path, files))


def _at(second: int) -> str:
    when = dt.datetime.fromtimestamp(CREATED_MS / 1000 + second, dt.UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def from_kubernetes(tmp_path: Path, pods: Sequence[Pod], stated: Sequence[int | None]) -> Workload:
    """Pods as kubectl lists them; who states a minimum is a PodGroup, and it is of all."""
    things: list[Object] = [node("n0"), node("n1")]
    for name, at, end in [("x", 0, END_S), *pods]:
        label = {"labels": {"scheduling.x-k8s.io/pod-group": "g"}} if name != "x" else {}
        done = {"state": {"terminated": {"startedAt": _at(at), "finishedAt": _at(end or 0)}}}
        status = {"phase": "Running", "startTime": _at(at)}
        if end is not None:
            ended = {"name": "main", **done}
            status = {**status, "phase": "Succeeded", "containerStatuses": [ended]}  # type: ignore[dict-item]
        meta = {"creationTimestamp": _at(at), **label}
        things.append(pod(name, meta=meta, status=status, containers=[container("1")]))
    least = max((one for one in stated if one), default=None)
    if least:
        things.append(
            {
                "apiVersion": "scheduling.x-k8s.io/v1alpha1",
                "kind": "PodGroup",
                "metadata": {"name": "g", "namespace": "default"},
                "spec": {"minMember": least},
            }
        )
    document(tmp_path / "cluster.json", listed(*things))
    ingest(tmp_path / "cluster.json", tmp_path / "store")
    return workload(open_store(tmp_path / "store"), "step_ms=60000")


Read = Callable[[Path, Sequence[Pod], Sequence[int | None]], Workload]


def begins_s(load: Workload) -> dict[str, int]:
    """When each of the gang begins under first fit, by every engine alike."""
    found = []
    for placer in (PlainPlacer, fast_placer, rows_placer):
        engine = Engine(load, parse_policy("first_fit"), np.random.default_rng(0), placer=placer)
        found.append(engine.run().time_ms.tolist())
    assert found[0] == found[1] == found[2]
    start = int(load.use.times_ms[0])
    return {
        name.split("/")[-1]: (at - start) // 1000 if at >= 0 else -1
        for name, at in zip(load.containers.ids, found[0], strict=True)
        if not name.endswith("x")
    }


@pytest.mark.parametrize("read", [from_csv, from_kubernetes])
@pytest.mark.parametrize(
    ("pods", "stated", "expected"),
    [
        (GANG, [None] * 3, {"g0": -1, "g2": 3000, "g3": 3000}),
        (GANG, [2] * 3, {"g0": -1, "g2": 3000, "g3": 3000}),
        (GANG, [3] * 3, {"g0": -1, "g2": -1, "g3": -1}),
        # what one states is of the whole gang
        (GANG, [None, 3, None], {"g0": -1, "g2": -1, "g3": -1}),
        (REPLACED, [None] * 3, {"g0": 60, "g1": 60, "g2": 1860}),
        (REPLACED, [2] * 3, {"g0": 60, "g1": 60, "g2": 1860}),
    ],
)
def test_without_a_minimum_those_that_are_left_are_enough(
    read: Read,
    pods: Sequence[Pod],
    stated: Sequence[int | None],
    expected: dict[str, int],
    tmp_path: Path,
) -> None:
    load = read(tmp_path, pods, stated)
    assert begins_s(load) == expected
    # no bound leaves out who can be placed
    never = [load.containers.ids[at].split("/")[-1] for at in np.flatnonzero(never_placed(load))]
    assert not [name for name in never if expected[name] >= 0]
