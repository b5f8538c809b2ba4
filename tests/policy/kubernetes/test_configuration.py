"""A KubeSchedulerConfiguration as a policy: plugin by plugin, and the real scheduler's own runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from replay_support import changed, workload
from scheduler_documents import BASE, DEFAULT, as_workload, profile, recorded_runs, weights, written

from tracekit.base.errors import TracekitError
from tracekit.base.facts import read_answer
from tracekit.commands.shell import run
from tracekit.policy.entrant import parse_entrant
from tracekit.policy.parse import parse_policy
from tracekit.policy.profile import Profile
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.placer import PlainPlacer
from tracekit.replay.fast.choose import rows_placer


def test_a_profile_that_sorts_no_queue_has_one_note_more(tmp_path: Path) -> None:
    few = [{"name": "NodeResourcesFit"}, {"name": "DefaultBinder"}]
    plugins = {"multiPoint": {"disabled": [{"name": "*"}], "enabled": few}}
    made = profile(tmp_path, plugins)
    sorting = profile(tmp_path, {**plugins, "queueSort": {"enabled": [{"name": "QOSSort"}]}})
    assert len(made.notes) == len(sorting.notes) + 1
    assert made.lifts == {"selector", "taints", "apart", "together", "affinity",
                          "anti-affinity", "spread", "ports"}  # fmt: skip


PLUGINS = [
    (None, DEFAULT),
    ({"score": {"disabled": [{"name": "PodTopologySpread"}]}},
     {"least_allocated": 1, "balanced_allocation": 1}),
    ({"score": {"disabled": [{"name": "*"}],
                "enabled": [{"name": "NodeResourcesFit", "weight": 7}]}},
     {"least_allocated": 7}),
    ({"multiPoint": {"enabled": [{"name": "NodeResourcesBalancedAllocation", "weight": 9}]}},
     {**DEFAULT, "balanced_allocation": 9}),
    ({"multiPoint": {"enabled": [{"name": "PodTopologySpread"}]}},  # enabled again: weight 1
     {**DEFAULT, "pod_topology_spread": 1}),
    ({"multiPoint": {"disabled": [{"name": "*"}]},
      "score": {"enabled": [{"name": "TargetLoadPacking"}]}},
     {"target_load_packing": 1}),
    ({"multiPoint": {"disabled": [{"name": "*"}],
                     "enabled": [{"name": "PrioritySort"}, {"name": "DefaultBinder"},
                                 {"name": "NodeResourcesFit"}, {"name": "SelectorSpread",
                                                                "weight": 4}]}},
     {"least_allocated": 1, "selector_spread": 4}),
    ({"multiPoint": {"disabled": [{"name": "*"}], "enabled": [{"name": "NodeResourcesFit"}]},
      "score": {"disabled": [{"name": "*"}], "enabled": [{"name": "PodTopologySpread",
                                                          "weight": 6}]}},
     {"pod_topology_spread": 6}),
    ({"multiPoint": {"enabled": [{"name": "NodeResourcesFit", "weight": 5}]},
      "score": {"enabled": [{"name": "NodeResourcesFit", "weight": 3}]}},  # the point's own wins
     {**DEFAULT, "least_allocated": 3}),
]  # fmt: skip


@pytest.mark.parametrize(("plugins", "expected"), PLUGINS)
def test_plugins_are_enabled_disabled_and_weighed(
    plugins: Any, expected: dict[str, float], tmp_path: Path
) -> None:
    assert weights(profile(tmp_path, plugins)) == expected


FIT = "NodeResourcesFit"
ARGUMENTS = [
    (FIT, {"scoringStrategy": {"type": "MostAllocated",
                               "resources": [{"name": "cpu", "weight": 3}]}},
     "most_allocated[resources=cpu:3]"),
    (FIT, {"scoringStrategy": {"type": "RequestedToCapacityRatio",
                               "resources": [{"name": "nvidia.com/gpu", "weight": 2},
                                             {"name": "cpu"}],
                               "requestedToCapacityRatio": {"shape": [
                                   {"utilization": 0, "score": 0},
                                   {"utilization": 80, "score": 10}]}}},
     "requested_to_capacity_ratio[resources=nvidia.com/gpu:2+cpu:1,shape=0:0+80:10]"),
    ("NodeResourcesBalancedAllocation", {"resources": [{"name": "cpu", "weight": 1}]},
     "balanced_allocation[resources=cpu:1]"),
    ("PodTopologySpread", {"defaultingType": "List", "defaultConstraints": [
        {"topologyKey": "topology.kubernetes.io/zone", "maxSkew": 2,
         "whenUnsatisfiable": "ScheduleAnyway"}]},
     "pod_topology_spread[constraints=zone:2,every_domain=true]"),
    ("TargetLoadPacking", {"targetUtilization": 70, "defaultRequests": {"cpu": "500m"},
                           "defaultRequestsMultiplier": "1.8",
                           "metricProvider": {"type": "Prometheus"}},
     "target_load_packing[target_utilization=70,default_requests_cpu_milli=500,requests_multiplier=1.8]"),
    ("LoadVariationRiskBalancing", {"safeVarianceMargin": 1.5, "safeVarianceSensitivity": 2},
     "load_variation_risk_balancing[safe_variance_margin=1.5,safe_variance_sensitivity=2.0]"),
    ("LowRiskOverCommitment", {"smoothingWindowSize": 8, "riskLimitWeights": {"cpu": 0.2}},
     "low_risk_overcommitment[smoothing_window_size=8,risk_limit_weights=cpu:0.2+memory:0.5]"),
    ("NodeResourcesAllocatable", {"mode": "Most", "resources": [{"name": "memory", "weight": 4}]},
     "node_resources_allocatable[mode=Most,resources=memory:4]"),
    ("Peaks", {"nodePowerModel": {"n1": {"k0": 1.0, "k1": -2.0, "k2": -0.5}}},
     "peaks[k0=0.0,k1=0.0,k2=0.0,node_power_model=n1:1.0:-2.0:-0.5]"),
]  # fmt: skip


@pytest.mark.parametrize(("plugin", "given", "expected"), ARGUMENTS)
def test_arguments_reach_the_policy(plugin: str, given: Any, expected: str, tmp_path: Path) -> None:
    made = profile(tmp_path, {"score": {"enabled": [{"name": plugin}]}}, {plugin: given})
    assert expected in [str(one.policy) for one in made.parts]
    assert not [note for note in made.notes if "not known" in note]


@pytest.mark.slow
def test_every_real_run_by_a_configuration(tmp_path: Path) -> None:
    for at, recorded in enumerate(recorded_runs()):
        disabled = ["PodTopologySpread"]
        if "Balanced" not in recorded["profile"]:
            disabled.append("NodeResourcesBalancedAllocation")
        path = written(tmp_path, {
            **BASE,
            "percentageOfNodesToScore": recorded["percentage_of_nodes_to_score"],
            "profiles": [{"plugins": {"score": {"disabled": [{"name": n} for n in disabled]}}}],
        })  # fmt: skip
        folder, out = as_workload(tmp_path / f"cluster{at}", recorded), tmp_path / f"run{at}"
        policy = f"{path}[tie=first]"
        arguments = ["--workload", str(folder), "--policy", policy, "--out", str(out)]
        assert run(["replay", *arguments]) == 0
        placed = pl.read_parquet(out / "placements.parquet").sort("container")
        assert ["" if n is None else n for n in placed["node"]] == recorded["chosen"]


def test_what_is_not_replayed_is_named(tmp_path: Path) -> None:
    names = ("MyPlugin", "NodeResourceFit", "Coscheduling")
    plugins = {
        "multiPoint": {"enabled": [{"name": name} for name in names]},
        "filter": {"disabled": [{"name": "NodeResourcesFit"}]},
    }
    args = {
        FIT: {"ignoredResources": ["x"]},
        "PodTopologySpread": {"defaultingType": "List", "defaultConstraints": [
            {"topologyKey": "kubernetes.io/hostname", "maxSkew": 1,
             "whenUnsatisfiable": "DoNotSchedule"}]},
    }  # fmt: skip
    text = "\n".join(profile(tmp_path, plugins, args).notes)
    for name in ("MyPlugin", "NodeResourceFit", "NodeResourcesFit", "args.ignoredResources",
                 "args.defaultConstraints[0]"):  # fmt: skip
        assert name in text
    assert "Coscheduling" not in text


@pytest.mark.parametrize(
    ("document", "wrong", "meant"),
    [
        ({"profiles": [{"plugin": {}}]}, "profiles[0].plugin", "plugins"),
        ({"profile": []}, "profile", "profiles"),
        ({"percentageOfNodeToScore": 5}, "percentageOfNodeToScore", "percentageOfNodesToScore"),
        (
            {"profiles": [{"plugins": {"score": {"disable": []}}}]},
            "profiles[0].plugins.score.disable",
            "disabled",
        ),
        (
            {"profiles": [{"plugins": {"score": {"enabled": [{"name": FIT, "wieght": 1}]}}}]},
            "profiles[0].plugins.score.enabled[0].wieght",
            "weight",
        ),
        (
            {"profiles": [{"pluginConfig": [{"name": FIT, "args": {"scoringStrategi": {}}}]}]},
            "profiles[0].pluginConfig[0].args.scoringStrategi",
            "scoringStrategy",
        ),
    ],
)
def test_a_misspelt_field_is_refused(
    document: dict[str, Any], wrong: str, meant: str, tmp_path: Path
) -> None:
    """As kube-scheduler does it: what is left out by mistake would be another scheduler."""
    with pytest.raises(TracekitError) as error:
        parse_policy(str(written(tmp_path, {**BASE, **document})))
    assert wrong in error.value.what
    assert f"'{meant}'" in str(error.value.hint)


def test_all_fields_that_are_not_known_are_in_one_error(tmp_path: Path) -> None:
    one = {"plugin": {}, "pluginConfig": [{"name": FIT, "arg": {}, "args": {"newField": 1}}]}
    with pytest.raises(TracekitError) as error:
        parse_policy(str(written(tmp_path, {**BASE, "futureField": 1, "profiles": [one]})))
    where = "profiles[0].pluginConfig[0]"
    for path in ("futureField", "profiles[0].plugin,", f"{where}.arg,", f"{where}.args.newField"):
        assert path in error.value.what


def test_arguments_of_a_plugin_that_does_not_score_are_noted(tmp_path: Path) -> None:
    notes = profile(tmp_path, None, {"TargetLoadPacking": {"targetUtilization": 60}}).notes
    assert sum("profiles[0].pluginConfig[0].args" in one for one in notes) == 1


def test_a_profile_is_chosen_by_name(tmp_path: Path) -> None:
    second = {"schedulerName": "batch", "plugins": {"score": {"disabled": [{"name": "*"}]}}}
    path = written(tmp_path, {**BASE, "profiles": [{"schedulerName": "default-scheduler"}, second]})
    both = [parse_policy(str(path)), parse_policy(f"{path}[profile=batch]")]
    assert [len(one.parts) for one in both if isinstance(one, Profile)] == [3, 0]
    assert str(both[1]) == "kube-scheduler.yaml[profile=batch]"
    assert parse_policy(both[1].address()) == both[1]
    assert "profiles" in both[0].notes[-1]
    with pytest.raises(TracekitError, match="'bach'"):
        parse_policy(f"{path}[profile=bach]")


def test_coscheduling_says_how_patient_gangs_are(tmp_path: Path) -> None:
    plugins = {"multiPoint": {"enabled": [{"name": "Coscheduling"}]}}
    plain = profile(tmp_path, plugins)
    assert (plain.gang_wait_ms, plain.gang_backoff_ms) == (60_000, 0)
    args = {"Coscheduling": {"permitWaitingTimeSeconds": 2, "podGroupBackoffSeconds": 9}}
    own = profile(tmp_path, plugins, args)
    assert (own.gang_wait_ms, own.gang_backoff_ms) == (2000, 9000)
    assert profile(tmp_path).gang_wait_ms is None
    rows = [(0, 9000, 10, 10)] * 10 + [(500, 9000, 10, 10)]
    load = workload([(30, 30)] * 3, rows, steps=8)
    load = changed(load, rules={"gang": np.array([0] * 10 + [-1])})
    # nine of ten hold all places until they give up after 2 s
    assert Engine(load, own, np.random.default_rng(0)).run().time_ms[10] == 2000


def test_both_engines_decide_the_same(tmp_path: Path) -> None:
    policy = profile(tmp_path, {"score": {"enabled": [{"name": "LowRiskOverCommitment"}]}})
    load = workload([(1000, 1000)] * 120, [(at % 3000, 9000, 300, 100) for at in range(200)])
    plain, rows = (
        Engine(load, policy, np.random.default_rng(0), placer=placer).run().node.tolist()
        for placer in (PlainPlacer, rows_placer)
    )
    assert plain == rows


def test_who_disables_preemption_preempts_nobody(tmp_path: Path) -> None:
    assert profile(tmp_path, {}).preempts
    disabled = {"disabled": [{"name": "DefaultPreemption"}]}
    assert not profile(tmp_path, {"postFilter": disabled}).preempts
    assert not profile(tmp_path, {"multiPoint": disabled}).preempts


def test_disabled_filters_lift_their_rules(tmp_path: Path) -> None:
    disabled = [{"name": "TaintToleration"}, {"name": "InterPodAffinity"}]
    made = profile(tmp_path, {"filter": {"disabled": disabled}})
    # taints stay: NodeUnschedulable looks at them too
    assert made.lifts == {"apart", "together", "affinity", "anti-affinity"}
    disabled += [{"name": "PodTopologySpread"}, {"name": "NodePorts"}]
    lifted = profile(tmp_path, {"filter": {"disabled": disabled}}).lifts
    assert lifted == made.lifts | {"spread", "ports"}
    disabled.append({"name": "NodeUnschedulable"})
    assert "taints" in profile(tmp_path, {"filter": {"disabled": disabled}}).lifts


#: Ten times ten times ten ... values in a few lines.
BOMB = "a0: &a0 [x]\n" + "".join(
    f"a{at}: &a{at} [{', '.join([f'*a{at - 1}'] * 10)}]\n" for at in range(1, 12)
)


@pytest.mark.parametrize(
    "text",
    ["a: [", "a: \x1b[31m", "a: 1\na: 2\n", BOMB, "a: &a [*a]\n",
     "!!python/object/apply:os.system [ls]", "[1, 2]", "a: 1\n---\nb: 1\n"],
    ids=["open", "escape", "twice", "bomb", "itself", "object", "list", "two"],
)  # fmt: skip
def test_what_is_no_yaml_mapping_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match=r"kube-scheduler\.yaml"):
        parse_entrant(str(written(tmp_path, text)))


@pytest.mark.parametrize(
    ("document", "named"),
    [
        ({"kind": "Deployment", "apiVersion": "apps/v1"}, "'Deployment'"),
        ({"kind": "DeschedulerPolicy", "apiVersion": "descheduler/v1alpha2"},
         "'DeschedulerPolicy'"),
        ({**BASE, "apiVersion": "v1"}, "'v1'"),
        ({**BASE, "percentageOfNodesToScore": 101}, "percentageOfNodesToScore"),
        ({**BASE, "percentageOfNodesToScore": "much"}, "percentageOfNodesToScore"),
        ({**BASE, "profiles": {"a": 1}}, "profiles"),
        ({**BASE, "profiles": [{"pluginConfig": [{"name": FIT, "args": {
            "scoringStrategy": {"type": "Odd"}}}]}]}, "'Odd'"),
        ({**BASE, "profiles": [{"pluginConfig": [{"name": FIT, "args": {
            "scoringStrategy": {"resources": [{"name": "cpu", "weight": 101}]}}}]}]},
         "scoringStrategy.resources[0].weight"),
        ({**BASE, "extenders": [{"urlPrefix": "u", "prioritizeVerb": "v", "weight": 0}]},
         "weight"),
        ({**BASE, "profiles": [{"plugins": {"scores": {}}}]}, "profiles[0].plugins"),
        ({**BASE, "profiles": [{"pluginConfig": [{"name": "LowRiskOverCommitment", "args": {
            "riskLimitWeights": {"cpu": "nan"}}}]}]}, "riskLimitWeights.cpu"),
        ({**BASE, "profiles": [{"plugins": {"score": {"enabled": [
            {"name": FIT, "weight": 5}, {"name": FIT, "weight": 2}]}}}]}, f"'{FIT}'"),
        ({**BASE, "profiles": [{"pluginConfig": [{"name": FIT, "args": {}}] * 2}]}, f"'{FIT}'"),
        ({**BASE, "profiles": [{}, {}]}, "'default-scheduler'"),
    ],
)  # fmt: skip
def test_a_wrong_document_is_refused(document: Any, named: str, tmp_path: Path) -> None:
    path = written(tmp_path, document)
    with pytest.raises(TracekitError) as error:
        parse_entrant(str(path))
    assert str(path) in error.value.what
    assert named in error.value.what


def test_a_run_has_the_notes_as_facts_and_writes_them_down(tmp_path: Path) -> None:
    recorded = {
        "nodes": [{"name": "n", "allocatable": {"cpu_milli": 1000, "memory_bytes": 2**30}}],
        "pods": [{"requests": {"cpu_milli": 10, "memory_bytes": 2**20}}],
    }
    folder = as_workload(tmp_path / "cluster", recorded)
    path, out = written(tmp_path, BASE), tmp_path / "run"
    assert run(["replay", "--workload", str(folder), "--policy", str(path), "--out", str(out)]) == 0
    manifest = json.loads((out / "manifest.json").read_text())
    notes = {note for one in manifest["policies"] for note in one.get("notes", ())}
    answer = read_answer(out)
    assert answer is not None
    assert notes
    assert {one.about["text"] for one in answer.of("note")} == notes
