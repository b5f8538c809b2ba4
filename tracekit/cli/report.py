"""tracekit report: one HTML file about a store or a run."""

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_sentence

PANEL = Panel.tell


def command(asked: Asked, json: JsonOption = False) -> None:
    """Write one self-contained HTML file that works offline.

    A store gives its quality, correlation zones and utilization; a run folder gives the
    comparison of its policies too, and the store's pages when it is there.
    Studies in the folder 'studies' beside it get their pages as well, and so do
    those beside a run that are of what the run replayed.

    Example: tracekit report mystore --out report.html
    """
    from tracekit.base.units import size
    from tracekit.report.sentences import document, short

    summary = asked()
    if json:
        print_json(
            {
                "out": str(summary.path),
                "size_bytes": summary.size_bytes,
                **document(summary.answer),
                "schema": "tracekit/report/1",
                "left_out": list(summary.left_out),
            }
        )
        return
    facts = [one for one in summary.answer.facts if one.weight <= 1]
    for line in (*summary.left_out, *(short(one) for one in facts)):
        print_sentence(line)
    print(f"\nreport: {summary.path} ({size(summary.size_bytes)})")
