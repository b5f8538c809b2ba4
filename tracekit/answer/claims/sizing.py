"""Readings from a comparison of sizing policies on call chains, paired by seed.

A higher use of what is reserved is worth nothing where less of the need is served: those claims
hang on a QoS that is no more than half a point below that of minimum selection.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from tracekit.answer.claims.reading import Reading, mean_of
from tracekit.base.arrays import FloatArray
from tracekit.sizing.intervals import is_agent
from tracekit.sizing.verdict import SAME

_MINIMUM, _RANDOM = "minimum_selection", "random_selection"
#: The reward stands from where its moving mean stays within this share of its last.
_STANDS = 0.05


def readings(frame: Callable[[str], pl.DataFrame]) -> Iterator[tuple[str, Reading]]:
    """What each claim on sizing comes to."""
    table, training = frame("size/table"), frame("size/training")
    agent = (
        next(filter(is_agent, table["policy"].to_list()), None) if not table.is_empty() else None
    )
    if agent is None:
        return

    def of(policy: str, measure: str) -> FloatArray:
        return table.filter(policy=policy).sort("seed")[measure].to_numpy()

    yield "agent_qos", mean_of(of(agent, "qos"))
    if {_MINIMUM, _RANDOM} <= set(table["policy"]):
        yield from _beside(agent, of)
    if training.columns:
        curves = [
            part.sort("epoch")["reward_mean"].to_numpy()
            for _, part in training.filter(policy=agent, phase="training").group_by(
                "seed", maintain_order=True
            )
        ]
        yield "agent_rounds", mean_of([stands_from(curve) for curve in curves])
        yield "agent_reward", mean_of([float(curve[-1]) for curve in curves if len(curve)])


def _beside(agent: str, of: Callable[[str, str], FloatArray]) -> Iterator[tuple[str, Reading]]:
    qos = of(agent, "qos")
    served = bool((qos - of(_MINIMUM, "qos")).mean() >= -SAME)
    for name, measure in {
        "agent_container_cpu": "container_cpu_fraction",
        "agent_node_cpu": "node_cpu_fraction",
        "agent_container_memory": "container_memory_fraction",
    }.items():
        yield name, mean_of(of(agent, measure) - of(_MINIMUM, measure), met=served)
    yield "agent_node_g", replace(mean_of(of(agent, "node_g")), met=served)
    for name, measure in {"agent_qos_best": "qos", "agent_changes": "change_share"}.items():
        rivals = np.maximum(of(_MINIMUM, measure), of(_RANDOM, measure))
        yield name, mean_of(of(agent, measure) - rivals)


def stands_from(curve: FloatArray) -> float:
    """The first round from which on a curve stays near its last value; NaN for no curve."""
    if not len(curve):
        return float("nan")
    off = np.abs(curve - curve[-1]) > _STANDS * abs(curve[-1])
    return float(np.flatnonzero(off)[-1] + 2) if off.any() else 1.0
