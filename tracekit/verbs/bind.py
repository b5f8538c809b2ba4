"""Replay placement down to the vCPU: workload, model, run, folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.binding.declared import RECORDED_USE, RecordedUse
from tracekit.interference.vcpu.declared import SOCKETS, THREADS_PER_CORE, Sockets, ThreadsPerCore
from tracekit.verbs._options import Assumed, Frames, Option, OtherWorkload, ReplayedStore, Seed

if TYPE_CHECKING:
    from tracekit.base.facts import Fact
    from tracekit.binding.run import VcpuRun
    from tracekit.cluster.workload import Workload
    from tracekit.interference.vcpu.room import Room


def bind(
    store: ReplayedStore,
    policies: Annotated[
        Sequence[str],
        Option(
            "interference, whole_cores (as kubelet's static policy), whole_cores_emptiest,"
            " emptiest_socket, lowest_free, least_allocated, random_free, recorded (as it was,"
            " where that is known), or any placement policy +whole_cores, +lowest_free,"
            " +random_free, +least_interference; may be repeated.",
            names="--policy",
            completes="policies",
            metavar="NAME|POLICY+BIND",
        ),
    ] = (),
    *,
    fit: Annotated[Path | str, Option("What tracekit fit --out wrote.")],
    out: Frames = None,
    truth: Annotated[
        Path | str | None, Option("Measure by a made-up trace's truth/binding.parquet.")
    ] = None,
    workload: OtherWorkload = None,
    assume: Assumed = (),
    topology: Annotated[
        Path | str | None, Option("How nodes are built; as for tracekit fit.")
    ] = None,
    sockets: Sockets = SOCKETS,
    threads_per_core: Annotated[ThreadsPerCore, Option(names="--threads")] = THREADS_PER_CORE,
    respond: Annotated[
        bool, Option("Use does not rise with interference.", names="--fixed-use", off=True)
    ] = True,
    recorded_use: RecordedUse = RECORDED_USE,
    repeats: Annotated[int, Option("Orders of arrival.", minimum=1, names="--repeat")] = 1,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> VcpuRun:
    """Replay a store's trace, or another workload, down to the vCPU.

    Parameters
    ----------
    policies : sequence of str
        ``tracekit.binding.run.USUAL`` when empty, and ``recorded`` where the store or the fit
        knows which vCPUs containers had.
    topology : path, optional
        See ``fit.topology_file``. Without it, Linux's usual rule with ``sockets`` and
        ``threads_per_core``.
    truth : path, optional
        ``truth/binding.parquet`` of a made-up trace: interference is then measured by what was
        planted, not by the fit that decided.
    recorded_use : {'auto', 'with_neighbours', 'without_neighbours'}
        See ``tracekit.binding.old_neighbours``.

    Raises
    ------
    TracekitError
        For a workload, fit, truth or policy that cannot be used.
    """
    from tracekit.base.files.places import place
    from tracekit.binding.drawn import RECORDED
    from tracekit.binding.folder import VCPU_FOLDER, write_vcpus
    from tracekit.binding.model import model_of_fit, model_of_truth
    from tracekit.binding.recorded import bindings_of_fit, recorded_bindings
    from tracekit.binding.run import USUAL, replay_vcpus
    from tracekit.cluster.source import source_of
    from tracekit.store.folder import open_store

    if out is not None:
        VCPU_FOLDER.check_free(Path(out))
    progress.stage("read")
    load = source_of(store, workload, assume=assume, seed=seed).load()
    services = tuple(sorted(set(load.services)))
    room, assumed = _room(load, sockets, threads_per_core, topology)
    known = store if workload is None else None
    recorded = {} if known is None else recorded_bindings(open_store(known))
    if known is not None and not recorded:
        recorded = bindings_of_fit(Path(fit))
    model = model_of_fit(Path(fit), services)
    run = replay_vcpus(
        load,
        room,
        model,
        services,
        policies or (*USUAL, *([RECORDED] if recorded else [])),
        seed=seed,
        repeats=repeats,
        respond=respond,
        truth=None if truth is None else model_of_truth(place(truth), services),
        recorded=recorded,
        recorded_use=recorded_use,
        progress=progress,
    )
    run = replace(run, remarks=(*_doubts(run), *assumed, *_of_load(load)))
    if out is not None:
        write_vcpus(run, Path(out))
    return run


def _doubts(run: VcpuRun) -> Iterator[Fact]:
    """Why the fit, or the load of recorded sets, is to be doubted, and what recorded use holds."""
    from tracekit.base.facts import remark
    from tracekit.binding.drawn import unlike_recorded

    if run.model.verdict:
        yield remark("fit_unusable", verdict=run.model.verdict, reason=run.model.reason)
    yield from unlike_recorded(dict(run.summary.select("policy", "bound_vcpus").iter_rows()))
    yield from run.held.facts()


def _of_load(load: Workload) -> Iterator[Fact]:
    """What to know of the replayed workload."""
    from tracekit.answer.caveats import counted
    from tracekit.replay.runs.remarks import use_assumed

    yield from load.remarks
    yield from use_assumed(load.facts, load.containers, load.quantities)
    yield from counted(load.facts)


def _room(
    load: Workload, sockets: int, threads_per_core: int, topology: Path | str | None
) -> tuple[Room, tuple[Fact, ...]]:
    """How hosts are built, and a fact of it where it is assumed."""
    from tracekit.binding.hosts import assumed_hosts, room_of, room_of_file

    if topology is not None:
        return room_of_file(load, Path(topology)), ()
    room = room_of(load, sockets=sockets, threads_per_core=threads_per_core)
    return room, (assumed_hosts(load, sockets=sockets, threads_per_core=threads_per_core),)
