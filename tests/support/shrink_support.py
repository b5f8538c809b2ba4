"""A study of the fewest nodes of a workload made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from given_source import given_source
from replay_support import workload

from tracekit.answer.fewest.study import shrink_cluster
from tracekit.replay.workload.workload import Workload
from tracekit.study import Study

#: Eight nodes of 100, sixteen containers of 25 that use what they ask for: four nodes are full.
EVEN = workload([(100, 1000)] * 8, [(0, 9000, 25, 10)] * 16, used_share=1.0)


def shrunk(
    load: Workload, *limits: str, policies: Sequence[str] = ("best_fit",), **more: Any
) -> Study:
    asked = {"policies": policies, "limits": limits, "repeats": 1, **more}
    return shrink_cluster(given_source(load), **asked)


def row(study: Study, policy: str = "best_fit") -> dict[str, Any]:
    return study.frames["policies"].filter(policy=policy).row(0, named=True)
