"""A DeschedulerPolicy as a rebalancer, and the plugins that it names."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from replay_support import changed, snapshot, workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.parts import domains_of
from tracekit.policy.entrant import parse_entrant, parse_rebalancer
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.engine import Engine

LOW = {
    "thresholds": {"cpu": 20, "memory": 20},
    "targetThresholds": {"cpu": 50, "memory": 50},
    "evictionLimits": {"node": 3},
}
PERCENT = "thresholds=cpu:20.0+memory:20.0,target_thresholds=cpu:50.0+memory:50.0"


def document(enabled: dict[str, list[str]], config: dict[str, Any], **top: Any) -> dict[str, Any]:
    return {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        "profiles": [
            {
                "name": "p",
                "pluginConfig": [{"name": name, "args": args} for name, args in config.items()],
                "plugins": {point: {"enabled": names} for point, names in enabled.items()},
            }
        ],
        **top,
    }


def written(folder: Path, content: Any) -> Path:
    path = folder / "descheduler.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def parts(path: Path) -> list[str]:
    made: Any = parse_rebalancer(str(path))
    return [str(part.plugin) for part in made.parts]


def test_plugins_and_arguments(tmp_path: Path) -> None:
    path = written(tmp_path, document(
        {"balance": ["LowNodeUtilization", "RemoveDuplicates", "Odd", "RemoveDuplicate"],
         "deschedule": ["PodLifeTime"]},
        {"LowNodeUtilization": LOW, "PodLifeTime": {"maxPodLifeTimeSeconds": 60},
         "DefaultEvictor": {"nodeFit": True}},
        maxNoOfPodsToEvictPerNode=5,
    ))  # fmt: skip
    assert parts(path) == [
        "pod_life_time[longest_ms=60000]",
        f"low_node_utilization[{PERCENT},eviction_limit_node=3]",
        "remove_duplicates",
    ]
    made = parse_rebalancer(f"{path}[interval_ms=1000]")
    assert str(made) == "descheduler.yaml[interval_ms=1000]"
    assert parse_rebalancer(made.address()) == made
    [note] = made.notes
    assert all(name in note for name in ("Odd", "RemoveDuplicate ", "RemoveDuplicates"))


def crowded(priority: list[int] | None = None) -> Snapshot:
    """Three nodes; five containers of s on the first, one on the second; of t two on the third."""
    return _crowd([0, 0, 0, 0, 0, 1, 2, 2], ("s",) * 6 + ("t", "?"), priority)


def _crowd(where: list[int], service: tuple[str, ...], priority: list[int] | None) -> Snapshot:
    """Containers of a tenth of their node each, on three nodes; the later ones are older."""
    seen = snapshot([(100, 100)] * 3, [(0, 0)] * 3)
    node, request = np.array(where), np.full((len(where), 2), 10)
    placed = dataclasses.replace(
        seen.placed,
        node=node,
        time_ms=-1000 * np.arange(len(where)),
        request=request,
        limit=request,
        service=service,
        index=np.arange(len(where)),
        priority=None if priority is None else np.array(priority),
    )
    requested = np.zeros((3, 2), dtype=np.int64)
    np.add.at(requested, node, request)
    return dataclasses.replace(
        seen,
        requested=requested,
        containers=np.bincount(node, minlength=3),
        known_placed=placed,
        domains=domains_of({"zone": ["a", "b", "b"]}),
    )


@pytest.mark.parametrize(
    ("text", "evicted"),
    [
        ("remove_duplicates", [2, 3, 4]),  # six on three nodes: two each
        ("pod_life_time[longest_ms=4500]", [7, 6, 5]),
        ("remove_pods_violating_topology_spread_constraint", [3, 4]),  # 5 and 1: 3 and 3
    ],
)
def test_what_a_plugin_evicts(text: str, evicted: list[int]) -> None:
    assert sorted(parse_rebalancer(text).evict(crowded()).tolist()) == sorted(evicted)


def test_the_less_important_go_and_the_critical_never() -> None:
    seen = crowded([5, 1, 2, 9, 3, 0, 0, 0])
    assert sorted(parse_rebalancer("remove_duplicates").evict(seen).tolist()) == [1, 2, 4]


def test_a_plugin_sees_what_those_before_it_leave(tmp_path: Path) -> None:
    both = document(
        {"deschedule": ["PodLifeTime"], "balance": ["RemoveDuplicates"]},
        {"PodLifeTime": {"maxPodLifeTimeSeconds": 3}},
    )
    made = parse_rebalancer(str(written(tmp_path, both)))
    # 4 to 7 are too old; of the four of s that are left each node keeps two
    assert made.evict(crowded()).tolist() == [7, 6, 5, 4, 2, 3]
    capped = parse_rebalancer(str(written(tmp_path, {**both, "maxNoOfPodsToEvictPerNode": 1})))
    assert capped.evict(crowded()).tolist() == [7, 5, 4]
    capped = parse_rebalancer(str(written(tmp_path, {**both, "maxNoOfPodsToEvictTotal": 2})))
    assert capped.evict(crowded()).tolist() == [7, 6]
    both["profiles"][0]["pluginConfig"].append(
        {"name": "DefaultEvictor", "args": {"priorityThreshold": {"value": 10}}}
    )
    made = parse_rebalancer(str(written(tmp_path, both)))
    # who stays by the threshold is no duplicate, either
    assert made.evict(crowded([0, 0, 99, 0, 99, 0, 0, 99])).tolist() == [6, 5, 1, 3]


def test_a_replay_with_both_files(tmp_path: Path) -> None:
    path = written(tmp_path, document({"balance": ["RemoveDuplicates"]}, {}))
    scheduler = tmp_path / "kube-scheduler.yaml"
    scheduler.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
    )
    text = f"{scheduler}[tie=first]+{path}[interval_ms=1000]"
    entrant = parse_entrant(text)
    assert str(entrant) == "kube-scheduler.yaml[tie=first]+descheduler.yaml[interval_ms=1000]"
    assert [Path(one).name for one in entrant.written_in()] == [scheduler.name, path.name]
    load = workload([(1000, 1000)] * 3, [(0, 9000, 10, 10) for _ in range(9)])
    load = changed(
        load, containers={"services": ("s",) * 9}, rules={"pinned": np.zeros(9, dtype=np.int64)}
    )
    policy, rebalance = entrant.placement, entrant.rebalance
    outcome = Engine(load, policy, np.random.default_rng(0), rebalance=rebalance).run()
    assert np.bincount(outcome.node).tolist() == [3, 3, 3]
    assert outcome.steps["moves"].sum() == 6
    moves = outcome.moves
    assert moves["from_node"].to_list() == [0] * 6
    assert moves["to_node"].to_list() == outcome.node[moves["container"].to_numpy()].tolist()
    assert moves["time_ms"].unique().len() == 1


NODES = {"balance": ["RemoveDuplicates"]}
LIFE = {"deschedule": ["PodLifeTime"]}


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (document(NODES, {}, metricsProviders=[]), "metricsProviders"),
        (
            document(NODES, {"DefaultEvictor": {"namespaceLabelSelector": {}}}),
            "args.namespaceLabelSelector",
        ),
        (
            document(NODES, {"DefaultEvictor": {"evictDaemonSetPods": True}}),
            "args.evictDaemonSetPods",
        ),
        (
            document(NODES, {"DefaultEvictor": {"priorityThreshold": {"name": "own"}}}),
            "profiles[0].pluginConfig[0].args",
        ),
        (document(LIFE, {"PodLifeTime": {"exitCodes": [1]}}), "args.exitCodes"),
    ],
)
def test_real_fields_that_are_not_followed_are_named_once(
    content: dict[str, Any], field: str, tmp_path: Path
) -> None:
    [note] = parse_rebalancer(str(written(tmp_path, content))).notes
    assert f"{field} " in note


def _life(threshold: int | None, seconds: int) -> dict[str, Any]:
    evictor = {} if threshold is None else {"priorityThreshold": {"value": threshold}}
    config = {"DefaultEvictor": evictor, "PodLifeTime": {"maxPodLifeTimeSeconds": seconds}}
    profile: dict[str, Any] = document({"deschedule": ["PodLifeTime"]}, config)["profiles"][0]
    return profile


@pytest.mark.parametrize(
    ("profiles", "alone"),
    [
        # the threshold of a profile that moves nothing held back the other's pods
        ([_life(5, 8_000_000), _life(None, 1)], [_life(None, 1)]),
        # and that of a later one let go the pods of an earlier one
        ([_life(0, 1), _life(9, 8_000_000)], []),
    ],
)
def test_each_profile_has_an_evictor_of_its_own(
    tmp_path: Path, profiles: list[dict[str, Any]], alone: list[dict[str, Any]]
) -> None:
    priorities = [0, 0, 9, 0, 9, 0, 0, 9]
    old = crowded(priorities)

    def moved(some: list[dict[str, Any]]) -> list[int]:
        whole = {"apiVersion": "descheduler/v1alpha2", "kind": "DeschedulerPolicy"}
        path = written(tmp_path, {**whole, "profiles": some})
        positions: list[int] = parse_rebalancer(str(path)).evict(old).tolist()
        return positions

    assert moved(profiles) == (moved(alone) if alone else [])
    assert not alone or moved(alone)


def test_a_limit_of_a_node_leaves_room_for_what_the_next_one_gives(tmp_path: Path) -> None:
    """Two nodes of 80 % and one of 30 %: one goes from each, not two from the first alone."""
    made = parse_rebalancer(
        str(
            written(
                tmp_path,
                document(
                    {"balance": ["LowNodeUtilization"]},
                    {"LowNodeUtilization": {
                        "thresholds": {"cpu": 40}, "targetThresholds": {"cpu": 50}}},
                    maxNoOfPodsToEvictPerNode=1,
                ),
            )
        )
    )  # fmt: skip
    where = [0] * 8 + [1] * 8 + [2] * 3
    evicted = made.evict(_crowd(where, ("s",) * len(where), None))
    assert sorted(where[at] for at in evicted.tolist()) == [0, 1]


def test_a_plugin_that_is_enabled_and_disabled_is_left_out_and_noted(tmp_path: Path) -> None:
    content = document({"balance": ["RemoveDuplicates"], "deschedule": ["PodLifeTime"]}, {})
    content["profiles"][0]["plugins"]["deschedule"]["disabled"] = ["PodLifeTime"]
    path = written(tmp_path, content)
    assert parts(path) == ["remove_duplicates"]
    [note] = parse_rebalancer(str(path)).notes
    assert "PodLifeTime" in note


@pytest.mark.parametrize(
    ("content", "wrong", "meant"),
    [
        (document(NODES, {}, maxNoOfPodsToEvictPerNod=4), "maxNoOfPodsToEvictPerNod",
         "maxNoOfPodsToEvictPerNode"),
        (document(NODES, {"DefaultEvictor": {"nodeFitt": True}}),
         "profiles[0].pluginConfig[0].args.nodeFitt", "nodeFit"),
        (document(LIFE, {"PodLifeTime": {"maxPodLifeTimeSecond": 60}}),
         "profiles[0].pluginConfig[0].args.maxPodLifeTimeSecond", "maxPodLifeTimeSeconds"),
    ],
)  # fmt: skip
def test_a_misspelt_field_is_refused(
    content: dict[str, Any], wrong: str, meant: str, tmp_path: Path
) -> None:
    with pytest.raises(TracekitError) as error:
        parse_rebalancer(str(written(tmp_path, content)))
    assert wrong in error.value.what
    assert f"'{meant}'" in str(error.value.hint)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ({"kind": "KubeSchedulerConfiguration"}, "'KubeSchedulerConfiguration'"),
        ({"kind": "DeschedulerPolicy", "apiVersion": "v1"}, "'v1'"),
        ({"kind": "DeschedulerPolicy", "apiVersion": "descheduler/v1alpha1"}, "v1alpha2"),
        (document({"balance": ["Odd"]}, {}), "descheduler.yaml"),
        (document({"balance": ["LowNodeUtilization"]}, {}), "thresholds"),
        (
            document({"balance": ["LowNodeUtilization"]}, {"LowNodeUtilization": {
                "thresholds": {"cpu": 120}, "targetThresholds": {"cpu": 130}}}),
            "120",
        ),
    ],
)  # fmt: skip
def test_a_wrong_document_is_refused(content: Any, named: str, tmp_path: Path) -> None:
    path = written(tmp_path, content)
    with pytest.raises(TracekitError, match=named) as error:
        parse_rebalancer(str(path))
    assert str(path) in error.value.what
