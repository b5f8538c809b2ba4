"""What the real kube-scheduler answered to 1,200 random clusters, asked of ``tracekit explain``."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scheduler_documents import as_workload, recorded_cases, recorded_runs

from tracekit.base import parameters
from tracekit.commands.shell import run
from tracekit.policy.parse import get_policy
from tracekit.policy.view.snapshot import Snapshot, lacking
from tracekit.replay.cases import Question, case_policy, situation
from tracekit.replay.cases.scoring import Scored, parse_case_policy, score_file

#: Plugins by the names of the record, and the policies that are them. 1.20 had one form of the
#: balance, and scored requests above capacity as 0.
VERSIONS = {
    "v1_34": {
        "balanced_allocation": "balanced_allocation",
        "least_allocated": "least_allocated",
        "most_allocated": "most_allocated",
        "requested_to_capacity_ratio": "requested_to_capacity_ratio",
    },
    "v1_20": {
        "balanced_allocation": "balanced_allocation[form=legacy_100]",
        "least_allocated": "least_requested[max_score=100]",
        "most_allocated": "most_requested[max_score=100]",
    },
}
#: Cases with amounts beyond 2**53.
BEYOND = ("huge", "overflow")
#: Where ``x * 100`` leaves int64, Go cuts off where a floor goes down.
ROUNDED = 2


@pytest.mark.slow
def test_scores_of_1_34_and_1_20() -> None:
    counted: Counter[str] = Counter()
    for case in (one for one in recorded_cases() if one["kind"] == "score"):
        for version, policies in VERSIONS.items():
            for plugin, policy in policies.items():
                if version in case and (version == "v1_34" or _as_before(case)):
                    counted[f"{version} {plugin}"] += 1
                    _check(case, version, plugin, policy)
    assert len(counted) == 7, counted
    assert min(counted.values()) > 400, counted


def test_cases_as_a_file_through_the_command(tmp_path: Path) -> None:
    """One in ten, for the door costs more than the scores."""
    every = [one for one in recorded_cases() if not one["name"].startswith(BEYOND)]
    cases = [one for one in every if one["kind"] == "score"][::10]
    for plugin in VERSIONS["v1_34"]:
        for one, case in zip(_scored(tmp_path, cases, plugin), cases, strict=True):
            wanted = case["v1_34"][plugin]
            result = one.document()
            assert (result if "pre_score" in wanted else result["scores"]).items() >= wanted.items()


def test_every_verdict_of_the_filter_with_its_reason() -> None:
    counted: Counter[str] = Counter()
    for case in (one for one in recorded_cases() if one["kind"] == "score"):
        names, snapshot, container = situation(case["inputs"])
        for node, short in zip(names, lacking(snapshot, container), strict=True):
            wanted = case["v1_34"]["fit"][node]
            counted[f"fits: {not wanted}"] += 1
            assert sorted(_reasons(snapshot, short)) == sorted(wanted), case["name"]
    assert min(counted.values()) > 500, counted


def _reasons(snapshot: Snapshot, short: Any) -> list[str]:
    named = {"cpu_milli": "cpu", "memory_bytes": "memory"}
    results = [snapshot.resources[at] for at in np.flatnonzero(short)]
    return [
        "Too many pods" if one == "pods" else f"Insufficient {named.get(one, one)}"
        for one in results
    ]


def test_how_many_nodes_are_looked_for(tmp_path: Path) -> None:
    cases = [one for one in recorded_cases() if one["kind"] == "num_feasible_nodes"]
    for one, case in zip(_scored(tmp_path, cases, None), cases, strict=True):
        for version in ("v1_34", "v1_20"):
            assert one.document()["num_nodes"] == case[version]["num_nodes"], one.name


def test_the_host_is_among_those_that_may_be_chosen(tmp_path: Path) -> None:
    cases = [one for one in recorded_cases() if one["kind"] == "select_host"]
    for one, case in zip(_scored(tmp_path, cases, None), cases, strict=True):
        wanted, result = case["v1_34"], one.document()
        assert result.get("error") == wanted.get("error"), one.name
        if "host" in wanted:
            assert wanted["host"] in result["possible"], one.name


def _as_before(case: dict[str, Any]) -> bool:
    """Whether it asks for what the schedulers before 1.22 looked at."""
    resources: list[list[Any]] = case["inputs"]["args"]["resources"]
    return sorted(resources) == [["cpu", 1], ["memory", 1]]


def _check(case: dict[str, Any], version: str, plugin: str, text: str) -> None:
    wanted, inputs = case[version][plugin], _asked(case, plugin)["inputs"]
    name, settings = parameters.split(text)
    policy, _ = case_policy(
        Question(
            name=case["name"],
            inputs=inputs,
            policy=lambda: get_policy(name),
            settings=settings,
            policy_name=name,
        )
    )
    names, snapshot, container = situation(inputs)
    if policy.skips(snapshot, container):
        assert wanted == {"pre_score": "Skip"}, case["name"]
        return
    scores = policy.score(snapshot, container, np.arange(len(names))).tolist()
    apart = ROUNDED if case["name"].startswith("overflow") else 0
    for node, score in zip(names, scores, strict=True):
        assert abs(score - wanted[node]) <= apart, (version, plugin, case["name"], node)


def _scored(folder: Path, cases: list[dict[str, Any]], policy: str | None) -> list[Scored]:
    path = folder / "cases.json"
    path.write_text(json.dumps({"cases": [_asked(case, policy) for case in cases]}))
    return score_file(path, parse_case_policy(policy) if policy else None)


def _asked(case: dict[str, Any], policy: str | None) -> dict[str, Any]:
    """A case as it was recorded; the balance was given the resources alone, which weigh 1."""
    inputs = case["inputs"]
    if policy and policy.startswith("balanced"):
        names = [name for name, _ in inputs["args"]["resources"]]
        inputs = {**inputs, "args": {"resources": [[name, 1] for name in names]}}
    return {"name": case["name"], "kind": case["kind"], "inputs": inputs}


# Whole runs of the real kube-scheduler 1.34.1, pod by pod, through the command line.


@pytest.mark.slow
def test_every_pod_is_on_the_node_of_the_real_scheduler(tmp_path: Path) -> None:
    for at, recorded in enumerate(recorded_runs()):
        folder = as_workload(tmp_path / f"cluster{at}", recorded)
        out = tmp_path / f"run{at}"
        arguments = ["--workload", str(folder), "--policy", _policy(recorded), "--out", str(out)]
        assert run(["replay", *arguments]) == 0
        placed = pl.read_parquet(out / "placements.parquet").sort("container")
        results = ["" if node is None else node for node in placed["node"]]
        assert results == recorded["chosen"], recorded["name"]


def _policy(recorded: dict[str, Any]) -> str:
    given = [f"percentage_of_nodes_to_score={recorded['percentage_of_nodes_to_score']}"]
    if "Balanced" not in recorded["profile"]:
        given.append("balanced_allocation_weight=0")
    return f"default_scheduler[tie=first,{','.join(given)}]"
