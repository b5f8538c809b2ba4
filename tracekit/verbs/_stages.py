"""Stages of a whole run that need the store alone, as tasks that a crew can do beside a replay."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tracekit.analysis import analyze
from tracekit.callgraph.run import callgraph
from tracekit.crew.crew import OnProgress
from tracekit.fit.folder import write_fit
from tracekit.fit.run import fit_store
from tracekit.store import open_store
from tracekit.verbs.bind import bind

#: More containers than this are not bound one by one unasked: about a minute.
MOST_BOUND = 5000


@dataclass(frozen=True)
class AnalyzeStage:
    """Every query and result, into a folder."""

    store: Path
    out: Path

    name = "analysis"

    def run(self, _: OnProgress) -> None:
        """Write the folder."""
        analyze(open_store(self.store), self.out)


@dataclass(frozen=True)
class CallStage:
    """The call graphs, into a folder; ``jobs`` is 1 where others keep the cores busy."""

    store: Path
    out: Path
    jobs: int | None

    name = "call graphs"

    def run(self, _: OnProgress) -> None:
        """Write the folder."""
        callgraph(open_store(self.store), self.out, jobs=self.jobs)


@dataclass(frozen=True)
class FitStage:
    """What neighbours cost; and where it is known who sits on which vCPU, placement by that.

    Parameters
    ----------
    traces : folder of the trace; a made-up one knows who sits where
    out, bound : folders for the fit, and for what is placed by it
    """

    store: Path
    traces: Path
    out: Path
    bound: Path

    name = "fit"

    def run(self, _: OnProgress) -> None:
        """Write the folders."""
        files = [self.traces / "truth" / f"{name}.csv" for name in ("monitoring", "topology")]
        known = all(file.is_file() for file in files)
        binding, topology = files if known else (None, None)
        found = fit_store(open_store(self.store), binding=binding, topology=topology)
        write_fit(found, self.out)
        if known and found.rows.height <= MOST_BOUND and found.fitted.pooled["k1"][0] is not None:
            truth = self.traces / "truth" / "binding.parquet"
            bind(self.store, fit=self.out, truth=truth, out=self.bound)


Stage = AnalyzeStage | CallStage | FitStage
