"""tracekit sensitivity: which assumptions the recommended policy hangs on."""

from __future__ import annotations

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_table

PANEL = Panel.replay


def command(asked: Asked, json: JsonOption = False) -> None:
    """Replay policies under changed assumptions, and see whether the answer hangs on one.

    Each policy meets six orders of arrival under each change, beside production where it is
    recorded. A change is judged as a run is: a policy that overloads nodes is barred there.

    Example: tracekit sensitivity mystore --policy cwt --policy first_fit --change node_cpu_cores=52
    """
    from tracekit.answer.sensitivity.study import answer_of_sensitivity
    from tracekit.report.sentences import document
    from tracekit.report.terminal import answer_lines

    found = asked()
    changes, answer = found.frames["changes"], answer_of_sensitivity(found)
    if json:
        parts = {**document(answer), **found.about, "changes": changes.to_dicts()}
        ranks = found.frames["ranks"].to_dicts()
        print_json({**parts, "ranks": ranks, "schema": "tracekit/vary/1"})
        return
    print("\n".join(answer_lines(answer)))
    columns = ["change", "stands", "policy", "agreement", "first"]
    print_table(
        f"{len(found.about['policies'])} policies, ranked by {found.about['measure']}",
        ["change", "answer", "policy", "agreement", "first by rank"],
        changes.select(columns).rows(),
        note="agreement: Kendall's tau of the ranks with those as assumed, +1 to -1",
    )
    for change, problem in changes.drop_nulls("problem").select("change", "problem").rows():
        print(f"{change}: {problem}")
