"""tracekit sensitivity: which assumptions the order of policies hangs on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import (
    print_following,
    print_json,
    print_paragraph,
    print_sentence,
    print_table,
)

if TYPE_CHECKING:
    from tracekit.study import Study

PANEL = Panel.replay


def command(asked: Asked, json: JsonOption = False) -> None:
    """Replay policies under changed assumptions, and see whether the answer hangs on one.

    Each policy meets six orders of arrival under each change, beside production where it is
    recorded. A change is judged as a run is: a policy that overloads nodes is barred there.

    Example: tracekit sensitivity mystore --policy cwt --policy first_fit --change node_cpu_cores=52
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
    _show(found)


def _show(study: Study) -> None:
    from tracekit.answer.fewest.asked_already import AskedAlready
    from tracekit.answer.sensitivity import rows
    from tracekit.answer.sensitivity import told as words
    from tracekit.report.studies import folders_of_studies, read_studies

    print_paragraph(words.answer(study))
    print_table(rows.caption(study), rows.HEADS, rows.rows(study), note=rows.NOTE)
    print_sentence(words.sure(study))
    for said in words.problems(study):
        print_sentence(said)
    beside = folders_of_studies(Path(study.about["store"]), [])
    there = AskedAlready(list(read_studies(beside, [], None).values()))
    print_following(words.following(study, there=there))
