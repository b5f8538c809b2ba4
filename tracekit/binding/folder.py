"""The folder of a replay down to the vCPU."""

from pathlib import Path
from typing import Any

from tracekit._version import VERSION
from tracekit.base.files.result_folder import ResultFolder
from tracekit.binding.run import VcpuRun

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
    """The run in one JSON document, but for steps, containers and wall-clock times."""
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
    """Write the run; of its files ``timing.parquet`` alone differs from run to run.

    Raises
    ------
    TracekitError
        When ``out`` holds anything but such a replay.
    """
    VCPU_FOLDER.write(out, document(run), {name: getattr(run, name) for name in FRAMES})
