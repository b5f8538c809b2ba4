"""A run of several ways to bind on one workload, over orders of arrival, and its folder."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit._version import VERSION
from tracekit.base.arrays import BoolArray, FloatArray, IntArray, order_seed, stream
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.files.result_folder import ResultFolder
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.binding import RECORDED_USE, RecordedUse
from tracekit.binding.choosers import (
    Bindings,
    Chooser,
    Follow,
    Following,
    Recorded,
    Way,
    recorded_chooser,
)
from tracekit.binding.loop import VcpuOutcome, VcpuReplay
from tracekit.binding.occupancy import InterferenceModel
from tracekit.binding.tables import (
    OldNeighbours,
    RecordedUseDecision,
    containers_of,
    differences_of,
    held_by_use,
    means_of,
    positions,
    services_of,
    steps_of,
    summary_of,
    timing_of,
)
from tracekit.binding.vcpu_state import request_vcpus
from tracekit.cluster.gangs import rearranged
from tracekit.cluster.workload import Workload
from tracekit.interference.room import VcpuPlaces
from tracekit.replay.engine.engine import Engine
from tracekit.replay.fast.choose import suited_placer

#: The default ways. Those without a fit are baselines; the worth of a fit is its gain over the best
#: of them, ``whole_cores``.
USUAL = (
    "interference",
    "interference[choice=score]",
    "whole_cores",
    "whole_cores_emptiest",
    "emptiest_socket",
    "lowest_free",
    "least_allocated",
    "random_free",
)


@dataclass(frozen=True, kw_only=True, repr=False)
class VcpuRun(Shown):
    """The result of ``replay_vcpus``. A policy is a way to bind containers to vCPUs.

    Frames that are not described here are of the first order of arrival (repeat 0).

    Parameters
    ----------
    summary : DataFrame
        One row for each policy, with means over the repeats.
    repeats : DataFrame
        One row for each repeat and policy.
    differences : DataFrame
        The first policy against each other one, paired by repeat: see ``tables.differences_of``.
    held : RecordedUseDecision
        Whether recorded CPU contains the CPU that recorded neighbours cost.
    remarks : tuple of Fact
        Assumptions and doubts.
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
    held: RecordedUseDecision
    remarks: tuple[Fact, ...] = ()


def replay_vcpus(
    workload: Workload,
    room: VcpuPlaces,
    model: InterferenceModel,
    services: Sequence[str],
    ways: Sequence[Way],
    *,
    seed: int,
    repeats: int = 1,
    respond: bool = True,
    truth: InterferenceModel | None = None,
    recorded: Bindings | None = None,
    recorded_use: RecordedUse = RECORDED_USE,
    progress: Progress = SILENT,
) -> VcpuRun:
    """Replay a workload for each way to bind containers to vCPUs, in each order of arrival.

    Parameters
    ----------
    services : sequence of str
        The services of the model, in its order.
    ways : sequence of Way
        The ways to bind; the recorded binding needs ``recorded``.
    recorded : mapping, optional
        The recorded node and vCPUs of containers.
    repeats : int
        The number of orders of arrival; the first is the workload's own.
    respond, truth
        See ``tracekit.binding.loop.VcpuReplay``.
    recorded_use
        See ``tracekit.binding.tables.held_by_use``.

    Raises
    ------
    TracekitError
        For no way to bind, and for the recorded binding if it is unknown.
    """
    bindings = recorded or {}
    _check(ways, bindings)
    names = tuple(way.text for way in ways)
    old = OldNeighbours(workload, room, truth or model, _numbered(workload, services), bindings)
    held = held_by_use(old, recorded_use)
    taken_off = (old, workload.containers.ids) if held.taken_off else None
    setting = _Setting(room, model, tuple(services), seed, respond, truth, bindings, taken_off)
    rows: list[dict[str, Any]] = []
    first: list[tuple[str, VcpuOutcome]] = []
    for repeat, name, outcome in _outcomes(workload, ways, repeats, setting, progress):
        rows.append({"repeat": repeat, "policy": name, **summary_of(outcome)})
        if repeat == 0:
            first.append((name, outcome))
    repeated = pl.DataFrame(rows)
    return VcpuRun(
        workload=workload,
        model=model,
        seed=seed,
        policies=names,
        summary=means_of(repeated),
        repeats=repeated,
        differences=differences_of(repeated, names),
        steps=steps_of(first),
        containers=pl.concat([containers_of(workload, room, n, out) for n, out in first]),
        services=pl.concat([services_of(workload, n, out) for n, out in first]),
        socket=drawn_socket(workload, room, first),
        timing=timing_of(first),
        held=held,
    )


