"""Whom the agent beats, worst news first, and no more than intervals bear."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import polars as pl
import pytest

from tracekit.answer.requests import answer_of_chains
from tracekit.report.sentences import short
from tracekit.sizing.agent.train import Epoch
from tracekit.sizing.measures import MEASURES, differences, duels, interval, summary
from tracekit.sizing.study import WINDOW, Study, training_frame


def table(rows: dict[str, list[dict[str, float]]]) -> pl.DataFrame:
    """One row per policy and seed; measures that are not given are 0.5."""
    plain = dict.fromkeys(MEASURES, 0.5)
    return pl.DataFrame(
        [
            {"seed": seed, "policy": policy, **plain, **given}
            for policy, seeds in rows.items()
            for seed, given in enumerate(seeds)
        ]
    )


def use(qos: float, cpu: float) -> dict[str, float]:
    return {"qos": qos, "container_cpu_fraction": cpu}


CASES = {
    "better in both": ([use(0.99, 0.6)], [use(0.98, 0.5)], True),
    "the same": ([use(0.98, 0.5)], [use(0.98, 0.5)], False),
    "better CPU, worse QoS": ([use(0.95, 0.7)], [use(0.98, 0.5)], False),
    "better CPU, QoS as good as the same": ([use(0.978, 0.7)], [use(0.98, 0.5)], True),
    "better on average, not in every seed": (
        [use(0.98, 0.9), use(0.98, 0.3), use(0.98, 0.5)],
        [use(0.98, 0.5)] * 3,
        False,
    ),
    "better in every seed": (
        [use(0.98, 0.61), use(0.98, 0.62), use(0.98, 0.6)],
        [use(0.98, 0.5)] * 3,
        True,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_who_beats_whom(case: str) -> None:
    ours, theirs, beats = CASES[case]
    frame = table({"ddqn": ours, "percentile_request": theirs})
    study = SimpleNamespace(
        summary=summary(frame),
        differences=differences(frame),
        policies=(),
        table=frame,
        training=None,
        network={},
    )
    (duel,) = duels(study.summary, study.differences)
    assert duel.beats == beats
    answer = answer_of_chains(cast("Study", study))
    (fact,) = answer.of("agent_against")
    assert fact.subject == "percentile_request"
    assert (fact.verdict == "better") == beats
    measured = {one.measure: (one.value, one.against) for one in answer.of("policy_against")}
    assert measured == duel.means
    assert all(map(short, answer.facts))


def test_whom_the_agent_does_not_beat_comes_first() -> None:
    frame = table(
        {
            "percentile_request[percentile=0.5]": [use(0.9, 0.4)],
            "ddqn[epochs=2]": [use(0.97, 0.5)],
            "vertical_pod_autoscaler": [use(0.99, 0.5)],
        }
    )
    compared = duels(summary(frame), differences(frame))
    assert [(one.rival, one.beats, one.worse) for one in compared] == [
        ("vertical_pod_autoscaler", False, ("qos",)),
        ("percentile_request[percentile=0.5]", True, ()),
    ]


def test_one_seed_has_no_interval() -> None:
    assert interval(np.array([0.25])) == (0.25, None, None)
    mean, low, high = interval(np.array([0.0, 1.0]))
    assert mean == 0.5
    # Student's t with one degree of freedom: 12.706
    assert [low, high] == pytest.approx([0.5 - 12.7062 / 2, 0.5 + 12.7062 / 2])


def test_the_training_curve_moves_with_its_last_epochs() -> None:
    rewards = np.random.default_rng(0).normal(size=130)
    log = [
        Epoch("pretraining" if at < 20 else "training", at + 1, 1, 1, 0.0, reward, float("nan"))
        for at, reward in enumerate(rewards)
    ]
    frame = training_frame({("ddqn", 0): log})
    last = rewards[130 - WINDOW :]
    row = frame.row(-1, named=True)
    assert row["reward_mean"] == pytest.approx(last.mean())
    assert row["reward_high"] - row["reward_mean"] == pytest.approx(last.std(ddof=1))
    assert frame["loss"].null_count() == 130
    # a phase begins anew
    assert frame.row(20, named=True)["reward_mean"] == pytest.approx(rewards[20])
    assert frame.row(0, named=True)["reward_low"] == pytest.approx(rewards[0])
