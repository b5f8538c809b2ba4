"""tracekit analyze: all analytics of a store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.commands._options import Engine, Option, Seed, Store
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_lines, print_table, right
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.analysis.run import Analysis


def analyze(
    store: Store,
    out: Annotated[str | Path | None, Option("Write every result there, as Parquet.")] = None,
    *,
    seed: Seed = 0,
    engine: Engine = None,
    progress: Progress = SILENT,
) -> Analysis:
    """All analytics of a store, by name; see ``tracekit.analysis.run.analyze``."""
    from tracekit.analysis import run
    from tracekit.store.folder import open_store

    folder = None if out is None else Path(out)
    return run.analyze(open_store(store), folder, seed=seed, engine=engine, progress=progress)


PANEL = Panel.look

JSON_ROWS = 1000


def command(call: Call, store: Path, out: Path | None, seed: int, json: JsonOption = False) -> None:
    """Run all analytics of a store: correlation zones, cohorts, causes, demand, sizes.

    Means have intervals. tracekit query runs one of the queries alone: tracekit
    list queries. --json leaves out results of more than 1,000 rows; --out writes
    all results.

    Example: tracekit analyze mystore --out analysis
    """
    from tracekit.analysis.summary import summary
    from tracekit.answer.analysis import facts_of_analysis
    from tracekit.report.terminal import facts_in_full
    from tracekit.store.doubts import doubts
    from tracekit.store.folder import open_store

    analysis = call()
    if json:
        small = {n: f.to_dicts() for n, f in analysis.frames.items() if f.height <= JSON_ROWS}
        missing = {name: list(tables) for name, tables in analysis.missing.items()}
        document = {"schema": "tracekit/analyze/1", "store": str(store), "seed": seed}
        facts = [one.document() for one in facts_of_analysis(analysis)]
        print_json({**document, "facts": facts, "results": small, "missing": missing})
        return
    print_lines(facts_in_full(facts_of_analysis(analysis)))
    for table in summary(analysis):
        print_table(
            table.title, [table.columns[0], *right(*table.columns[1:])], table.rows, note=table.note
        )
    print_lines(facts_in_full(doubts(open_store(store))))
    print(
        f"{counted(len(analysis.frames), 'result')}{f' in {out}' if out else ''};"
        f" a query alone: tracekit query {store} NAME"
    )
