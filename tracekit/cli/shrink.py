"""tracekit shrink: the fewest nodes that are enough, and which."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._output import print_json, print_paragraph, print_sentence, print_table
from tracekit.cli._panels import Panel

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tracekit.study import Study

PANEL = Panel.replay


def command(asked: Asked, json: JsonOption = False) -> None:
    """Find the fewest nodes that are enough, and which, within limits on use.

    Each policy is replayed on all nodes, then on ever fewer: those on which it put least go first,
    or the smallest, whichever ends with fewer. Daemons go with their node, and what no container
    explains of its use.

    Example: tracekit shrink mystore --policy best_fit --limit 'cpu_max_fraction <= 0.8'
    """
    found = asked()
    if json:
        nodes = found.frames["nodes"].filter("kept")
        print_json(
            {
                "schema": "tracekit/shrink/1",
                **found.about,
                "policies": [
                    {**row, "kept": nodes.filter(policy=row["policy"])["node"].to_list()}
                    for row in found.frames["policies"].to_dicts()
                ],
            }
        )
        return
    _show(found)


def _show(found: Study) -> None:
    policies, about = found.frames["policies"], found.about
    rows = policies.filter(policies["problem"].is_null()).to_dicts()
    several = about["repeats"] > 1
    load = f" for {about['scale']:g} times the containers" if about["scale"] != 1 else ""
    print_table(
        f"Fewest of {about['nodes']:,} nodes{load}",
        ["policy", "nodes", *(["over orders"] if several else []), "bound", "with one fewer"],
        [
            [
                row["policy"],
                row["nodes"],
                *([_span(row)] if several else []),
                row["bound"],
                _with_one_fewer(row),
            ]
            for row in rows
        ],
    )
    for row in rows:
        print_sentence(_sentence(row, about))
    for row in policies.filter(policies["problem"].is_not_null()).iter_rows(named=True):
        print_sentence(row["problem"])
    print_paragraph(
        f"Limits: every container is placed at once, {', '.join(about['limits'])}."
        " nodes.parquet of --out says which nodes stay."
    )


def _span(row: Mapping[str, Any]) -> str:
    return f"{row['nodes_low']:,} .. {row['nodes_high']:,}"


def _with_one_fewer(row: Mapping[str, Any]) -> str:
    if row["fails"] is None:
        return "below the bound" if row["fewer"] else "none left"
    return f"{row['fails_measure']} {_number(row['fails_value'])}"


def _sentence(row: Mapping[str, Any], about: Mapping[str, Any]) -> str:
    orders = f" in each of {about['repeats']} orders of arrival" if about["repeats"] > 1 else ""
    told = [f"{name} is {_number(row[name])}" for name in about["measures"]]
    found = f"{row['nodes']:,} of {row['of']:,} nodes are enough under {row['policy']}{orders}"
    found += f": {', '.join(told)}" if told else ""
    if row["fails"] is not None:
        found += (
            f"; with {row['fewer']:,} '{row['fails']}' fails"
            f" ({row['fails_measure']} is {_number(row['fails_value'])})"
        )
    bound = row["bound"]
    if bound is None:
        return f"{found}; no lower bound is proven."
    if bound == row["nodes"]:
        return f"{found}; fewer cannot be enough, it is the bound."
    return f"{found}; fewer than {bound:,} cannot be enough (bound)."


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.4g}"
