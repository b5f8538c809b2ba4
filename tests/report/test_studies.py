"""Which studies a report shows."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_studies_support import fewest, varied
from report_support import made_up

from tracekit.errors import TracekitError
from tracekit.report.computed import Computed
from tracekit.report.contents import contents, vary
from tracekit.report.contents import fewest as fewest_page
from tracekit.report.data import Data
from tracekit.report.paths import Paths, paths
from tracekit.report.render import render_data
from tracekit.report.studies import assumed_otherwise, read_studies
from tracekit.store.folder import open_store
from tracekit.study import Study, write_study


def made(folder: Path, name: str, value: int = 1) -> Path:
    write_study(Study(name=name, about={}, frames={"x": pl.DataFrame({"x": [value]})}), folder)
    return folder


def test_those_given_and_those_in_the_folder_beside(tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    made(tmp_path / "studies" / "one", "one")
    made(tmp_path / "elsewhere", "elsewhere")
    given = made(tmp_path / "given", "given")
    assert list(read_studies(store, [given]).shown) == ["given", "one"]


def test_a_given_one_counts_before_one_beside(tmp_path: Path) -> None:
    made(tmp_path / "studies" / "one", "one", 1)
    given = made(tmp_path / "two", "one", 2)
    assert read_studies(tmp_path / "store", [given]).shown["one"].frames["x"]["x"].to_list() == [2]


def test_a_study_alone(tmp_path: Path) -> None:
    made(tmp_path / "studies" / "other", "other")
    assert list(read_studies(made(tmp_path / "one", "one"), []).shown) == ["one"]


def test_a_damaged_one_beside_is_left_out_and_a_given_one_is_an_error(tmp_path: Path) -> None:
    bad = made(tmp_path / "studies" / "bad", "bad")
    (bad / "x.parquet").unlink()
    assert not read_studies(tmp_path / "store", []).shown
    with pytest.raises(TracekitError, match="damaged"):
        read_studies(tmp_path / "store", [bad])


def test_a_page_of_two_studies_does_with_one_of_them_beside_a_store(store: Path) -> None:
    absent = Computed(open_store(store)).frame("search_placement/quality")
    assert absent.is_empty()


def test_of_several_beside_the_one_like_the_run_counts_and_the_others_are_told(
    tmp_path: Path,
) -> None:
    kept, wanted = {"reserved": "background:memory", "start": "empty"}, tmp_path / "studies"
    ours = {"name": "st2", "assumptions": kept}
    other = {**ours, "assumptions": {**kept, "reserved": "none"}}
    abouts: dict[str, dict[str, Any]] = {
        "a-other": {"workload": other, "subject": "x"},
        "b-more": {"workload": ours, "scale": 1.3, "subject": "x"},
        "c-more-policies": {"workload": ours, "scale": 1.0, "subject": ""},
        "z-fewest": {"workload": ours, "scale": 1.0, "subject": "x"},
    }
    abouts["y-one-order"] = {**abouts["z-fewest"], "repeats": 1}
    abouts["z-fewest"]["repeats"] = 6
    for name, about in abouts.items():
        frames = {"x": pl.DataFrame({"x": [1]})}
        write_study(Study(name="fewest_nodes", about=about, frames=frames), wanted / name)
    about = {"workload": {**ours, "nodes": 9}, "scale": 1.0, "subject": "x"}
    frames = {"x": pl.DataFrame({"x": [1]})}
    write_study(Study(name="fewest_nodes", about=about, frames=frames), wanted / "of-another")
    found = read_studies(tmp_path / "store", [], load={**ours, "nodes": 8})
    assert found.shown["fewest_nodes"].about == abouts["z-fewest"]
    assert [name for name, _ in found.others] == [
        "y-one-order", "c-more-policies", "b-more", "a-other",
    ]  # fmt: skip
    assert assumed_otherwise(found.others[-1][1], {"assumptions": kept}) == ["reserved=none"]
    assert assumed_otherwise(found.others[1][1], {"assumptions": kept}) == []


def test_a_study_that_lies_beside_a_run_counts_if_it_is_of_what_the_run_replayed(
    tmp_path: Path,
) -> None:
    def study(folder: Path, value: int, **load: object) -> None:
        about = {"workload": {"name": "st2", "nodes": 4, "steps": 9, **load}}
        frames = {"x": pl.DataFrame({"x": [value]})}
        write_study(Study(name="fewest_nodes", about=about, frames=frames), folder)

    study(tmp_path / "fewest", 1)
    study(tmp_path / "a-of-another", 2, name="other")
    study(tmp_path / "a-of-other-nodes", 3, nodes=5)
    made(tmp_path / "a-that-says-nothing", "fewest_nodes", 4)
    load = {"name": "st2", "nodes": 4, "steps": 9}

    def shown(load: dict[str, Any] | None) -> list[int]:
        known = read_studies(tmp_path / "run", [], load=load).shown.values()
        return [one.frames["x"]["x"][0] for one in known]

    assert shown(load) == [1]
    assert shown(None) == []
    study(tmp_path / "studies" / "fewest", 5)
    found = read_studies(tmp_path / "run", [], load=load)
    assert shown(load) == [5]
    assert [name for name, _ in found.others] == ["../fewest"]
    assert Paths(studies="here/studies").study("../fewest") == "here/fewest"


@pytest.mark.parametrize(
    ("about", "shown"),
    [
        ({"store": "own", "workload": {"name": "st2", "nodes": 4, "steps": 9}}, True),
        ({"store": "own", "workload": {"name": "own", "nodes": 4, "steps": 9}}, False),
        ({"store": "own", "workload": {"name": "st2", "nodes": 4, "steps": 8}}, False),
        ({"store": "own"}, False),
        ({"workload": {}}, False),
        ({"runs": 2}, True),
    ],
    ids=["ours", "another store", "other steps", "of a store", "unsaid", "of no cluster"],
)
def test_a_study_in_the_folder_beside_counts_only_if_it_says_that_it_is_of_the_runs_workload(
    tmp_path: Path, about: dict[str, Any], *, shown: bool
) -> None:
    study = Study(name="assumptions", about=about, frames={"x": pl.DataFrame({"x": [1]})})
    write_study(study, tmp_path / "studies" / "assumptions")
    load = {"name": "st2", "nodes": 4, "steps": 9}
    assert bool(read_studies(tmp_path / "run", [], load=load).shown) == shown


def test_a_study_of_one_order_of_arrival_shows_no_ranks() -> None:
    study = varied()
    stands = study.frames["changes"].with_columns(
        stands=pl.lit("not told"), answer=pl.lit("none"), agreement=1.0, problem=None
    )
    about = {**study.about, "repeats": 1, "answer": []}
    frames = {**study.frames, "changes": stands}
    data = Data(studies={study.name: dataclasses.replace(study, about=about, frames=frames)})
    html = render_data(data)
    assert (
        "Nothing can be told of changed assumptions: the policies met one order of arrival" in html
    )
    for wrong in ("not told stays", 'id="figure-assumption_ranks"', "Kendall", "+1.00"):
        assert wrong not in html
    names = [one.name for made in (vary.changes, vary.policies) for one in made(data).columns]
    assert not {"rank", "agreement", "first_by_ranks_alone"} & set(names)
    assert "value" in names or "imbalance_mean" in names


def under(study_requests: str, run_requests: str) -> Data:
    """A run of made-up data beside a study of assumptions, each with requests of its own."""
    data, study = made_up(), varied()
    assert data.run is not None
    load = {**data.run["workload"], "assumptions": {"requests": run_requests}}
    data.run = {**data.run, "workload": load}
    about = {**study.about, "workload": {"assumptions": {"requests": study_requests}}}
    data.studies = {study.name: dataclasses.replace(study, about=about)}
    return data


def test_a_study_under_other_assumptions_keeps_to_its_own_page() -> None:
    data = under("auto", "uniform")
    assert data.decision is not None
    assert not vary.hangs(data, data.decision)
    assert contents.otherwise(data, "assumptions") == (
        "Made under other assumptions than this replay: requests=auto where the replay has uniform."
    )
    alike = under("uniform", "uniform")
    assert alike.decision is not None
    assert vary.hangs(alike, alike.decision)
    assert not contents.otherwise(alike, "assumptions")
    page = render_data(data)
    rests = page[page.index('id="/rests"') :]
    assert "Made under other assumptions" in rests
    assert "Made under other assumptions" not in page[: page.index('id="/rests"')]


def test_every_proposed_study_goes_to_a_folder_that_the_next_report_shows() -> None:
    """From the pages of a run and of its studies; one that is there is not written over."""
    data = made_up()
    data.studies = {one.name: one for one in (varied(), fewest())}
    data.paths = Paths(studies="RUN/studies")
    pages = (fewest_page.answer(data), vary.answer(data))
    steps = [command for page in pages for _, command in page.next]
    studies = [one for one in steps if one.split()[1] in {"nodes", "sensitivity"}]
    assert len(studies) == 1
    for command in studies:
        assert " --out RUN/studies/" in command, command
        assert command.rpartition("/")[2] not in {"assumptions", "fewest"}
    shown = [page.shown_next(Paths(run="RUN/replay")) for page in pages]
    assert ["tracekit report RUN/replay --out" in text for text in shown] == [True, False]


def test_a_study_below_studies_proposes_others_beside_itself(tmp_path: Path) -> None:
    told = paths(tmp_path / "run" / "studies" / "assumptions", None, None)
    assert told.study("more") == str(tmp_path / "run" / "studies" / "more")
