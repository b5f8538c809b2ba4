"""The answer under each change, as a run gives it, and whether that of the defaults still stands.

What decides is ``runs.decision`` alone: who is barred, whether production is kept, who is chosen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tracekit.replay.measures import find_measure, small
from tracekit.replay.runs.decision import decision
from tracekit.replay.runs.may_answer import CONDITIONS
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED

#: How the answer under the defaults stands under a change.
SAME, BARRED, KEPT, OTHER, UNTOLD = (
    "same", "barred", "production kept", "another policy", "not told",
)  # fmt: skip
#: The answer turns over.
TURNED = (BARRED, KEPT, OTHER)


@dataclass(frozen=True, kw_only=True)
class Answered:
    """What a run would answer with.

    Parameters
    ----------
    names : tuple of str
        Policies any of which may be chosen, the first choice first; ``OBSERVED`` where production
        is kept; empty where nothing can be told.
    subject : str
        The policy that further questions are about; empty where there is none.
    criterion : str
        The measure that decided; empty where none did.
    said : str
        The answer in one sentence.
    barred : mapping of str to str
        Who may not be chosen, and why, a clause.
    """

    names: tuple[str, ...]
    subject: str
    criterion: str
    said: str
    barred: Mapping[str, str]

    @property
    def first(self) -> str:
        """The answer itself; empty where nothing can be told."""
        return next(iter(self.names), "")

    @property
    def text(self) -> str:
        """The answer in a word or two."""
        if self.first == OBSERVED:
            return "keep production"
        return ", ".join(self.names) or "none"


def answered(found: Results) -> Answered:
    """What the decision of a run with these results is."""
    told = decision(found)
    return Answered(
        names=told.chosen or ((OBSERVED,) if told.nearest else ()),
        subject=told.subject,
        criterion=told.criterion,
        said=told.answer,
        barred={name: one.why for one in told.left_out for name in one.names},
    )


def stands(usual: Answered, here: Answered) -> str:
    """Whether the answer under the defaults is the answer here, and may be chosen at all."""
    if not usual.first:
        return UNTOLD
    if usual.first in here.barred:
        return BARRED
    if usual.first in here.names:
        return SAME
    if not here.first:
        return UNTOLD
    return KEPT if here.first == OBSERVED else OTHER


def why(usual: Answered, here: Answered) -> str:
    """Why the answer does not stand, a clause; empty where it does."""
    how = stands(usual, here)
    if how == BARRED:
        return here.barred[usual.first]
    if how == KEPT:
        return "no policy is better than production beyond chance"
    if how == OTHER:
        return decided_by(here.criterion)
    # the sentence without its "No policy can be recommended"
    return here.said.partition(": ")[2].rstrip(".") if how == UNTOLD and not here.first else ""


def decided_by(criterion: str) -> str:
    """By what a policy was chosen, a clause."""
    measure = find_measure(criterion)
    if criterion in CONDITIONS or measure is None:
        return "as others do not hold the load"
    return f"by {small(measure.title)}"
