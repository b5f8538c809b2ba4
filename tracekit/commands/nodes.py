"""tracekit nodes: the fewest nodes that are enough, and which."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from tracekit.base.constants import WAITING_SHARE
from tracekit.base.progress import SILENT, Progress
from tracekit.cluster.declared import START, Ceiling, Start
from tracekit.commands._options import (
    Assumed,
    Currency,
    Gangs,
    Option,
    OtherWorkload,
    Policies,
    Prices,
    PriceTable,
    Repeats,
    ReplayedStore,
    Seed,
    SideBySide,
    StudyFolder,
    with_prices,
    with_start,
)
from tracekit.commands.shell import output
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.signature import Call, JsonOption
from tracekit.commands.shell.streams import visible

if TYPE_CHECKING:
    from tracekit.answer.counts import Count
    from tracekit.base.facts import Fact
    from tracekit.base.study import Study


def nodes(
    store: ReplayedStore = None,
    policies: Annotated[Policies, Option("A policy, or POLICY+REBALANCER; repeatable.")] = (),
    *,
    limits: Annotated[
        Sequence[str],
        Option(
            "A limit that must hold in each order of arrival, such as 'cpu_max_fraction <= 0.8';"
            " repeatable. It may name 'observed' (production) and 'base' (the policy on all nodes)."
            " Without one on CPU or on memory the ceiling holds:"
            f" {100 * Ceiling.cpu_fraction:g} % CPU at the 99th percentile over time,"
            f" {100 * Ceiling.memory_fraction:g} % memory. Every container must be placed at once;"
            " where production placed all, as many may wait as with all nodes, but no more than"
            f" {100 * WAITING_SHARE:g} % of the containers and of what they request of each"
            " resource.",
            names="--limit",
            completes="measures",
            metavar="[POLICY:] EXPRESSION",
        ),
    ] = (),
    least: Annotated[
        Literal["nodes", "cost"] | None,
        Option(
            "What is to be least: the number of nodes, or what they cost per hour. Without it the"
            " cost where the price of every node is known, else the number.",
            metavar="nodes|cost",
        ),
    ] = None,
    may_remove: Annotated[
        Sequence[str],
        Option(
            "Special nodes of this class may go: the only ones with a resource (gpu), with a taint"
            " or label of their own (tainted), with pods that may not be evicted (pinned);"
            " repeatable.",
            metavar="gpu|tainted|pinned",
        ),
    ] = (),
    survive: Annotated[
        Literal["zone"] | None,
        Option(
            "The nodes must be enough, too, when any one zone is lost: what ran there is placed"
            " anew on the nodes that stay, and all limits hold then.",
            metavar="zone",
        ),
    ] = None,
    scale: Annotated[float, Option("So many times as many containers.")] = 1.0,
    repeats: Annotated[
        Repeats,
        Option("Orders of arrival, in each of which it must hold; without it six, as replay has."),
    ] = None,
    workload: Annotated[OtherWorkload, Option("Another workload than a store.")] = None,
    assume: Assumed = (),
    gangs: Gangs = False,
    start: Start = START,
    prices: Prices = (),
    price_table: PriceTable = None,
    currency: Currency = None,
    out: StudyFolder = None,
    jobs: SideBySide = 1,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Study:
    """The fewest nodes for each policy; see ``tracekit.answer.fewest.study``.

    ``jobs`` processes search side by side, one policy each; each reads the workload.
    """
    from tracekit.answer.fewest.study import shrink_cluster
    from tracekit.cluster.source import source_of
    from tracekit.commands._study import made
    from tracekit.policy.entrant import Entrants
    from tracekit.replay.runs.thresholds import LIMIT, parse_threshold
    from tracekit.store.folder import open_store

    entrants = Entrants.of(policies)
    held = [parse_threshold(one, LIMIT) for one in limits]
    source = source_of(
        None if store is None else open_store(store),
        workload,
        assume=with_prices(with_start(assume, start), prices, price_table, currency),
        seed=seed,
        gangs=gangs,
        calls=entrants.reads_calls,
        progress=progress,
    )
    return made(
        lambda crew: shrink_cluster(
            source,
            policies=entrants.chosen,
            limits=held,
            may_remove=may_remove,
            scale=scale,
            least=least or "",
            repeats=repeats,
            survive=survive is not None,
            seed=seed,
            crew=crew,
            progress=progress,
        ),
        out,
        jobs=jobs,
    )


PANEL = Panel.replay
#: The number of nodes that are named; the frame ``nodes`` of the study has all.
_NAMED = 10


def command(call: Call, out: Path | None = None, json: JsonOption = False) -> None:
    """Find the fewest nodes that are enough, and which, within limits on use.

    Each policy is replayed on all nodes, then on fewer and fewer. The limits have to hold in six
    orders of arrival. Cordoned nodes go first. Daemons go with their node. Nodes of the control
    plane and special nodes stay. Use that no container explains moves to the nodes that stay. Where
    all nodes are too few, copies of nodes are added until they are enough.

    Example: tracekit nodes mystore --price m6i.4xlarge=0.768
    """
    from tracekit.answer.nodes import answer_of_nodes
    from tracekit.report.sentences import document
    from tracekit.report.terminal import answer_lines

    study = call()
    store = str(study.about["workload"].get("store") or "STORE")
    answer = answer_of_nodes(study, store, str(out or ""))
    if json:
        rows = [_row(study, row) for row in study.frames["policies"].to_dicts()]
        parts = {**document(answer), **study.about, "policies": rows}
        output.print_json({**parts, "schema": "tracekit/shrink/1"})
        return
    print("\n".join(answer_lines(answer)))
    _show_counts(study)
    _show_zones(study, answer.facts[0])
    _show_going(study, answer.facts[0].subject, out)


def _row(study: Study, row: dict[str, Any]) -> dict[str, Any]:
    """The JSON entry of a policy: its counts, and the nodes that stay and go."""
    nodes = study.frames["nodes"].filter(policy=row["policy"])
    orders = study.frames["orders"].filter(policy=row["policy"])["nodes"].to_list()
    added = nodes.filter("kept").drop_nulls("like_node")["like_node"].to_list()
    staying = nodes.filter("kept")["node"].to_list()
    return {
        **row,
        "by_order": orders,
        "goes": _going(study, row["policy"]),
        "add": added,
        "kept": staying,
    }


def _going(study: Study, policy: str) -> list[str]:
    """The nodes that can go, the first to go first."""
    nodes = study.frames["nodes"].filter(policy=policy)
    return nodes.filter(~nodes["kept"]).sort("place", descending=True)["node"].to_list()


def _show_counts(study: Study) -> None:
    """Print a row for each policy."""
    from tracekit.answer.counts import counts_of
    from tracekit.answer.nodes import case_of
    from tracekit.report.sentences import amount

    def cells(one: Count) -> list[object]:
        spread = f"{min(one.by_order)} to {max(one.by_order)}" if one.by_order else None
        fullest = [amount(full.value, "fraction") for full in one.fullest] or ["", ""]
        return [one.policy, one.nodes, one.bound, spread, *fullest]

    rows = [cells(one) for one in counts_of(study, case_of(study))]
    heads = ["policy", "nodes", "bound", "one order", "CPU", "memory"]
    output.print_table(f"Of {study.about['nodes']:,} nodes", heads, rows)


def _show_zones(study: Study, verdict: Fact) -> None:
    """Print the loss of each zone, today and on the nodes that stay."""
    from tracekit.answer.fewest.trials import zones_on
    from tracekit.report.sentences import amount

    usual = verdict.about_it("case") == "no_more_often"
    today, on_staying = zones_on(study.frames, verdict.subject, as_production=usual)
    heads = ["lost zone", "its nodes", "containers waiting", "CPU", "memory"]
    for title, zones in (("Today", today), ("On the nodes that stay", on_staying)):
        rows = [
            [visible(zone), nodes, waiting, amount(cpu, "fraction"), amount(memory, "fraction")]
            for _, _, zone, nodes, waiting, cpu, memory, *_ in zones.iter_rows()
        ]
        if rows:
            output.print_table(f"{title}, when a zone is lost", heads, rows)


def _show_going(study: Study, policy: str, out: Path | None) -> None:
    """Print the names of the nodes to drain, one a line, so that they can be copied."""
    going = _going(study, policy) if policy else []
    if not going:
        return
    print("To drain, the first to go first:")
    for name in going[:_NAMED]:
        print(f"  {visible(name)}")
    if len(going) > _NAMED:
        more = out / "nodes.parquet" if out is not None else "--json, under goes"
        print(f"  ... {len(going):,} in all: {more}")
