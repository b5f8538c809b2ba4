"""Criteria of combined-weight TOPSIS, and judgement matrices by the type of a container.

Type of a container: Geng and Wang 2023, eq 16. The judgements are a reading of this project, for
those of Zhang and Wang 2022 are not published.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from tracekit.arrays import FloatArray
from tracekit.parameters import About
from tracekit.replay.view.snapshot import Container, Snapshot
from tracekit.replay.workload.resources import CPU, DISK, DISK_IO, MEMORY, NET

Dominance = Annotated[
    float, About("How many times more what a container leans on counts.", minimum=1)
]
PodType = Literal["compressible", "incompressible", "balanced"]
Judgements = tuple[tuple[str, str, float], ...]

#: Criteria in their order, by the names that judgements use.
CRITERIA = {"cpu": CPU, "memory": MEMORY, "net": NET, "disk": DISK, "io": DISK_IO}

#: What can be throttled: a container short of it runs slower, and does not fail.
_THROTTLED = (CPU, NET, DISK_IO)


def present(snapshot: Snapshot) -> dict[str, int]:
    """Criteria that the workload has, by resource name, with their columns."""
    columns = ((name, snapshot.column(name)) for name in CRITERIA.values())
    return {name: column for name, column in columns if column is not None}


def pod_type(snapshot: Snapshot, container: Container) -> PodType:
    """Which resources the container needs most, relative to the mean node.

    Compressible when cpu outweighs memory and network outweighs disk, incompressible when both are
    the other way round, else balanced. Without network or disk, cpu and memory decide.
    """
    mean = snapshot.capacity.mean(axis=0)
    signs = []
    for first, second in ((CPU, MEMORY), (NET, DISK)):
        one, other = snapshot.column(first), snapshot.column(second)
        if one is not None and other is not None:
            ahead = container.request[one] * mean[other] - container.request[other] * mean[one]
            signs.append(np.sign(ahead))
    if all(sign > 0 for sign in signs):
        return "compressible"
    return "incompressible" if all(sign < 0 for sign in signs) else "balanced"


def by_type(kind: PodType, resources: list[str], dominance: float) -> FloatArray:
    """Judgements that put what the type leans on ``dominance`` times before the rest."""
    ahead = {"compressible": dominance, "incompressible": 1.0 / dominance, "balanced": 1.0}[kind]
    importance = np.array([ahead if name in _THROTTLED else 1.0 for name in resources])
    return np.asarray(importance[:, None] / importance[None, :])


def given(judgements: Judgements, resources: list[str]) -> FloatArray:
    """A judgement matrix from ``(first, second, ratio)``; what is not judged is equal."""
    matrix = np.ones((len(resources), len(resources)))
    for first, second, ratio in judgements:
        if CRITERIA[first] in resources and CRITERIA[second] in resources:
            one, other = resources.index(CRITERIA[first]), resources.index(CRITERIA[second])
            matrix[one, other], matrix[other, one] = ratio, 1.0 / ratio
    return matrix
