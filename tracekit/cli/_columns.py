"""How wide the columns of a printed table are, and where lines in their cells end."""

from collections.abc import Sequence

from tracekit.words import NBSP

#: Room between two columns of a table, and how narrow a column of names may get.
_GAP, _NARROWEST = 3, 12


def parted(columns: Sequence[str], rows: list[list[str]], width: int) -> list[list[str]]:
    """The cells, those of the widest column in lines that end between the parts of a name.

    Where a table is too wide a long name would else be broken wherever its column ends.
    """
    widths = narrowest(columns, rows)
    widest = widths.index(max(widths, default=0)) if widths else 0
    if not widths or total(widths) <= width:
        return rows
    room = widths[widest] + width - total(widths)
    needed = max([_NARROWEST, *(_longest_part(row[widest]) for row in rows)])
    for sign in "(±":
        if room < needed:
            # what an amount may differ by goes below it
            rows = [
                [
                    cell if at == widest else cell.replace(f" {sign}", f"\n{sign}")
                    for at, cell in enumerate(row)
                ]
                for row in rows
            ]
            room = widths[widest] + width - total(narrowest(columns, rows))
    if room < _NARROWEST:
        return rows
    return [
        [_in_lines(cell, room) if at == widest else cell for at, cell in enumerate(row)]
        for row in rows
    ]


def total(widths: Sequence[int]) -> int:
    """How wide a table is whose columns are so wide."""
    return sum(widths) + _GAP * len(widths) - 1


def narrowest(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """How wide each column must be: a head may end its line between words, a cell where it does."""
    heads = [max(map(len, name.split()), default=0) for name in columns]
    return [
        max([head, *(len(line) for row in rows for line in row[at].split("\n"))])
        for at, head in enumerate(heads)
    ]


def wrapped(text: str, width: int) -> str:
    """A text in lines of a page; what a no-break space joins stays on one."""
    import textwrap

    return textwrap.fill(text, width, break_on_hyphens=False).replace(NBSP, " ")


def _longest_part(text: str) -> int:
    """How wide a column must be so that no part of a name is broken."""
    return max(len(part.rstrip()) for part in _parts(text))


def _parts(text: str) -> list[str]:
    """A text in the parts between which its line may end."""
    import re

    return re.split(r"(?<=[-_/ +,])|(?<!\\)(?=\\?\[)|(?<!\d)(?=\.)", text)


def _in_lines(text: str, width: int) -> str:
    import re

    lines = [""]
    for name in re.split(r"(?<=, )", text):
        # of several names each stands on one line as a whole, else it begins on one
        whole = len(name.rstrip()) <= width
        parts = [name] if whole else _parts(name)
        if lines[-1] and not whole:
            lines.append("")
        for part in parts:
            if lines[-1] and len(lines[-1] + part.rstrip()) > width:
                lines.append("")
            lines[-1] += part
    return "\n".join(line.rstrip() for line in lines)


def is_number(value: object) -> bool:
    """Whether a cell holds an amount, with what it may differ by, or none."""
    if value is None or isinstance(value, int | float):
        return True
    text = " ".join(str(value).split()).removesuffix("%")
    parts = text.removesuffix(")").replace(" (", "±").replace(" to ", "±").split("±")
    return text == "-" or all(_is_plain(part) for part in parts)


def _is_plain(text: str) -> bool:
    return text.strip().replace(",", "").replace(".", "", 1).replace("-", "", 1).isdigit()
