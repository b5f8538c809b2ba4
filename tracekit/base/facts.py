"""Facts: what tracekit concludes, as typed values.

A computation returns facts; a printer makes words of them, once, by the templates of
``reports/facts.toml``. That file is the table of kinds: each has a label, a rank, a short and a
long template, and the line that the glossary prints. Nothing reads a rendered text again.
"""

from __future__ import annotations

import functools
import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from tracekit.base.errors import TracekitError
from tracekit.base.files.replacing import replaced_file
from tracekit.base.files.result_folder import AGAIN, Damage, as_damage, is_sealed, sealed
from tracekit.base.folders import asset_dir
from tracekit.base.opened import read_text
from tracekit.base.words import and_more

Scalar = str | int | float | bool | None
Verdict = Literal["", "better", "worse", "same", "cannot_tell", "holds", "does_not_hold"]

SCHEMA = "tracekit/answer/1"
FILE = "answer.json"
#: So many are named in a remark, the others are counted.
_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of fact, as the table ``reports/facts.toml`` defines it.

    Parameters
    ----------
    name, label : str
        The name in documents, and the label in tables.
    rank : int
        The importance for the decision: 0 for the verdict, 1 for the first page, then less.
    short, long : mapping of str to tuple of str
        Templates of sentences, one-line and in full. The key is a fact's ``because`` or
        ``verdict``, or ``""`` for all others. A sentence with an unknown field is left out.
    meaning : str
        The line of the glossary.
    """

    name: str
    label: str
    rank: int
    short: Mapping[str, tuple[str, ...]]
    long: Mapping[str, tuple[str, ...]]
    meaning: str


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One conclusion that a computation returns, as typed values; a printer makes sentences of it.

    Parameters
    ----------
    kind : str
        A name in the table of kinds.
    subject : str
        What the fact is about: a policy, a node, a service, an assumption, the trace.
    measure, value, unit
        The measure, its value, and the unit.
    low, high : float, optional
        The confidence interval of the value, or its range over orders of arrival.
    against : float or str, optional
        What the value is compared with.
    verdict : Verdict
        The outcome of the comparison.
    because : str
        The cause, which selects the sentences: a key of ``Kind.short`` and ``Kind.long``.
    rank : int, optional
        Replaces the rank of the kind.
    about : mapping
        Further scalars that templates of the kind use.

    Raises
    ------
    ValueError
        For a kind that is not in the table.
    """

    kind: str
    subject: str = ""
    measure: str = ""
    value: Scalar = None
    unit: str = ""
    low: float | None = None
    high: float | None = None
    against: Scalar = None
    verdict: Verdict = ""
    because: str = ""
    rank: int | None = None
    about: Mapping[str, Scalar] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in kinds():
            raise ValueError(f"no kind of fact is called '{self.kind}'")

    @property
    def weight(self) -> int:
        """The rank of this fact, or the rank of its kind if the fact has none."""
        return kinds()[self.kind].rank if self.rank is None else self.rank

    def about_it(self, name: str) -> Scalar:
        """Return the scalar called ``name`` in ``about``, or None if there is none."""
        return self.about.get(name)

    def document(self) -> dict[str, Any]:
        """Return the fact as a JSON object, with the scalars of ``about`` also at its top level."""
        own: dict[str, Any] = {
            "kind": self.kind,
            "subject": self.subject,
            "measure": self.measure,
            "value": self.value,
            "unit": self.unit,
            "low": self.low,
            "high": self.high,
            "against": self.against,
            "verdict": self.verdict,
            "because": self.because,
            "rank": self.weight,
        }
        return {
            **own,
            **{k: v for k, v in self.about.items() if k not in own},
            "about": dict(self.about),
        }


def remark(
    because: str,
    value: float | None = None,
    unit: str = "",
    *,
    kind: str = "remark",
    names: Sequence[str] = (),
    **about: Scalar,
) -> Fact:
    """Return a fact that a reader must know before reading the numbers after it.

    Parameters
    ----------
    because : str
        The key of the sentence among the templates of ``kind``.
    names : sequence of str
        The containers or nodes concerned. The text names the first five and counts the others.
    about : scalar
        Further values that the sentence uses.
    """
    first = {"names": and_more(list(names[:_NAMED]), len(names))} if len(names) else {}
    return Fact(
        kind=kind,
        subject="trace",
        value=value,
        unit=unit,
        because=because,
        about={**first, **about},
    )


