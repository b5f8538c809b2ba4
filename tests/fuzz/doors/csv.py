"""CSV files, some lines damaged; the fate of every line is known beforehand."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_line
from tests_support import (
    CALL_HEADER,
    NODE_HEADER,
    RATE_HEADER,
    RESOURCE_HEADER,
    call_lines,
    node_lines,
    rate_lines,
    resource_lines,
)

from doors._ingest import Fate, ingest_verdict

_FILES = 6
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TABLES = {
    "Node": (NODE_HEADER, node_lines),
    "MSResource": (RESOURCE_HEADER, resource_lines),
    "MSRTQps": (RATE_HEADER, rate_lines),
    "MSCallGraph": (CALL_HEADER, call_lines),
}

#: The stored column of each number or time, by the place of its field.
_STORED = {
    "Node": {1: "time_ms", 3: "cpu_fraction", 4: "memory_fraction"},
    "MSResource": {4: "cpu_fraction", 5: "memory_fraction", 6: "time_ms"},
    "MSRTQps": {1: "time_ms", 5: "value"},
    "MSCallGraph": {2: "time_ms", 8: "response_time_ms"},
}

#: The fields that tell a row from another; of rows alike in them the first is kept. Empty: all.
_KEYS = {"Node": (1, 2), "MSResource": (6, 2, 3), "MSRTQps": (1, 3, 4), "MSCallGraph": ()}

#: What the fields of each table must be: t time, n number of at least 0, v any number, o optional
#: number, i id that must be there, x id or text that may be missing; '-' is not read.
RULES = {
    "Node": "-tinn",
    "MSResource": "-xixnnt",
    "MSRTQps": "-txiiv",
    "MSCallGraph": "-itixxxxo",
}
_UNKNOWN = {"", "(?)", "NAN", "nan", "NaN", "null", "None"}


HEADERS = {table: header for table, (header, _) in _TABLES.items()}


class Csv(Door):
    """Several files at a time."""

    share = 0.21

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """Files of one table each, one to five lines of each damaged."""
        (folder / "traces").mkdir()
        fates: dict[str, Fate] = {}
        first: dict[str, str] = {}
        for number in range(_FILES):
            table = str(any_of(rng, list(_TABLES)))
            header, make = _TABLES[table]
            lines = [f"{at},{line}" for at, line in enumerate(make())]
            for _ in range(int(rng.integers(1, 6))):
                at = int(rng.integers(len(lines)))
                lines[at] = mutated_line(lines[at], rng)
            # something whole is always left, so that the file is never refused
            end = "\n" if rng.random() < 0.8 else ""
            text = "\n".join([header, *lines, f"{len(lines)},{make()[0]}"]) + end
            name = f"{table}_{number}.csv"
            (folder / "traces" / name).write_bytes(text.encode())
            twin = first.setdefault(text, name)
            fates[name] = fate(table, text)
            if twin != name:
                fates[name] = replace(fates[name], twin=twin)
        jobs = ("--jobs", "1")
        return Case(arguments=("ingest", "traces", "store", *jobs), inputs=_FILES, expected=fates)

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """Every file is in, with the rows that the rules let pass."""
        if done.code != 0:
            return f"exit code {done.code}: {done.err[-300:]}"
        return ingest_verdict(case, done, folder / "store")


def fate(table: str, text: str) -> Fate:
    """What becomes of a CSV text; line by line, field by field."""
    lines = text.split("\n")[1:]
    if lines and lines[-1] == "":
        lines.pop()
    rules, stored = RULES[table], _STORED[table]
    rows = [line for line in (line.rstrip("\r") for line in lines) if _is_row(line, rules)]
    first: dict[tuple[object, ...], tuple[tuple[str, float | None], ...]] = {}
    for row in rows:
        fields = row.split(",")
        values = {at: _value(fields[at], name) for at, name in stored.items()}
        key = tuple(values.get(at, fields[at]) for at in _KEYS[table] or range(1, len(fields)))
        result = tuple((name, values[at]) for at, name in sorted(stored.items()))
        first.setdefault(key, result)
    return Fate(read=len(lines), rejected=len(lines) - len(rows), values=frozenset(first.values()))


def _value(field: str, name: str) -> float | None:
    if not field:
        return None
    return int(Decimal(field)) if name == "time_ms" else float(field)


def _is_row(line: str, rules: str) -> bool:
    fields = line.split(",")
    if len(fields) != len(rules) or "\0" in line:
        return False
    return all(_passes(field, rule) for field, rule in zip(fields, rules, strict=True))


def _passes(field: str, rule: str) -> bool:
    if rule in "-x":
        return True
    if rule == "i":
        return field not in _UNKNOWN
    if rule == "o" and field == "":
        return True
    if not _NUMBER.fullmatch(field):
        return False
    if rule == "t":
        value = Decimal(field)
        return value == value.to_integral_value() and 0 <= value < 2**63
    return math.isfinite(float(field)) and (rule in "ov" or float(field) >= 0)


CSV = Csv()


#: A file of this size is read the compiled way.
_BYTES = 17 << 20
_MOST_DAMAGED = 400


class Large(Door):
    """One file, or two at once by two workers."""

    share = 0.003

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """Whole lines of each table, enough for a large file."""
        for table, rules in RULES.items():
            lines, size, at = [], 0, 0
            while size < _BYTES:
                lines.append(_line(rules, at))
                size += len(lines[-1]) + 1
                at += 1
            (folder / f"{table}.lines").write_text("\n".join(lines) + "\n")
        return ()

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """Damaged lines anywhere among the whole ones."""
        (folder / "traces").mkdir()
        fates: dict[str, Fate] = {}
        jobs = 1 + int(rng.integers(2))
        for number in range(jobs):
            table = str(any_of(rng, list(RULES)))
            lines = (start / f"{table}.lines").read_text().splitlines()
            for _ in range(int(rng.integers(1, _MOST_DAMAGED))):
                at = int(rng.integers(len(lines)))
                lines[at] = mutated_line(lines[at], rng)
            # the two files differ in their last line at least
            lines.append(_line(RULES[table], len(lines) + 7 + number))
            text = "\n".join([HEADERS[table], *lines]) + "\n"
            name = f"{table}_{number}.csv"
            (folder / "traces" / name).write_bytes(text.encode())
            fates[name] = fate(table, text)
        return Case(
            arguments=("ingest", "traces", "store", "--jobs", str(jobs)),
            inputs=jobs,
            expected=fates,
        )

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """Every file is in, with the rows that the rules let pass."""
        if done.code != 0:
            return f"exit code {done.code}: {done.err[-300:]}"
        return ingest_verdict(case, done, folder / "store")


def _line(rules: str, at: int) -> str:
    """A row of its own time: ids of 64 digits, as the archives have them."""
    given = {
        "-": str(at),
        "t": str(30_000 * at),
        "n": f"0.{at % 9973:04d}",
        "v": f"{at % 7919}.25",
        "o": f"{at % 997}.5",
    }
    ids = ((at % 211, at % 1_013, at % 31)[place % 3] for place in range(len(rules)))
    fields = [
        given.get(rule) or hashlib.sha256(f"{place % 3} {number}".encode()).hexdigest()
        for place, (rule, number) in enumerate(zip(rules, ids, strict=True))
    ]
    return ",".join(fields)


LARGE = Large()
