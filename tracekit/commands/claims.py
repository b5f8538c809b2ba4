"""tracekit claims: what papers claim, and what comes out here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.files.places import place
from tracekit.base.progress import SILENT, Progress
from tracekit.commands._options import Argument, Option
from tracekit.commands.shell.command import Panel
from tracekit.commands.shell.output import print_claims, print_json, print_lines
from tracekit.commands.shell.signature import Call, JsonOption

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

    Claims on a trace are judged by the store, claims on experiments by the studies that are given
    or lie beside the store. Other claims are judged by the readings that come with tracekit.

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
    from tracekit.base.facts import Fact, answer_of
    from tracekit.report.data import Data, opened
    from tracekit.store.folder import open_store

    progress.stage("reading what claims are judged by")
    shown = [Path(one) for one in studies]
    if store is None and not shown:
        return answer_of_claims(claim_facts(Data().frame))
    with opened(Path(store) if store else shown[0], shown) as data:
        answer = answer_of_claims(claim_facts(data.frame))
    if store is None or not open_store(str(store)).manifest.made_up:
        return answer
    return answer_of([Fact(kind="made_up", subject="trace"), *answer.facts], answer.next)


PANEL = Panel.rare


def command(call: Call, store: Path | str | None = None, json: JsonOption = False) -> None:
    """Judge what papers claim, by a store and by experiments.

    A claim holds where the whole 95 % interval agrees with the printed number or direction. A claim
    does not hold where no part of the interval agrees. Too few samples judge nothing. An experiment
    that is not beside the store has the numbers that come with tracekit. --json names the command
    of each number.

    Example: tracekit claims mystore
    """
    from tracekit.report.terminal import summary

    answer, given = call(), "" if store is None else str(store)
    facts = answer.of("claim")
    if json:
        print_json([_document(one, given) for one in facts])
        return
    print_lines([*summary(answer, rank=1), ""])
    print_claims(facts, store=given)


def _document(fact: Fact, store: str) -> dict[str, object]:
    """The JSON entry of a claim: its value, verdict and grounds."""
    from tracekit.answer.claims.table import all_claims
    from tracekit.report import sentences
    from tracekit.report.tables import VERDICTS

    claim = all_claims()[fact.subject]
    return {
        "claim": claim.text,
        "source": claim.source,
        "measured": claim.number,
        "printed": fact.against,
        "here": fact.value,
        "low": fact.low,
        "high": fact.high,
        "verdict": VERDICTS[fact.verdict],
        "because": fact.because or None,
        "samples": fact.about_it("samples"),
        "of": claim.of,
        "fewest": claim.fewest,
        "unit": claim.unit,
        "tolerance": claim.tolerance,
        "above": claim.above,
        "below": claim.below,
        "if_met": claim.if_met or None,
        "worse": fact.about_it("worse_fraction"),
        "version": fact.about_it("version"),
        "commit": fact.about_it("commit"),
        "command": sentences.command(claim.of_store("" if "commit" in fact.about else store)),
    }
