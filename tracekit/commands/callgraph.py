"""tracekit callgraph: the tree of calls of every trace, and what was wrong with its records."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tracekit.analysis.callgraph import CHAINS, MODE, Chains, Mode
from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.commands._options import Engine, Option, Store
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_sentence, print_table
from tracekit.commands.shell.progress import progress
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.analysis.callgraph.run import CallGraphs


def callgraph(
    store: Store,
    out: Annotated[str | Path | None, Option("Write calls, traces, ledger there.")] = None,
    *,
    mode: Mode = MODE,
    jobs: Annotated[int | None, Option("Processes; one per core.", minimum=1)] = None,
    engine: Engine = None,
    progress: Progress = SILENT,
) -> CallGraphs:
    """Rebuild the call graphs of a store; see ``tracekit.analysis.callgraph.run.callgraph``."""
    from tracekit.analysis.callgraph import run
    from tracekit.store.folder import open_store
    from tracekit.store.spark import crew_of

    return run.callgraph(
        open_store(store),
        None if out is None else Path(out),
        mode=mode,
        jobs=jobs,
        crew=crew_of(engine),
        progress=progress,
    )


PANEL = Panel.look

_BUSIEST = 10
_ID_SHOWN = 12


def command(
    call: Call,
    store: Path,
    out: Path | None,
    export: Annotated[
        Path | None, typer.Option(help="Write the sizing study's simulation set there instead.")
    ] = None,
    chains: Chains = CHAINS,
    json: JsonOption = False,
) -> None:
    """Rebuild the call graph of every trace, from rpc ids and twice-recorded calls.

    The ledger counts missing and contradictory records, with the action taken.

    Example: tracekit callgraph mystore --out graphs
    """
    if export is not None:
        _export(store, export, chains, as_json=json)
        return
    result = call()
    if json:
        print_json(_document(store, result))
    else:
        _show(store, out, result)


def _document(store: Path, result: CallGraphs) -> dict[str, Any]:
    from tracekit.analysis.callgraph.ledger import summary
    from tracekit.answer.caveats import answer_of_call_graphs

    return {
        "schema": "tracekit/callgraph/1",
        "store": str(store),
        "mode": result.mode,
        "counts": result.counts,
        "ledger": result.ledger.to_dicts(),
        "shapes": summary(result.shapes).to_dicts(),
        "edges": result.edges.height,
        "services": result.services.head(_BUSIEST).to_dicts(),
        "files": list(result.files),
        "facts": [one.document() for one in answer_of_call_graphs(result).facts],
    }


def _show(store: Path, out: Path | None, result: CallGraphs) -> None:
    from tracekit.analysis.callgraph.ledger import summary

    _show_counts(store, result)
    columns = ["defect", "what was done", "count", "of", "traces"]
    if result.ledger.height:
        print_table(
            "What the records lack or contradict",
            columns,
            result.ledger.select("defect", "action", "count", "unit", "traces").rows(),
        )
    print_table(
        "Shapes of the graphs (calls, depth, services of a trace; fan-out of a call)",
        ["measure", "of", "mean", "p50", "p95", "p99", "max"],
        summary(result.shapes).rows(),
    )
    print_table(
        f"The {_BUSIEST} services called most",
        ["service", "calls", "traces", "calls made"],
        [
            [(name or "(unknown)")[:_ID_SHOWN], *rest]
            for name, *rest in result.services.head(_BUSIEST).rows()
        ],
        note=f"{counted(result.edges.height, 'edge')}; as recorded: query calls/service_edges",
    )
    if out is not None:
        print_sentence(f"{', '.join(result.files)} in {out}")


def _show_counts(store: Path, result: CallGraphs) -> None:
    from tracekit.base.units import percent

    counts = result.counts
    traces = max(counts["traces"], 1)
    rows = [
        ["records", counts["records"], ""],
        ["calls in the graphs", counts["calls"], ""],
        ["calls inserted where none was recorded", counts["inserted"], ""],
        ["calls kept that contradict their parent", counts["contradicting"], ""],
        ["traces", counts["traces"], ""],
        *(
            [f"traces {text}", counts[name], percent(counts[name] / traces)]
            for name, text in (
                ("connected", "that are one whole tree"),
                ("with_missing_calls", "with calls that left no record"),
                ("with_reused_rpc_ids", "with several calls under one rpc id"),
                ("with_contradicting_calls", "with calls that contradict their parent"),
                ("unaffected", "with none of these"),
                ("split", "split over source files"),
            )
        ),
    ]
    print_table(f"Call graphs of {store}, mode {result.mode}", ["", "number", "share"], rows)


def _export(store: Path, out: Path, chains: int, *, as_json: bool) -> None:
    import dataclasses

    import tracekit

    with progress("callgraph") as shown:
        done = tracekit.export_chains(store, out, chains=chains, progress=shown)
    if as_json:
        print_json({"schema": "tracekit/callgraph-export/1", **dataclasses.asdict(done)})
        return
    print(f"{counted(done.chains, 'chain')} with {counted(done.containers, 'container')} in {out}")
    print(f"{done.call_rows:,} rows of calls, {done.state_rows:,} of container states")
    if done.chains < chains:
        print(f"fewer than the {chains:,} asked for: no further chain has containers of its own")
