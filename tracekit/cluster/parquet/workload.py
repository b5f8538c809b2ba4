"""A workload from a folder of Parquet files.

nodes.parquet       node VARCHAR, cpu_milli BIGINT, memory_bytes BIGINT; optional pods BIGINT and
                    any further BIGINT column, an extended resource; rack, domain, zone VARCHAR;
                    price_per_hour DOUBLE (NULL: not known)
containers.parquet  container VARCHAR, service VARCHAR, node VARCHAR (where it was recorded, may
                    be NULL), arrival_ms BIGINT, departure_ms BIGINT (NULL: stays to the end),
                    cpu_milli, memory_bytes BIGINT (requests; NULL: not stated); optional
                    cpu_limit_milli, memory_limit_bytes BIGINT, and further resources of the nodes;
                    priority BIGINT, gang VARCHAR, gang_minimum BIGINT (NULL: all that are left)
usage.parquet       container VARCHAR, time_ms BIGINT, cpu_milli DOUBLE, memory_bytes DOUBLE;
                    optional further resources of the nodes (NULL: not known)
background.parquet  optional: node VARCHAR, time_ms BIGINT, cpu_milli DOUBLE, memory_bytes DOUBLE
calls.parquet       optional: upstream VARCHAR, downstream VARCHAR (services), calls DOUBLE

Between two samples, and before the first and after the last, the nearest earlier (else later)
sample holds, and each step of a life that is so filled is counted. A container without any row uses
what it requests all the time, as in a store with sizes, and is counted. Samples from before a
container's arrival or from its departure on are not used, and are counted. The replay begins and
ends as that of a store does (``sized.times``).
"""

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, Float32Array, IntArray
from tracekit.base.facts import Fact
from tracekit.cluster.calls import CallWeights, call_weights
from tracekit.cluster.domains import KINDS, domains_of
from tracekit.cluster.parquet.arrivals import Arrived, as_recorded, lives, placed_anew
from tracekit.cluster.parquet.columns import (
    RULES,
    check_known,
    check_resources,
    fill,
    further_used,
    passed_over,
    read,
    renamed,
    rests_on,
    rules_in,
    samples_outside,
)
from tracekit.cluster.provenance import (
    further_remark,
    further_rests_on,
    use_rests_on,
)
from tracekit.cluster.resources import BASE, PODS, UNLIMITED, column_order
from tracekit.cluster.series import hold
from tracekit.cluster.sized.rules import gangs_of, prices_of, priority_of, short_gangs
from tracekit.cluster.workload import UNKNOWN, Workload, nonzero

_NODES = {"node": pl.String, "cpu_milli": pl.Int64, "memory_bytes": pl.Int64}
_CONTAINERS = {
    "container": pl.String,
    "service": pl.String,
    "node": pl.String,
    "arrival_ms": pl.Int64,
    "departure_ms": pl.Int64,
    "cpu_milli": pl.Int64,
    "memory_bytes": pl.Int64,
}
_USAGE = {
    "container": pl.String,
    "time_ms": pl.Int64,
    "cpu_milli": pl.Float64,
    "memory_bytes": pl.Float64,
}
_BACKGROUND = {"node": pl.String, **{k: v for k, v in _USAGE.items() if k != "container"}}
_CALLS = {"upstream": pl.String, "downstream": pl.String, "calls": pl.Float64}
_LIMITS = {"cpu_milli": "cpu_limit_milli", "memory_bytes": "memory_limit_bytes"}
_PRICE = "price_per_hour"
_MAY_BE_NULL = {"service", "departure_ms", "cpu_milli", "memory_bytes"}


