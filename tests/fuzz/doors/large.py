"""Files large enough for the compiled reader, some lines damaged; every line's fate is known.

The base is the same for a table; a line that is inserted has a time of its own or is no row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_line

from doors._ingest import Fate, ingest_verdict
from doors.csv import HEADERS, RULES, fate

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


DOOR = Large()
