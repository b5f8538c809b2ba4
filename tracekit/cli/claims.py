"""tracekit claims: what papers claim, and what comes out here."""

from __future__ import annotations

from pathlib import Path

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_claims, print_json, print_lines

PANEL = Panel.rare


def command(asked: Asked, store: Path | str | None = None, json: JsonOption = False) -> None:
    """Judge what papers claim, by a store and by experiments.

    A claim holds where the whole 95 % interval agrees with the printed number or direction, and
    does not hold where none of it does. With too few samples nothing is judged. Without a store,
    or without an experiment beside it, verdicts are those that come with tracekit. --json names
    the command that gives each number.

    Example: tracekit claims mystore
    """
    from tracekit.report.tables import claim_rows
    from tracekit.report.terminal import summary

    answer = asked()
    facts = answer.of("claim")
    if json:
        print_json(claim_rows(facts, store="" if store is None else str(store)))
        return
    print_lines([*summary(answer, rank=1), ""])
    print_claims(facts)
