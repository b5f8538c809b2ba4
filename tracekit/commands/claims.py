"""tracekit claims: what papers claim, and what comes out here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.files.places import place
from tracekit.base.progress import SILENT, Progress
from tracekit.commands._options import Argument, Option
from tracekit.commands.shell.asked import Asked, JsonOption
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_claims, print_json, print_lines

if TYPE_CHECKING:
    from tracekit.base.facts import Answer, Fact


def claims(
    store: Annotated[
        Path | str | None,
        Argument("The store to judge.", metavar="STORE", read=place, completes="stores"),
    ] = None,
    *,
    studies: Annotated[
        Sequence[str | Path],
        Option("The folder of an experiment; repeatable.", names="--study", metavar="FOLDER"),
    ] = (),
    progress: Progress = SILENT,
) -> Answer:
    """Judge the claims of papers: see ``tracekit.answer.claims``.

    Claims on a trace are judged by the store. Experiments are those that lie beside it or are
    given; for others the verdicts stand that come with tracekit.

    Returns
    -------
    Answer
        How many claims hold, and a fact of kind ``claim`` for each of the table.

    Raises
    ------
    TracekitError
        For a folder that is no store or no study.
    """
    from tracekit.answer.claims.every import answer_of_claims, claim_facts
    from tracekit.report.data import Data, opened

    progress.stage("reading what claims are judged by")
    shown = [Path(one) for one in studies]
    if store is None and not shown:
        return answer_of_claims(claim_facts(Data().frame))
    with opened(Path(store) if store else shown[0], shown) as data:
        return answer_of_claims(claim_facts(data.frame))


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
        rows = claim_rows(facts, store="" if store is None else str(store))
        print_json([{**row, **_why(one)} for row, one in zip(rows, facts, strict=True)])
        return
    print_lines([*summary(answer, rank=1), ""])
    print_claims(facts)


def _why(fact: Fact) -> dict[str, object]:
    """What a verdict rests on: its cause, the samples it needs, and what agrees."""
    from tracekit.answer.claims.table import all_claims

    claim = all_claims()[fact.subject]
    return {
        "because": fact.because or None,
        "of": claim.of,
        "fewest": claim.fewest,
        "unit": claim.unit,
        "tolerance": claim.tolerance,
        "if_met": claim.if_met or None,
    }
