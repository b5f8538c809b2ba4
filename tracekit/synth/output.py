"""Output of a made-up trace: which archives, a folder complete or not there, what was written."""

import json
import shutil
from collections import Counter
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.constants import SYNTH_MANIFEST, SYNTH_SCHEMA, TRUTH
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.durable import make_folder, put, sync_tree
from tracekit.base.files.lock import LOCK, held
from tracekit.base.files.places import check_no_link
from tracekit.base.opened import read_text
from tracekit.base.shown import Shown
from tracekit.synth import layout
from tracekit.synth.archive import empty_folder
from tracekit.synth.layout import Layout
from tracekit.synth.presets import Preset
from tracekit.synth.table_file import Receipt

_PARTIAL = ".synth-partial"


@contextmanager
def staged(out: Path, parts: Sequence[str]) -> Iterator[Path]:
    """A folder to write ``parts`` in, which move to ``out`` when all of them are complete.

    The truth, with the manifest in it, goes first and comes last: a folder with a manifest is
    whole. Raises TracekitError when ``out`` holds something that this program did not write.
    """
    check_out(out)
    make_folder(out)
    partial = out / _PARTIAL
    with held(out / LOCK, busy=f"{out} is being written"):
        check_no_link((partial, *(out / part for part in parts)))
        empty_folder(partial)
        try:
            yield partial
            order = [part for part in parts if part != TRUTH] + [TRUTH]
            for part in reversed(order):
                if (out / part).exists():
                    shutil.rmtree(out / part)
            for part in order:
                sync_tree(partial / part)
                put({partial / part: out / part}, out)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


def check_out(out: Path) -> None:
    """Raise TracekitError unless ``out`` is absent, empty, or an earlier made-up trace."""
    if out.exists() and not out.is_dir():
        raise TracekitError(f"{out} is a file, expected a folder", hint="name another folder")
    if not out.exists() or (out / _PARTIAL).exists() or _is_made_up(out):
        return
    found = sorted(path.name for path in out.iterdir() if path.name != LOCK)
    if found:
        shown = ", ".join(found[:3]) + (", ..." if len(found) > 3 else "")
        raise TracekitError(
            f"{out} is not empty and not a made-up trace; it holds {shown}",
            hint="name a new folder, or empty this one",
        )


def _is_made_up(out: Path) -> bool:
    try:
        manifest = json.loads(read_text(out / TRUTH / SYNTH_MANIFEST))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("schema") == SYNTH_SCHEMA


LAYOUTS = (layout.NODE, layout.CONTAINER, layout.RATE, layout.CALL)
_WORDS = {"node": layout.NODE, "resource": layout.CONTAINER, "rate": layout.RATE,
          "call": layout.CALL}  # fmt: skip
#: The word for the tables of nodes and containers, which the release does not have.
SIZE = "size"


@dataclass(frozen=True)
class Selection:
    """Some tables, and the numbers of their archives; None stands for all.

    ``sizes``: whether the tables of nodes and containers are written too.
    """

    layouts: Collection[Layout] = LAYOUTS
    parts: Container[int] | None = None
    sizes: bool = True

    @property
    def whole(self) -> bool:
        """Whether nothing is left out."""
        return self.parts is None and len(self.layouts) == len(LAYOUTS)

    def numbers(self, kind: Layout, files: int) -> list[int]:
        """The archives to write of a table that has so many; one of one archive is taken whole."""
        if kind not in self.layouts:
            return []
        every = self.parts is None or files == 1
        return [number for number in range(files) if every or number in (self.parts or ())]


def select(tables: Collection[str], parts: Container[int] | None) -> Selection:
    """The selection of tables by word (``resource``), name or file stem; all when none is named.

    Raises TracekitError for an unknown table.
    """
    known = dict(_WORDS)
    for kind in LAYOUTS:
        known |= {kind.table: kind, kind.stem.lower(): kind}
    named = [name.lower() for name in tables]
    for name in named:
        if name not in {*known, SIZE}:
            close = nearest(name, {*known, SIZE})
            raise TracekitError(
                f"no table '{name}'; tables: {', '.join([*_WORDS, SIZE])}",
                hint=f"did you mean '{close}'?" if close else None,
            )
    asked = [known[name] for name in named if name != SIZE]
    layouts = [kind for kind in LAYOUTS if not named or kind in asked]
    return Selection(layouts, parts, sizes=not named or SIZE in named)


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
        "schema": SYNTH_SCHEMA,
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
    (truth / SYNTH_MANIFEST).write_text(json.dumps(document, indent=2) + "\n")
