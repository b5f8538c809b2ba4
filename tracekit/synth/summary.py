"""What was written, for whoever asked and for whoever finds the folder."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from tracekit.planted import MANIFEST, SCHEMA, TRUTH
from tracekit.shown import Shown
from tracekit.synth.presets import Preset
from tracekit.synth.table_file import Receipt


@dataclass(frozen=True, kw_only=True, repr=False)
class SynthSummary(Shown):
    """What was written.

    Parameters
    ----------
    rows : dict of str to int
        Rows of each base table's files, broken ones included.
    truth : Path
        The folder with the planted truth.
    """

    out: Path
    preset: str
    seed: int
    files: int
    rows: dict[str, int]
    defects: dict[str, int]
    size_bytes: int
    truth: Path


def summarise(out: Path, preset: str, seed: int, receipts: list[Receipt]) -> SynthSummary:
    """Count what the receipts say."""
    rows: Counter[str] = Counter()
    defects: Counter[str] = Counter()
    for receipt in sorted(receipts, key=lambda receipt: receipt.path):
        rows[receipt.table] += receipt.rows
        defects.update(defect.action for defect in receipt.defects)
    return SynthSummary(
        out=out,
        preset=preset,
        seed=seed,
        files=len(receipts),
        rows=dict(sorted(rows.items())),
        defects=dict(sorted(defects.items())),
        size_bytes=sum(receipt.size_bytes for receipt in receipts),
        truth=out / TRUTH,
    )


def write_manifest(truth: Path, summary: SynthSummary, preset: Preset) -> None:
    """Say what the folder holds; a folder of truth with it is whole."""
    document = {
        "schema": SCHEMA,
        "about": "made-up trace in the shape of CTM21; these tables hold what was planted in it",
        "preset": summary.preset,
        "seed": summary.seed,
        "title": preset.title,
        "horizon_ms": preset.horizon_ms,
        "files": summary.files,
        "rows": summary.rows,
        "defects": summary.defects,
        "size_bytes": summary.size_bytes,
    }
    (truth / MANIFEST).write_text(json.dumps(document, indent=2) + "\n")