def workload_from_parquet(
    folder: Path,
    step_ms: int = 0,
    *,
    span_ms: int = 0,
    rng: np.random.Generator | None = None,
) -> Workload:
    """Read and check a workload folder; its name is the workload's name.

    Parameters
    ----------
    step_ms : int
        Time between two samples; 0: that of the recorded use, as in a store.
    span_ms : int
        Over which those arrive that were there at the beginning, in an order drawn from ``rng``;
        0: all arrive as recorded.

    Raises
    ------
    TracekitError
        For a missing file or column, a wrong type, an unknown or repeated id, a departure that is
        not after the arrival, missing usage values, or a node without capacity.
    """
    folder = Path(folder)
    nodes = renamed(read(folder / "nodes.parquet", _NODES))
    containers = renamed(
        read(folder / "containers.parquet", _CONTAINERS, nullable={"node", *_MAY_BE_NULL})
    )
    usage = renamed(read(folder / "usage.parquet", _USAGE))
    check_resources(nodes, {*_NODES, _PRICE, *KINDS}, "nodes.parquet")
    known = set(nodes["node"])
    check_known(containers["node"].drop_nulls(), known, "node", "containers.parquet")
    check_known(usage["container"], set(containers["container"]), "container", "usage.parquet")
    containers = containers.sort("arrival_ms", "container", maintain_order=True)
    recorded, step_ms, times, span_ms = lives(containers, usage, step_ms, span_ms)
    start = int(times[0])
    outside = samples_outside(usage, containers, step_ms, start)
    arrived = (
        as_recorded(recorded, start) if rng is None else placed_anew(recorded, start, span_ms, rng)
    )
    left = arrived.containers
    usage = usage.join(left, on="container", how="semi", maintain_order="left")
    load = _assemble(folder, nodes, arrived, usage, step_ms=step_ms, times=times)
    load = _with_rules(load, left)
    over = containers.height - left.height
    counts = {"containers_departed_before": over} if over else {}
    facts = {**load.facts, **counts, "usage_samples_outside_lives": outside}
    load = dataclasses.replace(load, facts=facts)
    return _with_further(load, left, usage)


def _assemble(
    folder: Path,
    nodes: pl.DataFrame,
    arrived: Arrived,
    usage: pl.DataFrame,
    *,
    step_ms: int,
    times: IntArray,
) -> Workload:
    containers, end = arrived.containers, int(times[-1]) + step_ms
    resources = column_order(set(nodes.columns) - {"node", _PRICE, *KINDS})
    request, stated = _requests(containers, resources)
    used = _matrix(usage, "container", containers["container"], step_ms, times)
    arrival = containers["arrival_ms"].to_numpy()
    departure = containers["departure_ms"].fill_null(end).to_numpy()
    # in another order of arrival an exchangeable one may be there from the beginning
    due = np.where(arrived.exchangeable, times[0], arrival)
    alive = (times[:, None] >= due) & (times[:, None] < departure)
    filled = fill(used, request[:, : len(BASE)], alive)
    position = {node: at for at, node in enumerate(nodes["node"])}
    services = tuple(containers["service"].fill_null(UNKNOWN))
    calls = _calls(folder, services)
    return Workload(
        name=folder.resolve().name,
        step_ms=step_ms,
        times_ms=times,
        node_ids=tuple(nodes["node"]),
        resources=resources,
        capacity=_amounts(nodes, resources, absent=UNLIMITED),
        container_ids=tuple(containers["container"]),
        services=services,
        recorded_node=np.array([position.get(node, -1) for node in containers["node"]], np.int64),
        arrival_ms=arrival,
        departure_ms=departure,
        request=request,
        nonzero_request=nonzero(request, stated, resources),
        limit=_limits(containers, resources),
        usage=used,
        use_recorded=np.stack([~filled.silent] * len(BASE)),
        background=_background(folder, nodes["node"], step_ms, times),
        settled_ms=arrived.settled_ms,
        exchangeable=arrived.exchangeable,
        domains=domains_of(
            {k: nodes[k].cast(pl.String).to_list() for k in KINDS if k in nodes.columns}
        ),
        price_per_hour=prices_of(nodes) if _PRICE in nodes.columns else None,
        calls=calls,
        quantities={
            **rests_on(nodes, containers, usage, calls=calls is not None),
            **use_rests_on(np.stack([filled.silent] * len(BASE))),
        },
        facts=filled.facts(),
    )


def _requests(containers: pl.DataFrame, resources: tuple[str, ...]) -> tuple[IntArray, BoolArray]:
    """What containers request, and where they state it; each is one of the pods of a node."""
    stated = np.stack([_stated(containers, name) for name in resources], axis=1)
    request = _amounts(containers, resources)
    if PODS in resources:
        request[:, resources.index(PODS)] = 1
        stated[:, resources.index(PODS)] = True
    return request, stated


