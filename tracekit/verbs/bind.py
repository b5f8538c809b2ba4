"""Replay placement down to the vCPU: workload, model, run, folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tracekit.binding.folder import VCPU_FOLDER, write_vcpus
from tracekit.binding.hosts import room_of, room_of_file
from tracekit.binding.model import model_of_fit, model_of_truth
from tracekit.binding.run import USUAL, VcpuRun, replay_vcpus
from tracekit.progress import SILENT, Progress
from tracekit.replay.workload.source import source_of


def bind(
    store: Path | str | None,
    policies: Sequence[str] = USUAL,
    *,
    fit: Path | str,
    out: Path | str | None = None,
    workload: Path | str | None = None,
    truth: Path | str | None = None,
    assume: Sequence[str] = (),
    topology: Path | str | None = None,
    sockets: int = 2,
    threads_per_core: int = 2,
    respond: bool = True,
    seed: int = 0,
    repeats: int = 1,
    progress: Progress = SILENT,
) -> VcpuRun:
    """Replay a store's trace, or another workload, down to the vCPU.

    Parameters
    ----------
    fit : path
        What ``tracekit fit --out`` wrote: policies decide by it.
    topology : path, optional
        How nodes are built: see ``tracekit.fit.topology_file``. Without it, Linux's usual rule
        with ``sockets`` and ``threads_per_core``.
    truth : path, optional
        ``truth/binding.parquet`` of a made-up trace: interference is then measured by what was
        planted, not by the fit that decided.

    Raises
    ------
    TracekitError
        For a workload, fit, truth or policy that cannot be used.
    """
    if out is not None:
        VCPU_FOLDER.check_free(Path(out))
    progress.stage("read")
    load = source_of(store, workload, assume=assume, seed=seed).load()
    services = tuple(sorted(set(load.services)))
    room = (
        room_of(load, sockets=sockets, threads_per_core=threads_per_core)
        if topology is None
        else room_of_file(load, Path(topology))
    )
    run = replay_vcpus(
        load,
        room,
        model_of_fit(Path(fit), services),
        services,
        policies,
        seed=seed,
        repeats=repeats,
        respond=respond,
        truth=None if truth is None else model_of_truth(Path(truth), services),
        progress=progress,
    )
    if out is not None:
        write_vcpus(run, Path(out))
    return run
