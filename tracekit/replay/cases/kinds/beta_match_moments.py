"""Cases of kind ``beta_match_moments``: the Beta distribution with two given raw moments."""

from __future__ import annotations

import numpy as np

from tracekit.replay.cases.kinds import _shapes
from tracekit.replay.cases.question import Answer, CaseKind, Question
from tracekit.replay.placement._beta import fit


def answer(question: Question) -> Answer:
    """``{"ok": bool}``, with ``alpha`` and ``beta`` where there is one."""
    alpha, beta = fit(float(question.inputs["m1"]), float(question.inputs["m2"]))
    if np.isnan(alpha):
        return Answer(values={"ok": False})
    return Answer(values={"ok": True, "alpha": float(alpha), "beta": float(beta)})


KIND = CaseKind(
    title="a Beta distribution from its moments",
    answer=answer,
    inputs=dict.fromkeys(("m1", "m2"), _shapes.NUMBER),
)
