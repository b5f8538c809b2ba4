"""tracekit requests: which requests to change, or limits set cycle by cycle on call chains."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_lines

if TYPE_CHECKING:
    from tracekit.base.facts import Answer
    from tracekit.base.study import Study as Requests
    from tracekit.sizing.study import Study as Chains

PANEL = Panel.replay
#: So many rows of a table are printed; --json and the folder have all.
SHOWN = 20
#: Columns of the printed table: of one container, but for the last, which is of all of a service.
_AMOUNTS = ("count", "request now", "recommended", "change of all")
#: Measures of the printed table; summary.parquet has every measure.
MEASURES = {
    "QoS": "qos",
    "cpu": "container_cpu_fraction",
    "mem": "container_memory_fraction",
    "node G": "node_g",
    "node D": "node_d",
    "changed": "change_share",
}


def command(
    asked: Asked, store: Path | str, out: Path | None = None, as_json: JsonOption = False
) -> None:
    """Recommend what containers should request, from what they used.

    Each policy recommends one request for each service. It learns from the first half of the
    recorded time. The rest judges it: how often a service uses more than its request.

    With --by calls, call chains are simulated instead. The double-DQN agent and policies of
    practice set limits in each cycle. The agent has a trained network; --epochs 1000 trains one on
    this trace, which needs the extra rl. An interrupted training goes on from its last checkpoint.

    Example: tracekit requests mystore
    """
    from tracekit.base.study import Study as Requests

    study = asked()
    if isinstance(study, Requests):
        _requests(study, store, out, as_json=as_json)
    else:
        _chains(study, as_json=as_json)


def _requests(study: Requests, store: Path | str, out: Path | None, *, as_json: bool) -> None:
    """Prints a study of requests."""
    from tracekit.answer.requests import answer_of_requests
    from tracekit.report.sentences import document

    answer = answer_of_requests(study, store=str(store), out=str(out or ""))
    if as_json:
        frames = {name: frame.to_dicts() for name, frame in study.frames.items()}
        record = {"record": study.about["facts"]}
        schema = {"schema": "tracekit/size-by-use/1"}
        print_json({**study.about, **record, **document(answer), **schema, **frames})
    else:
        print_lines(_page(study, answer))


def _page(study: Requests, answer: Answer) -> Iterator[str]:
    """The facts, the requests that change, those that move most first, and what to do next."""
    from tracekit.base.words import short_hash
    from tracekit.report.terminal import Column, following, summary, table
    from tracekit.sizing.requests.rows import UNITS, amount, by_change

    yield from summary(answer)
    rows = [
        [
            short_hash(one["service"]),
            UNITS[one["resource"]][1],
            f"{one['containers']:,.3g}",
            amount(one["request_now"], one["resource"]),
            amount(one["recommended"], one["resource"]),
            f"{'-' if one['freed'] > 0 else '+'}{amount(abs(one['freed']), one['resource'])}",
            one["at_risk"],
        ]
        for one in by_change(study).head(SHOWN).to_dicts()
    ]
    if rows:
        yield ""
        right = [Column(name=name, right=True) for name in _AMOUNTS]
        yield from table(rows, ["service", "unit", *right, "at risk"])
    yield ""
    yield from following(answer.next)


def _chains(study: Chains, *, as_json: bool) -> None:
    """Prints a comparison on call chains."""
    from tracekit.answer.chains import answer_of_chains
    from tracekit.report.sentences import document
    from tracekit.report.terminal import Column, summary, table
    from tracekit.sizing.run_folder import manifest_of

    answer, rows = answer_of_chains(study), study.summary.to_dicts()
    if as_json:
        print_json({**document(answer), **manifest_of(study), "summary": rows})
        return
    means = {(row["policy"], row["measure"]): row["mean"] for row in rows}
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    cells = [[name, *(means[name, one] for one in MEASURES.values())] for name in policies]
    columns = [Column(name=name, right=True, unit="fraction") for name in MEASURES]
    print_lines([*summary(answer), "", *table(cells, [Column(name="policy"), *columns])])
