"""Measures of one sampling step in plain loops: slow, obvious, and in no code with the product."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tracekit.cluster.resources import UNLIMITED
from tracekit.cluster.workload import Workload

#: Columns of the workloads here, and what their measures are called after.
NAMES = {
    "cpu_milli": "cpu",
    "memory_bytes": "memory",
    "disk_bytes": "disk",
    "net_kbit": "network",
    "gpu": "gpu",
}


def plain_step(
    load: Workload, running: Sequence[bool], node: Sequence[int], step: int
) -> dict[str, float | None]:
    """The columns of steps.parquet that tell of use and requests; None for what is not defined."""
    here = [
        [c for c in range(load.containers) if running[c] and node[c] == n]
        for n in range(load.nodes)
    ]
    found: dict[str, float | None] = {}
    for column, resource in enumerate(load.resources):
        nodes = [n for n in range(load.nodes) if 0 < load.capacity[n, column] < UNLIMITED]
        asked = any(load.request[c, column] for c in range(load.containers))
        if not nodes or (column > 1 and not asked and column not in load.further_used):
            continue
        found |= _of_resource(load, here, step, column, NAMES[resource], nodes)
    shares = _shares(load, here, step)
    if any(len(one) > 2 for one in shares):
        off = [[share - _mean(one) for share in one] for one in shares]
        found["imbalance_of_all"] = _mean([math.hypot(*one) for one in off])
    found["above_ceiling_nodes"] = sum(_above(load, here, n, step) for n in range(load.nodes))
    full = [n for n in range(load.nodes) if _is_full(load, here, n)]
    idle = [1 - _mean(_allocated(load, here, n)) for n in full]
    found["debris_full_fraction"] = _mean(idle) if idle else None
    if load.price_per_hour is not None and not any(map(math.isnan, load.price_per_hour)):
        used = [n for n in range(load.nodes) if any(not _daemon(load, c) for c in here[n])]
        found["cost_per_hour"] = math.fsum(float(load.price_per_hour[n]) for n in used)
    return found


def _shares(load: Workload, here: Sequence[Sequence[int]], step: int) -> list[list[float]]:
    """Of each node the share in use of each measured resource that it has."""
    found: list[list[float]] = [[] for _ in here]
    for column in range(len(load.resources)):
        asked = any(load.request[c, column] for c in range(load.containers))
        for n in range(load.nodes):
            size = int(load.capacity[n, column])
            if column > 1 and not (asked or column in load.further_used):
                continue
            if 0 < size < UNLIMITED:
                found[n].append(_used(load, here, step, column, n) / size)
    return found


def _used(load: Workload, here: Sequence[Sequence[int]], step: int, column: int, n: int) -> float:
    if column < 2:
        own = math.fsum(float(load.use_at(step)[column, c]) for c in here[n])
        return float(load.background[column, step, n]) + own
    if column in load.further_used:
        return math.fsum(_further(load, c, column, step) for c in here[n])
    return float(sum(int(load.request[c, column]) for c in here[n]))


def _of_resource(
    load: Workload,
    here: Sequence[Sequence[int]],
    step: int,
    column: int,
    name: str,
    nodes: Sequence[int],
) -> dict[str, float | None]:
    size = {n: float(load.capacity[n, column]) for n in nodes}
    requested = {n: sum(int(load.request[c, column]) for c in here[n]) for n in nodes}
    use = {n: _used(load, here, step, column, n) for n in nodes}
    shares = sorted(use[n] / size[n] for n in nodes)
    mean, whole = _mean(shares), math.fsum(size.values())
    free = {n: max(size[n] - requested[n], 0.0) for n in nodes}
    stranded = math.fsum(free[n] * _closed(load, here, n, column) for n in nodes)
    # the smallest that at least 99 of 100 do not exceed
    percentile = next(s for at, s in enumerate(shares) if 100 * (at + 1) >= 99 * len(shares))
    return {
        f"{name}_mean_fraction": mean,
        f"{name}_max_fraction": shares[-1],
        f"{name}_p99_fraction": percentile,
        f"{name}_spread_fraction": shares[-1] - shares[0],
        f"{name}_std_fraction": math.sqrt(_mean([(share - mean) ** 2 for share in shares])),
        f"{name}_allocated_share": sum(requested.values()) / whole,
        f"{name}_overload_fraction": math.fsum(max(use[n] - size[n], 0) for n in nodes) / whole,
        f"{name}_overload_nodes": sum(share > 1 for share in shares),
        f"{name}_stranded_share": stranded / whole,
    }


def _above(load: Workload, here: Sequence[Sequence[int]], n: int, step: int) -> bool:
    """Whether a node uses more of its CPU or memory than the ceiling."""
    most = (load.ceiling.cpu_fraction, load.ceiling.memory_fraction)
    used = [
        float(load.background[r, step, n])
        + math.fsum(float(load.use_at(step)[r, c]) for c in here[n])
        for r in range(2)
    ]
    return any(used[r] / float(load.capacity[n, r]) > most[r] for r in range(2))


def _further(load: Workload, c: int, column: int, step: int) -> float:
    """Recorded use of a further resource, what is requested where none is."""
    assert load.further_usage is not None
    its = c if load.usage_column is None else int(load.usage_column[c])
    use = float(load.further_usage[load.further_used.index(column), step, its])
    return float(load.request[c, column]) if math.isnan(use) else use


def overloaded(load: Workload, running: Sequence[bool], node: Sequence[int], step: int) -> int:
    """Nodes that use more than they have of a resource whose use is recorded."""
    count = 0
    for n in range(load.nodes):
        here = [c for c in range(load.containers) if running[c] and node[c] == n]
        used = {
            r: float(load.background[r, step, n])
            + math.fsum(float(load.use_at(step)[r, c]) for c in here)
            for r in range(2)
        }
        for r in load.further_used:
            if 0 < load.capacity[n, r] < UNLIMITED:
                used[r] = math.fsum(_further(load, c, r, step) for c in here)
        count += any(amount > load.capacity[n, r] for r, amount in used.items())
    return count


def _closed(load: Workload, here: Sequence[Sequence[int]], n: int, column: int) -> float:
    """Of the containers that ask for this and that the empty node takes, who do not fit now."""
    would = [c for c in _typical(load) if load.request[c, column] and _fits(load, [], n, c)]
    return _mean([not _fits(load, here[n], n, c) for c in would]) if would else 0.0


def _is_full(load: Workload, here: Sequence[Sequence[int]], n: int) -> bool:
    would = [c for c in _typical(load) if _fits(load, [], n, c)]
    return bool(would) and not any(_fits(load, here[n], n, c) for c in would)


def _fits(load: Workload, there: Sequence[int], n: int, c: int) -> bool:
    return all(
        asked == 0 or sum(int(load.request[o, r]) for o in there) + asked <= load.capacity[n, r]
        for r, asked in enumerate(load.request[c].tolist())
    )


def _typical(load: Workload) -> list[int]:
    return [c for c in range(load.containers) if not _daemon(load, c)]


def _daemon(load: Workload, c: int) -> bool:
    return load.daemon is not None and bool(load.daemon[c])


def _allocated(load: Workload, here: Sequence[Sequence[int]], n: int) -> list[float]:
    """The share of each resource the node has, and somebody asks for, that is requested."""
    return [
        min(sum(int(load.request[c, r]) for c in here[n]) / float(load.capacity[n, r]), 1.0)
        for r in range(len(load.resources))
        if 0 < load.capacity[n, r] < UNLIMITED
        and (r < 2 or load.request[:, r].any() or r in load.further_used)
    ]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
