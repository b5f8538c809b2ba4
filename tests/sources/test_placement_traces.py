"""Placement traces are known by their first line, and pointed to the replay."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from tests_support import SHARED

from tracekit.errors import TracekitError
from tracekit.read.discover import discover
from tracekit.sources import WorkloadFileError, recognise, recognise_workload

CURVE = "|".join(["0.5"] * 98)
FIRST_LINES = [
    ("machine_1,32,64,1440,7,3,7", "tianchi18", "node sizes"),
    ("inst_40570,app_3283,machine_4726", "tianchi18", "placements"),
    ("inst_5985,app_2767,", "tianchi18", "placements"),
    (f"app_1,{CURVE},{CURVE},60,0,0,0", "tianchi18", "demand curves"),
    ("app_5122,app_5122,2", "tianchi18", "anti-affinity"),
]
NO_WORKLOAD = [
    "",
    "machine_1,32,64",
    "inst_1,app_1",
    "app_1,0.5|0.5,0.5,1",
    ",timestamp,nodeid,node_cpu_usage,node_memory_usage",
]


@pytest.mark.parametrize(("line", "source", "title"), FIRST_LINES)
def test_first_lines(line: str, source: str, title: str) -> None:
    found = recognise_workload(line.split(","))
    assert found is not None
    assert (found[0].name, found[1].title) == (source, title)


@pytest.mark.parametrize("line", NO_WORKLOAD)
def test_other_first_lines(line: str) -> None:
    assert recognise_workload(line.split(",")) is None


@pytest.mark.parametrize(("line", "source", "title"), FIRST_LINES)
def test_ingest_answers_with_one_line_that_points_to_the_replay(
    tmp_path: Path, line: str, source: str, title: str
) -> None:
    (tmp_path / "file").write_text(line + "\n")
    with pytest.raises(TracekitError) as caught:
        discover(tmp_path / "file")
    assert caught.value.what == (
        f"file: {title} of the placement trace {source}, which has no usage over time to store;"
        f" replay it: tracekit replay --workload {source}:PATH"
    )
    with pytest.raises(TracekitError, match=f"--workload {source}:PATH"):
        discover(tmp_path)


def test_a_zip_is_pointed_to_the_replay_too(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("scheduling_preliminary_b_machine_resources.csv", "machine_1,32,64\n")
    with pytest.raises(TracekitError, match=r"b.zip: a zip, .*--workload tianchi18:PATH"):
        discover(tmp_path / "b.zip")


def test_a_named_release_knows_its_own_workload_only() -> None:
    header = ["app_5122", "app_5122", "2"]
    assert isinstance(recognise(header, release="tianchi18"), WorkloadFileError)
    assert not isinstance(recognise(header, release="ctm21"), WorkloadFileError)


def test_the_real_files_are_known() -> None:
    data = SHARED / "data"
    if not data.is_dir():
        pytest.skip("the real placement traces are not at hand (set TRACEKIT_SHARED)")
    first_lines = []
    for path in (data / "tianchi18").glob("*.zip"):
        with zipfile.ZipFile(path) as archive:
            first_lines += [archive.read(name) for name in archive.namelist()]
    titles = [
        found[1].title
        for text in first_lines
        if (found := recognise_workload(text.splitlines()[0].decode().split(",")))
    ]
    assert sorted(titles) == [
        "anti-affinity",
        "demand curves",
        "node sizes",
        "placements",
    ]
