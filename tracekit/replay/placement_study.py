"""The experiment of the TBESK paper on drawn data: imbalance against the number of containers.

Protocol: Geng and Wang 2023, section 5.2 (31 nodes, up to 1,800 pods, four resources). Its tables
of nodes and pods are lost; the workload ``paper000`` draws others, many times over. Imbalance is of
requests over capacity, the mean over nodes of eqs 32 to 34.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.errors import TracekitError
from tracekit.metrics.imbalance import imbalance
from tracekit.progress import SILENT, Progress
from tracekit.replay import parameters
from tracekit.replay.bootstrap import mean_interval
from tracekit.replay.claims import IMBALANCE, RANGES
from tracekit.replay.engine import Engine
from tracekit.replay.fast.choose import fast_placer
from tracekit.replay.parameters import About
from tracekit.replay.placement import all_policies, parse_policy
from tracekit.replay.placement._fitness import FOUR
from tracekit.replay.seeds import stream
from tracekit.replay.workload import Workload
from tracekit.replay.workloads.paper000 import Paper000
from tracekit.store.crew import Alone, Crew
from tracekit.store.stage import OnProgress
from tracekit.study import Study

FloatArray = NDArray[np.float64]
NAME = "search_placement"
OWN = "tbesk"

#: Imbalance is noted each time so many more containers have come.
EVERY = 100

_RESOURCES = {column: name for name, column in FOUR.items()}


@dataclass(frozen=True, kw_only=True)
class PlacementStudy:
    """What is replayed."""

    sets: Annotated[int, About("Data sets drawn.", minimum=1)] = 20
    containers: Annotated[int, About("Containers of each.", minimum=1)] = 1800
    nodes: Annotated[int, About("Nodes of each.", minimum=1)] = 31
    target_alloc_fraction: Annotated[
        float, About("Requests over capacity, expected.", minimum=0.01, maximum=1)
    ] = 0.75
    seed: Annotated[int, About("Seed of all of it.", minimum=0)] = 0

    def __post_init__(self) -> None:
        parameters.check_ranges(self)


@dataclass(frozen=True, kw_only=True)
class Placed:
    """What one policy made of one set.

    Parameters
    ----------
    imbalance : float64, shape (checkpoints,)
    use : float64, shape (nodes, resources)
        Requests over capacity when all have come.
    """

    imbalance: FloatArray
    use: FloatArray
    resources: tuple[str, ...]
    pending: int
    spent_s: float


@dataclass(frozen=True)
class _Replay:
    """One policy on one set; can be sent to another process."""

    study: PlacementStudy
    policy: str
    draw: int

    def run(self, on_progress: OnProgress) -> Placed:
        study = self.study
        load = Paper000(
            seed=study.seed + self.draw,
            nodes=study.nodes,
            containers=study.containers,
            target_alloc_fraction=study.target_alloc_fraction,
        ).drawn(stream(study.seed + self.draw, "workload"))
        policy = parse_policy(self.policy)
        rng = stream(study.seed + self.draw, policy.name())
        outcome = Engine(load, policy, rng, placer=fast_placer).run()
        on_progress(1, 0, 0)
        return Placed(
            imbalance=imbalance_by_count(load, outcome.node),
            use=_use(load, outcome.node, load.containers),
            resources=tuple(_RESOURCES[name] for name in load.resources),
            pending=int((outcome.node < 0).sum()),
            spent_s=float(sum(outcome.latencies_s)),
        )


def counts(containers: int) -> list[int]:
    """Numbers of containers at which imbalance is noted; the last is all of them."""
    return [*range(EVERY, containers, EVERY), containers]


def imbalance_by_count(load: Workload, node: NDArray[np.int64]) -> FloatArray:
    """Mean imbalance once so many containers have come, shape (checkpoints,)."""
    return np.array([float(imbalance(_use(load, node, n)).mean()) for n in counts(load.containers)])


def _use(load: Workload, node: NDArray[np.int64], first: int) -> FloatArray:
    """Requests of the first containers over capacity, shape (nodes, resources)."""
    placed = np.flatnonzero(node[:first] >= 0)
    taken = np.zeros(load.capacity.shape)
    np.add.at(taken, node[placed], load.request[placed])
    return np.asarray(taken / load.capacity)


def study_policies(names: Sequence[str]) -> list[str]:
    """The policies to replay: those given, or every one that needs no recorded placement."""
    known = all_policies()
    every = [name for name, kind in known.items() if "recorded" not in kind.reads]
    chosen = list(names) or every
    if len(set(chosen)) < len(chosen):
        raise TracekitError("a policy is named twice", hint="name each once")
    return [str(parse_policy(name)) for name in chosen]


def study_placement(
    study: PlacementStudy | None = None,
    *,
    policies: Sequence[str] = (),
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Run the experiment.

    Returns
    -------
    Study
        Frames ``imbalance`` (by policy and number of containers, with 95 % intervals over sets),
        ``use`` (least and most used node by resource, mean over sets), ``summary`` (by policy),
        ``claims`` (TBESK against others, paired by set, beside what the paper reports) and
        ``ranges`` (the same for how far nodes lie apart). ``timing`` differs from run to run.

    Raises
    ------
    TracekitError
        For an unknown policy or parameter.
    """
    study = study or PlacementStudy()
    names = study_policies(policies)
    tasks = [_Replay(study, name, draw) for name in names for draw in range(study.sets)]
    crew = crew or Alone()
    with progress.task("placements", len(tasks), "replays") as task:
        running = [crew.submit(one, lambda *_: task.advance(1)) for one in tasks]
        results = [one.result() for one in running]
    by_policy = {
        name: results[at * study.sets : (at + 1) * study.sets] for at, name in enumerate(names)
    }
    rng = stream(study.seed, NAME)
    return Study(
        name=NAME,
        about={**asdict(study), "policies": names},
        frames={
            "imbalance": _imbalance(by_policy, study, rng),
            "use": _use_frame(by_policy),
            "summary": _summary(by_policy, rng),
            "claims": _claims(by_policy, rng),
            "ranges": _ranges(by_policy),
            "timing": _timing(by_policy, study),
        },
    )


