"""Several ways to bind on one workload, repeated over orders of arrival, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.errors import TracekitError
from tracekit.fit.topology_file import read_topologies
from tracekit.progress import SILENT, Progress
from tracekit.replay.arrivals import rearranged
from tracekit.replay.bootstrap import mean_interval
from tracekit.replay.engine import Engine
from tracekit.replay.entrant import halves, parse_entrant
from tracekit.replay.fast.choose import suited_placer
from tracekit.replay.measures import STEP_SCHEMA, summarize
from tracekit.replay.seeds import stream
from tracekit.replay.vcpus.choosers import Chooser, Following, parse_chooser
from tracekit.replay.vcpus.drawn import drawn_socket
from tracekit.replay.vcpus.loop import VcpuOutcome, VcpuReplay
from tracekit.replay.vcpus.model import InterferenceModel
from tracekit.replay.workload import Workload
from tracekit.units import MILLI_PER_CORE
from tracekit.vcpu.room import Room, make_room
from tracekit.vcpu.topology import Topology, linux_numbering

IntArray = NDArray[np.int64]

STEPS: dict[str, type[pl.DataType]] = {
    "policy": pl.String,
    **STEP_SCHEMA,
    "inflation_mean_fraction": pl.Float64,
    "inflation_vcpus": pl.Float64,
    "bound": pl.Int64,
}
DIFFERENCE = {
    "policy": pl.String,
    "against": pl.String,
    "measure": pl.String,
    "repeats": pl.Int64,
    "difference_mean": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "share_mean": pl.Float64,
    "separated": pl.Boolean,
}
MEASURES = ("inflation_vcpus", "inflation_mean_fraction", "cpu_spread_mean_fraction")
BINDS = ("lowest_free", "random_free", "least_interference")
USUAL = (
    "interference",
    "interference[choice=delta]",
    "lowest_free",
    "least_allocated",
    "random_free",
)


@dataclass(frozen=True, kw_only=True)
class VcpuRun:
    """What came out; of several repeats ``steps``, ``containers`` and ``services`` are the first's.

    Parameters
    ----------
    summary : DataFrame
        One row per policy: means over the repeats.
    repeats : DataFrame
        One row per repeat and policy.
    differences : DataFrame
        Every policy against the first, paired by repeat, with bootstrap intervals.
    """

    workload: Workload
    model: InterferenceModel
    seed: int
    policies: tuple[str, ...]
    summary: pl.DataFrame
    repeats: pl.DataFrame
    differences: pl.DataFrame
    steps: pl.DataFrame
    containers: pl.DataFrame
    services: pl.DataFrame
    socket: pl.DataFrame
    timing: pl.DataFrame


def room_of(workload: Workload, *, sockets: int = 2, threads_per_core: int = 2) -> Room:
    """The hosts of a workload, built by Linux's usual rule from their CPU capacity.

    vCPUs that do not divide evenly into sockets and cores are left out.

    Raises
    ------
    TracekitError
        When no node is large enough to have a core on every socket.
    """
    unit = sockets * threads_per_core
    vcpus = workload.capacity[:, 0] // MILLI_PER_CORE // unit * unit
    if not (vcpus > 0).all():
        at = int(np.argmin(vcpus))
        raise TracekitError(
            f"node '{workload.node_ids[at]}' has {workload.capacity[at, 0]:,} millicores, too few"
            f" for {sockets} sockets of cores with {threads_per_core} threads",
            hint="give --sockets 1, --threads 1, or larger nodes",
        )
    made: dict[int, Topology] = {
        int(n): linux_numbering(int(n), sockets, threads_per_core) for n in np.unique(vcpus)
    }
    topologies = {
        name: made[int(n)] for name, n in zip(workload.node_ids, vcpus.tolist(), strict=True)
    }
    return make_room(workload.node_ids, topologies)


def room_of_file(workload: Workload, path: Path) -> Room:
    """The hosts of a workload, built as a topology file says.

    Raises
    ------
    TracekitError
        When the file cannot be used, or does not know a node.
    """
    known = read_topologies(path)
    found = {name: known.of(name) for name in workload.node_ids}
    lacking = next((name for name, topology in found.items() if topology is None), None)
    if lacking is not None:
        raise TracekitError(
            f"{path.name} does not know node '{lacking}'", hint="a row per node is expected"
        )
    return make_room(workload.node_ids, {name: one for name, one in found.items() if one})


def replay_vcpus(
    workload: Workload,
    room: Room,
    model: InterferenceModel,
    services: Sequence[str],
    policies: Sequence[str],
    *,
    seed: int,
    repeats: int = 1,
    respond: bool = True,
    truth: InterferenceModel | None = None,
    progress: Progress = SILENT,
) -> VcpuRun:
    """Replay a workload under several ways to bind.

    Parameters
    ----------
    services : sequence of str
        The services of the model, in its order.
    policies : sequence of str
        ``interference``, ``lowest_free``, ``least_allocated``, ``random_free``,
        ``host_then_bind[...]``, or ``POLICY+lowest_free``: any placement policy chooses the node.
    repeats : int
        How many orders of arrival; the first is the workload's own.
    respond, truth
        See ``tracekit.replay.vcpus.loop.VcpuReplay``.

    Raises
    ------
    TracekitError
        For no policy, or one that is not known.
    """
    if not policies:
        raise TracekitError("no policy to replay", hint=f"for example {', '.join(USUAL[:3])}")
    names = tuple(dict.fromkeys(text.strip() for text in policies))
    for name in names:
        _check(name)
    number = {service: at for at, service in enumerate(services)}
    rows: list[dict[str, Any]] = []
    first: list[tuple[str, VcpuOutcome]] = []
    with progress.task("bind", repeats * len(names), "replays") as task:
        for repeat in range(repeats):
            load = (
                workload if repeat == 0 else rearranged(workload, stream(seed + repeat, "arrivals"))
            )
            service = np.array([number[name] for name in load.services], dtype=np.int64)
            for name in names:
                chooser, start = _chooser(load, name, seed)
                outcome = VcpuReplay(
                    load,
                    room,
                    model,
                    service,
                    chooser,
                    stream(seed, name),
                    respond=respond,
                    truth=truth,
                    start_ms=start,
                ).run()
                rows.append({"repeat": repeat, "policy": name, **_summary(outcome)})
                if repeat == 0:
                    first.append((name, outcome))
                task.advance(1, name)
    repeated = pl.DataFrame(rows)
    return VcpuRun(
        workload=workload,
        model=model,
        seed=seed,
        policies=names,
        summary=_means(repeated),
        repeats=repeated,
        differences=_differences(repeated, names, stream(seed, "intervals")),
        steps=_steps(first),
        containers=pl.concat([_containers(workload, room, n, out) for n, out in first]),
        services=pl.concat([_services(workload, n, out) for n, out in first]),
        socket=drawn_socket(workload, room, first),
        timing=pl.DataFrame(
            [
                {
                    "policy": name,
                    "decisions": out.decisions,
                    "total_ms": 1000 * out.decision_s,
                    "decisions_per_s": out.decisions / max(out.decision_s, 1e-9),
                }
                for name, out in first
            ]
        ),
    )


def _check(name: str) -> None:
    policy, plus, bind = name.rpartition("+")
    if plus and bind in BINDS:
        parse_entrant(policy)
    else:
        parse_chooser(name)


def _chooser(load: Workload, name: str, seed: int) -> tuple[Chooser, IntArray | None]:
    """The chooser; one that follows another replay places when that did."""
    policy, plus, bind = name.rpartition("+")
    if not plus or bind not in BINDS:
        return parse_chooser(name)[1], None
    placement, rebalance = halves(parse_entrant(policy))
    rng = stream(seed, placement.name())
    engine = Engine(load, placement, rng, placer=suited_placer(load), rebalance=rebalance)
    outcome = engine.run()
    never = np.iinfo(np.int64).max
    start = np.where(outcome.time_ms >= 0, outcome.time_ms, never)
    return Following(label=name, host=outcome.node, bind=bind), start  # type: ignore[arg-type]


def _summary(outcome: VcpuOutcome) -> dict[str, Any]:
    steps = pl.DataFrame([{"policy": "", **row} for row in outcome.steps], schema=STEPS)
    settled = steps.filter("settled") if steps["settled"].any() else steps
    return {
        "placed": int((outcome.node >= 0).sum()),
        "bound": int((outcome.socket >= 0).sum()),
        "inflation_vcpus": settled["inflation_vcpus"].mean(),
        "inflation_mean_fraction": settled["inflation_mean_fraction"].mean(),
        **summarize(steps),
    }


def _means(repeated: pl.DataFrame) -> pl.DataFrame:
    numbers = [name for name in repeated.columns if name not in {"repeat", "policy"}]
    return repeated.group_by("policy", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("repeats"),
        *(pl.col(n).cast(pl.Float64).mean() for n in numbers),
    )


def _differences(
    repeated: pl.DataFrame, names: Sequence[str], rng: np.random.Generator
) -> pl.DataFrame:
    """The first policy less each other one, over the repeats."""
    rows = []
    many = repeated["repeat"].n_unique()
    of = {name: repeated.filter(pl.col("policy") == name).sort("repeat") for name in names}
    for other in names[1:]:
        for measure in MEASURES:
            ours, theirs = (
                of[name][measure].cast(pl.Float64).fill_null(np.nan).to_numpy()
                for name in (names[0], other)
            )
            found = mean_interval((ours - theirs)[:, None], rng)
            base = float(theirs.mean())
            rows.append(
                {
                    "policy": names[0],
                    "against": other,
                    "measure": measure,
                    "repeats": many,
                    "difference_mean": float(found.mean[0]),
                    "difference_low": float(found.low[0]),
                    "difference_high": float(found.high[0]),
                    "share_mean": float(found.mean[0]) / base if base > 0 else None,
                    "separated": bool(found.separated(many)[0]),
                }
            )
    return pl.DataFrame(rows, schema=DIFFERENCE)


def _steps(outcomes: Sequence[tuple[str, VcpuOutcome]]) -> pl.DataFrame:
    rows = [{"policy": name, **row} for name, outcome in outcomes for row in outcome.steps]
    return pl.DataFrame(rows, schema=STEPS)


def _containers(load: Workload, room: Room, name: str, outcome: VcpuOutcome) -> pl.DataFrame:
    """One row per container: where it was bound, and what it suffered there."""
    nodes = np.array([*load.node_ids, None], dtype=object)[outcome.node]
    start = np.concatenate([[0], np.cumsum(np.bincount(room.socket_host))])
    local = np.where(
        outcome.socket >= 0, outcome.socket - start[room.socket_host[outcome.socket]], -1
    )
    return pl.DataFrame(
        {
            "policy": [name] * load.containers,
            "container": load.container_ids,
            "service": load.services,
            "node": pl.Series(nodes.tolist(), dtype=pl.String),
            "socket": [int(at) if at >= 0 else None for at in local],
            "vcpus": outcome.vcpus,
            "inflation_fraction": pl.Series(outcome.inflation).fill_nan(None),
        },
        schema_overrides={"socket": pl.Int64, "vcpus": pl.List(pl.Int64)},
    )


def _services(load: Workload, name: str, outcome: VcpuOutcome) -> pl.DataFrame:
    """One row per service: the mean over its containers, and their sum in vCPUs."""
    frame = pl.DataFrame(
        {
            "service": load.services,
            "inflation_fraction": pl.Series(outcome.inflation).fill_nan(None),
            "vcpus": [len(vcpus) for vcpus in outcome.vcpus],
        }
    )
    return (
        frame.group_by("service")
        .agg(
            pl.len().cast(pl.Int64).alias("containers"),
            pl.col("inflation_fraction").mean().alias("inflation_mean_fraction"),
            (pl.col("inflation_fraction") * pl.col("vcpus")).sum().alias("inflation_vcpus"),
        )
        .sort("service")
        .select(pl.lit(name).alias("policy"), pl.all())
    )
