"""Which assumptions the order of policies hangs on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from tracekit.base.files.places import place
from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import (
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
    priced,
)

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
    from tracekit.verbs._study import made

    return made(
        lambda crew: vary_assumptions(
            place(store),
            policies=policies,
            assume=priced(assume, prices, price_table, currency),
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
