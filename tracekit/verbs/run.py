"""Everything in one call: ingest, check, analyse, replay, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.analysis import analyze
from tracekit.callgraph.run import callgraph
from tracekit.errors import TracekitError
from tracekit.fit.folder import write_fit
from tracekit.fit.run import fit_store
from tracekit.progress import SILENT, Progress
from tracekit.query.run import run as run_query
from tracekit.report.render import render
from tracekit.store import Store, ingest, open_store
from tracekit.synth import write as synthesize
from tracekit.verbs.bind import bind
from tracekit.verbs.replay import replay

SYNTH = "synth:"
#: What a run writes.
_STAGES = ("store", "analysis", "calls", "fit", "bound", "replay", "report.html", "trace")
#: More containers than this are not bound one by one unasked: about a minute.
MOST_BOUND = 5000


@dataclass(frozen=True, kw_only=True)
class RunSummary:
    """What a whole run left behind.

    Parameters
    ----------
    findings : tuple of str
        The numbers that matter most, in words.
    skipped : tuple of str
        Stages that the trace has no data for, each with the reason.
    """

    out: Path
    store: Path
    replay: Path | None
    report: Path
    defects: int
    findings: tuple[str, ...]
    skipped: tuple[str, ...]


def run(
    source: str | Path,
    out: str | Path,
    *,
    policies: Sequence[str] = ("all",),
    seed: int = 0,
    memory_limit_bytes: int = 2**30,
    progress: Progress = SILENT,
) -> RunSummary:
    """Take a trace from its files to a report; run again to go on after an interruption.

    Parameters
    ----------
    source : a folder of trace files, one file, or ``synth:<preset>`` for a made-up trace
    out : gets ``store/``, ``analysis/``, ``calls/``, ``fit/``, ``replay/`` and ``report.html``,
        and ``bound/`` where it is known who sits on which vCPU

    Raises
    ------
    TracekitError
        As its stages do: see ``tracekit.store.write.ingest`` and ``tracekit.verbs.replay``.
    """
    out = Path(out)
    _check_out(out)
    traces = _synthesize(str(source), out, seed, progress)
    progress.stage("ingest")
    ingest(traces, out / "store", memory_limit_bytes=memory_limit_bytes, progress=progress)
    store = open_store(out / "store")
    progress.stage("check and analyse")
    ledger = run_query(store, "quality/ledger")
    analyze(store, out / "analysis", progress=progress)
    _rebuild_calls(store, out / "calls", progress)
    _fit(store, traces, out, progress)
    skipped = _nothing_to_replay(store)
    if not skipped:
        progress.stage("replay")
        replay(store.path, policies, out=out / "replay", seed=seed, progress=progress)
    progress.stage("report")
    shown = store.path if skipped else out / "replay"
    report = render(shown, out / "report.html", progress=progress)
    return RunSummary(
        out=out,
        store=store.path,
        replay=None if skipped else out / "replay",
        report=report.path,
        defects=ledger.height,
        findings=report.findings,
        skipped=tuple(skipped),
    )


def _rebuild_calls(store: Store, out: Path, progress: Progress) -> None:
    """The call graphs, where the trace has calls."""
    if any(entry.rows for entry in store.manifest.parts("call")):
        progress.stage("call graphs")
        callgraph(store, out, progress=progress)


def _fit(store: Store, traces: Path, out: Path, progress: Progress) -> None:
    """What neighbours cost, where there are containers; a made-up trace knows who sits where."""
    if not store.manifest.parts("container_usage"):
        return
    progress.stage("fit")
    files = [traces / "truth" / f"{name}.csv" for name in ("monitoring", "topology")]
    known = all(file.is_file() for file in files)
    binding, topology = files if known else (None, None)
    found = fit_store(store, binding=binding, topology=topology, progress=progress)
    write_fit(found, out / "fit")
    if known and found.rows.height <= MOST_BOUND and found.fitted.pooled["k1"][0] is not None:
        progress.stage("bind")
        truth = traces / "truth" / "binding.parquet"
        bind(store.path, fit=out / "fit", truth=truth, out=out / "bound", progress=progress)


def _check_out(out: Path) -> None:
    """A folder of something else is not written into; what a killed run left is a run's own."""
    if out.is_file():
        raise TracekitError(f"{out} is a file, expected a folder for the results")
    others = (
        sorted(path.name for path in out.iterdir() if not _ours(path.name)) if out.exists() else []
    )
    if others:
        raise TracekitError(
            f"{out} holds other files than a run's: {others[0]}",
            hint="name a new folder: --out DIR",
        )


def _ours(name: str) -> bool:
    """Whether a stage writes under this name, or puts its unfinished work under it."""
    return name in _STAGES or name.startswith(tuple(f".{stage}." for stage in _STAGES))


def _synthesize(source: str, out: Path, seed: int, progress: Progress) -> Path:
    """The folder of trace files; made now when the source is ``synth:<preset>``."""
    if not source.startswith(SYNTH):
        return Path(source)
    progress.stage("synthesize")
    preset = source.removeprefix(SYNTH)
    # 0: as many processes as the preset and this machine's cores and memory can use
    synthesize(out / "trace", preset=preset, seed=seed, jobs=0, progress=progress)
    return out / "trace"


def _nothing_to_replay(store: Store) -> list[str]:
    if store.manifest.parts("container_usage"):
        return []
    return ["replay: the trace has no container table (MSResource)"]
