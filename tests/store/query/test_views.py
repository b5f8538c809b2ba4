"""Views that are made when a statement names them are, for who asks, all there from the start."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

from tracekit.store.query.database import Views

STATEMENTS = (
    "CREATE VIEW ones AS SELECT 1 AS one",
    "CREATE VIEW twos AS SELECT one + one AS two FROM ones",
    "CREATE VIEW fours AS SELECT two + two AS four FROM twos",
    "CREATE VIEW others AS SELECT 9 AS nine",
)
MADE = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY ALL"


def made(con: duckdb.DuckDBPyConnection) -> list[str]:
    return [str(name) for (name,) in con.execute(MADE).fetchall()]


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("SELECT 1", []),
        ("SELECT * FROM ones", ["ones"]),
        ('SELECT * FROM "Twos"', ["ones", "twos"]),
        ("WITH f AS (FROM fours) SELECT * FROM f", ["fours", "ones", "twos"]),
        ("SHOW TABLES", ["fours", "ones", "others", "twos"]),
        ("DESCRIBE", ["fours", "ones", "others", "twos"]),
        ("FROM information_schema.tables", ["fours", "ones", "others", "twos"]),
        (MADE, ["fours", "ones", "others", "twos"]),
    ],
)
def test_a_statement_finds_what_it_reads_and_no_more_is_made(sql: str, names: list[str]) -> None:
    with duckdb.connect() as con:
        Views(STATEMENTS).make_for(con, sql)
        con.execute(sql)
        assert made(con) == names


def test_all_are_made_once() -> None:
    with duckdb.connect() as con:
        views = Views(STATEMENTS)
        views.make_for(con, "FROM twos")
        assert views.make_all(con)
        assert not views.make_all(con)
        assert con.execute("FROM fours").fetchall() == [(4,)]


def test_threads_that_ask_at_once_all_find_their_views() -> None:
    with duckdb.connect() as con, ThreadPoolExecutor(8) as threads:
        statements = [STATEMENTS[0]]
        for at in range(30):
            before = f"v{at - 1}" if at else "ones"
            statements.append(f"CREATE VIEW v{at} AS SELECT * FROM {before}")
        views = Views(statements)

        def ask(at: int) -> int:
            with con.cursor() as cursor:
                views.make_for(cursor, f"FROM v{at}")
                return len(cursor.execute(f"FROM v{at}").fetchall())

        assert list(threads.map(ask, [*range(0, 30, 3), *range(29, -1, -2)])) == [1] * 25
