"""Write the call chains of a store as the simulation set of the sizing study."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.analysis.callgraph import CHAINS, Chains
from tracekit.base.progress import SILENT, Progress

if TYPE_CHECKING:
    from tracekit.analysis.callgraph.export import Exported


def export_chains(
    store: str | Path, out: str | Path, *, chains: Chains = CHAINS, progress: Progress = SILENT
) -> Exported:
    """Write chains with their calls and container states; see ``callgraph.export``."""
    from tracekit.analysis.callgraph.export import export
    from tracekit.store.folder import open_store

    return export(open_store(store), Path(out), chains=chains, progress=progress)
