"""Requests from recorded use worked out in plain loops, and small clusters to do it on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from kubernetes_support import (
    CREATED_MS,
    Object,
    answer,
    container,
    listed,
    node,
    owned,
    pod,
    written,
)
from kubernetes_support import series as series_of

from tracekit.cluster.request_table import Fixed
from tracekit.sizing.use import RecordedUse

STEP_MS = 60_000
GIB = 2**30


def random_use(seed: int, *, containers: int = 9, steps: int = 40) -> RecordedUse:
    """Three services of containers that come and go, with gaps; some have no request or limit."""
    rng = np.random.default_rng(seed)
    arrival = rng.integers(-10, steps, containers)
    departure = arrival + rng.integers(3, 2 * steps, containers)
    values = rng.uniform(0.0, 2.0, (2, steps, containers - 1)).astype(np.float32)
    values[1] *= GIB
    at = np.arange(steps)[:, None]
    lives = (arrival[1:] <= at) & (at < departure[1:]) & (rng.random((steps, containers - 1)) < 0.9)
    values[:, ~lives] = np.nan
    request = rng.uniform(0.1, 2.0, (containers, 2)) * (1.0, GIB)
    request[rng.random((containers, 2)) < 0.2] = np.nan
    limit = request * rng.uniform(1.0, 1.5, (containers, 2))
    limit[rng.random((containers, 2)) < 0.2] = np.nan
    # every other container has init containers or overhead beside what it asks for
    recorded = rng.random((containers, 2)) < 0.5
    init, overhead = (
        np.where(recorded, rng.uniform(0.0, most, (containers, 2)) * (1.0, GIB), 0.0)
        for most in (2.0, 0.5)
    )
    reserved = np.maximum(np.nan_to_num(request), init) + overhead
    return RecordedUse(
        services=("a", "b", "c"),
        service=np.sort(rng.integers(0, 3, containers)),
        request=request,
        limit=limit,
        reserved=np.where(reserved > 0, reserved, np.nan),
        fixed=Fixed(
            has_part=recorded, init=init, overhead=overhead, own_request=request, own_limit=limit
        ),
        arrival_ms=arrival * STEP_MS,
        departure_ms=departure * STEP_MS,
        times_ms=np.arange(steps) * STEP_MS,
        step_ms=STEP_MS,
        values=values,
        measured=np.arange(1, containers),
    )


def plain_judged(use: RecordedUse, recommended: Any, service: int, resource: int) -> dict[str, Any]:
    """What requests of one service come to over all the time, sample by sample."""
    steps = above = limited = beyond = 0
    excess = most = asked_ms = now_ms = own_ms = lived_ms = 0.0
    begin, end = int(use.times_ms[0]), int(use.times_ms[-1]) + STEP_MS
    columns = {int(one): at for at, one in enumerate(use.measured)}
    for one in range(len(use.service)):
        if use.service[one] != service:
            continue
        now = use.request[one, resource]
        now = 0.0 if math.isnan(now) else now
        result = recommended[service, resource]
        init, extra = use.fixed.init[one, resource], use.fixed.overhead[one, resource]
        reserved_now = max(now, init) + extra
        request = now if math.isnan(result) else result
        reserved = reserved_now if math.isnan(result) else max(result, init) + extra
        lives = max(min(use.departure_ms[one], end) - max(use.arrival_ms[one], begin), 0)
        lived_ms += lives
        asked_ms += lives * reserved
        now_ms += lives * reserved_now
        own_ms += lives * now
        if one not in columns:
            continue
        limit = use.limit[one, resource] * (request / now if now else 1.0)
        for value in use.values[resource, :, columns[one]].astype(float).tolist():
            if math.isnan(value):
                continue
            steps += 1
            if value > request:
                above += 1
                excess += value - request
                most = max(most, value - request)
            if not math.isnan(limit):
                limited += 1
                beyond += value > limit
    return {
        "judged_container_steps": steps,
        "containers": lived_ms / (end - begin),
        "freed": (now_ms - asked_ms) / (end - begin),
        "request_now": own_ms / lived_ms if own_ms else None,
        "reserved_now": now_ms / lived_ms if now_ms else None,
        "reserved_then": asked_ms / lived_ms if asked_ms else None,
        "above_share": above / steps if steps else None,
        "excess_mean": excess / above if above else None,
        "excess_max": most if steps else None,
        "beyond_limit_share": beyond / limited if limited else None,
    }


#: Pods of the made cluster by service: requests, steps of arrival and end, cores and bytes in use.
PODS: Mapping[str, tuple[dict[str, str] | None, int, int | None]] = {
    "web-0": ({"cpu": "2", "memory": "4Gi"}, 0, None),
    "web-1": ({"cpu": "2", "memory": "4Gi"}, 20, None),
    "db-0": ({"cpu": "500m", "memory": "512Mi"}, 0, None),
    "job-0": ({"cpu": "1", "memory": "1Gi"}, 0, 30),
    "free-0": (None, 0, None),
    "silent-0": ({"cpu": "1", "memory": "1Gi"}, 0, None),
}
#: A pod whose use nobody recorded.
SILENT = "silent-0"
STEPS = 48


def used(name: str, step: int) -> tuple[float, float]:
    """Cores and bytes that a pod of the made cluster has in use."""
    at = sum(map(ord, name)) + step
    grown = 3.0 if name == "db-0" and step >= STEPS // 2 else 1.0
    return grown * (0.2 + 0.01 * (at % 7)), (3e8 + 1e7 * (at % 11)) * grown


def made_cluster(folder: Path) -> Path:
    """kubectl's list of two nodes and six pods, beside two answers of Prometheus."""
    folder.mkdir(parents=True)
    nodes = [node(f"n{at}") for at in range(2)]
    written(folder / "kubernetes.json", listed(*nodes, *(_pod(name) for name in PODS)))
    for at, metric in enumerate(("container_cpu_in_use", "container_memory_in_use")):
        some = [
            series_of(
                None,
                [
                    (CREATED_MS / 1000 + 60 * step, used(name, step)[at])
                    for step in range(begin, end or STEPS)
                ],
                namespace="default",
                pod=name,
            )
            for name, (_, begin, end) in PODS.items()
            if name != SILENT
        ]
        written(folder / f"{metric}.json", answer(*some))
    return folder


def _pod(name: str) -> Object:
    wanted, begin, end = PODS[name]
    main = container() | {"resources": {"requests": wanted} if wanted else {}}
    meta = owned("StatefulSet", name.partition("-")[0]) | {"creationTimestamp": _time(begin)}
    status = None
    if end is not None:
        done = {"state": {"terminated": {"finishedAt": _time(end)}}}
        status = {"phase": "Succeeded", "containerStatuses": [{"name": "main", **done}]}
    return pod(name, meta=meta, status=status, nodeName="n0", containers=[main])


def _time(step: int) -> str:
    return f"2026-01-01T00:{step:02}:00Z"
