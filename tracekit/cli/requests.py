"""tracekit requests: which requests to change, or limits set cycle by cycle on call chains."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit.cli import _output
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.units import percent

if TYPE_CHECKING:
    from tracekit.answer.facts import Answer
    from tracekit.sizing.study import Study as Chains
    from tracekit.study import Study as Requests

PANEL = Panel.replay
#: So many rows of a table are printed; --json and the folder have all.
SHOWN = 20


def command(
    asked: Asked, store: Path | str, out: Path | None = None, as_json: JsonOption = False
) -> None:
    """Recommend what containers should request, from what they used.

    Each policy recommends one request for each service. It learns from the first half of the
    recorded time. The rest judges it: how often a service uses more than its request.

    With --by calls, call chains are simulated instead. The double-DQN agent and policies of
    practice set limits in each cycle. The training needs the extra rl. An interrupted training
    goes on from its last checkpoint, one every 50 epochs.

    Example: tracekit requests mystore
    """
    from tracekit.study import Study as Requests

    study = asked()
    if isinstance(study, Requests):
        _requests(study, store, out, as_json=as_json)
    else:
        _chains(study, out, as_json=as_json)


def _chains(study: Chains, out: Path | None, *, as_json: bool) -> None:
    """Prints a comparison on call chains."""
    from tracekit.answer.chains import answer_of_chains
    from tracekit.report.sentences import document
    from tracekit.sizing.run_folder import manifest_of

    answer = answer_of_chains(study)
    if as_json:
        manifest, summary = manifest_of(study), {"summary": study.summary.to_dicts()}
        _output.print_json({**document(answer), **manifest, **summary})
        return
    _print_facts(answer)
    facts = study.facts
    _output.print_table(
        f"{facts['test_containers']:,} test containers on {facts['test_nodes']:,} nodes",
        list(COLUMNS),
        _rows(study.summary.to_dicts()),
        note=_note(len(study.seeds), out),
    )


def _print_facts(answer: Answer) -> None:
    """Prints the facts that a screen has room for."""
    from tracekit.report.sentences import short

    for fact in answer.facts:
        if fact.weight < 3:
            _output.print_sentence(short(fact))


#: Columns of the printed table; summary.parquet has every measure.
COLUMNS = {
    "policy": "",
    "QoS": "qos",
    "cpu": "container_cpu_fraction",
    "mem": "container_memory_fraction",
    "node G": "node_g",
    "node D": "node_d",
    "changed": "change_share",
}


def _note(seeds: int, out: Path | None) -> str:
    if seeds == 1:
        return f"one seed, so no interval (--seeds 3 draws more); more measures: {out}"
    return f"means over {seeds} seeds; intervals and more measures: {out}"


def _rows(summary: list[dict[str, Any]]) -> list[list[object]]:
    means = {(row["policy"], row["measure"]): row["mean"] for row in summary}
    policies = list(dict.fromkeys(row["policy"] for row in summary))
    measures = list(COLUMNS.values())[1:]
    return [[name, *(percent(means[name, one]) for one in measures)] for name in policies]


def _requests(study: Requests, store: Path | str, out: Path | None, *, as_json: bool) -> None:
    """Prints a study of requests."""
    from tracekit.answer.requests import answer_of_requests
    from tracekit.report.sentences import command, document, question

    answer = answer_of_requests(study, store=str(store), out=str(out or ""))
    if as_json:
        frames = {name: frame.to_dicts() for name, frame in study.frames.items()}
        record = {"record": study.about["facts"]}
        schema = {"schema": "tracekit/size-by-use/1"}
        _output.print_json({**study.about, **record, **document(answer), **schema, **frames})
        return
    _print_facts(answer)
    _changed(study)
    for one in answer.next:
        _output.print_paragraph(question(one))
        _output.print_command(command(one))


def _changed(study: Requests) -> None:
    """The requests that change, those that move most first."""
    from tracekit.sizing.requests.rows import UNITS, amount, by_change
    from tracekit.words import short_hash

    rows = by_change(study)
    if not rows.height:
        return
    _output.print_table(
        "",
        ["service", "of", "count", "now", "then", "in all", "at risk"],
        [
            [
                short_hash(one["service"]),
                UNITS[one["resource"]][1],
                f"{one['containers']:,.3g}",
                amount(one["request_now"], one["resource"]),
                amount(one["recommended"], one["resource"]),
                f"{'-' if one['freed'] > 0 else '+'}{amount(abs(one['freed']), one['resource'])}",
                "yes" if one["at_risk"] else "",
            ]
            for one in rows.head(SHOWN).to_dicts()
        ],
        note="count: containers at the mean; now, then: one of them; in all: more or less of all",
    )
