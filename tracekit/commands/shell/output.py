"""How subcommands print: tables that fit 80 columns, one JSON document."""

from __future__ import annotations

import json
import math
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from tracekit.base.words import counted, listed
from tracekit.commands.shell.streams import print_raw, visible

if TYPE_CHECKING:
    from tracekit.base.facts import Fact
    from tracekit.report.terminal import Column

WIDTH = 80


def print_json(document: object) -> None:
    """Print one JSON document; NaN has no JSON spelling and is refused."""
    # text that the output's encoding cannot say would be spelled as JSON does not know it
    plain = "utf" not in str(sys.stdout.encoding or "utf-8").lower()
    print(json.dumps(document, indent=2, allow_nan=False, ensure_ascii=plain, default=str))


def print_lines(lines: Iterable[str]) -> None:
    """Print each line, with control characters spelled out."""
    for line in lines:
        print(visible(line))


def print_sentence(text: str) -> None:
    """Print a sentence as a list item, wrapped to the width of a page."""
    from tracekit.report.terminal import item

    print_lines(item(text))


def print_paragraph(text: str) -> None:
    """Print a text wrapped to the width of a page."""
    from tracekit.report.terminal import paragraph

    print_lines(paragraph(text))


def print_command(command: str) -> None:
    """Print a command below the text that proposes it, in lines that can be copied."""
    from tracekit.report.terminal import typed

    print_lines(typed(command))


def right(*names: str) -> list[Column]:
    """Return a right-aligned column for each name."""
    from tracekit.report.terminal import Column

    return [Column(name=name, right=True) for name in names]


