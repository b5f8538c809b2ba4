"""What papers claim, and what comes out here."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from tracekit.base.files.places import place
from tracekit.base.progress import SILENT, Progress
from tracekit.verbs._options import Argument, Option

if TYPE_CHECKING:
    from tracekit.base.facts import Answer


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
