"""Rules of a folder's files: units of amounts, ids of other files, lives of containers.

Amounts are brought into the units of the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

import numpy as np
import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.units import (
    EPOCH_FROM_MS,
    MS_PER_DAY,
    SHARE,
    UNIT_OF,
    in_stored_unit,
    known_units,
    stored_unit,
)
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._rows import Rule, emptied, numbers, refuse
from tracekit.intake.sources._source import ORIGINAL, Broken, Opened
from tracekit.store.tables import all_tables

#: Ends of a column's name: the unit, and the number of the column's amounts in one unit. The first
#: end that fits counts.
_ENDINGS = {
    "_kbit_per_s": ("kbit/s", 1),
    "_bytes_per_s": ("bytes/s", 1),
    "_bytes": ("bytes", 1),
    "_milli": ("count", 1_000),
    "": ("count", 1),
}
#: Resources without a unit in their name.
_RESOURCES = frozenset({*UNIT_OF, "gpu"})
#: The end of the name of a limit, and the beginning of the name of a label.
LIMIT = "_limit"
LABEL = "label_"


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A column of a user's table with amounts of a resource.

    ``unit`` is the unit in the store; ``per_unit`` is the number in the column that makes one unit,
    as 1000 for ``cpu_milli`` (cores).
    """

    column: str
    resource: str
    unit: str
    per_unit: float


def columns_of(table: str) -> set[str]:
    """Return the columns of a table of the store."""
    return {column.name for column in all_tables()[table].columns}


def further(frame: pl.DataFrame, others: set[str]) -> tuple[list[Measure], list[str]]:
    """Divide the columns that are not in ``others`` into columns of amounts and columns of labels.

    A column named after a unit or a common resource holds amounts. A column named ``label_*`` holds
    labels. Any other column holds labels if most of its values are texts, else amounts.
    """
    measures, labels = [], []
    for name in frame.columns:
        if name in others or name == "line" or not name or name.endswith(ORIGINAL):
            continue
        if name.startswith(LABEL) or not (_is_named(name) or _is_numeric(frame[name])):
            labels.append(name)
        else:
            measures.append(_measure(name))
    return measures, labels


def _is_named(name: str) -> bool:
    """Whether a name ends in a unit, or is the name of a common resource."""
    plain = name.removesuffix(LIMIT)
    return plain in _RESOURCES or any(name.endswith(one) for one in _ENDINGS if one)


def _is_numeric(values: pl.Series) -> bool:
    if values.dtype.is_numeric() or values.dtype == pl.Null:
        return True
    if values.dtype != pl.String:
        return False
    texts = values.drop_nulls()
    return 2 * texts.cast(pl.Float64, strict=False).is_not_null().sum() >= len(texts)


def _measure(name: str) -> Measure:
    ending = next(one for one in _ENDINGS if name.endswith(one))
    resource = name.removesuffix(ending)
    unit, per_unit = _ENDINGS[ending]
    if unit == "count":
        unit = UNIT_OF.get(resource, unit)
    base, times, per = in_stored_unit(resource.removesuffix(LIMIT), unit) or (unit, 1, 1)
    return Measure(column=name, resource=resource, unit=base, per_unit=per_unit * per / times)


#: The store's tables with a column ``unit``, and their columns of amounts. The first of the tables
#: with a resource decides the unit of the resource.
_AMOUNTS: dict[str, Sequence[str]] = {
    "node_resource": ("amount",),
    "container_resource": ("request", "limit"),
    "fixed_request": ("init", "overhead", "own_request", "own_limit"),
    "node_amount": ("amount",),
    "container_amount": ("amount",),
}
#: Files whose columns name the unit, each with its table and its columns without amounts.
_WIDE = {
    "nodes": ("node", columns_of("node")),
    "containers": ("container", columns_of("container") | {"arrival_ms"}),
    "usage": ("container_amount", {"container", "time_ms"}),
}
_PAIR = ("resource", "unit")
#: Columns that are added for the conversion; no file has columns of these names.
_BASE, _TIMES, _PER = "base\0", "times\0", "per\0"


