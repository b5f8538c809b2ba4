"""tracekit vary: which assumptions the order of policies hangs on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._output import print_json, print_paragraph, print_sentence, print_table
from tracekit.cli._panels import Panel

if TYPE_CHECKING:
    import polars as pl

PANEL = Panel.replay


def command(asked: Asked, json: JsonOption = False) -> None:
    """Replay policies under changed assumptions, and see whether their order holds.

    Example: tracekit vary mystore --policy cwt --policy first_fit --change node_cpu_cores=52
    """
    found = asked()
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
    _show(changes, len(found.about["policies"]), found.about["measure"])


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
