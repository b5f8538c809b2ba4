"""Clusters of one's own as folders of tables, each of a kind that a decision has to get right.

``python tests/support/clusters.py OUT`` writes all of them.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

STEP_MS, GIB, SERVICES = 300_000, 2**30, 40
LARGE, SMALL = "m6i.4xlarge", "m6i.2xlarge"
PRICES = {LARGE: 0.768, SMALL: 0.384}


@dataclass(frozen=True, kw_only=True)
class Made:
    """How a cluster is made up.

    Parameters
    ----------
    request_over_use : float
        What a pod requests, times its mean use.
    hot : int
        Nodes that production fills above the ceiling.
    gpu : int
        Nodes that alone have ``gpu``, which as many pods request.
    small : float
        Share of the nodes that are of the small type.
    """

    nodes: int = 40
    pods: int = 320
    steps: int = 48
    use_share: float = 0.35
    request_over_use: float = 1.3
    hot: int = 0
    gpu: int = 0
    small: float = 0.0
    priced: bool = False
    seed: int = 0


CLUSTERS: dict[str, Made] = {
    "room": Made(),
    "requests_below_use": Made(request_over_use=0.6, seed=1),
    "requests_over_stated": Made(request_over_use=3.0, use_share=0.25, seed=5),
    "special": Made(gpu=1, seed=2),
    "above_ceiling": Made(hot=2, seed=3),
    "priced": Made(small=0.4, priced=True, seed=4),
}


def make(folder: Path, made: Made) -> Path:
    """Write ``nodes.csv``, ``containers.csv`` and ``usage.csv``; the same seed, the same bytes."""
    rng = np.random.default_rng(made.seed)
    folder.mkdir(parents=True, exist_ok=True)
    small = np.arange(made.nodes) < made.small * made.nodes
    cores = np.where(small, 8.0, 16.0)
    of_service = rng.lognormal(0, 0.7, SERVICES)[np.arange(made.pods) % SERVICES]
    mean = of_service * rng.lognormal(0, 0.1, made.pods)
    mean *= made.use_share * cores.sum() / mean.sum()
    node = np.argsort(rng.random(made.pods)) % made.nodes
    node = _balanced(mean, cores, node)
    phase = rng.random(made.pods) * 0.5
    wave = 1 + 0.3 * np.sin(2 * np.pi * (np.arange(made.steps)[:, None] / made.steps + phase))
    use = mean * wave * rng.normal(1, 0.05, (made.steps, made.pods)).clip(0.7, 1.3)
    for at in range(made.hot):
        _heat(use, cores, node, at)
    memory = rng.uniform(0.4, 1.2, made.pods) * GIB * 3
    gpu = np.zeros(made.pods, np.int64)
    if made.gpu:
        on = [int(np.flatnonzero(node == made.nodes - 1 - at)[0]) for at in range(made.gpu)]
        gpu[on] = 1
    _write_nodes(folder, made, cores, small)
    pods = [f"pod-{at:04}" for at in range(made.pods)]
    pl.DataFrame(
        {
            "container": pods,
            "service": [f"service-{at % SERVICES:02}" for at in range(made.pods)],
            "arrival_ms": np.zeros(made.pods, np.int64),
            "node": [f"node-{at:03}" for at in node.tolist()],
            "cpu_milli": (use.mean(axis=0) * made.request_over_use * 1000).round().astype(int),
            "memory_bytes": (memory * 1.25).astype(np.int64),
            **({"gpu": gpu} if made.gpu else {}),
        }
    ).write_csv(folder / "containers.csv")
    times = np.repeat(np.arange(made.steps) * STEP_MS, made.pods)
    pl.DataFrame(
        {
            "container": pods * made.steps,
            "time_ms": times,
            "cpu_milli": (use.ravel() * 1000).round().astype(np.int64),
            "memory_bytes": np.tile(memory.astype(np.int64), made.steps),
        }
    ).write_csv(folder / "usage.csv")
    return folder


def _balanced(mean: np.ndarray, cores: np.ndarray, node: np.ndarray) -> np.ndarray:
    """Pods on nodes, the largest first to the emptiest; ``node`` decides ties."""
    load, found = np.zeros(len(cores)), node.copy()
    for pod in np.argsort(-mean):
        at = int(np.argmin((load + mean[pod]) / cores))
        found[pod] = at
        load[at] += mean[pod]
    return found


def _heat(use: np.ndarray, cores: np.ndarray, node: np.ndarray, at: int) -> None:
    """Move pods of the last nodes to a node of production until it is above the ceiling."""
    for pod in np.flatnonzero(node > len(cores) // 2):
        if np.percentile(use[:, node == at].sum(axis=1), 99) > 0.88 * cores[at]:
            break
        node[pod] = at


def _write_nodes(folder: Path, made: Made, cores: np.ndarray, small: np.ndarray) -> None:
    types = np.where(small, SMALL, LARGE).tolist()
    labels = [f'{{"node.kubernetes.io/instance-type": "{one}"}}' for one in types]
    pl.DataFrame(
        {
            "node": [f"node-{at:03}" for at in range(made.nodes)],
            "cpu_milli": (cores * 1000).astype(np.int64),
            "memory_bytes": (cores * 4 * GIB).astype(np.int64),
            "labels": labels,
            **({"price_per_hour": [PRICES[one] for one in types]} if made.priced else {}),
            **(
                {"gpu": (np.arange(made.nodes) >= made.nodes - made.gpu).astype(np.int64)}
                if made.gpu
                else {}
            ),
        }
    ).write_csv(folder / "nodes.csv")


def larger(made: Made, times: int) -> Made:
    """The same cluster so many times as large."""
    return replace(made, nodes=made.nodes * times, pods=made.pods * times)


def main(out: Path, of: Callable[[Made], Made] = lambda made: made) -> None:
    """Write every cluster below a folder."""
    for name, made in CLUSTERS.items():
        make(out / name, of(made))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
