"""Defects that are planted in the files, and what a reader should do about each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tracekit.synth.layout import Layout

Action = Literal["rejected", "dropped", "null", "kept"]
Where = Literal["after", "later", "instead"]
Row = dict[str, str]

#: Spellings of a missing name in the real files.
MISSING_NAMES = ("(?)", "", "NAN")


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One kind of defect.

    Parameters
    ----------
    action : {'rejected', 'dropped', 'null', 'kept'}
        What a careful reader does: put the row aside, drop it as a repetition, keep the row
        without the value, or keep it as it is.
    where : {'after', 'later', 'instead'}
        The broken row follows the good one it was made from, follows it at some distance, or
        stands in its place.
    spoil : callable
        Turns the fields of a good row, by column, into the fields of the broken line.
    """

    name: str
    action: Action
    where: Where
    spoil: Callable[[Row, Layout, np.random.Generator], Sequence[str]]


def faults_of(layout: Layout) -> list[Fault]:
    """The kinds of defects that the files of a table get."""
    return [fault for fault in _FAULTS if _applies(fault.name, layout)]


def _applies(name: str, layout: Layout) -> bool:
    is_call = layout.table == "call"
    return {
        "key_conflict": layout.unique,
        "negative_usage": layout.table in {"node_usage", "container_usage"},
        "empty_measurement": not is_call,
        "missing_name": bool(layout.names),
        "missing_response_time": is_call,
        "missing_rpc_type": is_call,
        "truncated_row": is_call,
    }.get(name, True)


def _same(row: Row, _: Layout, __: np.random.Generator) -> Sequence[str]:
    return list(row.values())


def _set(row: Row, **values: str) -> Sequence[str]:
    return list({**row, **values}.values())


def _conflict(row: Row, layout: Layout, _: np.random.Generator) -> Sequence[str]:
    column = layout.measures[0]
    return _set(row, **{column: repr(float(row[column]) * 0.5 + 0.2513)})


def _not_a_number(row: Row, layout: Layout, _: np.random.Generator) -> Sequence[str]:
    return _set(row, **{layout.measures[0]: "abc"})


def _extra_field(row: Row, layout: Layout, _: np.random.Generator) -> Sequence[str]:
    return _set(row, **{layout.measures[-1]: "1,5"})


def _short(row: Row, _: Layout, __: np.random.Generator) -> Sequence[str]:
    return list(row.values())[:-2]


def _truncated(row: Row, _: Layout, __: np.random.Generator) -> Sequence[str]:
    names = list(row)
    return [*(row[name] for name in names[: names.index("rpctype")]), "r"]


def _negative(row: Row, layout: Layout, rng: np.random.Generator) -> Sequence[str]:
    column = layout.measures[int(rng.integers(len(layout.measures)))]
    return _set(row, **{column: repr(-float(row[column]) - 0.01)})


def _empty_measure(row: Row, layout: Layout, rng: np.random.Generator) -> Sequence[str]:
    return _set(row, **{layout.measures[int(rng.integers(len(layout.measures)))]: ""})


def _missing_entity(row: Row, layout: Layout, rng: np.random.Generator) -> Sequence[str]:
    return _set(row, **{layout.entity: MISSING_NAMES[int(rng.integers(len(MISSING_NAMES)))]})


def _embedded_nul(row: Row, layout: Layout, rng: np.random.Generator) -> Sequence[str]:
    text = row[layout.entity]
    at = int(rng.integers(1, len(text)))
    return _set(row, **{layout.entity: f"{text[:at]}\0{text[at + 1 :]}"})


def _missing_name(row: Row, layout: Layout, rng: np.random.Generator) -> Sequence[str]:
    column = layout.names[int(rng.integers(len(layout.names)))]
    return _set(row, **{column: MISSING_NAMES[int(rng.integers(len(MISSING_NAMES)))]})


def _missing_time(row: Row, _: Layout, __: np.random.Generator) -> Sequence[str]:
    return _set(row, rt="")


def _missing_type(row: Row, _: Layout, __: np.random.Generator) -> Sequence[str]:
    return _set(row, rpctype="")


_FAULTS = (
    Fault(name="duplicate_adjacent", action="dropped", where="after", spoil=_same),
    Fault(name="duplicate_distant", action="dropped", where="later", spoil=_same),
    Fault(name="key_conflict", action="dropped", where="later", spoil=_conflict),
    Fault(name="not_a_number", action="rejected", where="after", spoil=_not_a_number),
    Fault(name="extra_field", action="rejected", where="after", spoil=_extra_field),
    Fault(name="short_row", action="rejected", where="after", spoil=_short),
    Fault(name="truncated_row", action="rejected", where="after", spoil=_truncated),
    Fault(name="negative_usage", action="rejected", where="after", spoil=_negative),
    Fault(name="empty_measurement", action="rejected", where="after", spoil=_empty_measure),
    Fault(name="missing_entity", action="rejected", where="after", spoil=_missing_entity),
    Fault(name="embedded_nul", action="rejected", where="after", spoil=_embedded_nul),
    Fault(name="missing_name", action="null", where="instead", spoil=_missing_name),
    Fault(name="missing_response_time", action="null", where="instead", spoil=_missing_time),
    Fault(name="missing_rpc_type", action="null", where="instead", spoil=_missing_type),
)


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A fault to plant at the good row of that number, counted from 0 in its file."""

    row: int
    fault: Fault


def plan_faults(
    layout: Layout,
    rng: np.random.Generator,
    *,
    number: int,
    files: int,
    file_rows: int,
    table_rows: int,
    share: float,
    minimum: int,
) -> list[Planned]:
    """Choose rows of file ``number`` (of ``files``) to spoil, in row order, each at most once.

    A table's faults of one kind, ``share`` of its rows but at least ``minimum``, are dealt out
    over its files in turn, each kind starting at another file.
    """
    kinds: list[Fault] = []
    for at, fault in enumerate(faults_of(layout)):
        repeated = layout.table == "call" and fault.name.startswith("duplicate")
        wanted = max(minimum, round(table_rows * share * (_CALL_REPEATS if repeated else 1)))
        kinds += [fault] * len(range((number + at) % files, wanted, files))
    kinds = kinds[: file_rows // 2]
    rows = rng.choice(file_rows, size=len(kinds), replace=False).tolist() if kinds else []
    planned = [Planned(row=row, fault=fault) for row, fault in zip(rows, kinds, strict=True)]
    return sorted(planned, key=lambda plan: plan.row)


#: Repeated rows are common in call tables: 77 of the first 999 real ones. Fewer are planted here.
_CALL_REPEATS = 50
