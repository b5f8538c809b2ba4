"""The first screen of five runs: it says what was asked, answers, and says how sure that is."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from functools import reduce
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from cluster_support import cluster
from kubernetes_support import container, listed, node, pod, written
from report_support import made_up
from tests_support import NODE_HEADER, SHARED, TraceFolder

import tracekit
from tracekit.answer.decision import decision
from tracekit.ingest import ingest
from tracekit.replay.runs.results import results
from tracekit.replay.runs.run import BOUND
from tracekit.report import render
from tracekit.report.contents.answer.sure import wider
from tracekit.report.render import render_data
from tracekit.verbs.replay import replay

POLICIES = ("least_allocated", "most_allocated", "random")


def _openb(folder: Path) -> Path:
    """All of it: 1,523 nodes and 8,152 pods that stay."""
    load = f"openb:{SHARED / 'data' / 'openb'}"
    replay(
        None, ("best_fit", "least_allocated"), out=folder / "run", workload=load, repeats=6, jobs=2
    )
    return folder / "run"


def _own_cluster(folder: Path) -> Path:
    """500 nodes and 2,000 containers that use more than they request, so that packing overloads."""
    rng = np.random.default_rng(3)
    nodes = [f"n{at:03d},16000,68719476736" for at in range(500)]
    cores = rng.choice([1000, 2000, 4000], 2000)
    held = [
        f"c{at:04d},s{at % 40},n{at % 500:03d},0,,{milli},4294967296"
        for at, milli in enumerate(cores.tolist())
    ]
    used = (cores * rng.uniform(0.8, 1.2, 2000)).astype(int)
    usage = [
        f"c{at:04d},{step * 30_000},{milli + step},3221225472"
        for at, milli in enumerate(used.tolist())
        for step in range(6)
    ]
    changed = {
        "nodes.csv": ["node,cpu_milli,memory_bytes", *nodes],
        "containers.csv": [
            "container,service,node,arrival_ms,departure_ms,cpu_milli,memory_bytes", *held
        ],
        "usage.csv": ["container,time_ms,cpu_milli,memory_bytes", *usage],
    }  # fmt: skip
    return _replayed(cluster(folder / "cluster", changed), folder, repeats=6)


def _made_up(folder: Path) -> Path:
    tracekit.synth(folder / "traces", preset="tiny")
    return _replayed(folder / "traces", folder, repeats=6)


def _heads(folder: Path) -> Path:
    return _replayed(SHARED / "data" / "ctm21", folder, repeats=6)


def _nothing_told(folder: Path) -> Path:
    """One order of arrival: whatever differs may be chance."""
    traces = TraceFolder.written(folder / "traces")
    lines = [f"{step * 30_000},n,0.4,0.8" for step in range(14)]
    traces.write("Node_1.csv", NODE_HEADER, lines)
    return _replayed(traces.path, folder, repeats=1)


def _replayed(traces: Path, folder: Path, *, repeats: int) -> Path:
    ingest(traces, folder / "store")
    replay(folder / "store", POLICIES, out=folder / "run", repeats=repeats)
    return folder / "run"


_UNTOLD = (
    "No policy can be recommended: policies met one order of arrival, an interval needs 6"
    " (--repeat 6); only 1.5 % of the CPU in use can be moved by any policy"
)
#: What makes a run, whether it needs real rows, and what its answer must say.
RUNS: dict[str, tuple[Callable[[Path], Path], bool, str]] = {
    "openb": (
        _openb,
        True,
        (
            r"^Use best_fit: containers left without a node are 0 in each of 6 orders of arrival,"
            r" \u2212\d+ \(.*\) against least_allocated\.$"
        ),
    ),
    "a cluster of 500 nodes": (
        _own_cluster,
        False,
        # production overloads nodes, and less overload is worth its price
        r"^Use least_allocated: overloaded node-steps are 0 .* against production\. It is worse by",
    ),
    "a made-up trace": (
        _made_up,
        False,
        # what every order makes worse is a price, whatever chance may do
        r"^Keep .*\. Under least_allocated stranded CPU .* use is higher in each of 6 orders \(",
    ),
    "heads of the real trace": (
        _heads,
        True,
        # nodes without containers are not free there: fewer of them decide nothing
        r"^Keep the placement of production: .* production comes to [\d.]+ %, random, which comes",
    ),
    "nothing can be told": (
        _nothing_told,
        False,
        rf"^{re.escape(_UNTOLD)}; ",
    ),
}


def test_no_answer_passes_for_another() -> None:
    """Each run has a sentence of its own, which names its policies or its reason."""
    keep = "Keep the placement of production: none is better;"
    said = [
        (
            "Use best_fit: containers left without a node are 0 in each of 6 orders of"
            " arrival, \u221222"
            " (\u221226 to \u221213) against least_allocated."
        ),
        (
            "Use least_allocated: overloaded node-steps are 0 in each of 6 orders of arrival,"
            " \u22126 against production. It is worse by highest memory use."
        ),
        (
            "Keep the placement of production, unless this trade is worth it. Under least_allocated"
            " stranded CPU is 0.4 %. Highest memory use is higher in each of 6 orders (+3 pp)."
        ),
        f"{keep} by CPU production comes to 88.4 %, random, which comes nearest, to 88.7 %",
        f"{_UNTOLD}; and so on.",
    ]
    passed = [[bool(re.search(pattern, one)) for *_, pattern in RUNS.values()] for one in said]
    assert passed == [[at == own for at in range(5)] for own in range(5)]
    other = {"%, random": "%, cwt", "least_allocated": "random"}
    wrong = [reduce(lambda text, pair: text.replace(*pair), other.items(), one) for one in said[:4]]
    assert not any(re.search(pattern, one) for one in wrong for *_, pattern in RUNS.values())


def _first_screen(html: str) -> str:
    start = html.index('<section id="/answer"')
    text = re.sub(r"<[^>]+>", " ", html[start : html.index("</section>", start)])
    return " ".join(unescape(text).replace("\u00a0", " ").split())


def _answered(said: tuple[str, ...]) -> tuple[str, str]:
    """What counts as use where none is recorded, which is read first, and the answer."""
    first, *others = said
    return (first, others[0]) if first.startswith("No use is recorded") else ("", first)


_LONG = {"openb", "a cluster of 500 nodes", "heads of the real trace"}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] if name in _LONG else []) for name in RUNS],
)
def test_the_first_screen_answers(name: str, tmp_path: Path) -> None:
    make, real, expected = RUNS[name]
    if real and not SHARED.is_dir():
        pytest.skip("shared data is not beside the checkout")
    run = make(tmp_path)
    summary = render(run, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text()
    counts, said = _answered(summary.answers)
    assert bool(counts) == (name == "openb"), counts
    screen = _first_screen(html)
    told = decision(run)
    assert re.search(expected, said), said
    assert said in screen
    assert told.question in screen
    for heading in ("What was asked", "How sure", "What it rests on", "What to do next"):
        assert heading in screen
    assert "tracekit " in screen[screen.index("What to do next") :]
    title = re.search(r"<h1>(.*?)</h1>", html)
    assert title is not None
    assert ("made-up trace" in title[1]) == (name == "a made-up trace")
    # of what is not to be used it is not said as if it were
    change = "which comes nearest, would change" if "Keep the" in said else "What it would change"
    assert (change in screen) == bool(told.subject)
    _bound_is_below(run)
    if told.chosen and told.criterion:
        assert _separates(run, told.criterion)
        _is_honest(told.chosen, {one for left in told.left_out for one in left.names}, said)


def _bound_is_below(run: Path) -> None:
    """No policy, as the report has its mean, is below what it calls a lower bound."""
    found = results(run)
    bounds = found.summary.filter(policy=BOUND).to_dicts()
    for bound in bounds:
        for one in found.measures.values():
            if one.first == "low" and bound[one.name] is not None:
                means = [found.of(name, one.name).mean() for name in found.policies]
                assert min(means) >= bound[one.name] - 1e-9, one.name


def _separates(run: Path, criterion: str) -> bool:
    """Whether what is said to decide is not the same for all."""
    found = results(run)
    return len({found.of(name, criterion).mean() for name in found.policies}) > 1


def _is_honest(chosen: tuple[str, ...], unfit: set[str], said: str) -> None:
    """Nobody is recommended who overloads nodes; counts of nodes are no headline."""
    assert not set(chosen) & unfit
    assert not re.search(r"\bnodes are enough\b", said)


@pytest.mark.slow
@pytest.mark.parametrize("used", [True, False])
def test_requests_in_the_place_of_use_are_said(used: bool, tmp_path: Path) -> None:
    usage = [f"{name},{step * 30_000},100,50" for name in "abc" for step in range(6)]
    lines = ["container,time_ms,cpu_milli,memory_bytes", *usage] if used else None
    run = _replayed(cluster(tmp_path / "cluster", {"usage.csv": lines}), tmp_path, repeats=1)
    answers = render(run, tmp_path / "report.html").answers
    screen = _first_screen((tmp_path / "report.html").read_text())
    said = "No use is recorded: where use is spoken of, it is what is requested."
    assert (said in screen) is not used
    assert (answers[0] == said) is not used


@pytest.mark.slow
def test_pods_that_never_had_a_node_are_said(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    waits = pod("waits", containers=[container("3")], status={"phase": "Pending"})
    runs = [pod(f"runs-{at}", nodeName="n1") for at in range(3)]
    written(folder / "cluster.json", listed(node("n1"), *runs, waits))
    run = _replayed(folder, tmp_path, repeats=1)
    render(run, tmp_path / "report.html")
    screen = _first_screen((tmp_path / "report.html").read_text())
    assert "1 pod never had a node: default/waits (3 cores, since 2026-01-01 00:00 UTC)" in screen


@pytest.mark.slow
def test_why_differences_from_production_are_wide_stands_below_the_table() -> None:
    data = made_up()
    said = "Differences from production have wider intervals: it is known in one order of arrival"
    assert data.decision is not None
    assert f'<p class="quiet">{said}' in render_data(data)
    assert wider(data, data.decision, "first_fit") == ""
    once = dataclasses.replace(data.decision, orders=1)
    assert wider(data, once, "observed") == ""
