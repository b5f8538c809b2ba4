"""tracekit run: everything, from trace files to a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.constants import MEMORY_LIMIT_BYTES
from tracekit.base.progress import SILENT, Progress
from tracekit.cluster.declared import START, Start
from tracekit.commands._options import (
    Argument,
    Assumed,
    Currency,
    MemoryLimit,
    Option,
    Policies,
    Prices,
    PriceTable,
    Repeats,
    RepeatsUpTo,
    Seed,
    with_prices,
    with_start,
)
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.commands._run_all import RunSummary


def run(
    source: Annotated[
        str | Path,
        Argument(
            "A folder of trace files, a store, or synth:small.",
            metavar="SRC",
            takes=str,
            completes="traces",
        ),
    ],
    out: Annotated[str | Path, Option("Where everything goes.", metavar="DIR")],
    *,
    policies: Policies = ("common",),
    repeats: Annotated[
        Repeats,
        Option(
            "Orders of arrival of the policies; without it six, as an interval needs, as long as a"
            " policy may be recommended. 1: no interval."
        ),
    ] = None,
    repeats_up_to: RepeatsUpTo = None,
    assume: Assumed = (),
    start: Start = START,
    prices: Prices = (),
    price_table: PriceTable = None,
    currency: Currency = None,
    seed: Seed = 0,
    jobs: Annotated[int | None, Option("Processes side by side; one per core.", minimum=1)] = None,
    memory_limit_bytes: MemoryLimit = MEMORY_LIMIT_BYTES,
    progress: Progress = SILENT,
) -> RunSummary:
    """Take a trace from its files to a report; run again to go on after an interruption.

    Parameters
    ----------
    source : a folder of trace files, one file, a store, or ``synth:<preset>`` for a made-up trace
    out : the folder for ``store/`` (unless a store was given), ``analysis/``, ``calls/``, ``fit/``,
        ``replay/``, ``report.html``, ``bound/`` where the vCPUs of containers are known, and
        ``studies/`` with the counts of nodes
    repeats_up_to : the number of orders after addition, where ``repeats`` orders leave open which
        policy is best; each of the two looks has half of the permitted error
    jobs : processes side by side; one per core if not given. With more than one, analysis, call
        graphs, fit and replays run together. The results do not depend on it

    Raises
    ------
    TracekitError
        As its stages do: see ``intake.ingest.write.ingest`` and ``commands.replay``.
    """
    from tracekit.cluster.source import check_assumed
    from tracekit.commands._run_all import run_all
    from tracekit.policy.entrant import Entrants

    entrants = Entrants.of(policies)
    check_assumed(assume)
    _check_source(str(source))
    return run_all(
        source,
        out,
        policies=entrants,
        repeats=repeats,
        repeats_up_to=repeats_up_to,
        assume=with_prices(with_start(assume, start), prices, price_table, currency),
        seed=seed,
        jobs=jobs,
        memory_limit_bytes=memory_limit_bytes,
        progress=progress,
    )


def _check_source(source: str) -> None:
    """Refuse a missing source before any stage begins."""
    from tracekit.base.files.places import place
    from tracekit.commands._run_all import SYNTH
    from tracekit.intake.read.discover import check_exists
    from tracekit.synth.presets import get_preset

    if source.startswith(SYNTH):
        get_preset(source.removeprefix(SYNTH))
    else:
        check_exists(place(source))


PANEL = Panel.whole


def command(call: Call, json: JsonOption = False) -> None:
    """Do everything: ingest, check, analyse, replay, report.

    SRC synth:small is a made-up trace, so no data is needed.
    DIR gets store, analysis, replay and report.html.
    Without --policy the ten common policies are replayed, beside production and the bound.
    Each policy meets up to six orders of arrival, as long as it may be recommended. Then the
    fewest nodes are counted.

    Example: tracekit run synth:small --out demo
    """
    from tracekit.report.sentences import document
    from tracekit.report.terminal import answer_lines

    summary = call()
    if json:
        parts = {name: value for name, value in vars(summary).items() if name != "answer"}
        print_json({**document(summary.answer), **parts, "schema": "tracekit/run/1"})
        return
    print("\n".join(answer_lines(summary.answer)))
    print(f"\nreport: {summary.report}")
    print(f"store:  {summary.store}  (tracekit info {summary.store})")
