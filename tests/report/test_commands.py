"""Commands of a report: those of a run of another workload than a store name it, and run."""

from __future__ import annotations

import contextlib
import re
import shlex
from html import unescape
from pathlib import Path

import duckdb
import numpy as np
import polars as pl
import pytest

from tracekit.cli import run
from tracekit.ingest import ingest
from tracekit.replay.runs.run_folder import RUN_FOLDER
from tracekit.replay.workload.loaders import respelled
from tracekit.verbs.replay import replay

NODES, CONTAINERS, STEPS = 12, 60, 6


def _workload(folder: Path) -> Path:
    folder.mkdir()
    rng = np.random.default_rng(5)
    nodes = [(f"n{at}", 16_000, 1 << 36) for at in range(NODES)]
    milli = rng.choice([500, 1000, 2000], CONTAINERS).tolist()
    held = [
        (f"c{at}", f"s{at % 5}", f"n{at % NODES}", 0, None, cpu, 1 << 31)
        for at, cpu in enumerate(milli)
    ]
    used = [
        (f"c{at}", step * 30_000, cpu * 0.7, 1.5e9)
        for step in range(STEPS)
        for at, cpu in enumerate(milli)
    ]
    sizes = ["cpu_milli", "memory_bytes"]
    for name, rows, columns in (
        ("nodes", nodes, ["node", *sizes]),
        ("containers", held,
         ["container", "service", "node", "arrival_ms", "departure_ms", *sizes]),
        ("usage", used, ["container", "time_ms", *sizes]),
    ):  # fmt: skip
        frame = pl.DataFrame(rows, schema=columns, orient="row")
        if "departure_ms" in columns:
            frame = frame.with_columns(pl.col("departure_ms").cast(pl.Int64))
        frame.write_parquet(folder / f"{name}.parquet")
    return folder


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    _workload(tmp_path / "my own")
    policies = ("least_allocated", "most_allocated", "random")
    replay(None, policies, workload="my own", out=Path("out/run"), repeats=6)
    assert run(["report", "out/run", "--out", "page.html"]) == 0
    return (tmp_path / "page.html").read_text()


def _joined(text: str) -> list[str]:
    """The lines of a text, those that go on with their ends."""
    return text.replace("\\\n", "").splitlines()


def _commands(html: str) -> list[str]:
    shown = re.findall(r"<pre[^>]*>(.*?)</pre>", html, flags=re.DOTALL)
    lines = [line.strip() for text in shown for line in _joined(unescape(text))]
    return [line for line in lines if line.startswith("tracekit ")]


@pytest.mark.slow
def test_every_command_names_the_workload_and_runs(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    commands = _commands(page)
    verbs = [shlex.split(command)[1] for command in commands]
    assert {"replay", "report", "nodes"} <= set(verbs)
    assert "sensitivity" not in verbs
    assert "ingest" not in verbs
    assert "STORE" not in page
    for command in dict.fromkeys(commands):
        assert run(shlex.split(command)[1:]) == 0, command
    capsys.readouterr()


@pytest.mark.slow
def test_which_requests_to_change_is_asked_of_a_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    ingest(_workload(tmp_path / "mine"), "store")
    replay("store", ("least_allocated", "most_allocated"), out=Path("run"), repeats=6)
    assert run(["report", "run", "--out", "page.html"]) == 0
    asked = [one for one in _commands(Path("page.html").read_text()) if " requests " in one]
    (command,) = dict.fromkeys(asked)
    assert run(shlex.split(command)[1:]) == 0
    # it is no question any more once a study beside the run answers it
    assert run(["report", "run", "--out", "page.html"]) == 0
    answered = Path("page.html").read_text()
    assert not [one for one in _commands(answered) if one == command]
    capsys.readouterr()


@pytest.mark.slow
def test_the_manifest_names_the_workload_beside_the_run(page: str) -> None:
    assert page
    load = RUN_FOLDER.read(Path("out/run"))["workload"]
    assert load["loader"] == "parquet:../../my own"
    assert respelled("parquet:my own", str) == "parquet:my own"
    assert respelled("paper000", str) == "paper000"


def _sql(page: str) -> list[str]:
    """The SQL beneath figures that reads files, as it is shown."""
    found = re.findall(r"<pre[^>]*>([^<]*)</pre>", page)
    return [text for one in found if "read_parquet" in (text := unescape(one))]


@pytest.mark.slow
def test_the_sql_of_a_figure_of_a_run_runs_where_it_says(page: str) -> None:
    shown = [one for one in _sql(page) if one.startswith("-- in the run folder")]
    assert shown
    for text in shown:
        head, _, sql = text.partition("\n")
        where = re.fullmatch(r"-- in the run folder: cd (\S+) && duckdb", head)
        assert where is not None
        with duckdb.connect() as database, contextlib.chdir(where[1]):
            assert database.execute(sql).fetchall()
    told = unescape(re.sub(r"<[^>]+>", "", page))
    assert "cd out/run && duckdb -c \"SELECT * FROM read_parquet('summary.parquet')\"" in told
    # there is no store, and no catalog of it
    assert "tracekit duckdb" not in told
