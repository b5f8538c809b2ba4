"""The replays of a study of assumptions: one policy under one change, in some orders of arrival."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.answer.followed import LARGEST
from tracekit.answer.repeat import row_of
from tracekit.base.crew.crew import OnProgress
from tracekit.base.seeds import order_seed
from tracekit.cluster.source import WorkloadSource
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import parse_entrant
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.runs.background import shares
from tracekit.replay.runs.kept import replays_alike
from tracekit.replay.runs.may_wait import MAY_WAIT, most_waiting
from tracekit.replay.runs.one import digest_of, in_order, replay_one
from tracekit.replay.runs.replayer import Planned
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.varying import ALIKE, varying


@dataclass(frozen=True)
class Met:
    """The result of ``Orders``: a row per order, a hash of the placements, and facts about them.

    Parameters
    ----------
    about : dict
        What a run's manifest says of the orders and the workload, as far as a decision asks.
    """

    rows: list[dict[str, Any]]
    digest: str
    about: dict[str, Any]
    used_by: str


@dataclass(frozen=True)
class Unchanged:
    """The result of ``Orders`` where the workload is as without the change: nothing is replayed."""


@dataclass(frozen=True)
class Known:
    """The hash of a workload, by which another is known to replay alike; can be sent elsewhere."""

    source: WorkloadSource

    def run(self, on_progress: OnProgress) -> str:
        """Load it, and work out the hash."""
        on_progress(1, 0, 0)
        return _loaded(self.source)[1]


@dataclass(frozen=True)
class Orders:
    """One policy under one change, in so many orders of arrival; can be sent elsewhere.

    Parameters
    ----------
    usual : str
        The hash of the workload without the change; empty where it is replayed in any case.
    """

    source: WorkloadSource
    policy: str
    seed: int
    repeats: int | None
    usual: str = ""

    def run(self, on_progress: OnProgress) -> Met | Unchanged | None:
        """Replay them; None for production where its placement is not recorded."""
        load, known = _loaded(self.source)
        if known == self.usual:
            on_progress(1, 0, 0)
            return Unchanged()
        entrant = parse_entrant(self.policy)
        varies, repeats = varying(load), self.repeats
        if self.policy == OBSERVED and not load.recorded:
            on_progress(1, 0, 0)
            return None
        if repeats is None:
            repeats = FEWEST if load.containers * load.nodes <= LARGEST else 1
        rows: list[dict[str, Any]] = []
        digests = []
        repeats = repeats if varies else 1
        for number in range(repeats):
            seed = order_seed(self.seed, number)
            met = in_order(load, seed) if number else load
            one = replay_one(met, entrant, seed, replays=repeats)
            rows.append(row_of(Planned(entrant, seed, number), one))
            digests.append(one.digest.encode())
        on_progress(1, 0, 0)
        return Met(rows, digest_of(digests), _about(load, varies), entrant.used_by)


def forget() -> None:
    """Forget the workload of an earlier study in this process: the store may hold another now."""
    _loaded.cache_clear()


@functools.lru_cache(maxsize=1)
def _loaded(source: WorkloadSource) -> tuple[Workload, str]:
    load = source.load()
    return load, replays_alike(load)


def _about(load: Workload, varies: list[str]) -> dict[str, Any]:
    return {
        "repeats_cover": varies,
        "repeats_none": "" if varies else ALIKE,
        "workload": {
            "name": load.name,
            "nodes": load.nodes,
            "containers": load.containers,
            "steps": len(load.times_ms),
            "step_ms": load.step_ms,
            MAY_WAIT: most_waiting(load),
            "assumptions": dict(load.assumptions),
            "quantities": dict(load.quantities),
            **shares(load),
        },
    }


def results_of(met: Mapping[str, Met]) -> Results:
    """The replays under one change in the form of a run's results."""
    rows = [{**row, "policy": name} for name, one in met.items() for row in one.rows]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    document = {
        **next(iter(met.values())).about,
        "policies": [
            {"policy": name, "placements": one.digest, "used_by": one.used_by}
            for name, one in met.items()
        ],
    }
    first = frame.filter(repeat=0)
    return Results(document, first, frame if frame.height > first.height else None)