def _numbered(load: Workload, services: Sequence[str]) -> IntArray:
    """The position of each container's service in the model, shape (containers,)."""
    number = {service: at for at, service in enumerate(services)}
    return np.array([number[one] for one in load.containers.services], dtype=np.int64)


def _check(ways: Sequence[Way], recorded: Bindings) -> None:
    if not ways:
        raise TracekitError("no policy to replay", hint=f"for example {', '.join(USUAL[:3])}")
    if not recorded and any(way.of is None for way in ways):
        raise TracekitError(
            "policy recorded: it is not known which vCPUs any container was bound to",
            hint="give a store whose table container has vcpus, or a fit with --binding",
        )


@dataclass(frozen=True)
class _Setting:
    """The common data of all replays of a run."""

    room: VcpuPlaces
    model: InterferenceModel
    services: tuple[str, ...]
    seed: int
    respond: bool
    truth: InterferenceModel | None
    recorded: Bindings
    old: tuple[OldNeighbours, Sequence[str]] | None

    def replay(self, load: Workload, way: Way) -> VcpuOutcome:
        """Return the replay of one way to bind in one order of arrival."""
        chooser, start = self._chooser(load, way)
        return VcpuReplay(
            load,
            self.room,
            self.model,
            _numbered(load, self.services),
            chooser,
            stream(self.seed, way.text),
            respond=self.respond,
            truth=self.truth,
            start_ms=start,
            size=_had(chooser, load),
            held_milli=self._held(load),
        ).run()

    def _held(self, load: Workload) -> Callable[[int], FloatArray] | None:
        """The cost of recorded neighbours to each container, in one order of arrival."""
        if self.old is None:
            return None
        old, names = self.old
        at = positions(load, names)
        return lambda now: old.cost_milli(now)[at]

    def _chooser(self, load: Workload, way: Way) -> tuple[Chooser, IntArray | None]:
        """The chooser of a way, and for ``Follow`` the times of placement of the other replay."""
        if way.of is None:
            return recorded_chooser(load, self.room, self.recorded), None
        if isinstance(way.of, Follow):
            return _following(load, way.text, way.of, self.seed)
        return way.of, None


def _outcomes(
    workload: Workload, ways: Sequence[Way], repeats: int, setting: _Setting, progress: Progress
) -> Iterator[tuple[int, str, VcpuOutcome]]:
    """Repeat, policy and result of each replay; repeat 0 has the workload's own order."""
    with progress.task("bind", repeats * len(ways), "replays") as task:
        for repeat in range(repeats):
            arrivals = stream(order_seed(setting.seed, repeat), "arrivals")
            load = workload if repeat == 0 else rearranged(workload, arrivals)
            for way in ways:
                yield repeat, way.text, setting.replay(load, way)
                task.advance(1, way.text)


def _had(chooser: Chooser, load: Workload) -> IntArray | None:
    """The recorded number of vCPUs of containers for the recorded binding; else None."""
    if not isinstance(chooser, Recorded):
        return None
    return chooser.size(request_vcpus(load.containers.request, load.resources))


def _following(load: Workload, label: str, follow: Follow, seed: int) -> tuple[Following, IntArray]:
    """The hosts that a policy chooses in its own replay, and the times of placement."""
    placement, rebalance = follow.policy.placement, follow.policy.rebalance
    rng = stream(seed, placement.name())
    engine = Engine(load, placement, rng, placer=suited_placer(load), rebalance=rebalance)
    outcome = engine.run()
    never = np.iinfo(np.int64).max
    start = np.where(outcome.time_ms >= 0, outcome.time_ms, never)
    return Following(label=label, host=outcome.node, bind=follow.bind), start


SCHEMA = "tracekit/bind/1"
VCPU_FOLDER = ResultFolder(what="replay down to the vCPU", schema=SCHEMA)
FRAMES = (
    "summary",
    "repeats",
    "differences",
    "steps",
    "containers",
    "services",
    "socket",
    "timing",
)


