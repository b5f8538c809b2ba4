"""tracekit vary: which assumptions the order of policies hangs on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tracekit.cli._options import JsonOption, SeedOption, StoreArgument
from tracekit.cli._output import print_json, print_paragraph, print_sentence, print_table, progress

if TYPE_CHECKING:
    import polars as pl


def command(
    store: StoreArgument,
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy; repeatable. Without it, six.")
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An assumption to change; repeatable."),
    ] = None,
    measure: Annotated[str, typer.Option(help="What policies are ranked by.")] = "imbalance_mean",
    out: Annotated[
        Path | None, typer.Option(help="Write a study folder there, for the report.")
    ] = None,
    jobs: Annotated[int, typer.Option(help="Processes side by side.", min=1)] = 1,
    seed: SeedOption = 0,
    json: JsonOption = False,
) -> None:
    """Replay policies under changed assumptions, and see whether their order holds.

    Example: tracekit vary mystore --policy cwt --policy first_fit --change node_cpu_cores=52
    """
    import tracekit

    with progress() as shown:
        found = tracekit.vary(
            store,
            policies=policy or (),
            changes=change or (),
            measure=measure,
            seed=seed,
            jobs=jobs,
            out=out,
            progress=shown,
        )
    changes = found.frames["changes"]
    if json:
        print_json(
            {
                "schema": "tracekit/vary/1",
                **found.about,
                "changes": changes.to_dicts(),
                "ranks": found.frames["ranks"].to_dicts(),
            }
        )
        return
    _show(changes, len(found.about["policies"]), measure)


def _show(changes: pl.DataFrame, policies: int, measure: str) -> None:
    rows = changes.filter(changes["problem"].is_null())
    print_table(
        f"Order of {policies} policies by {measure}",
        ["changed", "agreement", "first", "most moved", "places"],
        [
            [row["change"], f"{row['agreement']:+.2f}", row["first"], row["most_moved"],
             f"{row['places']:g}"]
            for row in rows.iter_rows(named=True)
        ],
    )  # fmt: skip
    print_paragraph(
        "agreement: Kendall's tau with the order under the defaults, +1 the same, -1 the opposite."
    )
    for row in changes.filter(changes["problem"].is_not_null()).iter_rows(named=True):
        print_sentence(f"{row['change']}: {row['problem']}")
