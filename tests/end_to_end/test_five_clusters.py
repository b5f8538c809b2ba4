"""The same answer from ``run`` and ``nodes`` on clusters that a decision has to get right."""

from __future__ import annotations

import functools
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from report_answers_support import APART, Pages

import tracekit
from tracekit.answer.counts import FULLEST
from tracekit.answer.nodes import answer_of_nodes
from tracekit.base.facts import Fact
from tracekit.commands._run_all import RunSummary
from tracekit.policy.placement import all_policies
from tracekit.report.sentences import long, short, value
from tracekit.report.terminal import summary

STEP_MS, GIB, SERVICES = 300_000, 2**30, 40
LARGE, SMALL = "m6i.4xlarge", "m6i.2xlarge"
PRICES = {LARGE: 0.768, SMALL: 0.384}


@dataclass(frozen=True, kw_only=True)
class Made:
    """How a cluster is made up.

    Parameters
    ----------
    request_over_use : float
        What a pod requests, times its mean use.
    hot : int
        Nodes that production fills above the ceiling.
    gpu : int
        Nodes that alone have ``gpu``, which as many pods request.
    small : float
        Share of the nodes that are of the small type.
    """

    nodes: int = 40
    pods: int = 320
    steps: int = 48
    use_share: float = 0.35
    request_over_use: float = 1.3
    hot: int = 0
    gpu: int = 0
    small: float = 0.0
    priced: bool = False
    seed: int = 0


CLUSTERS: dict[str, Made] = {
    "room": Made(),
    "requests_below_use": Made(request_over_use=0.6, seed=1),
    "requests_over_stated": Made(request_over_use=3.0, use_share=0.25, seed=5),
    "special": Made(gpu=1, seed=2),
    "above_ceiling": Made(hot=2, seed=3),
    "priced": Made(small=0.4, priced=True, seed=4),
}


def make(folder: Path, made: Made) -> Path:
    """Write ``nodes.csv``, ``containers.csv`` and ``usage.csv``; the same seed, the same bytes."""
    rng = np.random.default_rng(made.seed)
    folder.mkdir(parents=True, exist_ok=True)
    small = np.arange(made.nodes) < made.small * made.nodes
    cores = np.where(small, 8.0, 16.0)
    of_service = rng.lognormal(0, 0.7, SERVICES)[np.arange(made.pods) % SERVICES]
    mean = of_service * rng.lognormal(0, 0.1, made.pods)
    mean *= made.use_share * cores.sum() / mean.sum()
    node = np.argsort(rng.random(made.pods)) % made.nodes
    node = _balanced(mean, cores, node)
    phase = rng.random(made.pods) * 0.5
    wave = 1 + 0.3 * np.sin(2 * np.pi * (np.arange(made.steps)[:, None] / made.steps + phase))
    use = mean * wave * rng.normal(1, 0.05, (made.steps, made.pods)).clip(0.7, 1.3)
    for at in range(made.hot):
        _heat(use, cores, node, at)
    memory = rng.uniform(0.4, 1.2, made.pods) * GIB * 3
    gpu = np.zeros(made.pods, np.int64)
    if made.gpu:
        on = [int(np.flatnonzero(node == made.nodes - 1 - at)[0]) for at in range(made.gpu)]
        gpu[on] = 1
    _write_nodes(folder, made, cores, small)
    pods = [f"pod-{at:04}" for at in range(made.pods)]
    pl.DataFrame(
        {
            "container": pods,
            "service": [f"service-{at % SERVICES:02}" for at in range(made.pods)],
            "arrival_ms": np.zeros(made.pods, np.int64),
            "node": [f"node-{at:03}" for at in node.tolist()],
            "cpu_milli": (use.mean(axis=0) * made.request_over_use * 1000).round().astype(int),
            "memory_bytes": (memory * 1.25).astype(np.int64),
            **({"gpu": gpu} if made.gpu else {}),
        }
    ).write_csv(folder / "containers.csv")
    times = np.repeat(np.arange(made.steps) * STEP_MS, made.pods)
    pl.DataFrame(
        {
            "container": pods * made.steps,
            "time_ms": times,
            "cpu_milli": (use.ravel() * 1000).round().astype(np.int64),
            "memory_bytes": np.tile(memory.astype(np.int64), made.steps),
        }
    ).write_csv(folder / "usage.csv")
    return folder