def print_table(
    title: str,
    columns: Sequence[str | Column],
    rows: Sequence[Sequence[object]],
    *,
    note: str = "",
) -> None:
    """Print rows under a title; numbers stand right, text left."""
    from tracekit.report.terminal import paragraph, table

    stream = sys.stdout
    width = shutil.get_terminal_size((WIDTH, 24)).columns if stream.isatty() else WIDTH
    made = table(rows, columns, width=max(width, WIDTH // 2), shown=_cell_text)
    print_lines([*paragraph(title), *made, *paragraph(note), ""])


def print_claims(facts: Sequence[Fact], *, store: str = "") -> None:
    """Print claims by experiment: where its numbers are from, by which command, and each claim.

    Parameters
    ----------
    store : str
        The store that is judged, as commands name it.
    """
    from tracekit.answer.claims.every import by_experiment
    from tracekit.answer.claims.table import TRACE
    from tracekit.report.sentences import command, short
    from tracekit.report.terminal import facts_in_full, paragraph, typed

    for claim, origin, those in by_experiment(facts):
        by = claim.of_store("" if origin.because == "recorded" else store)
        made = [] if claim.experiment == TRACE else typed(command(by))
        head = [*paragraph(f"{claim.title}: {claim.source}"), *paragraph(short(origin))]
        print_lines([*head, *made, *facts_in_full(those), ""])


def _cell_text(value: Any, unit: str = "") -> str:
    from tracekit.report.sentences import amount

    plain = value is None or isinstance(value, str | int | float)
    return visible((amount(value, unit) if plain else str(value)) or "-")


def print_frame(frame: Any, output_format: str, *, title: str = "") -> None:
    """Print a polars frame as a table, CSV or JSON array."""
    if output_format == "json":
        print_json(rows_of(frame))
    elif output_format == "csv":
        print_raw(_flat(frame).write_csv())
    elif output_format == "parquet":
        frame.write_parquet(sys.stdout.buffer)
    else:
        _print_rows(frame, title)


def rows_of(frame: Any) -> list[dict[str, Any]]:
    """Return the rows of a frame as JSON values: NaN and infinity as None, bytes in hexadecimal."""
    return [{name: _plain(value) for name, value in row.items()} for row in frame.to_dicts()]


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list) else value


def _flat(frame: Any) -> Any:
    """A frame as CSV can hold it: lists, structs and bytes are texts, and no text is a formula."""
    import polars as pl

    made = [
        pl.Series(name, [_text(value) for value in frame[name].to_list()], dtype=pl.String)
        for name, kind in frame.schema.items()
        if kind.is_nested() or isinstance(kind, pl.Binary | pl.BaseExtension)
    ]
    flat = frame.with_columns(made)
    formula = [
        pl.when(pl.col(name).str.contains(_FORMULA))
        .then(pl.concat_str(pl.lit("'"), pl.col(name)))
        .otherwise(pl.col(name))
        .alias(name)
        for name, kind in flat.schema.items()
        if kind == pl.String
    ]
    return flat.with_columns(formula)


def _text(value: Any) -> str | None:
    plain = _plain(value)
    return plain if plain is None or isinstance(plain, str) else json.dumps(plain, default=str)


ROWS_SHOWN = 40


def _print_rows(frame: Any, title: str) -> None:
    """The first rows; when they do not fit side by side, one block of lines per row."""
    shown = _keys_plain(frame.head(ROWS_SHOWN))
    rest = (
        f"first {ROWS_SHOWN} of {counted(frame.height, 'row')}; all: --format csv"
        if (frame.height > ROWS_SHOWN)
        else counted(frame.height, "row")
    )
    if _fits(shown):
        print_table(title, shown.columns, shown.rows(), note=rest)
        return
    width = max(len(name) for name in shown.columns)
    for row in shown.head(ROWS_SHOWN // 4).iter_rows(named=True):
        for name, value in row.items():
            print(f"{name:<{width}}  {_cell_text(value)}")
        print()
    few = min(frame.height, ROWS_SHOWN // 4)
    rest = f"{few} of {counted(frame.height, 'row')}; all: --format csv"
    print(rest if few < frame.height else counted(frame.height, "row"))


def _keys_plain(frame: Any) -> Any:
    """A frame whose times and keys are texts: no amounts, so their digits stay together."""
    import polars as pl

    keys = [
        name
        for name, kind in frame.schema.items()
        if kind.is_integer() and (name.endswith(("_ms", "_key", "_id")) or name in ("key", "id"))
    ]
    return frame.with_columns(pl.col(keys).cast(pl.String)) if keys else frame


def _fits(frame: Any) -> bool:
    widths = [
        max([len(name), *(len(_cell_text(value)) for value in frame[name])]) + 2
        for name in frame.columns
    ]
    return sum(widths) <= WIDTH


#: A text that a spreadsheet would compute; a number is none.
_FORMULA = r"^(?:[=@\t\r]|[+-].*[^\d.eE+-])"
#: Formats of files, which their endings say; a name with none of its own says nothing.
_FILE_FORMATS, _SILENT = ("csv", "json", "parquet"), ("", "txt")


def format_of_file(path: Any, output_format: str) -> str:
    """Return the format to write a file in: ``output_format``, or for ``table`` that of its ending.

    The format is CSV where the ending tells none. Raises TracekitError if the ending contradicts
    ``output_format`` or is not one that can be written.
    """
    from tracekit.base.errors import TracekitError

    ending = path.suffix.lstrip(".").lower()
    chosen = output_format if output_format != "table" else ending
    if ending in _SILENT:
        return "csv" if chosen in _SILENT else chosen
    if ending == chosen and chosen in _FILE_FORMATS:
        return chosen
    endings = listed([f".{one}" for one in _FILE_FORMATS])
    if chosen != ending:
        raise TracekitError(
            f"{path} ends in .{ending}, but --format is {chosen}",
            hint="the ending says the format: leave --format out, or name the file otherwise",
        )
    raise TracekitError(
        f"rows are not written as .{ending}: {path}", hint=f"files that can be written: {endings}"
    )


def write_frame(frame: Any, path: Any, output_format: str) -> None:
    """Write a polars frame to a file in the format that ``format_of_file`` tells."""
    from tracekit.base.files.replacing import replaced_file

    kind = format_of_file(path, output_format)
    with replaced_file(path) as made:
        if kind == "parquet":
            frame.write_parquet(made)
        elif kind == "json":
            text = json.dumps(rows_of(frame), indent=2, allow_nan=False, default=str)
            made.write_text(text + "\n", encoding="utf-8")
        else:
            _flat(frame).write_csv(made)
