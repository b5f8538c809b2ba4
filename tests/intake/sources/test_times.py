"""Points in time that are written out, and times of two beginnings."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from cluster_support import written
from reading_support import opened, read
from reading_support import written as written_file

from tracekit.intake.ingest import ingest
from tracekit.intake.sources._times import in_ms
from tracekit.store.broken_rows import broken_rows

NEW_YEAR_MS = 1_767_225_600_000
CONTAINERS = "container,service,node,arrival_ms,departure_ms,cpu_milli,memory_bytes"
USE = "container,time_ms,cpu_milli,memory_bytes"


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("2026-01-01T00:00:00Z", NEW_YEAR_MS),
        ("2026-01-01t00:00:00z", NEW_YEAR_MS),
        ("2026-01-01 01:00:00+01:00", NEW_YEAR_MS),
        ("2026-01-01T00:00:00.250000Z", NEW_YEAR_MS + 250),
        ("1767225600000", NEW_YEAR_MS),
    ],
)
def test_a_point_in_time_is_ms_since_1970(text: str, ms: int) -> None:
    found = in_ms(pl.DataFrame({"arrival_ms": [text, None], "service": [text, text]}))
    assert found.select("arrival_ms", "service").rows() == [(str(ms), text), (None, text)]


@pytest.mark.parametrize("text", ["2026-01-01T00:00:00", "2026-01-01", "2026-13-41T00:00:00Z", "x"])
def test_what_is_no_point_in_time_stays(text: str) -> None:
    assert in_ms(pl.DataFrame({"time_ms": [text]})).rows() == [(text,)]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_with_written_times_are_read(tmp_path: Path, ending: str) -> None:
    frame = pl.DataFrame(
        {
            "container": ["a", "b"],
            "arrival_ms": ["2026-01-01T00:00:00Z", "2026-01-01T00:10:00+00:00"],
            "cpu_milli": [500, 500],
            "memory_bytes": [2**30, 2**30],
        }
    )
    path = tmp_path / f"containers.{ending}"
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    found = read("folder", path)
    assert not found.broken
    times = [int(str(one)) for (one,) in found.rows("container", "time_ms")]
    assert times == [NEW_YEAR_MS, NEW_YEAR_MS + 600_000]


@pytest.mark.parametrize(
    ("name", "lines", "column"),
    [
        ("containers", [CONTAINERS, "a,s,n1,2026-01-01 00:00,,500,1073741824"], "arrival_ms"),
        ("usage", [USE, "a,2026-01-01 00:00,500,1073741824"], "time_ms"),
        ("background", ["node,time_ms,cpu_milli", "a,2026-01-01 00:00,500"], "time_ms"),
        (
            "nodes",
            ["node,time_ms,cpu_milli,memory_bytes", "a,2026-01-01 00:00,500,1073741824"],
            "time_ms",
        ),
    ],
)
def test_a_date_without_a_zone_is_told_what_to_be(
    tmp_path: Path, name: str, lines: list[str], column: str
) -> None:
    path = written_file(tmp_path, f"{name}.csv", "\n".join([*lines, ""]))
    said = "ms, or a point in time with its zone, such as 2026-01-31T08:00:00Z"
    assert read("folder", path).reasons == [(2, column, f"is '2026-01-01 00:00', expected {said}")]


@pytest.mark.parametrize(
    ("life", "first_ms"), [("0,3600000", NEW_YEAR_MS), (f"{NEW_YEAR_MS},", 600_000)]
)
def test_two_beginnings_of_time_are_told(tmp_path: Path, life: str, first_ms: int) -> None:
    files = {
        "containers.csv": [CONTAINERS, f"a,s,n1,{life},500,1073741824"],
        "usage.csv": [USE, *(f"a,{first_ms + at * 60_000},100,1e8" for at in range(4))],
    }
    source = written(tmp_path / "in", files)
    taken = ingest(source, tmp_path / "store", max_rejects_fraction=1.0)
    (fact,) = broken_rows(taken.ingested)
    assert (fact.subject, fact.because, fact.value) == ("usage.csv", "none_kept", 4)


def test_use_a_little_outside_of_a_life_is_told_as_before(tmp_path: Path) -> None:
    lives = written_file(tmp_path, "containers.csv", f"{CONTAINERS}\na,s,n1,5,9,500,1073741824\n")
    path = written_file(tmp_path, "usage.csv", f"{USE}\na,4,100,1e8\na,10,100,1e8\n")
    found = read("folder", path, {"containers": (opened(lives),)})
    assert found.reasons == [
        (2, "time_ms", "is '4', expected no time before arrival_ms"),
        (3, "time_ms", "is '10', expected no time after departure_ms"),
    ]
