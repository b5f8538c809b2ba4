"""Tables of the report: frames and facts as headed columns of texts."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tracekit.answer.claims.table import all_claims
from tracekit.base.facts import Fact
from tracekit.base.units import duration, memory, percent
from tracekit.base.words import number, short_hash, words_of
from tracekit.policy.placement import title_of_policy
from tracekit.replay.measures import find_measure, title_of
from tracekit.report import sentences
from tracekit.store.sqlfiles import all_queries, get_query

Kind = Literal["text", "id", "percent", "number", "count", "time", "size"]

#: The cases of the decision in the order of their rows, with the names of the rows.
CASES = {
    "today": "today",
    "recorded": "requests as they are",
    "recommended": "requests as recommended",
    "no_more_often": "full no more often than today",
    "half_size": "half the assumed size",
    "twice_size": "twice the assumed size",
    "bound": "proven lower bound",
}
#: The words for outcomes.
OUTCOMES = {
    "better": "better",
    "worse": "worse",
    "holds": "holds",
    "does_not_hold": "does not hold",
}
#: Verdicts on claims.
VERDICTS = {
    "holds": "holds",
    "does_not_hold": "does not hold",
    "cannot_tell": "cannot be told",
    "not_met": "does not hold: less of the need is served",
}
#: The words for the treatment of a container by a rebalancer.
MOVED = {
    "moved": "moved",
    "waits": "evicted, and found no node",
    "same_node": "evicted, and back on its node",
    "stays": "stays",
}
#: Right-aligned columns of facts.
_KINDS: Mapping[str, Kind] = dict.fromkeys(("value", "interval", "beside"), "number")
#: The text for an unknown value.
NONE = "\u2013"
#: The most rows of a table in a page.
MOST_ROWS = 500
_ENDINGS: tuple[tuple[str, Kind], ...] = (
    ("_fraction", "percent"),
    ("_share", "percent"),
    ("_ms", "time"),
    ("_bytes", "size"),
)
#: Columns of names that cannot be broken.
_IDS = ("node", "container", "service", "upstream", "downstream", "like_node", "sha256")
#: Measures whose titles are longer than a narrow column is wide, and columns named by their use.
_HEADS = {
    "cpu_p99_over_time_fraction": "CPU, 99 % of the time",
    "cpu_max_fraction": "Highest CPU",
    "memory_max_fraction": "Highest memory",
    "repeat": "Order of arrival",
    "kept": "Stays",
    "bound": "Lower bound",
    "freed": "Freed in all",
    "beside": "Allowed, or beside",
}
#: The words for parts of names.
_WORDS = {
    "cpu": "CPU",
    "gpu": "GPU",
    "vcpu": "vCPU",
    "vcpus": "vCPUs",
    "sha256": "SHA-256",
    "p50": "median",
    "p95": "95 % at most",
    "util": "use",
    "diff": "difference",
    "std": "standard deviation",
    "max": "highest",
    "min": "lowest",
}
#: Ends of names that cells say themselves, and units of plain numbers.
_IN_CELLS = ("_fraction", "_share", "_ms", "_bytes")
_UNITS = {"_cores": " [cores]", "_gb": " [GB]", "_gib": " [GiB]", "_milli": " [thousandths]"}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of a table: its head, its meaning, and the look of its values."""

    name: str
    label: str
    kind: Kind
    meaning: str = ""

    @property
    def numeric(self) -> bool:
        """Whether values are right-aligned and sort as numbers."""
        return self.kind not in {"text", "id"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A table cell: text, sort key, unabridged text if longer, and a second line below."""

    text: str
    sort: str = ""
    full: str = ""
    below: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table ready for a template.

    Parameters
    ----------
    left_out : int
        The number of rows that are only in the files.
    """

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    left_out: int = 0

    @property
    def file_name(self) -> str:
        """The name of the table as a file: its caption in plain letters."""
        plain = "".join(one if one.isalnum() else " " for one in self.caption.lower())
        return "-".join(plain.split()[:5]) or "table"


def table(frame: pl.DataFrame, caption: str, *, query: str = "", only: Sequence[str] = ()) -> Table:
    """Return a frame as a table; a query's header says what its columns mean and their units."""
    names = [name for name in (only or frame.columns) if name in frame.columns]
    flat = [name for name in names if _is_shown(frame[name])]
    columns = [column(name, frame.schema[name], query) for name in flat]
    shown = frame.head(MOST_ROWS)
    units = shown["unit"].to_list() if "unit" in shown.columns else [""] * shown.height
    rows = [
        [cell(value, col, unit) for value, col in zip(row, columns, strict=True)]
        for row, unit in zip(shown.select(flat).iter_rows(), units, strict=True)
    ]
    return Table(
        caption=caption, columns=columns, rows=rows, left_out=max(frame.height - MOST_ROWS, 0)
    )


def _is_shown(values: pl.Series) -> bool:
    """Whether a column has any value, and single values."""
    return not values.dtype.is_nested() and values.null_count() < len(values)


def records(rows: Iterable[Mapping[str, Any]], caption: str) -> Table:
    """Return rows of values by column as a table."""
    return table(pl.DataFrame(list(rows), infer_schema_length=None, strict=False), caption)


def facts_table(facts: Sequence[Fact], caption: str) -> Table:
    """Return facts as a table, one row each; columns without any value are left out."""
    rows = [
        {
            "case": CASES.get(str(one.about_it("case")), ""),
            "fact": sentences.label(one),
            "subject": short_hash(title_of_policy(one.subject)),
            "measure": title_of(one.measure) if one.measure else "",
            "value": sentences.value(one),
            "interval": sentences.interval(one),
            "beside": sentences.against(one),
            "outcome": OUTCOMES.get(one.verdict, ""),
        }
        for one in facts
    ]
    named = {"value": sentences.label(facts[0])} if len({one.kind for one in facts}) == 1 else {}
    shown = [name for name in (rows or [{}])[0] if len({row[name] for row in rows}) > 1]
    columns = [
        Column(name=name, label=named.get(name, head(name)), kind=_KINDS.get(name, "text"))
        for name in shown
    ]
    cells = [[Cell(text=row[name] or NONE) for name in shown] for row in rows]
    return Table(caption=caption, columns=columns, rows=cells)


def claim_rows(facts: Iterable[Fact]) -> list[dict[str, str]]:
    """Return a row for each claim: text, judged number, values that agree, number here, verdict."""
    rows = []
    for one in facts:
        claim, lost = all_claims()[one.subject], one.about_it("worse_fraction")
        query = claim.followup.arguments.get("NAME")
        needed = f"; {claim.fewest} are needed" if one.because == "few_samples" else ""
        ends = sentences.interval(one) if one.low != one.high else ""
        here = f"{sentences.value(one) or NONE} ({ends})" if ends else sentences.value(one) or NONE
        rows.append(
            {
                "claimed": claim.text,
                "measured": claim.number,
                "printed": sentences.expected(one),
                "here": f"{here}; lost {percent(lost)}" if isinstance(lost, float) else here,
                "verdict": VERDICTS.get(one.because, VERDICTS[one.verdict]),
                "samples": f"{one.about_it('samples') or 0} {claim.of}{needed}",
                **({"query": str(query)} if query else {}),
            }
        )
    return rows


def waiting(facts: Sequence[Fact], caption: str) -> Table:
    """Return a table of never placed containers by policy and service, with what they lack."""
    rows = [
        {
            "policy": one.subject,
            "service": one.about_it("service"),
            "containers": one.value,
            "nodes": one.about_it("of"),
            "nodes_that_may_take_them": one.about_it("may_take"),
            "lacking_most": one.about_it("lacking"),
        }
        for one in facts
        if one.about_it("service") is not None
    ]
    return records(rows, caption) if rows else Table(caption=caption, columns=(), rows=())


def pivot(facts: Sequence[Fact], beside: Sequence[Fact], caption: str) -> Table:
    """Return a table with a row for each subject and a column for each measure of the facts.

    Parameters
    ----------
    beside : sequence of Fact
        Comparisons of the same subjects and measures; their outcomes are shown in the cells.
    """
    measures = list(dict.fromkeys(one.measure for one in facts))
    columns = [
        Column(name="subject", label="Policy", kind="text"),
        *(Column(name=one, label=head(one), kind="number") for one in measures),
    ]
    fact_of = {(one.subject, one.measure): one for one in facts}
    outcomes = {(one.subject, one.measure): OUTCOMES.get(one.verdict, "") for one in beside}
    rows = [
        [
            Cell(text=title_of_policy(subject)),
            *(
                _with_interval(fact_of.get((subject, one)), outcomes.get((subject, one), ""))
                for one in measures
            ),
        ]
        for subject in dict.fromkeys(one.subject for one in facts)
    ]
    return Table(caption=caption, columns=columns, rows=rows)


def _with_interval(fact: Fact | None, outcome: str) -> Cell:
    if fact is None or fact.value is None:
        return Cell(text=NONE)
    interval = sentences.interval(fact)
    spread = interval if fact.low != fact.high else ""
    below = ", ".join(one for one in (spread, outcome) if one)
    return Cell(text=sentences.value(fact), sort=str(fact.value), below=below)


def column(name: str, dtype: pl.DataType, query: str = "") -> Column:
    """Return the column of a table for a column of a frame."""
    meaning = ""
    if query in all_queries():
        meaning = next((c.description for c in get_query(query).columns if c.name == name), "")
    unit = meaning.rstrip(".").rpartition("[")[2].removesuffix("]")
    return Column(name=name, label=head(name), kind=_kind(name, dtype, unit), meaning=meaning)


def _kind(name: str, dtype: pl.DataType, unit: str) -> Kind:
    if not dtype.is_numeric():
        return "id" if name in _IDS else "text"
    for ending, kind in _ENDINGS:
        if name.endswith(ending):
            return kind
    if unit in ("0..1", "-1..1") and name != "pearson_r":
        return "percent"
    return "count" if dtype.is_integer() else "number"


def cell(value: Any, col: Column, unit: str = "") -> Cell:
    """One value as a cell; a missing value sorts last.

    Parameters
    ----------
    unit : str
        The unit of plain numbers in the row, where rows have their own units.
    """
    if value is None or (isinstance(value, float) and value != value):  # noqa: PLR0124 - NaN
        return Cell(text=NONE)
    in_bytes = unit == "bytes" and col.name != "containers"
    kind: Kind = "size" if in_bytes and col.kind == "number" else col.kind
    text = _text(_named(value, col.name), kind)
    full = str(value) if col.kind == "id" and text != str(value) else ""
    sort = f"{value:.9g}" if isinstance(value, float) else str(value)
    return Cell(text=text, sort=sort, full=full)


def _named(value: Any, name: str) -> Any:
    """A name in a cell for readers, such as a measure's title."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    naming = {"policy": title_of_policy, "resource": words_of, "measure": title_of}
    return naming[name](str(value)) if name in naming else value


def _text(value: Any, kind: Kind) -> str:
    if kind == "percent":
        return percent(value)
    if kind == "number":
        return f"{value:,.0f}" if float(value).is_integer() else number(value)
    if kind == "count":
        return f"{value:,}"
    if kind == "time":
        return duration(value)
    if kind == "size":
        return memory(value)
    return short_hash(str(value)) if kind == "id" else str(value)


def head(name: str) -> str:
    """The head of a column: the measure's title, else the words of its name with the unit."""
    if name in _HEADS:
        return _HEADS[name]
    measure = find_measure(name)
    if measure is not None:
        return measure.title
    unit = ""
    for ending in _IN_CELLS:
        name = name.removesuffix(ending)
    for ending, words in _UNITS.items():
        if name.endswith(ending):
            name, unit = name.removesuffix(ending), words
    text = " ".join(_WORDS.get(word, word) for word in name.split("_"))
    return (text if text.startswith("vCPU") else text[:1].upper() + text[1:]) + unit
