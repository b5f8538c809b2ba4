"""Texts that a user types: names, parameters, thresholds, statements of SQL."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_text
from tests_support import TraceFolder

_REPLAY = ("replay", "--workload", "paper000", "--out", "myrun")

#: A command line, and the words of it that are changed.
_LINES: tuple[tuple[tuple[str, ...], str], ...] = (
    ((*_REPLAY, "--policy"), "least_allocated[resources=cpu:1+memory:2]"),
    ((*_REPLAY, "--policy"), "requested_to_capacity_ratio[shape=0:0+100:10]"),
    ((*_REPLAY, "--policy"), "first_fit+load_spread[interval_ms=60000]"),
    ((*_REPLAY, "--policy"), "target_load_packing[target_utilization=0.4]"),
    ((*_REPLAY, "--policy", "first_fit", "--rebalance"), "low_node_utilization"),
    ((*_REPLAY, "--policy", "first_fit", "--assume"), "nodes=31"),
    ((*_REPLAY, "--policy", "first_fit", "--seed"), "7"),
    (("replay", "--policy", "first_fit", "--out", "myrun", "--workload"), "paper000"),
    (("replay", "store", "--policy", "first_fit", "--out", "myrun", "--assume"), "node_cpu_cores=96"),
    (("query", "store", "usage/node_profile", "-p"), "min_samples=20"),
    (("query", "store", "usage/node_series", "-p"), "node=abc"),
    (("query", "store"), "usage/zone_summary"),
    (("query", "store", "usage/zone_summary", "--format"), "csv"),
    (("compare", "base", "base", "--fail-if"), "imbalance_mean > 1.05 * base"),
    (("compare", "base", "base", "--fail-if"), "first_fit: cpu_max_fraction >= (0.9 + 0.1) / 2"),
    (("ingest", "traces", "store2", "--memory-limit"), "512MiB"),
    (("ingest", "traces", "store2", "--max-rejects"), "0.01"),
    (("list",), "policies"),
    (("list", "policies"), "least_allocated"),
    (("synth", "made", "--preset", "tiny", "--tables"), "node,resource"),
    (("fetch", "ctm21", "fetched", "--tables", "nothing", "--parts"), "0-3"),
)  # fmt: skip


class Words(Door):
    """One command line at a time."""

    share = 0.11
    results = ("myrun", "store2")

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """A store and a run to ask of."""
        TraceFolder.written(folder / "traces")
        return (
            ("ingest", "traces", "store", "--jobs", "1"),
            (*_REPLAY[:3], "--policy", "first_fit", "--out", "base"),
        )

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A whole command line, its last word changed."""
        shutil.copytree(start, folder, dirs_exist_ok=True)
        line, word = any_of(rng, _LINES)
        return Case(arguments=(*line, mutated_text(word, rng)))


WORDS = Words()


_WHOLE = (
    "SELECT node, avg(cpu_fraction) AS mean FROM node_usage GROUP BY node ORDER BY mean LIMIT 5",
    "WITH z AS (SELECT * FROM usage_node_profile) SELECT count(*), max(cpu_mean) FROM z",
    "SELECT a.node, row_number() OVER (PARTITION BY a.node ORDER BY a.time_ms) FROM node_usage a",
    "SELECT make_timestamp(time_ms * 1000), [1, 2], {'a': 1}, NULL, 'x' || 1 FROM node_usage",
    "FROM node_usage SELECT quantile_cont(cpu_fraction, 0.9) WHERE time_ms BETWEEN 0 AND 60000",
    "SUMMARIZE node_usage",
    "DESCRIBE node_usage",
)
#: What would change something, or reach out of the store.
_HARM = (
    "COPY (SELECT 1) TO '{at}'",
    "COPY (SELECT 1) TO '{at}' (FORMAT parquet)",
    "EXPLAIN ANALYZE COPY (SELECT 1) TO '{at}'",
    "WITH x AS (COPY (SELECT 1) TO '{at}') SELECT 1",
    "WITH x AS (COPY (SELECT 1) TO '{at}') PIVOT (SELECT 1 AS a, 2 AS b) ON a USING sum(b)",
    "EXPORT DATABASE '{at}'",
    "ATTACH '{at}' AS other",
    "CREATE TABLE t AS SELECT 1",
    "CREATE OR REPLACE VIEW node_usage AS SELECT 1",
    "DROP VIEW node_usage",
    "DELETE FROM node_usage",
    "UPDATE node_usage SET cpu_fraction = 0",
    "INSERT INTO node_usage SELECT * FROM node_usage",
    "SET enable_external_access = true; COPY (SELECT 1) TO '{at}'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "PRAGMA enable_logging",
    "CALL enable_profiling()",
    "SELECT 1; COPY (SELECT 1) TO '{at}'",
    "PIVOT node_usage ON node USING sum(cpu_fraction)",
    "VACUUM",
    "CHECKPOINT",
    "BEGIN; DROP VIEW node_usage; COMMIT",
    "PREPARE p AS COPY (SELECT 1) TO '{at}'; EXECUTE p",
    "SELECT * FROM read_text('{at}')",
)
_TARGETS = ("new.csv", "store/manifest.json", "store/catalog.duckdb", "store/new", "store")
_NUMBERS = ("0", "1", "0.5", "-1", "1e308", "NULL", "'x'", "9223372036854775807", "(1/0)", "'nan'")
_FORMS = ("table", "csv", "json")


class Sql(Door):
    """One statement at a time, given as text or as a file."""

    share = 0.03

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """A store to ask of."""
        TraceFolder.written(folder / "traces")
        return (("ingest", "traces", "store", "--jobs", "1"),)

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A statement, whole or damaged; or one that would do harm."""
        shutil.copytree(start / "store", folder / "store")
        how = int(rng.integers(4))
        if how == 0:
            text = mutated_text(any_of(rng, _WHOLE), rng)
        elif how == 1:
            text = _with_other_numbers(any_of(rng, _WHOLE), rng)
        else:
            text = any_of(rng, _HARM).format(at=any_of(rng, _TARGETS))
            text = mutated_text(text, rng) if rng.random() < 0.5 else text
        before = _digest(folder)
        if rng.random() < 0.3:
            (folder / "mine.sql").write_text(text, encoding="utf-8")
            before["mine.sql"] = hashlib.sha256(text.encode()).hexdigest()
            text = "mine.sql"
        form = any_of(rng, _FORMS)
        return Case(arguments=("query", "store", text, "--format", form), expected=before)

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """No file is changed, removed or added."""
        now, before = _digest(folder), case.expected
        assert isinstance(before, dict)
        other = sorted(
            name for name in now.keys() | before.keys() if now.get(name) != before.get(name)
        )
        return f"a query changed {', '.join(other)}" if other else None


def _with_other_numbers(text: str, rng: Rng) -> str:
    """The statement with other numbers in the place of its own."""
    return re.sub(r"\b\d+(\.\d+)?\b", lambda _: str(any_of(rng, _NUMBERS)), text)


def _digest(folder: Path) -> dict[str, str]:
    """Each file below a folder, by its bytes; folders without files count too."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        )
        for path in sorted(folder.rglob("*"))
    }


SQL = Sql()