@dataclass(frozen=True, kw_only=True)
class Followup:
    """A command line that answers a further question.

    Parameters
    ----------
    question : str
        A key of the table ``followups`` of ``reports/facts.toml``.
    command : str
        The subcommand of ``tracekit``.
    arguments : mapping
        Values by name. A name in capitals, such as ``STORE``, is a positional argument; any other
        is an option. A sequence repeats the option, and True makes it a flag.
    """

    question: str
    command: str
    arguments: Mapping[str, Scalar | Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """All facts of one question, the most important first, and commands for further questions."""

    facts: tuple[Fact, ...]
    next: tuple[Followup, ...] = ()

    def of(self, kind: str, **about: Scalar) -> list[Fact]:
        """Return the facts of a kind whose ``about`` contains all these scalars."""
        return [
            one
            for one in self.facts
            if one.kind == kind
            and all(one.about.get(name) == value for name, value in about.items())
        ]

    def first(self, kind: str, **about: Scalar) -> Fact | None:
        """Return the first fact that ``of`` returns, or None if there is none."""
        return next(iter(self.of(kind, **about)), None)


def answer_of(facts: Iterable[Fact], following: Iterable[Followup] = ()) -> Answer:
    """Return an answer with the facts in the order of their ranks. Equal ranks keep their order."""
    return Answer(facts=tuple(sorted(facts, key=lambda one: one.weight)), next=tuple(following))


@functools.cache
def _table() -> dict[str, Any]:
    return tomllib.loads((asset_dir("reports") / "facts.toml").read_text(encoding="utf-8"))


@functools.cache
def kinds() -> Mapping[str, Kind]:
    """Return every kind of fact by its name."""
    return {
        name: Kind(
            name=name,
            label=one["label"],
            rank=one["rank"],
            short=_sentences(one["short"]),
            long=_sentences(one.get("long", one["short"])),
            meaning=one["meaning"],
        )
        for name, one in _table()["kinds"].items()
    }


def questions() -> Mapping[str, str]:
    """Return the text of each follow-up question, by its key in ``reports/facts.toml``."""
    return dict(_table()["followups"])


def _sentences(given: str | list[str] | dict[str, Any]) -> dict[str, tuple[str, ...]]:
    """The sentences of a template by cause; of plain text those of every cause."""
    by_cause = given if isinstance(given, dict) else {"": given}
    return {
        cause: (one,) if isinstance(one, str) else tuple(one) for cause, one in by_cause.items()
    }


def read_answer(folder: Path) -> Answer | None:
    """Return the answer in ``answer.json`` of a folder, or None if there is no such file.

    Raises
    ------
    TracekitError
        For a damaged file, or a file of another format.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    if why := damage_of_answer(path):
        raise TracekitError(f"{path} is damaged: {why.found}", hint=AGAIN)
    try:
        document = json.loads(read_text(path))
        facts = tuple(fact_of(one) for one in document["facts"])
        following = tuple(
            Followup(question=one["asks"], command=one["verb"], arguments=one["arguments"])
            for one in document["next"]
        )
    except (ValueError, KeyError, TypeError) as error:
        raise TracekitError(
            f"{path} is no answer of this version: {error}", hint="make the run again"
        ) from error
    return Answer(facts=facts, next=following)


def damage_of_answer(path: Path) -> Damage | None:
    """Return the damage of an ``answer.json``, or None if the file is intact.

    A file without a seal, which is a hash of the content, is damaged only if it is no JSON object.
    """
    try:
        document = json.loads(read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        return as_damage(FILE, "unreadable", why=str(error))
    if not isinstance(document, dict):
        return as_damage(FILE, "changed")
    return as_damage(FILE, "changed") if "seal" in document and not is_sealed(document) else None


def fact_of(document: Mapping[str, Any]) -> Fact:
    """Return the fact that ``Fact.document`` converted to this JSON object."""
    return Fact(**{one.name: document[one.name] for one in fields(Fact)})


def write_document(folder: Path, document: Mapping[str, Any]) -> None:
    """Write ``answer.json`` atomically, with a hash of its content as its ``seal``."""
    text = json.dumps(sealed(document), indent=1, ensure_ascii=False)
    with replaced_file(folder / FILE, follow=False) as made:
        made.write_text(text + "\n", encoding="utf-8")
