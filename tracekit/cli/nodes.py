"""tracekit nodes: the fewest nodes that are enough, and which."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

from tracekit.cli import _output
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._streams import visible
from tracekit.shell import quoted

if TYPE_CHECKING:
    from tracekit.study import Study

PANEL = Panel.replay
#: So many nodes that can go are named; a command lists them all.
_NAMED = 10


def command(asked: Asked, out: Path | None = None, json: JsonOption = False) -> None:
    """Find the fewest nodes that are enough, and which, within limits on use.

    Each policy is replayed on all nodes, then on fewer and fewer. The count has to hold in six
    orders of arrival. Cordoned nodes go first. Daemons go with their node. Nodes of the control
    plane always stay. Use that no container explains moves to the nodes that stay. Where all
    nodes are too few, the answer is how many more like them are enough.

    Example: tracekit nodes mystore --price m6i.4xlarge=0.768
    """
    found = asked()
    if json:
        from tracekit.answer.fewest.words import drains_told

        nodes = found.frames["nodes"].filter("kept")
        orders = found.frames["orders"]
        _output.print_json(
            {
                "schema": "tracekit/shrink/1",
                **found.about,
                "policies": [
                    {
                        **row,
                        "by_order": orders.filter(policy=row["policy"])["nodes"].to_list(),
                        "goes": drains_told.going(found, row["policy"]),
                        "add": drains_told.added(found, row["policy"]),
                        "kept": nodes.filter(policy=row["policy"])["node"].to_list(),
                        "barred_by": drains_told.held(found, row["policy"]),
                    }
                    for row in found.frames["policies"].to_dicts()
                ],
            }
        )
        return
    _show(found, out)


def _show(study: Study, out: Path | None) -> None:
    from tracekit.answer.fewest.words import drains_told, margin, rows, waits
    from tracekit.answer.fewest.words import told as words
    from tracekit.answer.fewest.words.next import following
    from tracekit.answer.fewest.words.over_orders import means_told
    from tracekit.answer.fewest.words.production import production
    from tracekit.answer.fewest.words.sure import sure
    from tracekit.replay.measures.p99_fraction import is_the_fullest

    found = words.told(study)
    assert found is not None  # noqa: S101 - a study without an answer is an error
    if stands_in := study.about["workload"].get("stands_in"):
        _output.print_paragraph(stands_in)
    _output.print_paragraph(words.answer(found))
    if unjudged := study.about["workload"].get("unjudged"):
        _output.print_sentence(unjudged)
    _output.print_table(
        rows.caption(study), rows.heads(study), rows.rows(study), note=rows.note(study)
    )
    for problem in rows.problems(study):
        _output.print_sentence(problem)
    best = found.best
    told = [*waits.who(study), means_told(study, best["policy"], best["nodes"])]
    told += [drains_told.goes(found)]
    told += [margin.unexplained(study), drains_told.barred(found)]
    told += [
        margin.margin(found),
        words.bound(found),
        production(study),
        sure(found),
        study.about["workload"].get("growth", ""),
        is_the_fullest(best["nodes"], [_limits(study), margin.margin(found)]),
        *study.about["workload"].get("told", ()),
    ]
    for sentence in told:
        if sentence:
            _output.print_sentence(sentence)
    _output.print_paragraph(_limits(study))
    _show_going(study, found.best["policy"], out)
    if out is not None:
        _output.print_paragraph(
            f"Which nodes stay: {out / 'nodes.parquet'}, column kept. The page:"
        )
        _output.print_command(f"tracekit report {quote(str(out))} --out {quote(f'{out}.html')}")
    _output.print_following(following(found))


def _show_going(study: Study, policy: str, out: Path | None) -> None:
    """The nodes to drain by name, one a line so that they can be copied; where the rest is."""
    from tracekit.answer.fewest.words import drains_told

    going = drains_told.going(study, policy)
    if not going:
        return
    _output.print_paragraph("To drain, the first to go first:")
    for name in going[:_NAMED]:
        print(f"  {visible(name)}")
    if len(going) <= _NAMED:
        return
    more = f"and {len(going) - _NAMED:,} more"
    store = study.about["workload"]["store"]
    if out is None or not store:
        _output.print_paragraph(
            f"{more}; all {len(going):,}: the same command with --json, under goes."
        )
        return
    _output.print_paragraph(f"{more}; all {len(going):,}, one a line:")
    asked = drains_told.query_of_going(str(out), policy)
    # the first line of CSV names the column, and is no node
    _output.print_command(
        f"tracekit query {quote(store)} {quoted(asked)} --format csv | tail -n +2"
    )


def _limits(study: Study) -> str:
    """The limits, those given and those that hold anyway."""
    from tracekit.answer.fewest.words import waits

    limits = filter(None, [waits.limit(study), *study.about["limits"]])
    return f"Limits: {'; '.join(limits)}."
