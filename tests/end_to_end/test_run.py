"""The main job: a made-up trace all the way to a report, with the planted truth recovered."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from store_support import tree

import tracekit
from tracekit.base.facts import read_answer, write_document
from tracekit.commands import _run_all
from tracekit.commands._run_all import RunSummary
from tracekit.commands.shell import run as command_line

pytestmark = pytest.mark.slow

#: A few, so that the tests are quick; the command below takes all.
POLICIES = ("first_fit", "least_allocated", "target_load_packing", "interference")


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> RunSummary:
    out = tmp_path_factory.mktemp("run") / "out"
    return tracekit.run("synth:tiny", out, policies=POLICIES, repeats=2, seed=3, jobs=2)


@pytest.fixture(scope="module")
def profile(done: RunSummary) -> pl.DataFrame:
    """What the queries say of each node, beside the planted truth."""
    truth = pl.read_parquet(done.out / "trace" / "truth" / "node.parquet")
    result = tracekit.query(done.store, "usage/node_profile")
    return result.join(truth, left_on="node", right_on="node_id", suffix="_planted")


def test_everything_is_there(done: RunSummary) -> None:
    names = {path.name for path in done.out.iterdir()}
    assert names == {
        *("trace", "store", "analysis", "calls"),
        *("fit", "bound", "replay", "report.html", "studies", "answer.json"),
    }
    written = read_answer(done.out)
    assert written is not None
    assert [one.document() for one in written.facts] == [
        one.document() for one in done.answer.facts
    ]
    assert written.facts[0].kind == "verdict"


def test_a_first_answer_can_be_read_while_the_run_goes_on(
    done: RunSummary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[dict[str, Any]] = []

    def write(folder: Path, document: dict[str, Any]) -> None:
        pages = (folder / "report.html").exists()
        written.append({**document, "pages": pages})
        write_document(folder, document)

    monkeypatch.setattr(_run_all, "write_document", write)
    policies = ("first_fit", "least_allocated")
    whole = tracekit.run(done.store, tmp_path / "out", policies=policies, repeats=6, seed=3, jobs=2)
    first, last = written
    (early,) = (one for one in first["facts"] if one["kind"] == "first_answer")
    assert (early["value"], early["needed"]) == (1, 6)
    assert not any(one["kind"] == "first_answer" for one in last["facts"])
    assert (first["pages"], last["pages"]) == (False, True)
    left = [path.name for path in whole.out.rglob(".*")]
    assert left == []


def test_a_store_is_taken_as_it_is_and_the_command_prints_where_to_look(
    done: RunSummary, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before, out = tree(done.store), tmp_path / "out"
    few = ["--policy", "common", "--policy", "first_fit", "--repeat", "1", "--seed", "3"]
    assert command_line(["run", str(done.store), "--out", str(out), *few]) == 0
    shown = capsys.readouterr().out
    assert f"report: {out / 'report.html'}" in shown
    assert len(shown.splitlines()) <= 30
    short = shown.replace(str(tmp_path), "").replace(str(done.out), "")
    assert max(map(len, short.splitlines())) <= 80
    assert tree(done.store) == before
    assert not (out / "store").exists()
    assert {"analysis", "calls", "fit", "replay", "report.html"} <= {
        path.name for path in out.iterdir()
    }
    ran = (out / "replay" / "placements.parquet", done.replay / "placements.parquet")  # type: ignore[operator]
    rows = [pl.read_parquet(one).filter(policy="first_fit")["node"].to_list() for one in ran]
    assert rows[0] == rows[1]


def test_neighbours_are_fitted_and_bound(done: RunSummary) -> None:
    for name in ("fit/manifest.json", "fit/coefficients.parquet", "bound/summary.parquet"):
        assert (done.out / name).is_file()
    bound = pl.read_parquet(done.out / "bound" / "summary.parquet")
    lost = dict(bound.select("policy", "inflation_vcpus").iter_rows())
    assert lost["interference"] < min(lost["lowest_free"], lost["least_allocated"])
    assert 'id="figure-interference_inflation"' in done.report.read_text("utf-8")


def test_interference_places_by_the_fit_of_the_run(done: RunSummary) -> None:
    """The audit's finding: it was replayed with constants, although a fit lay beside it."""
    out = done.out / "again"
    given = ("interference[fit=beside]", f"interference[fit={done.out / 'fit'}]", "interference")
    runs = [
        tracekit.replay(done.store, [one], out=out / str(at), repeats=1)
        for at, one in enumerate(given)
    ]
    placed = [
        run.placements.filter(pl.col("policy") != "observed")["node"].to_list() for run in runs
    ]
    shutil.rmtree(out)
    assert placed[0] == placed[1] != placed[2]
    manifest = json.loads((done.replay / "manifest.json").read_text())  # type: ignore[operator]
    (by_fit,) = [one for one in manifest["policies"] if one["name"] == "interference"]
    assert by_fit["policy"] == "interference[fit=beside]"