class Measured:
    """A converter of the amounts in the rows of one table to the units of the store.

    Of a resource for which the store knows no unit (a GPU, an extended resource), the first unit
    counts that the store, an earlier file or an earlier row states. Another unit is wrong.
    """

    def __init__(self, opened: Opened, table: str) -> None:
        self._table = table
        self._columns = _AMOUNTS.get(table, ())
        self._first: dict[str, tuple[str, str]] = {}
        if self._columns:
            stated = (*_in_wide(opened), *_in_store(opened), *_before(opened, table))
            for where, resource, unit in stated:
                self._note(resource, unit, where)

    def converted_and_rejected(self, frame: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
        """Return the rows, converted, and a reject for each row in a wrong unit."""
        if not self._columns or not set(_PAIR) <= set(frame.columns):
            return frame, []
        rules = [rule for pair in _pairs(frame) if (rule := self._broken(*pair)) is not None]
        valid, wrong = refuse(frame, rules, self._table)
        return _converted(valid, self._columns), wrong

    def _note(self, resource: str, unit: str, where: str) -> None:
        stored = in_stored_unit(resource, unit)
        if stored_unit(resource) is None and stored is not None and stored[0] != SHARE:
            self._first.setdefault(resource, (stored[0], where))

    def _broken(self, resource: str, unit: str) -> Rule | None:
        """The rule against a wrong unit of a resource; None for a right unit."""
        stored = in_stored_unit(resource, unit)
        if stored is None:
            expected = f"a unit of {resource}: {known_units(resource)}"
        else:
            self._note(resource, unit, "a row before")
            first, where = self._first.get(resource, (stored[0], ""))
            if stored[0] in (first, SHARE):
                return None
            expected = f"{first}, in which {where} states {resource}"
        is_it = (pl.col("resource").cast(pl.String) == resource) & (
            pl.col("unit").cast(pl.String) == unit
        )
        return Rule(column="unit", broken=is_it, expected=expected)


def _pairs(frame: pl.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield each pair of resource and unit in the rows, in order."""
    pairs = frame.select(pl.col(one).cast(pl.String) for one in _PAIR).drop_nulls()
    yield from pairs.unique(maintain_order=True).iter_rows()


def check_units(opened: Opened, measures: Sequence[Measure]) -> None:
    """Raise TracekitError if a column has another unit than the store has for its resource."""
    own = {one.resource.removesuffix(LIMIT): one for one in measures}
    for _, resource, unit in _in_store(opened):
        measure = own.get(resource)
        if measure is None or stored_unit(resource) is not None or SHARE in (unit, measure.unit):
            continue
        if measure.unit != unit:
            raise TracekitError(
                f"{opened.name}: {measure.column} is {resource} in {measure.unit}, but the store"
                f" states {resource} in {unit}",
                hint="name the column otherwise, or ingest all into a new store, in one unit",
            )


def _in_wide(opened: Opened) -> Iterator[tuple[str, str, str]]:
    """Yield file, resource and unit of the columns of the files beside that name units."""
    for word, (table, others) in _WIDE.items():
        for file in opened.beside.get(word, ()):
            for frame, _ in islice(named_frames(file, table), 1):
                for one in further(frame, others)[0]:
                    yield file.name, one.resource.removesuffix(LIMIT), one.unit


def _in_store(opened: Opened) -> Iterator[tuple[str, str, str]]:
    """Yield ``the store``, resource and unit of the rows of the store."""
    for table in _AMOUNTS:
        if table in opened.stored:
            rows = pl.read_parquet(opened.stored[table], columns=list(_PAIR))
            yield from (("the store", *pair) for pair in _pairs(rows))


def _before(opened: Opened, table: str) -> Iterator[tuple[str, str, str]]:
    """Yield file, resource and unit of the earlier files; of use, by the first rows of a file."""
    for word, columns in _AMOUNTS.items():
        for file in opened.beside.get(word, ()):
            if file.path == opened.path:
                return
            frames = (frame for frame, _ in named_frames(file, word))
            for frame in islice(frames, 1) if columns == ("amount",) else frames:
                if set(_PAIR) <= set(frame.columns):
                    yield from ((file.name, *pair) for pair in _pairs(frame))
        if word == table:
            return


def _converted(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    """The rows with amounts in the units of the store; a text that is no number stays.

    The original amounts and units are in columns beside them.
    """
    units = [(*pair, *(in_stored_unit(*pair) or (pair[1], 1, 1))) for pair in _pairs(frame)]
    changed = [one for one in units if one[1] != one[2] or one[3] != one[4]]
    if not changed:
        return frame
    kinds = dict.fromkeys((*_PAIR, _BASE), pl.String) | dict.fromkeys((_TIMES, _PER), pl.Float64)
    factors = pl.DataFrame(changed, schema=kinds, orient="row")
    originals = [one for one in ("unit", *columns) if one in frame.columns]
    frame = frame.with_columns(pl.col(one).alias(one + ORIGINAL) for one in originals)
    both = frame.with_columns(pl.col(one).cast(pl.String) for one in _PAIR).join(
        factors, on=list(_PAIR), how="left", maintain_order="left"
    )
    times, per = (both[one].fill_null(1.0).to_numpy() for one in (_TIMES, _PER))
    other = pl.Series(times != per)
    for name in columns:
        if name in frame.columns:
            numbers = both[name].cast(pl.Float64, strict=False)
            # numpy divides exactly, polars multiplies with the inverse
            values = pl.Series(name, np.asarray(numbers.fill_null(0.0).to_numpy()) * times / per)
            values = values.cast(pl.String) if both.schema[name] == pl.String else values
            both = both.with_columns(values.zip_with(other & numbers.is_not_null(), both[name]))
    return both.with_columns(pl.coalesce(_BASE, "unit").alias("unit")).drop(_BASE, _TIMES, _PER)


#: A million cores, and an EiB: a larger size is an error, and would spoil every figure.
_MOST_OF_A_MACHINE = {"_milli": 10**9, "_bytes": 2**60}
#: Columns with the life of a sample's container; no file has columns of these names.
LIVES = ("its arrival\0", "its departure\0")
#: A sample ten years away from its container's life shows that the two files count times from
#: different beginnings.
_APART_MS = 10 * 365 * MS_PER_DAY
_OTHER_BEGINNING = (
    "times of one beginning: usage and containers are years apart, as one counts from 1970 and the"
    " other from a start of its own"
)


#: The owner of ids in messages, where the store lists some too.
_STORED = "the files beside or of the store"


@dataclass(frozen=True)
class Listed:
    """The ids of nodes or containers to which other rows may refer.

    ``owner`` names the files that list the ids, for messages. ``rejected`` has, by file, the ids of
    rejected rows.
    """

    ids: pl.Series
    owner: str = "the files beside"
    rejected: Mapping[str, pl.Series] = field(default_factory=dict)


def with_stored(opened: Opened, ids: pl.Series | None, entity: str) -> Listed | None:
    """Return ``ids`` and the ids in the store together; None if there are neither."""
    path = opened.stored.get(f"{entity}_ids")
    if path is None:
        return None if ids is None else Listed(ids)
    listed = pl.read_parquet(path)[entity].cast(pl.String)
    both = listed if ids is None else pl.concat([listed, ids.alias(entity)])
    return Listed(both.unique(), _STORED)


def unknown(frame: pl.DataFrame, column: str, listed: Listed | None) -> list[Rule]:
    """Return rules: the ids of a column must be among the listed ones.

    There is no rule if ``listed`` is None, or if the frame lacks the column.
    """
    if listed is None or column not in frame.columns:
        return []
    ids = pl.col(column).cast(pl.String)
    strange = ~ids.is_in(listed.ids.implode())
    expected = f"a {column} of {listed.owner}"
    return [
        *(
            Rule(
                column=column,
                broken=strange & ids.is_in(some.implode()),
                expected=f"{expected}; its own row in {file} is a reject",
            )
            for file, some in listed.rejected.items()
        ),
        Rule(column=column, broken=strange, expected=expected),
    ]


def ended_early(frame: pl.DataFrame) -> list[Rule]:
    """Return the rule that a container departs after it arrives; none without departures."""
    if "departure_ms" not in frame.columns:
        return []
    arrival, departure = (
        pl.col(name).cast(pl.Float64, strict=False) for name in ("arrival_ms", "departure_ms")
    )
    return [Rule(column="departure_ms", broken=departure <= arrival, expected="after arrival_ms")]


def with_lives(frame: pl.DataFrame, lives: pl.DataFrame | None) -> tuple[pl.DataFrame, list[Rule]]:
    """Add the arrival and departure of each sample's container; return also rules for its time.

    By the rules, a sample must lie between the two times, both included. The added columns are
    ``LIVES``, in ms; NULL if no file of this ingest lists the container.
    """
    if lives is None or not {"container", "time_ms"} <= set(frame.columns):
        return frame.with_columns(pl.lit(None, pl.Float64).alias(one) for one in LIVES), []
    arrival, departure = LIVES
    living = frame.with_columns(pl.col("container").cast(pl.String)).join(
        lives, on="container", how="left", maintain_order="left"
    )
    time = pl.col("time_ms").cast(pl.Float64, strict=False)
    return living, [
        *(
            Rule(
                column="time_ms",
                broken=(later - earlier > _APART_MS)
                & (earlier < EPOCH_FROM_MS)
                & (later >= EPOCH_FROM_MS),
                expected=_OTHER_BEGINNING,
            )
            for earlier, later in ((time, pl.col(arrival)), (pl.col(departure), time))
        ),
        Rule(column="time_ms", broken=time < pl.col(arrival), expected="no time before arrival_ms"),
        Rule(
            column="time_ms", broken=time > pl.col(departure), expected="no time after departure_ms"
        ),
    ]


def number_rules(frame: pl.DataFrame, columns: Sequence[str]) -> list[Rule]:
    """Return rules: those of these columns that hold texts must hold numbers or NULL."""
    return numbers(*(one for one in columns if frame.schema.get(one) == pl.String))


def amount_rules(columns: Sequence[str]) -> list[Rule]:
    """Return rules: values must be finite, 0 or more, and at most ``most_of`` of the column."""
    rules = []
    for one in columns:
        value = pl.col(one).cast(pl.Float64, strict=False)
        broken = (value < 0) | ~value.is_finite()
        rules.append(Rule(column=one, broken=broken, expected="0 or more"))
        most = most_of(one)
        if most is not None:
            expected = f"no more than {most:,}, as no machine has more"
            # the first rule covers NaN and inf
            beyond = value.is_finite() & (value > most)
            rules.append(Rule(column=one, broken=beyond, expected=expected))
    return rules


def most_of(column: str) -> int | None:
    """Return the largest credible value of a column, by the unit in its name; None without a limit.

    ``cpu_milli`` may be up to a million cores, ``memory_bytes`` up to an EiB.
    """
    return next((most for end, most in _MOST_OF_A_MACHINE.items() if column.endswith(end)), None)


def with_amounts(
    frame: pl.DataFrame, columns: Sequence[str], table: str
) -> tuple[pl.DataFrame, list[Broken]]:
    """Set impossible values to NULL; return the frame, and a reject for each row with one."""
    return emptied(frame, [*number_rules(frame, columns), *amount_rules(columns)], table)