_Results = dict[str, list[Placed]]


def _imbalance(results: _Results, study: PlacementStudy, rng: np.random.Generator) -> pl.DataFrame:
    frames = []
    for name, placed in results.items():
        found = mean_interval(np.stack([one.imbalance for one in placed]), rng)
        frames.append(
            pl.DataFrame(
                {
                    "policy": [name] * len(found.mean),
                    "containers": counts(study.containers),
                    "imbalance": found.mean,
                    "imbalance_low": found.low,
                    "imbalance_high": found.high,
                }
            )
        )
    return pl.concat(frames)


def _use_frame(results: _Results) -> pl.DataFrame:
    rows = [
        {
            "policy": name,
            "resource": resource,
            "low_fraction": float(np.mean([one.use[:, at].min() for one in placed])),
            "mean_fraction": float(np.mean([one.use[:, at].mean() for one in placed])),
            "high_fraction": float(np.mean([one.use[:, at].max() for one in placed])),
            "overfull_nodes": float(np.mean([(one.use[:, at] > 1).sum() for one in placed])),
        }
        for name, placed in results.items()
        for at, resource in enumerate(placed[0].resources)
    ]
    return pl.DataFrame(rows)


def _summary(results: _Results, rng: np.random.Generator) -> pl.DataFrame:
    rows = []
    for name, placed in results.items():
        last = np.array([[one.imbalance[-1], one.imbalance.mean()] for one in placed])
        found = mean_interval(last, rng)
        rows.append(
            {
                "policy": name,
                "imbalance": float(found.mean[0]),
                "imbalance_low": float(found.low[0]),
                "imbalance_high": float(found.high[0]),
                "imbalance_over_all_counts": float(found.mean[1]),
                "pending": float(np.mean([one.pending for one in placed])),
            }
        )
    return pl.DataFrame(rows).sort("imbalance", "policy")


def _claims(results: _Results, rng: np.random.Generator) -> pl.DataFrame:
    """Relative change from the other policy to TBESK when all have come, paired by set."""
    rows: list[dict[str, Any]] = []
    for claim in IMBALANCE:
        if OWN not in results or claim.against not in results:
            continue
        own, other = (
            np.array([one.imbalance[-1] for one in results[name]]) for name in (OWN, claim.against)
        )
        found = mean_interval((own / other - 1.0)[:, None], rng)
        rows.append(
            {
                "against": claim.against,
                "reported_change": claim.change,
                "change": float(found.mean[0]),
                "change_low": float(found.low[0]),
                "change_high": float(found.high[0]),
                "verdict": verdict(float(found.low[0]), float(found.high[0])),
            }
        )
    schema = {
        "against": pl.String,
        "reported_change": pl.Float64,
        "change": pl.Float64,
        "change_low": pl.Float64,
        "change_high": pl.Float64,
        "verdict": pl.String,
    }
    return pl.DataFrame(rows, schema=schema)


def verdict(low: float, high: float) -> str:
    """What an interval says of a claim that TBESK is less imbalanced."""
    if high < 0:
        return "direction agrees"
    return "direction is the opposite" if low > 0 else "no difference seen"


def _ranges(results: _Results) -> pl.DataFrame:
    rows: list[dict[str, Any]] = []
    for claim in RANGES:
        if claim.policy in results:
            use = [one.use[:, one.resources.index(claim.resource)] for one in results[claim.policy]]
            rows.append(
                {
                    "policy": claim.policy,
                    "resource": claim.resource,
                    "reported_difference": claim.width,
                    "difference": float(np.mean([np.ptp(one) for one in use])),
                }
            )
    schema = {
        "policy": pl.String,
        "resource": pl.String,
        "reported_difference": pl.Float64,
        "difference": pl.Float64,
    }
    return pl.DataFrame(rows, schema=schema)


def _timing(results: _Results, study: PlacementStudy) -> pl.DataFrame:
    """Decision time; wall clock, so that it differs from run to run."""
    return pl.DataFrame(
        {
            "policy": list(results),
            "decision_ms": [
                1000 * float(np.mean([one.spent_s for one in placed])) / study.containers
                for placed in results.values()
            ],
        }
    )
