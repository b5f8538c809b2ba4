"""The run folder: a manifest and Parquet files, written whole or not at all."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit._version import VERSION
from tracekit.errors import TracekitError
from tracekit.replay.demand_bound import demand_bound
from tracekit.replay.entrant import spelled
from tracekit.replay.run import Run
from tracekit.whole_folder import written_whole

SCHEMA = "tracekit/replay/1"
MANIFEST = "manifest.json"
FRAMES = ("summary", "steps", "placements", "timing", "repeats", "differences")


def manifest_of(run: Run) -> dict[str, Any]:
    """What the run was: seed, workload with its assumptions, policies with every parameter."""
    load = run.workload
    return {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "seed": run.seed,
        "repeats": 1 if run.repeats is None else run.repeats["repeat"].n_unique(),
        "workload": {
            "name": load.name,
            "nodes": load.nodes,
            "containers": load.containers,
            "steps": len(load.times_ms),
            "step_ms": load.step_ms,
            "time_min_ms": int(load.times_ms[0]),
            "time_max_ms": int(load.times_ms[-1]),
            "settled_ms": load.settled_ms,
            "resources": list(load.resources),
            "recorded": load.recorded,
            "gangs": 0 if load.gang is None else len(np.unique(load.gang[load.gang >= 0])),
            "containers_too_large": len(load.too_large()),
            "assumptions": dict(load.assumptions),
            "facts": dict(load.facts),
        },
        "bounds": {"nodes_for_demand": demand_bound(load)},
        "policies": [
            {
                "policy": str(policy),
                "name": policy.name(),
                "source": policy.source,
                "left_out": [name for name in policy.wants if name not in load.resources],
                "parameters": spelled(policy),
            }
            for policy in run.policies
        ],
    }


def write_run(run: Run, folder: Path, *, store: Path | None = None) -> None:
    """Write the run folder; an existing one is replaced, anything else is left alone.

    ``store`` is the store the trace came from; the manifest names it relative to the run, so that
    a report finds it and both can be moved together.

    Raises
    ------
    TracekitError
        When the path exists and is not a run folder.
    """
    folder = Path(folder)
    check_replaceable(folder)
    with written_whole(folder) as made:
        for name in FRAMES:
            frame: pl.DataFrame | None = getattr(run, name)
            if frame is not None:
                frame.write_parquet(made / f"{name}.parquet", compression="zstd")
        document = manifest_of(run)
        if store is not None:
            document["workload"]["store"] = os.path.relpath(store, folder)
        text = json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)
        (made / MANIFEST).write_text(text + "\n", encoding="utf-8")


def is_run_folder(folder: Path) -> bool:
    """Whether a folder holds a run."""
    try:
        document = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(document, dict) and document.get("schema") == SCHEMA


def check_replaceable(folder: Path) -> None:
    """Raise TracekitError for a path that holds something else than a run."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not is_run_folder(folder):
        raise TracekitError(
            f"'{folder}' exists and is not a run folder, it is left as it is",
            hint="give another --out, or remove it first",
        )