def _balanced(mean: np.ndarray, cores: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Pods on nodes, the largest first to the emptiest; ``node`` decides ties."""
    load, result = np.zeros(len(cores)), node.copy()
    for pod in np.argsort(-mean):
        at = int(np.argmin((load + mean[pod]) / cores))
        result[pod] = at
        load[at] += mean[pod]
    return result


def _heat(use: np.ndarray, cores: np.ndarray, node: np.ndarray, at: int) -> None:
    """Move pods of the last nodes to a node of production until it is above the ceiling."""
    for pod in np.flatnonzero(node > len(cores) // 2):
        if np.percentile(use[:, node == at].sum(axis=1), 99) > 0.88 * cores[at]:
            break
        node[pod] = at


def _write_nodes(folder: Path, made: Made, cores: np.ndarray, small: np.ndarray) -> None:
    types = np.where(small, SMALL, LARGE).tolist()
    labels = [f'{{"node.kubernetes.io/instance-type": "{one}"}}' for one in types]
    pl.DataFrame(
        {
            "node": [f"node-{at:03}" for at in range(made.nodes)],
            "cpu_milli": (cores * 1000).astype(np.int64),
            "memory_bytes": (cores * 4 * GIB).astype(np.int64),
            "labels": labels,
            **({"price_per_hour": [PRICES[one] for one in types]} if made.priced else {}),
            **(
                {"gpu": (np.arange(made.nodes) >= made.nodes - made.gpu).astype(np.int64)}
                if made.gpu
                else {}
            ),
        }
    ).write_csv(folder / "nodes.csv")


def larger(made: Made, times: int) -> Made:
    """The same cluster so many times as large."""
    return replace(made, nodes=made.nodes * times, pods=made.pods * times)


def main(out: Path, of: Callable[[Made], Made] = lambda made: made) -> None:
    """Write every cluster below a folder."""
    for name, made in CLUSTERS.items():
        make(out / name, of(made))


if __name__ == "__main__":
    main(Path(sys.argv[1]))


pytestmark = pytest.mark.slow

NAMES = ("requests_below_use", "special", "above_ceiling", "priced")
#: One node is special only where it is below 5 % of all.
SIZES = {"special": 24}
CEILING = dict(zip(FULLEST.values(), (0.8, 0.9), strict=True))
_NUMBER = re.compile(r"\d[\d,.]*\d|\d")


@functools.cache
def _ran(name: str) -> RunSummary:
    folder = Path(tempfile.mkdtemp())
    made = replace(CLUSTERS[name], nodes=SIZES.get(name, 12), pods=80, steps=24)
    tracekit.ingest(make(folder / "trace", made), folder / "store")
    return tracekit.run(folder / "store", folder / "out", policies=["common"], jobs=1)


def _needed(facts: list[Fact]) -> list[tuple[object, ...]]:
    return [(one.subject, one.value, one.low, one.high, one.about["bound"]) for one in facts]


@pytest.mark.parametrize("name", NAMES)
def test_nodes_gives_the_number_of_the_run(name: str) -> None:
    done = _ran(name)
    for case in ("recorded", "recommended"):
        counted = done.answer.of("nodes_needed", case=case)
        if not counted:
            assert case == "recommended"
            continue
        sized = f"requests=sized:{done.out / 'studies' / 'requests'}"
        study = tracekit.nodes(
            done.store,
            [str(counted[0].subject)],
            assume=[sized] if case == "recommended" else [],
        )
        answer = answer_of_nodes(study)
        assert _needed(answer.of("nodes_needed", case=case)) == _needed(counted)
        if case == "recorded":
            for kind in ("ceiling_broken", "use_over_requested", "special_nodes"):
                assert answer.of(kind) == done.answer.of(kind)


@pytest.mark.parametrize("name", NAMES)
def test_no_answer_is_above_the_ceiling_and_none_is_of_a_yardstick(name: str) -> None:
    answer = _ran(name).answer
    for case in ("recorded", "recommended"):
        for one in answer.of("fullest_node", case=case):
            assert float(str(one.value)) <= CEILING[one.measure]
    recorded = all_policies()
    for kind in ("verdict", "recommended_policy", "nodes_needed", "confidence"):
        for one in answer.of(kind):
            assert recorded[str(one.subject)].used_by == "scheduler"


def test_special_nodes_stay_and_are_a_fact() -> None:
    done = _ran("special")
    (one,) = done.answer.of("special_nodes")
    assert (one.value, one.because) == (1, "resource")
    nodes = pl.read_parquet(done.out / "studies" / "fewest" / "nodes.parquet")
    assert nodes.filter(pl.col("special").is_not_null())["kept"].to_list().count(False) == 0


def test_production_above_the_ceiling_comes_first_with_a_count_beside_production() -> None:
    answer = _ran("above_ceiling").answer
    assert next(one.kind for one in answer.facts if one.weight == 1) == "ceiling_broken"
    assert answer.of("nodes_needed", case="no_more_often")


def test_the_saving_is_the_price_of_the_nodes_that_go() -> None:
    done = _ran("priced")
    saving = done.answer.first("saving")
    assert saving is not None
    nodes = pl.read_parquet(done.out / "studies" / "fewest" / "nodes.parquet")
    policy = done.answer.facts[0].subject
    gone = nodes.filter(~pl.col("kept"), policy=policy)["node"].to_list()
    types = sorted(PRICES, key=lambda one: PRICES[one])
    small = CLUSTERS["priced"].small * 12
    paid = sum(PRICES[types[int(one.removeprefix("node-")) >= small]] for one in gone)
    assert saving.value == pytest.approx(paid)


@pytest.mark.parametrize("name", NAMES)
def test_all_that_matters_is_on_the_first_page_and_in_the_terminal(name: str) -> None:
    done = _ran(name)
    html = done.report.read_text(encoding="utf-8")
    page, prose = Pages(html).text("answer"), Pages(html, without=APART).text("answer")
    facts = done.answer.facts
    words = " ".join("\n".join(summary(done.answer)).replace("\n- ", "\n").split())
    numbers = {
        number
        for one in facts
        for text in (short(one), long(one))
        for number in _NUMBER.findall(text)
    }
    # how long the record is, and of how many containers and nodes, is of the manifest
    assert set(_NUMBER.findall(prose)) <= numbers | {"80", str(SIZES.get(name, 12)), "2"}
    case = facts[0].about.get("case")
    for one in facts:
        if one.weight <= 1:
            assert short(one) in page or f"| {value(one)} " in page, one
            if one.kind != "nodes_needed" or one.about["case"] != case:
                assert short(one) in words, one
