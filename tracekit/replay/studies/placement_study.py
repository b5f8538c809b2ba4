"""The experiment of the TBESK paper on drawn data: imbalance against the number of containers.

Protocol: Geng and Wang 2023, section 5.2 (31 nodes, up to 1,800 pods, four resources). The paper
does not publish its tables of nodes and pods, so the workload ``paper000`` draws many data sets.
The imbalance of requests over capacity is the mean over nodes of equations 32 to 34.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import polars as pl

from tracekit.analysis.metrics.load import imbalance
from tracekit.base.arrays import FloatArray, IntArray, stream
from tracekit.base.crew import Alone, Crew, OnProgress
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT, Progress
from tracekit.base.study import Study
from tracekit.cluster.named import Paper000
from tracekit.cluster.resources import CPU, MEMORY, full_name
from tracekit.cluster.source import drawn_workload
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Sent
from tracekit.policy.parse import build_policy
from tracekit.policy.placement import PlacementPolicy, all_policies
from tracekit.policy.placement._parts.weights import FOUR
from tracekit.replay.chance import means
from tracekit.replay.engine.engine import Engine
from tracekit.replay.fast.choose import fast_placer
from tracekit.replay.studies import PlacementStudy

NAME = "search_placement"
_RESOURCES = {column: name for name, column in FOUR.items()}


@dataclass(frozen=True)
class _Replay:
    """The replay of one policy on one data set; it can be sent to another process."""

    study: PlacementStudy
    policy: Sent
    draw: int

    def run(self, on_progress: OnProgress) -> Placed:
        study = self.study
        drawn = Paper000(
            seed=study.seed + self.draw,
            nodes=study.nodes,
            containers=study.containers,
            target_alloc_fraction=study.target_alloc_fraction,
        )
        load = drawn_workload(drawn, stream(study.seed + self.draw, "workload"))
        policy = self.policy.entrant.placement
        rng = stream(study.seed + self.draw, policy.name())
        shown = load if study.room == "all" else seen_by(policy, load)
        outcome = Engine(shown, policy, rng, placer=fast_placer).run()
        on_progress(1, 0, 0)
        return Placed(
            imbalance=imbalance_by_count(load, outcome.node),
            use=use_by_count(load, outcome.node, load.containers.count),
            resources=tuple(_RESOURCES[name] for name in load.resources),
            pending=int((outcome.node < 0).sum()),
            spent_s=float(sum(outcome.latencies_s)),
        )


def seen_by(policy: PlacementPolicy, load: Workload) -> Workload:
    """Return the workload without requests of resources that the policy does not score by.

    The paper's LRA and BRA filter by CPU and memory alone: in its figures they fill the network and
    the disk of some nodes beyond their capacity.
    """
    named = {full_name(name) for name, _ in getattr(policy, "resources", ())}
    unseen = [name not in {CPU, MEMORY, *policy.wants, *named} for name in load.resources]
    request = np.where(unseen, 0, load.containers.request)
    return replace(
        load, containers=replace(load.containers, request=request, nonzero_request=request)
    )


def imbalance_by_count(load: Workload, node: IntArray) -> FloatArray:
    """Return the nodes' mean imbalance after each number of arrivals in ``counts``, (counts,)."""
    used = (use_by_count(load, node, n) for n in counts(load.containers.count))
    return np.array([float(imbalance(one).mean()) for one in used])


def every_policy() -> list[PlacementPolicy]:
    """Return every built-in policy that needs no recorded placement, with default parameters."""
    return [
        build_policy(kind, {}) for kind in all_policies().values() if "recorded" not in kind.reads
    ]


def study_placement(
    study: PlacementStudy | None = None,
    *,
    policies: Sequence[PlacementPolicy] = (),
    crew: Crew | None = None,
    progress: Progress = SILENT,
) -> Study:
    """Replay policies on drawn data sets, and compare how evenly they load the nodes.

    Parameters
    ----------
    policies : sequence of PlacementPolicy
        The policies to replay; without any, those of ``every_policy``.

    Returns
    -------
    Study
        ``imbalance``: by policy and number of containers, with 95 % intervals over sets. ``use``:
        the least and the most used node by resource, as means over sets. ``nodes``: every node from
        the least used on, as means over sets. ``summary``: a row for each policy. ``sets``
        (imbalance) and ``ends`` (least and most used node) have a row for each set; claims are
        judged by them. ``timing`` differs from run to run.

    Raises
    ------
    TracekitError
        When a policy is given twice.
    """
    study = study or PlacementStudy()
    chosen = list(policies) or every_policy()
    names = [str(one) for one in chosen]
    if len(set(names)) < len(names):
        raise TracekitError("a policy is named twice", hint="name each once")
    tasks = [_Replay(study, Sent(one), draw) for one in chosen for draw in range(study.sets)]
    crew = crew or Alone()
    with progress.task("placements", len(tasks), "replays") as task:
        running = [crew.submit(one, lambda *_: task.advance(1)) for one in tasks]
        results = [one.result() for one in running]
    by_policy = {
        name: results[at * study.sets : (at + 1) * study.sets] for at, name in enumerate(names)
    }
    ends = ends_frame(by_policy)
    return Study(
        name=NAME,
        about={**asdict(study), "policies": names},
        frames={
            "imbalance": imbalance_frame(by_policy, study.containers),
            "use": use_frame(ends),
            "nodes": nodes_frame(by_policy),
            "summary": summary_frame(by_policy),
            "sets": sets_frame(by_policy, study.containers),
            "ends": ends,
            "timing": timing_frame(by_policy, study.containers),
        },
    )