def document(run: VcpuRun) -> dict[str, Any]:
    """Return the run as a JSON document without steps, containers and wall-clock times."""
    return {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "seed": run.seed,
        "workload": {
            "name": run.workload.name,
            "nodes": run.workload.nodes.count,
            "containers": run.workload.containers.count,
            "assumptions": dict(run.workload.provenance.assumptions),
        },
        "model": {
            "mode": run.model.mode,
            "agg": run.model.agg,
            "services": len(run.model.cpu),
            "services_not_fitted": run.model.unknown,
        },
        "recorded_use": run.held.document(),
        "remarks": [one.document() for one in run.remarks],
        "policies": list(run.policies),
        "summary": run.summary.to_dicts(),
        "differences": run.differences.to_dicts(),
    }


def write_vcpus(run: VcpuRun, out: Path) -> None:
    """Write the folder of a run. The same run gives the same bytes, but for ``timing.parquet``.

    Raises
    ------
    TracekitError
        If ``out`` has other content than such a run.
    """
    VCPU_FOLDER.write(out, document(run), {name: getattr(run, name) for name in FRAMES})


SOCKET_SCHEMA = {
    "policy": pl.String,
    "node": pl.String,
    "socket": pl.Int64,
    "core": pl.Int64,
    "thread": pl.Int64,
    "vcpu": pl.Int64,
    "container": pl.String,
    "service": pl.String,
    "inflation_fraction": pl.Float64,
}


def drawn_socket(
    load: Workload, room: VcpuPlaces, outcomes: Sequence[tuple[str, VcpuOutcome]]
) -> pl.DataFrame:
    """Return one row for each policy and vCPU of one socket, as bound at the end of the replay.

    The socket is the one that loses most under the last policy. The container of a free vCPU is
    null.
    """
    last = outcomes[-1][1]
    lost = np.bincount(
        np.maximum(last.socket, 0),
        np.where(_bound_at_end(load, last), np.nan_to_num(last.inflation) * _sizes(last), 0.0),
        len(room.socket_vcpus),
    )
    socket = int(np.argmax(np.round(lost, 9)))
    parts = [_rows(load, room, socket, name, outcome) for name, outcome in outcomes]
    return pl.concat(parts) if parts else pl.DataFrame(schema=SOCKET_SCHEMA)


def _sizes(outcome: VcpuOutcome) -> IntArray:
    return np.array([len(vcpus) for vcpus in outcome.vcpus], dtype=np.int64)


def _bound_at_end(load: Workload, outcome: VcpuOutcome) -> BoolArray:
    """Containers bound somewhere when the replay ends."""
    return np.asarray(
        (outcome.socket >= 0) & (load.containers.departure_ms > load.use.times_ms[-1])
    )


def _rows(
    load: Workload, room: VcpuPlaces, socket: int, name: str, outcome: VcpuOutcome
) -> pl.DataFrame:
    host = int(room.socket_host[socket])
    places = np.flatnonzero(room.socket == socket)
    owner = dict.fromkeys((places - room.offset[host]).tolist(), -1)
    for at in np.flatnonzero(_bound_at_end(load, outcome) & (outcome.socket == socket)).tolist():
        owner |= dict.fromkeys(outcome.vcpus[at], at)
    cores = _cores(room, places)
    rows = []
    for place, (core, thread) in zip(places.tolist(), cores, strict=True):
        vcpu = place - int(room.offset[host])
        at = owner[vcpu]
        rows.append(
            {
                "policy": name,
                "node": room.hosts[host],
                "socket": socket - int(np.searchsorted(room.socket_host, host)),
                "core": core,
                "thread": thread,
                "vcpu": vcpu,
                "container": load.containers.ids[at] if at >= 0 else None,
                "service": load.containers.services[at] if at >= 0 else None,
                "inflation_fraction": float(outcome.inflation[at]) if at >= 0 else None,
            }
        )
    return pl.DataFrame(rows, schema=SOCKET_SCHEMA)


def _cores(room: VcpuPlaces, places: IntArray) -> list[tuple[int, int]]:
    """Core and thread of each place, with cores numbered in the order of their first vCPU."""
    number: dict[int, int] = {}
    cores = []
    for place in places.tolist():
        mates = [place, *(int(mate) for mate in room.mates[place] if mate >= 0)]
        core = number.setdefault(min(mates), len(number))
        cores.append((core, sorted(mates).index(place)))
    return cores
