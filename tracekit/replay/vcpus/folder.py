"""The folder of a replay down to the vCPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tracekit._version import VERSION
from tracekit.errors import TracekitError
from tracekit.replay.vcpus.run import VcpuRun

SCHEMA = "tracekit/bind/1"
MANIFEST = "manifest.json"
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
    """The run in one JSON document, but for steps, containers and wall-clock times."""
    return {
        "schema": SCHEMA,
        "tool_version": VERSION,
        "seed": run.seed,
        "workload": {
            "name": run.workload.name,
            "nodes": run.workload.nodes,
            "containers": run.workload.containers,
            "assumptions": dict(run.workload.assumptions),
        },
        "model": {
            "mode": run.model.mode,
            "agg": run.model.agg,
            "services": len(run.model.cpu),
            "services_not_fitted": run.model.unknown,
        },
        "policies": list(run.policies),
        "summary": run.summary.to_dicts(),
        "differences": run.differences.to_dicts(),
    }


def write_vcpus(run: VcpuRun, out: Path) -> None:
    """Write the run; of its files ``timing.parquet`` alone differs from run to run.

    Raises
    ------
    TracekitError
        When ``out`` is a file, or a folder with other things in it.
    """
    ours = {MANIFEST, *(f"{name}.parquet" for name in FRAMES)}
    if out.is_file() or (out.is_dir() and not {path.name for path in out.iterdir()} <= ours):
        raise TracekitError(
            f"{out} holds something else than such a replay", hint="name a new folder"
        )
    out.mkdir(parents=True, exist_ok=True)
    (out / MANIFEST).unlink(missing_ok=True)
    for name in FRAMES:
        frame = getattr(run, name)
        frame.write_parquet(out / f"{name}.parquet", compression="zstd", statistics=False)
    text = json.dumps(document(run), indent=2, allow_nan=False, ensure_ascii=False, default=str)
    (out / MANIFEST).write_text(text + "\n", encoding="utf-8")
