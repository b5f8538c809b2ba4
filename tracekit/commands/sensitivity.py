"""tracekit sensitivity: the assumptions on which the recommended policy depends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from tracekit.base.progress import SILENT, Progress
from tracekit.commands._options import (
    Assumed,
    Currency,
    Option,
    Policies,
    Prices,
    PriceTable,
    Repeats,
    ReportedStudy,
    Seed,
    SideBySide,
    Store,
    with_prices,
)
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_json, print_table
from tracekit.commands.shell.signature import Call, JsonOption

if TYPE_CHECKING:
    from tracekit.base.study import Study


def sensitivity(
    store: Store,
    *,
    policies: Annotated[
        Policies, Option("A policy; repeatable. Without it, six.", metavar="POLICY")
    ] = (),
    assume: Assumed = (),
    prices: Prices = (),
    price_table: PriceTable = None,
    currency: Currency = None,
    changes: Annotated[
        Sequence[str],
        Option("An assumption to change; repeatable.", names="--change", metavar="NAME=VALUE"),
    ] = (),
    measure: Annotated[
        str | None,
        Option(
            "What policies are ranked by. Without it, what decides the answer, or else the first"
            " measure that separates them.",
            completes="measures",
        ),
    ] = None,
    repeats: Annotated[
        Repeats,
        Option(
            "Orders of arrival under each change; without it six, as replay has. 1: nothing can be"
            " told."
        ),
    ] = None,
    out: ReportedStudy = None,
    jobs: SideBySide = 1,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Study:
    """Policies under changed assumptions; see ``tracekit.answer.sensitivity.study``."""
    from tracekit.answer.sensitivity.study import vary_assumptions
    from tracekit.cluster.source import check_assumed
    from tracekit.commands._study import made
    from tracekit.policy.entrant import Entrants
    from tracekit.store.folder import open_store

    chosen = Entrants.of(policies).chosen  # before the store is opened
    check_assumed([*assume, *changes])
    return made(
        lambda crew: vary_assumptions(
            open_store(store),
            policies=chosen,
            assume=with_prices(assume, prices, price_table, currency),
            changes=changes,
            measure=measure,
            repeats=repeats,
            seed=seed,
            crew=crew,
            progress=progress,
        ),
        out,
        jobs=jobs,
    )


PANEL = Panel.replay


def command(call: Call, json: JsonOption = False) -> None:
    """Replay policies under changed assumptions, and see whether the answer depends on one.

    Each policy meets six orders of arrival under each change, beside production where it is
    recorded. A change is judged as a run is: policies that overload nodes are barred.

    Example: tracekit sensitivity mystore --policy cwt --policy first_fit --change node_cpu_cores=52
    """
    from tracekit.answer.sensitivity.study import answer_of_sensitivity
    from tracekit.report.sentences import document
    from tracekit.report.terminal import answer_lines

    result = call()
    changes, answer = result.frames["changes"], answer_of_sensitivity(result)
    if json:
        parts = {**document(answer), **result.about, "changes": changes.to_dicts()}
        ranks = result.frames["ranks"].to_dicts()
        print_json({**parts, "ranks": ranks, "schema": "tracekit/vary/1"})
        return
    print("\n".join(answer_lines(answer)))
    columns = ["change", "stands", "policy", "agreement", "first"]
    print_table(
        f"{len(result.about['policies'])} policies, ranked by {result.about['measure']}",
        ["change", "answer", "policy", "agreement", "first by rank"],
        changes.select(columns).rows(),
        note="agreement: Kendall's tau of the ranks with those as assumed, +1 to -1",
    )
    for change, problem in changes.drop_nulls("problem").select("change", "problem").rows():
        print(f"{change}: {problem}")
