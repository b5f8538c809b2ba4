"""The experiments of the Liang extender: load by pod, and how long a decision takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tracekit.base.progress import SILENT, Progress
from tracekit.replay.studies.extender.declared import Decisions, ExtenderStudy, Orders
from tracekit.verbs._options import Seed, StudyFolder

if TYPE_CHECKING:
    from tracekit.base.study import Study


def extender_bench(
    out: StudyFolder = None,
    *,
    orders: Orders = ExtenderStudy.orders,
    decisions: Decisions = ExtenderStudy.decisions,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Study:
    """The experiments of the extender; see ``tracekit.replay.studies.extender.study``."""
    from tracekit.replay.studies.extender.study import study_extender
    from tracekit.verbs._study import made

    study = ExtenderStudy(orders=orders, decisions=decisions, seed=seed)
    return made(lambda _: study_extender(study, progress=progress), out)
