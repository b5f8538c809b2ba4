"""The formats in which a run can be exported, one or more in each file."""

import functools
import sys
from pathlib import Path

from tracekit.base import registry
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Answer, answer_of
from tracekit.base.files.replacing import replaced_file
from tracekit.live.export._format import ExportSource as ExportSource
from tracekit.live.export._format import Format


@functools.cache
def all_formats() -> dict[str, Format]:
    """Return every format of ``tracekit export``, by its name."""
    formats = registry.named(sys.modules[__name__], Format)
    return {one.name: one for one in formats.values()}


def export(left: ExportSource, to: str, out: Path) -> Answer:
    """Write a run in a format. Return facts on what was written, and on what the format loses.

    Parameters
    ----------
    to : str
        The name of a format.
    out : Path
        A file; a folder if the format has several. Files of the same names are replaced.

    Raises
    ------
    TracekitError
        For an unknown format, and if the run lacks something that the format needs.
    """
    form = registry.pick(all_formats(), to, "format", listing="tracekit list formats")
    if out.exists() and out.is_dir() != form.folder:
        wanted, existing = ("folder", "file") if form.folder else ("file", "folder")
        raise TracekitError(
            f"'{out}' is a {existing}, and {to} is a {wanted}", hint="give another --out"
        )
    written = form.write(left)
    if form.folder:
        out.mkdir(parents=True, exist_ok=True)
    for name, content in written.files.items():
        with replaced_file(out / name, follow=False) as made:
            made.write_bytes(content)
    return answer_of(written.facts, written.next)