#: The study notes the imbalance after each further 100 arrivals.
EVERY = 100


@dataclass(frozen=True, kw_only=True)
class Placed:
    """The result of one policy on one data set.

    Parameters
    ----------
    imbalance : float64, shape (checkpoints,)
        After each number of arrivals in ``counts``.
    use : float64, shape (nodes, resources)
        Requests over capacity after the last arrival.
    """

    imbalance: FloatArray
    use: FloatArray
    resources: tuple[str, ...]
    pending: int
    spent_s: float


def counts(containers: int) -> list[int]:
    """Return the numbers of arrived containers at which the study notes the imbalance, in order."""
    return [*range(EVERY, containers, EVERY), containers]


Results = dict[str, list[Placed]]


def imbalance_frame(results: Results, containers: int) -> pl.DataFrame:
    """Return the imbalance by policy and number of containers, with 95 % intervals over sets."""
    estimate = means(np.concatenate([_imbalance(placed) for placed in results.values()], axis=1))
    at = counts(containers)
    return pl.DataFrame(
        {
            "policy": np.repeat(list(results), len(at)).tolist(),
            "containers": at * len(results),
            "imbalance": estimate.mean,
            "imbalance_low": pl.Series(estimate.low).fill_nan(None),
            "imbalance_high": pl.Series(estimate.high).fill_nan(None),
        }
    )


def _imbalance(placed: list[Placed]) -> FloatArray:
    """Shape (sets, checkpoints)."""
    return np.stack([one.imbalance for one in placed])


def use_by_count(load: Workload, node: IntArray, first: int) -> FloatArray:
    """Return the requests of the first ``first`` containers over capacity, (nodes, resources)."""
    placed = np.flatnonzero(node[:first] >= 0)
    taken = np.zeros(load.nodes.capacity.shape)
    np.add.at(taken, node[placed], load.containers.request[placed])
    return np.asarray(taken / load.nodes.capacity)


def sets_frame(results: Results, containers: int) -> pl.DataFrame:
    """Return the imbalance of nodes by policy, set of containers and number of placed containers.

    Parameters
    ----------
    containers : int
        The containers of a set. The imbalance is measured at several numbers up to it.
    """
    at = counts(containers)
    sets = len(next(iter(results.values())))
    return pl.DataFrame(
        {
            "policy": np.repeat(list(results), sets * len(at)).tolist(),
            "set": np.repeat(range(sets), len(at)).tolist() * len(results),
            "containers": at * sets * len(results),
            "imbalance": np.concatenate([_imbalance(one).ravel() for one in results.values()]),
        }
    )


def ends_frame(results: Results) -> pl.DataFrame:
    """Return the lowest, mean and highest final use of a node by policy, set and resource."""
    return pl.DataFrame(
        [
            {
                "policy": name,
                "set": number,
                "resource": resource,
                "low_fraction": float(one.use[:, at].min()),
                "mean_fraction": float(one.use[:, at].mean()),
                "high_fraction": float(one.use[:, at].max()),
                "overfull_nodes": int((one.use[:, at] > 1).sum()),
            }
            for name, placed in results.items()
            for number, one in enumerate(placed)
            for at, resource in enumerate(one.resources)
        ]
    )


def use_frame(ends: pl.DataFrame) -> pl.DataFrame:
    """Return the frame of ``ends_frame`` as means over sets."""
    return ends.group_by("policy", "resource", maintain_order=True).agg(
        pl.exclude("set").cast(pl.Float64).mean()
    )


def nodes_frame(results: Results) -> pl.DataFrame:
    """Return each node's use by policy and resource, as means over sets; place 1 is least used."""
    frames = []
    for name, placed in results.items():
        ordered = np.mean([np.sort(one.use, axis=0) for one in placed], axis=0)
        nodes, resources = ordered.shape
        frames.append(
            pl.DataFrame(
                {
                    "policy": [name] * ordered.size,
                    "resource": np.repeat(placed[0].resources, nodes).tolist(),
                    "place": [*range(1, nodes + 1)] * resources,
                    "use_fraction": ordered.T.ravel(),
                }
            )
        )
    return pl.concat(frames)


def summary_frame(results: Results) -> pl.DataFrame:
    """Return the imbalance by policy with all containers placed, the most even first."""
    imbalance = [_imbalance(placed) for placed in results.values()]
    estimate = means(np.concatenate([one[:, -1:] for one in imbalance], axis=1))
    return pl.DataFrame(
        {
            "policy": list(results),
            "imbalance": estimate.mean,
            "imbalance_low": pl.Series(estimate.low).fill_nan(None),
            "imbalance_high": pl.Series(estimate.high).fill_nan(None),
            "imbalance_over_all_counts": [float(one.mean()) for one in imbalance],
            "pending": [
                float(np.mean([one.pending for one in placed])) for placed in results.values()
            ],
            "overfull_nodes": [
                float(np.mean([(one.use > 1).any(axis=1).sum() for one in placed]))
                for placed in results.values()
            ],
        }
    ).sort("imbalance", "policy")


def timing_frame(results: Results, containers: int) -> pl.DataFrame:
    """Return the mean wall-clock time of a decision by policy; it differs from run to run."""
    return pl.DataFrame(
        {
            "policy": list(results),
            "decision_ms": [
                1000 * float(np.mean([one.spent_s for one in placed])) / containers
                for placed in results.values()
            ],
        }
    )
