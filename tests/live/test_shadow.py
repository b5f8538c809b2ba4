"""A shadow changes no decision; its record is ingested, and judged hour by hour."""

import json
from pathlib import Path

import numpy as np
import pytest
from fleet import args, node, pod

import tracekit
from tracekit.answer.comparison.facts import facts_of_comparison
from tracekit.answer.comparison.shadow import DECIDES
from tracekit.base.errors import TracekitError
from tracekit.live.extender import Extender
from tracekit.live.feeds import apply
from tracekit.live.serve import Server
from tracekit.live.shadow import Shadow
from tracekit.live.state import State
from tracekit.live.web import Request
from tracekit.policy.parse import parse_policy

_START_S = 1_795_852_800


def _record(folder: Path, hours: int, seed: int = 0, *, bound: bool = True) -> list[bytes]:
    """Production packs the fullest node, a shadow would spread; each pod ends before the next."""
    rng, now = np.random.default_rng(seed), [_START_S]
    state = State()
    for name in ("n0", "n1", "n2"):
        apply(state, "ADDED", node(name))
    apply(state, "ADDED", pod("base", "n0", cpu="6"))
    spread, pack = parse_policy("least_allocated"), parse_policy("most_allocated")
    extender = Extender(state=state, policy=spread, clock=lambda: now[0])
    shadow = Shadow(folder=folder, state=state, policy=spread, others=[pack])
    server = Server(extender=extender, shadow=shadow)
    answers = []
    for at in range(hours * 10):
        now[0] = _START_S + at * 360
        waiting = pod(f"p{at}", cpu=str(rng.choice(["500m", "1"])))
        body = json.dumps(args(waiting, ["n0", "n1", "n2"])).encode()
        answers.append(server.handle(Request(method="POST", target="/v1/prioritize", body=body)))
        answers[-1].then()
        if bound:
            apply(state, "MODIFIED", {**waiting, "spec": {**waiting["spec"], "nodeName": "n0"}})
            apply(state, "DELETED", waiting)
    shadow.close()
    return [answer.body for answer in answers]


def test_a_shadow_gives_every_node_the_same(tmp_path: Path) -> None:
    for body in _record(tmp_path / "shadow", 1):
        assert {one["Score"] for one in json.loads(body)} == {0}
    lines = (tmp_path / "shadow" / "shadow-2026-11-28T08.jsonl").read_text().splitlines()
    results = [json.loads(line) for line in lines]
    assert [one["policy"] for one in results[:3]] == [
        *("production", "least_allocated", "most_allocated")
    ]
    assert [one["node"] for one in results[:3]] == ["n0", "n1", "n0"]


@pytest.mark.parametrize(("hours", "cause"), [(8, "shadow_pays"), (3, "shadow_few_hours")])
def test_compare_says_whether_switching_pays(tmp_path: Path, hours: int, cause: str) -> None:
    _record(tmp_path / "shadow", hours)
    tracekit.ingest(str(tmp_path / "shadow"), str(tmp_path / "store"))
    study = tracekit.compare(tmp_path / "store")
    changes = {(one["policy"], one["measure"]): one for one in study.frames["changes"].to_dicts()}
    spread, pack = changes["least_allocated", DECIDES], changes["most_allocated", DECIDES]
    lines = [
        json.loads(line)
        for file in (tmp_path / "shadow").iterdir()
        for line in file.read_text().splitlines()
    ]
    above = [one["cpu_fraction"] > 0.8 for one in lines if one["policy"] == "production"]
    assert spread["base"] == pytest.approx(np.mean(above))
    assert (spread["new"], pack["change"]) == (0.0, 0.0)
    assert study.about["hours"] == hours
    facts = facts_of_comparison(study)
    assert (facts[0].because, facts[0].subject) == (cause, "least_allocated")
    if hours >= 6:
        assert spread["change_low"] <= spread["change"] <= spread["change_high"] < 0


def test_without_production_nothing_is_compared(tmp_path: Path) -> None:
    _record(tmp_path / "shadow", 1, bound=False)
    tracekit.ingest(str(tmp_path / "shadow"), str(tmp_path / "store"))
    with pytest.raises(TracekitError):
        tracekit.compare(tmp_path / "store")
