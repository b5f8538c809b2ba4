"""Answers and tables on a terminal: lines of at most 80 characters, in plain text.

The ranks of facts decide which facts are printed.
"""

import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tracekit.base.facts import Answer, Fact, Followup, Scalar
from tracekit.base.words import in_lines
from tracekit.report.sentences import amount, command, long, question, short

WIDTH = 80
#: The most lines and commands at the end of ``tracekit run``.
LINES, COMMANDS = 12, 3
#: Facts of this rank on are only in tables.
_IN_TABLES = 3
#: The space between columns; the narrowest column of broken text; the characters after which a name
#: may be broken.
_GAP, _NARROWEST, _ENDS = 2, 12, "_-/,+=]"


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table.

    Parameters
    ----------
    name : str
        The head of the column.
    right : bool
        Whether cells are right-aligned, as amounts are.
    unit : str
        The unit of cells that are numbers.
    whole : bool
        Whether cells are never broken, for names that are typed again.
    """

    name: str
    right: bool = False
    unit: str = ""
    whole: bool = False


def summary(answer: Answer, *, lines: int = LINES, rank: int = 2) -> list[str]:
    """Return the lines of the verdict and of facts up to ``rank``; lower ranks matter more.

    Facts of rank above 1 are left out where they exceed ``lines`` lines. The number of nodes that
    the verdict states is not repeated.
    """
    printed: list[str] = []
    case = answer.facts[0].about.get("case") if answer.facts else None
    for fact in answer.facts:
        if fact.weight > rank or (fact.kind == "nodes_needed" and fact.about.get("case") == case):
            continue
        text = short(fact)
        made = paragraph(text) if fact.weight == 0 else item(text)
        if not text or (fact.weight > 1 and len(printed) + len(made) > lines):
            continue
        if fact.weight < _IN_TABLES:
            printed += made
    return printed


def facts_in_full(facts: Iterable[Fact]) -> list[str]:
    """Return each fact in full, as an item of a list."""
    return [line for one in facts if (text := long(one)) for line in item(text)]


def following(steps: Sequence[Followup], *, most: int = COMMANDS) -> Iterator[str]:
    """Yield the next questions, each with its command."""
    for one in steps[:most]:
        yield from paragraph(question(one))
        yield from typed(command(one))


def paragraph(text: str) -> list[str]:
    """Return a text, wrapped to the width of a page."""
    return textwrap.wrap(" ".join(text.split()), WIDTH, break_on_hyphens=False)


def item(text: str) -> list[str]:
    """Return a text as a list item, wrapped to the width of a page."""
    return textwrap.wrap(
        text, WIDTH, initial_indent="- ", subsequent_indent="  ", break_on_hyphens=False
    )


def typed(line: str) -> list[str]:
    """Return a command in lines that can be copied; only an option with a long value is wider."""
    return textwrap.indent(in_lines(line, WIDTH - 2), "  ").splitlines()


def table(
    rows: Sequence[Sequence[Any]],
    columns: Sequence[str | Column],
    *,
    width: int = WIDTH,
    shown: Callable[[Any, str], str] = amount,
) -> list[str]:
    """Return a table of rows under heads, no wider than the page.

    Parameters
    ----------
    rows
        One cell for each column. A column of numbers is right-aligned.
    columns
        Heads, or columns with a unit.
    shown
        Spells a value with its unit.

    Returns
    -------
    list of str
        The lines; one line for each cell where the columns do not fit side by side.
    """
    made = [
        one if isinstance(one, Column) else _column(one, [row[at] for row in rows])
        for at, one in enumerate(columns)
    ]
    cells = [
        ["-" if value is None else shown(value, made[at].unit) for at, value in enumerate(row)]
        for row in rows
    ]
    widths = _widths(made, cells, width - 1)
    if widths is None:
        return list(_one_by_one(made, cells, width))
    heads = [_broken(one.name, wide) for one, wide in zip(made, widths, strict=True)]
    rule = " " + (" " * _GAP).join("-" * wide for wide in widths)
    body = [
        line
        for row in cells
        for line in _line([_broken(*one) for one in zip(row, widths, strict=True)], made, widths)
    ]
    return [*_line(heads, made, widths), rule, *body]


def _column(name: str, cells: Sequence[Scalar]) -> Column:
    return Column(
        name=name, right=bool(cells) and all(one is None or _is_number(one) for one in cells)
    )


def _is_number(value: Scalar) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _widths(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], room: int
) -> list[int] | None:
    """The width of each column; None where the columns do not fit."""
    least = [max([*map(len, one.name.split()), 1]) for one in columns]
    whole = [max([narrow, *(len(row[at]) for row in cells)]) for at, narrow in enumerate(least)]
    natural = [max(wide, len(one.name)) for one, wide in zip(columns, whole, strict=True)]
    room -= _GAP * (len(columns) - 1)
    if sum(natural) <= room:
        return natural
    widths = list(whole)
    floors = [_floor(one, [row[at] for row in cells], least[at]) for at, one in enumerate(columns)]
    while sum(widths) > room:
        # the widest column that may be broken is broken first
        at = max(range(len(widths)), key=lambda at: (widths[at] > floors[at], widths[at]))
        if widths[at] <= floors[at]:
            return None
        widths[at] -= 1
    return widths


def _floor(column: Column, cells: Sequence[str], least: int) -> int:
    """The narrowest width of a column; amounts are broken only between words."""
    if column.whole:
        return max([least, *map(len, cells)])
    if column.right:
        return max([least, *(len(word) for cell in cells for word in cell.split())])
    return min(max([least, *map(len, cells)]), max(least, _NARROWEST))


def _broken(text: str, width: int) -> list[str]:
    """The lines of a text in a column, broken between words or parts of a name."""
    lines, rest = [], text.strip()
    while len(rest) > width:
        ends = [at + 1 for at, mark in enumerate(rest[:width]) if mark in _ENDS]
        space = rest.rfind(" ", 0, width + 1)
        cut = space if space > 0 else max(ends, default=width)
        lines.append(rest[:cut].rstrip())
        rest = rest[cut:].lstrip()
    return [*lines, rest]


def _line(
    parts: Sequence[Sequence[str]], columns: Sequence[Column], widths: Sequence[int]
) -> Iterator[str]:
    for at in range(max(map(len, parts))):
        cells = [part[at] if at < len(part) else "" for part in parts]
        yield (
            " "
            + (" " * _GAP).join(
                cell.rjust(wide) if one.right else cell.ljust(wide)
                for cell, one, wide in zip(cells, columns, widths, strict=True)
            )
        ).rstrip()


def _one_by_one(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int
) -> Iterator[str]:
    """A line for each cell, and an empty line between rows."""
    wide = min(max(len(one.name) for one in columns), width // 3)
    for row in cells:
        for one, cell in zip(columns, row, strict=True):
            names, texts = _broken(one.name, wide), _broken(cell, width - wide - _GAP)
            for at in range(max(len(names), len(texts))):
                name, text = (part[at] if at < len(part) else "" for part in (names, texts))
                yield f"{name:<{wide}}{' ' * _GAP}{text}".rstrip()
        yield ""


def answer_lines(answer: Answer) -> list[str]:
    """Return the verdict, the facts of rank 1, and what to do next."""
    steps = list(following(answer.next))
    return [*summary(answer, rank=1), *([""] if steps else []), *steps]
