"""Several ways to bind on one workload, repeated over orders of arrival, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tracekit.errors import TracekitError
from tracekit.progress import SILENT, Progress
from tracekit.replay.arrivals import rearranged
from tracekit.replay.engine import Engine
from tracekit.replay.entrant import halves, parse_entrant
from tracekit.replay.fast.choose import suited_placer
from tracekit.replay.seeds import stream
from tracekit.replay.vcpus.choosers import Chooser, Following, parse_chooser
from tracekit.replay.vcpus.drawn import drawn_socket
from tracekit.replay.vcpus.loop import VcpuOutcome, VcpuReplay
from tracekit.replay.vcpus.model import InterferenceModel
from tracekit.replay.vcpus.tables import (
    containers_of,
    differences_of,
    means_of,
    services_of,
    steps_of,
    summary_of,
)
from tracekit.replay.workload import Workload
from tracekit.vcpu.room import Room

IntArray = NDArray[np.int64]

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
                rows.append({"repeat": repeat, "policy": name, **summary_of(outcome)})
                if repeat == 0:
                    first.append((name, outcome))
                task.advance(1, name)
    repeated = pl.DataFrame(rows)
    return VcpuRun(
        workload=workload,
        model=model,
        seed=seed,
        policies=names,
        summary=means_of(repeated),
        repeats=repeated,
        differences=differences_of(repeated, names, stream(seed, "intervals")),
        steps=steps_of(first),
        containers=pl.concat([containers_of(workload, room, n, out) for n, out in first]),
        services=pl.concat([services_of(workload, n, out) for n, out in first]),
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
