"""tracekit run: everything, from trace files to a report."""

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json

PANEL = Panel.whole


def command(asked: Asked, json: JsonOption = False) -> None:
    """Do everything: ingest, check, analyse, replay, report.

    Needs no data of your own when SRC is synth:small, a made-up trace.
    Leaves DIR/store, DIR/analysis, DIR/replay and DIR/report.html.
    Without --policy the ten common policies are replayed, beside production and the bound.
    They meet six orders of arrival, which gives intervals. Then the fewest nodes are counted.

    Example: tracekit run synth:small --out demo
    """
    from tracekit.report.sentences import document
    from tracekit.report.terminal import answer_lines

    summary = asked()
    if json:
        parts = {name: value for name, value in vars(summary).items() if name != "answer"}
        print_json({**document(summary.answer), **parts, "schema": "tracekit/run/1"})
        return
    print("\n".join(answer_lines(summary.answer)))
    print(f"\nreport: {summary.report}")
    print(f"store:  {summary.store}  (tracekit info {summary.store})")
