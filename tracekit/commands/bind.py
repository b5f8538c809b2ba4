"""tracekit bind: replay placement down to the vCPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.binding import RECORDED_USE, RecordedUse
from tracekit.commands._options import Assumed, Frames, Option, OtherWorkload, ReplayedStore, Seed
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import (
    print_json,
    print_lines,
    print_sentence,
    print_table,
    right,
)
from tracekit.commands.shell.signature import Call, JsonOption
from tracekit.interference.options import SOCKETS, THREADS_PER_CORE, Sockets, ThreadsPerCore

if TYPE_CHECKING:
    from tracekit.base.facts import Fact
    from tracekit.binding.run import VcpuRun
    from tracekit.cluster.workload import Workload
    from tracekit.interference.room import VcpuPlaces


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
        When empty, ``tracekit.binding.run.USUAL``, and ``recorded`` where the store or the fit has
        the vCPUs of containers.
    topology : path, optional
        See ``topology.read_topologies``. Without it, Linux's usual rule with ``sockets`` and
        ``threads_per_core``.
    truth : path, optional
        ``truth/binding.parquet`` of a made-up trace. Interference is then measured by the planted
        cost, not by the fit.
    recorded_use : {'auto', 'with_neighbours', 'without_neighbours'}
        See ``tracekit.binding.tables``.

    Raises
    ------
    TracekitError
        For a workload, fit, truth or policy that cannot be used.
    """
    from tracekit.base.files.places import place
    from tracekit.binding.choosers import RECORDED, bindings_of_fit, parse_ways, recorded_bindings
    from tracekit.binding.occupancy import model_of_fit, model_of_truth
    from tracekit.binding.run import USUAL, VCPU_FOLDER, replay_vcpus, write_vcpus
    from tracekit.cluster.source import source_of
    from tracekit.store.folder import open_store

    if out is not None:
        VCPU_FOLDER.check_free(Path(out))
    ways = parse_ways(policies)
    progress.stage("read")
    opened = None if store is None else open_store(store)
    load = source_of(opened, workload, assume=assume, seed=seed).load()
    services = tuple(sorted(set(load.containers.services)))
    room, assumed = _room(load, sockets, threads_per_core, topology)
    recorded = {} if opened is None else recorded_bindings(opened)
    if opened is not None and not recorded:
        recorded = bindings_of_fit(Path(fit))
    model = model_of_fit(Path(fit), services)
    run = replay_vcpus(
        load,
        room,
        model,
        services,
        ways or parse_ways((*USUAL, *([RECORDED] if recorded else []))),
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
    """Remarks on the fit, on the load of recorded vCPUs, and on recorded use."""
    from tracekit.base.facts import remark
    from tracekit.binding.tables import unlike_recorded

    if run.model.verdict:
        yield remark("fit_unusable", verdict=run.model.verdict, reason=run.model.reason)
    yield from unlike_recorded(dict(run.summary.select("policy", "bound_vcpus").iter_rows()))
    yield from run.held.facts()


def _of_load(load: Workload) -> Iterator[Fact]:
    """Remarks on the replayed workload."""
    from tracekit.answer.caveats import counted
    from tracekit.replay.runs.remarks import use_assumed

    yield from load.provenance.remarks
    yield from use_assumed(load.provenance.facts, load.containers.count, load.provenance.quantities)
    yield from counted(load.provenance.facts)


def _room(
    load: Workload, sockets: int, threads_per_core: int, topology: Path | str | None
) -> tuple[VcpuPlaces, tuple[Fact, ...]]:
    """The topology of hosts, and a fact where it is assumed."""
    from tracekit.binding.vcpu_state import assumed_hosts, room_of, room_of_file

    if topology is not None:
        return room_of_file(load, Path(topology)), ()
    room = room_of(load, sockets=sockets, threads_per_core=threads_per_core)
    return room, (assumed_hosts(load, sockets=sockets, threads_per_core=threads_per_core),)


PANEL = Panel.rare


def command(call: Call, out: Path | None, json: JsonOption = False) -> None:
    """Choose host, socket and vCPUs for every container, and show the cost of neighbours.

    The first policy is compared with each of the others, with intervals
    where --repeat gives several orders of arrival.

    Example: tracekit bind mystore --fit fit --repeat 10 --out bound
    """
    from tracekit.answer.production import answer_of_binding
    from tracekit.binding.run import document
    from tracekit.report.terminal import facts_in_full

    run = call()
    answer = answer_of_binding(run)
    if json:
        print_json({**document(run), "facts": [one.document() for one in answer.facts]})
        return
    print_lines(facts_in_full(one for one in answer.of("binding") if one.weight < 3))
    _show(run)
    print_lines(facts_in_full(run.remarks))
    if out:
        print(f"all of it: {out}")


def _show(run: VcpuRun) -> None:
    rows = [
        [
            row["policy"],
            int(row["bound_vcpus"]),
            round(row["inflation_vcpus"], 2),
            f"{100 * (row['inflation_mean_fraction'] or 0):.2f} %",
            round(row["cpu_spread_mean_fraction"], 4),
            int(row["nodes_used_max"]),
        ]
        for row in run.summary.to_dicts()
    ]
    label = "; a proxy fit: k1 is 0" if run.model.mode == "proxy" else ""
    print_table(
        f"{run.workload.name}: {counted(run.workload.containers.count, 'container')}",
        ["policy", *right("vCPUs", "lost vCPUs", "mean", "cpu spread", "nodes")],
        rows,
        note=f"lost: predicted CPU that neighbours cost, mean over time{label}",
    )
    if run.model.unknown:
        print_sentence(f"{run.model.unknown} services are not in the fit; they have pooled values")
