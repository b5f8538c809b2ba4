"""tracekit analyze: all analytics of a store."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tracekit.cli._options import JsonOption, StoreArgument
from tracekit.cli._output import print_frame, print_json, progress


def command(
    store: StoreArgument,
    out: Annotated[Path | None, typer.Option(help="Write every result there, as Parquet.")] = None,
    json: JsonOption = False,
) -> None:
    """Run all analytics of a store and show the zones.

    Every result is also a query of its own: tracekit list queries.

    Example: tracekit analyze mystore --out analysis
    """
    import tracekit

    with progress() as shown:
        frames = tracekit.analyze(store, out, progress=shown)
    if json:
        results = {name: frame.to_dicts() for name, frame in frames.items() if frame.height <= 1000}
        print_json({"schema": "tracekit/analyze/1", "store": str(store), "results": results})
        return
    zones = frames["usage/zone_summary"]
    print_frame(
        zones.select(
            "zone", "nodes", "node_share", "cpu_mean", "memory_mean", "util_diff", "debris"
        ),
        "table",
        title="Zones of the nodes (by correlation of CPU and memory)",
    )
    print(
        f"{len(frames)} results{f' in {out}' if out else ''};"
        f" one alone: tracekit query {store} NAME"
    )
