"""tracekit analyze: all analytics of a store."""

from pathlib import Path

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_lines, print_sentence, print_table, right
from tracekit.words import counted

PANEL = Panel.look

JSON_ROWS = 1000


def command(
    asked: Asked, store: Path, out: Path | None, seed: int, json: JsonOption = False
) -> None:
    """Run all analytics of a store: correlation zones, cohorts, causes, demand, sizes.

    Means have intervals. Every query among the results can be asked for alone: tracekit list
    queries. With --json,
    results of more than 1,000 rows are left out; --out writes them all.

    Example: tracekit analyze mystore --out analysis
    """
    from tracekit.analysis.plain import head
    from tracekit.analysis.summary import summary, verdicts
    from tracekit.report.terminal import facts_in_full
    from tracekit.store import open_store
    from tracekit.store.doubts import doubts

    analysis = asked()
    if json:
        small = {n: f.to_dicts() for n, f in analysis.frames.items() if f.height <= JSON_ROWS}
        missing = {name: list(tables) for name, tables in analysis.missing.items()}
        document = {"schema": "tracekit/analyze/1", "store": str(store), "seed": seed}
        print_json({**document, "results": small, "missing": missing})
        return
    first, said = head(analysis)
    for sentence in said:
        print_sentence(sentence)
    for table in [*([first] if first else []), *summary(analysis)]:
        print_table(
            table.title, [table.columns[0], *right(*table.columns[1:])], table.rows, note=table.note
        )
    for sentence in verdicts(analysis):
        print_sentence(sentence)
    print_lines(facts_in_full(doubts(open_store(store))))
    print(
        f"{counted(len(analysis.frames), 'result')}{f' in {out}' if out else ''};"
        f" a query alone: tracekit query {store} NAME"
    )
