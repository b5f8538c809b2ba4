"""A study of the fewest nodes of a workload made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from replay_support import Row, changed, workload

from tracekit.answer.fewest.limits import Limits, limits_at
from tracekit.answer.fewest.study import shrink_cluster
from tracekit.base.study import Study
from tracekit.cluster.source import WorkloadSource
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrants
from tracekit.replay.runs.thresholds import LIMIT, Threshold, parse_threshold

#: Eight nodes of 100, sixteen containers of 25 that use what they ask for: the requests fill four.
EVEN = workload([(100, 1000)] * 8, [(0, 9000, 25, 10)] * 16, used_share=1.0)


_LOADS: dict[str, Workload] = {}


@dataclass(frozen=True)
class _Given(WorkloadSource):
    """A workload that is there already."""

    key: str = ""

    def load(self) -> Workload:
        return _LOADS[self.key]


def given_source(load: Workload) -> WorkloadSource:
    """A workload that is there already, as a source of one."""
    key = str(len(_LOADS))
    _LOADS[key] = load
    return _Given(None, "given", key=key)


def thresholds(*texts: str) -> list[Threshold]:
    return [parse_threshold(text, LIMIT) for text in texts]


def limits(load: Workload, *texts: str) -> Limits:
    return limits_at(load.rules.ceiling, thresholds(*texts), None)


def shrunk(
    load: Workload, *texts: str, policies: Sequence[str] = ("best_fit",), **more: Any
) -> Study:
    requested = {
        "policies": Entrants.of(policies).chosen,
        "limits": thresholds(*texts),
        "repeats": 1,
        **more,
    }
    return shrink_cluster(given_source(load), **requested)


def row(study: Study, policy: str = "best_fit") -> dict[str, Any]:
    return study.frames["policies"].filter(policy=policy).row(0, named=True)


def varying(
    nodes: Sequence[tuple[int, int]], rows: Sequence[Row], *, seed: int, steps: int = 120
) -> Workload:
    """A workload whose containers use half to all of their request, another share at each step."""
    load = workload(nodes, rows, steps=steps, used_share=1.0)
    load = changed(load, containers={"exchangeable": np.ones(load.containers.count, np.bool_)})
    share = np.random.default_rng(seed).uniform(0.5, 1, load.use.values.shape)
    return changed(load, use={"values": (load.use.values * share).astype(np.float32)})
