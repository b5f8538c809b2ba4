"""tracekit synth: write a made-up trace."""

from tracekit.base.words import counted
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_table

PANEL = Panel.data


def command(asked: Asked, json: JsonOption = False) -> None:
    """Write a made-up trace in the shape of CTM21, and the truth planted in it.

    An archive is the same whichever others are written: of the preset ctm21,
    as large as the real trace, take some with --tables and --parts.

    Example: tracekit synth demo --preset tiny --seed 1
    """
    from tracekit.base import units

    summary = asked()
    if json:
        print_json(
            {
                "schema": "tracekit/synth/1",
                "out": summary.out,
                "preset": summary.preset,
                "seed": summary.seed,
                "files": summary.files,
                "rows": summary.rows,
                "defects": summary.defects,
                "size_bytes": summary.size_bytes,
                "truth": summary.truth,
            }
        )
        return
    title = (
        f"{counted(summary.files, 'archive')}, {units.size(summary.size_bytes)}, in {summary.out}"
    )
    note = f"planted truth: {summary.truth}\nnext: tracekit ingest {summary.out} STORE"
    print_table(title, ("table", "rows"), list(summary.rows.items()), note=note)