def _with_rules(load: Workload, containers: pl.DataFrame) -> Workload:
    """The workload with the gangs and priorities of its containers."""
    rows = rules_in(containers)
    gang, minimum = gangs_of(rows)
    facts = {**load.facts, **short_gangs(rows)}
    priority = priority_of(rows["priority"])
    return dataclasses.replace(
        load, gang=gang, gang_minimum=minimum, priority=priority, facts=facts
    )


def _with_further(load: Workload, containers: pl.DataFrame, usage: pl.DataFrame) -> Workload:
    """The workload with use of further resources; a container without any sample has none."""
    unread = _passed_over(containers, usage, load.resources)
    names = further_used(usage, load.resources)
    if not names:
        return dataclasses.replace(load, remarks=unread)
    ids, times = containers["container"], load.times_ms
    found = _matrix(usage, "container", ids, load.step_ms, times, names=names)
    hold(found)
    lacking = np.isnan(found[:, 0]).sum(axis=-1).tolist()
    return dataclasses.replace(
        load,
        further_used=tuple(load.resources.index(name) for name in names),
        further_usage=found,
        quantities={**load.quantities, **further_rests_on(names, lacking, len(ids))},
        remarks=(*further_remark(names), *unread),
    )


def _passed_over(
    containers: pl.DataFrame, usage: pl.DataFrame, resources: tuple[str, ...]
) -> tuple[Fact, ...]:
    known = {
        "containers.parquet": {*_CONTAINERS, *_LIMITS.values(), *RULES, *resources},
        "usage.parquet": {*_USAGE, *further_used(usage, resources)},
    }
    frames = {"containers.parquet": containers, "usage.parquet": usage}
    return passed_over(frames, known)


def _limits(containers: pl.DataFrame, resources: tuple[str, ...]) -> IntArray:
    named = {limit: name for name, limit in _LIMITS.items() if limit in containers.columns}
    return _amounts(containers.select("container", *named).rename(named), resources)


def _calls(folder: Path, services: tuple[str, ...]) -> CallWeights | None:
    path = folder / "calls.parquet"
    return call_weights(services, read(path, _CALLS)) if path.is_file() else None


def _stated(frame: pl.DataFrame, name: str) -> BoolArray:
    if name not in frame.columns:
        return np.zeros(frame.height, dtype=np.bool_)
    return np.asarray(frame[name].is_not_null().to_numpy())


def _amounts(frame: pl.DataFrame, resources: tuple[str, ...], *, absent: int = 0) -> IntArray:
    result = np.zeros((frame.height, len(resources)), dtype=np.int64)
    for at, name in enumerate(resources):
        if name in frame.columns:
            missing = absent if name == PODS else 0
            result[:, at] = frame[name].cast(pl.Int64).fill_null(missing).to_numpy()
    return result


def _matrix(
    rows: pl.DataFrame,
    entity: str,
    ids: pl.Series,
    step_ms: int,
    times: IntArray,
    *,
    names: Sequence[str] = BASE,
) -> Float32Array:
    matrix = np.full((len(names), len(times), len(ids)), np.nan, dtype=np.float32)
    position = {one: at for at, one in enumerate(ids)}
    at = np.array([position[one] for one in rows[entity]], dtype=np.int64)
    step = (rows["time_ms"].to_numpy() - times[0]) // step_ms
    inside = (step >= 0) & (step < len(times))
    for resource, name in enumerate(names):
        known = inside & rows[name].is_not_null().to_numpy()
        matrix[resource, step[known], at[known]] = rows[name].to_numpy()[known]
    return matrix


def _background(folder: Path, nodes: pl.Series, step_ms: int, times: IntArray) -> Float32Array:
    path = folder / "background.parquet"
    if not path.exists():
        return np.zeros((len(BASE), len(times), len(nodes)), dtype=np.float32)
    rows = read(path, _BACKGROUND)
    check_known(rows["node"], set(nodes), "node", path.name)
    matrix = _matrix(rows, "node", nodes, step_ms, times)
    hold(matrix)
    return np.nan_to_num(matrix)
