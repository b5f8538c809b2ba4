"""The layout of the released files, and the defects that are planted in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np


@dataclass(frozen=True, kw_only=True)
class Layout:
    """One kind of released file.

    Parameters
    ----------
    table : str
        The base table of its rows.
    columns : tuple of str
        The header after the unnamed index column.
    entity : str
        The column with the id that every row must have.
    names : tuple of str
        Columns with ids that may be missing.
    measures : tuple of str
        Columns with numbers.
    unique : bool
        Whether entity and time identify a row, so that a second row with the same pair is a
        defect.
    """

    table: str
    folder: str
    stem: str
    columns: tuple[str, ...]
    entity: str
    names: tuple[str, ...]
    measures: tuple[str, ...]
    unique: bool


NODE = Layout(
    table="node_usage",
    folder="node",
    stem="Node",
    columns=("timestamp", "nodeid", "node_cpu_usage", "node_memory_usage"),
    entity="nodeid",
    names=(),
    measures=("node_cpu_usage", "node_memory_usage"),
    unique=True,
)
CONTAINER = Layout(
    table="container_usage",
    folder="MSResource",
    stem="MSResource",
    columns=(
        "msname",
        "msinstanceid",
        "nodeid",
        "instance_cpu_usage",
        "instance_memory_usage",
        "timestamp",
    ),
    entity="msinstanceid",
    names=("msname", "nodeid"),
    measures=("instance_cpu_usage", "instance_memory_usage"),
    unique=True,
)
RATE = Layout(
    table="service_rate",
    folder="MSRTQps",
    stem="MSRTQps",
    columns=("timestamp", "msname", "msinstanceid", "metric", "value"),
    entity="msinstanceid",
    names=("msname",),
    measures=("value",),
    unique=True,
)
CALL = Layout(
    table="call",
    folder="MSCallGraph",
    stem="MSCallGraph",
    columns=("traceid", "timestamp", "rpcid", "um", "rpctype", "dm", "interface", "rt"),
    entity="traceid",
    names=("um", "dm"),
    measures=("rt",),
    unique=False,
)


@dataclass(frozen=True, kw_only=True)
class FileShape:
    """The peculiarities of one file.

    Parameters
    ----------
    indexed : bool
        Whether an unnamed column numbers the rows.
    in_folder : bool
        Whether the archive holds the file inside a folder of the same name.
    spellings : tuple of (str, str)
        Columns with their other spelling in this file.
    """

    name: str
    indexed: bool = True
    in_folder: bool = False
    spellings: tuple[tuple[str, str], ...] = ()


def file_shape(layout: Layout, number: int) -> FileShape:
    """Return the shape of file ``number``; a few files have the peculiarities that users report."""
    name = f"{layout.stem}_{number}"
    if layout.stem == "MSResource" and number == 0:
        return FileShape(name=name, in_folder=True)
    if layout.stem == "MSRTQps" and number == 1:
        return FileShape(name=name, spellings=(("metric", "metrics"),))
    if layout.stem == "MSRTQps" and number == 2:
        return FileShape(name=name, indexed=False)
    return FileShape(name=name)


Action = Literal["rejected", "dropped", "null", "kept"]
Where = Literal["after", "later", "instead"]
Row = dict[str, str]

#: Spellings of a missing name in the real files.
MISSING_NAMES = ("(?)", "", "NAN")


@dataclass(frozen=True)
class Fault:
    """One kind of defect.

    Parameters
    ----------
    action : {'rejected', 'dropped', 'null', 'kept'}
        The right action of a reader: reject the row, drop it as a repetition, keep the row without
        the value, or keep it unchanged.
    where : {'after', 'later', 'instead'}
        Whether the broken row follows its good row directly, at some distance, or replaces it.
    spoil : callable
        Turns the fields of a good row, by column, into the fields of the broken row.
    """

    name: str
    action: Action
    where: Where
    spoil: Callable[[Row, Layout, np.random.Generator], Sequence[str]]


def faults_of(layout: Layout) -> list[Fault]:
    """Return the faults that are planted in the files of a table."""
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


def _set(row: Row, **values: str) -> Sequence[str]:
    return list({**row, **values}.values())


def _conflict(row: Row, layout: Layout, _: np.random.Generator) -> Sequence[str]:
    column = layout.measures[0]
    return _set(row, **{column: repr(float(row[column]) * 0.5 + 0.2513)})


def _truncated(row: Row, *_: object) -> Sequence[str]:
    names = list(row)
    return [*(row[name] for name in names[: names.index("rpctype")]), "r"]


def _negative(row: Row, layout: Layout, rng: np.random.Generator) -> Sequence[str]:
    column = _one_of(layout.measures, rng)
    return _set(row, **{column: repr(-float(row[column]) - 0.01)})


def _embedded_nul(row: Row, layout: Layout, rng: np.random.Generator) -> Sequence[str]:
    text = row[layout.entity]
    at = int(rng.integers(1, len(text)))
    return _set(row, **{layout.entity: f"{text[:at]}\0{text[at + 1 :]}"})


def _one_of(names: Sequence[str], rng: np.random.Generator) -> str:
    return names[int(rng.integers(len(names)))]


_FAULTS = (
    Fault("duplicate_adjacent", "dropped", "after", lambda row, *_: list(row.values())),
    Fault("duplicate_distant", "dropped", "later", lambda row, *_: list(row.values())),
    Fault("key_conflict", "dropped", "later", _conflict),
    Fault(
        "not_a_number", "rejected", "after",
        lambda row, kind, _: _set(row, **{kind.measures[0]: "abc"}),
    ),
    Fault(
        "extra_field", "rejected", "after",
        lambda row, kind, _: _set(row, **{kind.measures[-1]: "1,5"}),
    ),
    Fault("short_row", "rejected", "after", lambda row, *_: list(row.values())[:-2]),
    Fault("truncated_row", "rejected", "after", _truncated),
    Fault("negative_usage", "rejected", "after", _negative),
    Fault(
        "empty_measurement", "rejected", "after",
        lambda row, kind, rng: _set(row, **{_one_of(kind.measures, rng): ""}),
    ),
    Fault(
        "missing_entity", "rejected", "after",
        lambda row, kind, rng: _set(row, **{kind.entity: _one_of(MISSING_NAMES, rng)}),
    ),
    Fault("embedded_nul", "rejected", "after", _embedded_nul),
    Fault(
        "missing_name", "null", "instead",
        lambda row, kind, rng: _set(
            row, **{_one_of(kind.names, rng): _one_of(MISSING_NAMES, rng)}
        ),
    ),
    Fault("missing_response_time", "null", "instead", lambda row, *_: _set(row, rt="")),
    Fault("missing_rpc_type", "null", "instead", lambda row, *_: _set(row, rpctype="")),
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Planned:
    """A fault to plant at a good row; rows of a file count from 0."""

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
    """Choose distinct rows of file ``number`` (of ``files``) for faults, in row order.

    Each kind of fault gets ``share`` of the table's rows, but at least ``minimum`` rows. Its rows
    are distributed over the files in turn; each kind starts at another file.
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


#: The factor for repeated rows in call tables, where they are common: 77 of the first 999 rows.
_CALL_REPEATS = 50
