"""Output folders that are complete or not there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tracekit.errors import TracekitError
from tracekit.files.lock import LOCK, held
from tracekit.opened import read_text
from tracekit.planted import MANIFEST, SCHEMA, TRUTH
from tracekit.synth.archive import empty_folder

_PARTIAL = ".synth-partial"


@contextmanager
def staged(out: Path, parts: Sequence[str]) -> Iterator[Path]:
    """A folder to write ``parts`` in, which move to ``out`` when all of them are complete.

    The truth, with the manifest in it, goes first and comes last: a folder with a manifest is
    whole. Raises TracekitError when ``out`` holds something that this program did not write.
    """
    check_out(out)
    out.mkdir(parents=True, exist_ok=True)
    partial = out / _PARTIAL
    with held(out / LOCK, busy=f"{out} is being written"):
        empty_folder(partial)
        try:
            yield partial
            order = [part for part in parts if part != TRUTH] + [TRUTH]
            for part in reversed(order):
                if (out / part).exists():
                    shutil.rmtree(out / part)
            for part in order:
                (partial / part).rename(out / part)
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
        manifest = json.loads(read_text(out / TRUTH / MANIFEST))
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and manifest.get("schema") == SCHEMA