def test_planted_zones_are_recovered(profile: pl.DataFrame) -> None:
    sure = profile.filter(
        (pl.col("zone_planted") == "U") | ((pl.col("pearson_r_planted").abs() - 0.3).abs() >= 0.05)
    )
    assert sure.height > 0
    assert sure["zone"].to_list() == sure["zone_planted"].to_list()


def test_every_planted_number_is_recovered(profile: pl.DataFrame, done: RunSummary) -> None:
    defects = pl.read_parquet(done.out / "trace" / "truth" / "defect.parquet")
    # a stray row, far beyond the trace, is kept; its node has one sample that was not planted
    strays = defects.filter(defect="stray_time")["entity_id"].to_list()
    clean = profile.filter(~pl.col("node").is_in(strays))
    assert clean.height == profile.height - len(strays)
    for name in (
        "pearson_r",
        "util_diff",
        "cpu_mean",
        "cpu_median",
        "cpu_std",
        "cpu_max",
        "memory_mean",
        "memory_median",
        "memory_std",
        "memory_max",
    ):
        error = (clean[name] - clean[f"{name}_planted"]).abs().max()
        assert error is not None, name
        assert float(str(error)) < 1e-9, name


def test_each_container_stays_on_its_node(done: RunSummary) -> None:
    truth = pl.read_parquet(done.out / "trace" / "truth" / "container.parquet")
    path = done.out / "where.sql"
    path.write_text("SELECT DISTINCT container, node FROM container_usage WHERE node IS NOT NULL")
    result = tracekit.query(done.store, str(path))
    path.unlink()
    planted = truth.select(container="container_id", node="node_id")
    assert result.sort("container").equals(planted.sort("container"))


def test_every_planted_defect_is_met(done: RunSummary) -> None:
    planted = pl.read_parquet(done.out / "trace" / "truth" / "defect.parquet")
    described = tracekit.info(done.store)["tables"]
    for (table,), group in planted.group_by("table"):
        rejected = group.filter(action="rejected").height
        dropped = group.filter(action="dropped").height
        assert described[str(table)]["rejected"] == rejected, table
        assert described[str(table)]["duplicates_dropped"] == dropped, table


def test_jobs_and_a_second_run_change_nothing(done: RunSummary, tmp_path: Path) -> None:
    def digests(folder: Path) -> dict[str, str]:
        # how long decisions took is the one thing that differs from run to run
        return {
            name: match
            for name, match in tree(folder).items()
            if not name.endswith("timing.parquet")
        }

    out = tmp_path / "out"
    other = tracekit.run("synth:tiny", out, policies=POLICIES, repeats=2, seed=3, jobs=1)
    first = digests(other.out)
    named = {name for name in first if name.endswith((".html", "answer.json", "study.json"))}
    whole = digests(done.out)
    assert {**first, **dict.fromkeys(named)} == {**whole, **dict.fromkeys(named)}
    # these name their folder, and differ in nothing else but a seal of their text
    for name in named - {"report.html"}:
        texts = [(out / name).read_text().replace(str(out), "") for out in (other.out, done.out)]
        mine, theirs = ({**json.loads(text), "seal": ""} for text in texts)
        assert mine == theirs, name
    tracekit.run("synth:tiny", out, policies=POLICIES, repeats=2, seed=3)
    assert digests(other.out) == first


def test_a_trace_without_containers_is_reported_without_a_replay(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    tracekit.synth(whole, preset="tiny", seed=1)
    assert command_line(["run", str(whole / "node"), "--out", str(out), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["replay"]) == ("tracekit/run/1", None)
    assert Path(document["report"]).stat().st_size > 100_000
    answer = read_answer(out)
    assert answer is not None
    assert [one.because for one in answer.of("skipped")] == ["no_containers"]


@pytest.mark.parametrize(
    ("source", "message"),
    [("nope", "no such file or folder: nope"), ("synth:tyni", "no preset named 'tyni'")],
)
def test_bad_sources_leave_nothing(
    source: str,
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert command_line(["run", source, "--out", "out"]) == 2
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_not_written_into(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    assert command_line(["run", "synth:tiny", "--out", str(tmp_path)]) == 2
    assert "files" in capsys.readouterr().err


def test_a_run_and_its_store_can_be_moved_together(done: RunSummary, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere"
    shutil.copytree(done.out, moved)
    manifest = json.loads((moved / "replay" / "manifest.json").read_text())
    assert manifest["workload"]["store"] == "../store"
    tracekit.report(moved / "replay", tmp_path / "report.html")
    assert 'id="/trace"' in (tmp_path / "report.html").read_text()
