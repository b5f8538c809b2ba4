"""What the first screen of a question holds, whoever fills it: a run, or a study."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tracekit.report.paths import Paths
from tracekit.study import shown_next

#: Where a sentence ends and another one begins.
SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z])")
#: So many sentences say how sure the answer is, before the reader asks for more.
_SURE = 2


@dataclass(frozen=True, kw_only=True)
class Change:
    """A measure before and after: a row of what the answer would change.

    Parameters
    ----------
    fewer : str
        What it comes to on the nodes that a study leaves; empty where there is no such column.
    """

    title: str
    meaning: str
    before: str
    after: str
    difference: str
    way: str
    fewer: str = ""


@dataclass(frozen=True, kw_only=True)
class Studied:
    """What a study found, a sentence, and the page that has all of it."""

    said: str
    page: str
    title: str


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The first screen.

    Parameters
    ----------
    stands_in : str
        What counts as use where none is recorded; it is read before the answer.
    barred, rule : str
        Who may be chosen and who may not, and by which rule.
    movable : str
        How much any answer could change at all.
    meaning : str
        What the measure of the answer means.
    also : str
        The answer to what else was asked.
    before, after : str
        What the columns of ``changes`` are called.
    fewer : str
        What the column on fewer nodes is called; empty where there is none.
    change : str
        What stands above them.
    beyond : str
        Which other measures differ.
    hangs : str
        What the answer hangs on, where changed assumptions were tried: a sentence.
    grounds : str
        How what is known is known, in short, where a page has all of it.
    rests : sequence of (str, str)
        How something is known, and what, where no other page has it.
    told : sequence of str
        What the answer means, beside the numbers.
    next : sequence of (str, str)
        What for, and the command.
    studied : sequence of Studied
        What studies with a page of their own found.
    interval : str
        What is told of the differences of ``changes``.
    wider : str
        Why their intervals are wider than those beside them, a sentence.
    """

    asked: str
    sentence: str
    stands_in: str = ""
    movable: str = ""
    meaning: str = ""
    also: str = ""
    warnings: Sequence[str] = ()
    barred: str = ""
    rule: str = ""
    changes: Sequence[Change] = ()
    before: str = ""
    after: str = ""
    fewer: str = ""
    change: str = ""
    beyond: str = ""
    interval: str = "95\u00a0%"
    wider: str = ""
    told: Sequence[str] = ()
    sure: str = ""
    hangs: str = ""
    grounds: str = ""
    rests: Sequence[tuple[str, str]] = ()
    next: Sequence[tuple[str, str]] = ()
    studied: Sequence[Studied] = ()

    def shown_next(self, paths: Paths) -> str:
        """That the next report shows what the next commands find, where they write studies."""
        return shown_next((command for _, command in self.next), paths.reported)

    @property
    def lead(self) -> str:
        """The first sentence: what is read if nothing else is."""
        return SENTENCES.split(self.sentence, maxsplit=1)[0]

    @property
    def rest(self) -> str:
        """The sentences after it; empty where there is one."""
        return "".join(SENTENCES.split(self.sentence, maxsplit=1)[1:])

    @property
    def how_sure(self) -> tuple[str, str]:
        """How sure the answer is: what everybody reads, and more of it."""
        said = SENTENCES.split(self.sure)
        return " ".join(said[:_SURE]), " ".join(said[_SURE:])
