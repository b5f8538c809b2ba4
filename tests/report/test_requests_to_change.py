"""The page on requests says what the command line says, and shows every service."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest
from report_studies_support import requested

from tracekit.report.blocks import legend
from tracekit.report.contents import requests_to_change
from tracekit.report.contents.answer import answer
from tracekit.report.data import Data
from tracekit.report.figures.requests_to_change import FIGURE
from tracekit.report.paths import Paths
from tracekit.report.render import render_data
from tracekit.report.studies import read_studies
from tracekit.sizing.requests import told as words
from tracekit.sizing.requests.rows import changed_of
from tracekit.study import Study, write_study


def test_the_page_begins_with_the_answer() -> None:
    study = requested()
    told = answer(Data(studies={study.name: study}, paths=Paths(source="sized")))
    assert told.asked == words.QUESTION
    assert told.sentence.replace("\u00a0", " ") == words.answer(study)
    assert told.change.endswith(study.about["subject"])
    assert [one.title for one in told.changes] == [
        "CPU requested [cores]",
        "Memory requested [GiB]",
        "CPU above the request",
        "Memory above the request",
    ]
    assert "--assume requests=sized:sized " in f"{told.next[0][1]} "
    assert "Less than a day was learned from" in told.warnings[0]


def test_tables_have_a_row_for_each_policy_and_service() -> None:
    study = requested()
    data = Data(studies={study.name: study})
    assert len(requests_to_change.policies(data).rows) == 1 + len(study.about["asked"])
    both = [words.freeing_most(study), words.needing_more(study)]
    assert len(requests_to_change.most(data).rows) == both[0].height
    assert len(requests_to_change.more(data).rows) == both[1].height
    assert len(requests_to_change.risky(data).rows) == words.at_risk(study).height


def with_freed(**freed: tuple[float, float]) -> Study:
    """A study of services that free so much CPU and memory, or need it below 0."""
    study = requested()
    subject = study.about["subject"]
    row = study.frames["services"].filter(policy=subject)[:1]
    rows = [
        row.with_columns(service=pl.lit(name), resource=pl.lit(kind), freed=pl.lit(amount))
        for name, amounts in freed.items()
        for kind, amount in zip(("cpu", "memory"), amounts, strict=True)
    ]
    return dataclasses.replace(study, frames={**study.frames, "services": pl.concat(rows)})


def test_each_service_is_in_one_list_and_the_headings_are_true_of_each_row() -> None:
    study = with_freed(
        more=(-1.0, -2e9), mixed=(-0.5, 9e9), other=(5.0, -1e6), less=(1.0, 2e9), some=(0.0, 1e9),
        same=(0.0, 0.0),
    )  # fmt: skip
    data = Data(studies={study.name: study})
    needing, freeing = words.needing_more(study), words.freeing_most(study)
    assert set(needing["service"]) == {"more", "mixed", "other"}
    assert (needing["cpu_freed"].lt(0) | needing["memory_freed"].lt(0)).all()
    assert set(freeing["service"]) == {"less", "some"}
    assert not (freeing["cpu_freed"].lt(0) | freeing["memory_freed"].lt(0)).any()
    told = words.needing_told(study)
    # 2 + 2 - 1 services
    assert told == "3 of 6 services need more of CPU or memory (CPU 2, memory 2, both 1)"
    less = "2 of 6 services free CPU or memory and need more of neither"
    assert words.freeing_told(study) == less
    assert words.unchanged_told(study) == "1 of 6 services keeps what it requests."
    assert requests_to_change.more(data).caption.startswith(f"{told}; what needs most")
    assert requests_to_change.most(data).caption.startswith(f"{less}; what frees most")
    assert words.unchanged_told(study) in answer(data).told


def test_who_needs_more_is_named_and_both_sums_are_said() -> None:
    study = requested()
    services = study.frames["services"]
    name = services["service"].sort()[0]
    mine = (pl.col("service") == name) & (pl.col("resource") == "cpu")
    changed = services.with_columns(
        freed=pl.when(mine).then(-42.5).when(pl.col("resource") == "cpu").then(10.0).otherwise(1.0)
    )
    study = dataclasses.replace(study, frames={**study.frames, "services": changed})
    said = words.both_ways(study)
    assert "20.0 cores of CPU are freed of 2 services and 42.5 added to 1 service: net" in said
    assert said.endswith(f"Most is added to {name}.")
    data = Data(studies={study.name: study})
    assert [row[0].text for row in requests_to_change.more(data).rows] == [name]
    assert name not in {row[0].text for row in requests_to_change.most(data).rows}
    assert said in answer(data).also.replace("\u00a0", " ")


def test_without_anybody_at_risk_there_is_no_such_table() -> None:
    study = requested()
    calm = study.frames["services"].with_columns(at_risk=False)
    frames = {**study.frames, "services": calm}
    data = Data(studies={study.name: dataclasses.replace(study, frames=frames)})
    assert requests_to_change.risky(data).rows == []


def test_a_risk_that_no_policy_keeps_is_said() -> None:
    study = requested()
    assert "the one that frees more is taken" in words.within(study)
    none = dataclasses.replace(study, about={**study.about, "risk_share": -1.0})
    assert words.answer(study).startswith("Set to what")
    assert words.answer(none).startswith("Every policy with a safety margin leaves more in use")
    assert words.within(none).startswith("Give the services at risk under")


def changing(freed: Sequence[float]) -> Data:
    """A study in which services free, or below 0 need, so much CPU."""
    study = requested()
    row = study.frames["services"].filter(policy=study.about["subject"], resource="cpu")[:1]
    rows = [
        row.with_columns(
            service=pl.lit(f"s{at:02}"),
            freed=pl.lit(one),
            recommended=pl.lit(1.0),
            kept_at_risk=False,
        )
        for at, one in enumerate(freed)
    ]
    frames = {**study.frames, "services": pl.concat(rows)}
    return Data(studies={study.name: dataclasses.replace(study, frames=frames)})


def test_the_figure_draws_the_largest_changes_first_either_way_and_counts_them() -> None:
    freed = [0.5, -18.0, 2.0, *[0.01] * 10]
    frame = FIGURE.prepare(changing(freed))
    drawn = FIGURE.draw(frame)
    names = [one.text for one in drawn.layout.annotations]
    assert names[:3] == ["s01: 18.0 cores added", "s02: 2.00 cores freed", "s00: 0.500 cores freed"]
    assert len(names) == 12
    assert FIGURE.note(frame) == "Drawn are the 12 of 13 services that change most."
    assert FIGURE.takeaway(frame) == (
        "CPU requests: 18.0 cores added to 1 service and 2.60 cores freed by 12 services, net 15.4"
        " cores added; the largest change is s01, 18.0 cores added."
    )
    assert not FIGURE.note(frame[:12])
    shapes = {one.name: one.shape for one in legend(drawn)}
    assert shapes["used, 95 % at most"] == "line"


def test_the_legend_draws_the_bar_of_the_plot() -> None:
    shown = render_data(changing([1.0, -2.0]))
    entry = next(one for one in shown.split("<li>") if "used, 95 % at most</li>" in one)
    assert 'd="M13 1v10"' in entry


def test_windows_that_do_not_differ_make_no_interval() -> None:
    study = requested()
    totals = study.frames["policies"].with_columns(freed_low="freed", freed_high="freed")
    study = dataclasses.replace(study, frames={**study.frames, "policies": totals})
    assert words.sure(study).endswith("are too alike to tell how sure this is.")
    table = requests_to_change.policies(Data(studies={study.name: study}))
    at = [column.label for column in table.columns].index("CPU freed, 95 % interval")
    assert {row[at].text for row in table.rows[1:]} == {words.ALIKE}
    # the requests of now free nothing by what they are
    assert table.rows[0][at].text == "\u2013"


def test_terminal_and_sentence_count_those_who_need_more_alike() -> None:
    study = requested()
    needed = words.needing_more(study)
    by = [len(changed_of(study, name)[1]) for name in words.measured(study)]
    assert f"(CPU {by[0]}, memory {by[1]}" in words.needing_told(study)
    assert max(by) <= needed.height <= sum(by)
    said = words.both_ways(study)
    for many in filter(None, by):
        assert f"added to {many} service" in said
    told = f"{needed.height} services need more of CPU or memory; most"
    assert (told in said) == (needed.height > 1)


@pytest.mark.parametrize(
    ("folder", "given", "named"),
    [
        ("mine/studies/requests", False, "mine/studies/requests"),
        ("mine/studies/requests", True, "mine/studies/requests"),
        ("else/sized", True, "else/sized"),
    ],
)
def test_the_commands_name_the_folder_of_the_study(
    tmp_path: Path, folder: str, given: bool, named: str
) -> None:
    """Beside a store or a run a word stood there, which no command takes."""
    lies = tmp_path / folder
    lies.parent.mkdir(parents=True)
    write_study(requested(), lies)
    source = tmp_path / "mine" / "store"
    found = read_studies(source, [lies] if given else [])
    paths = Paths(store="mine/store", studies="mine/studies")
    data = Data(
        fetch=lambda *_: pl.DataFrame(), studies=found.shown, folders=found.folders, paths=paths
    )
    commands = [command for _, command in requests_to_change.answer(data).next]
    assert all(f"--assume requests=sized:{named} " in command for command in commands)
    assert commands[0].endswith(f"--out {named}-replay")


@pytest.mark.parametrize(
    ("given", "asked", "proposed"),
    [
        pytest.param("auto", True, True, id="requests were recommended, and not replayed"),
        pytest.param("sized:studies/requests", True, False, id="this run has them"),
        pytest.param("auto", False, False, id="nobody asked"),
    ],
)
def test_a_study_of_requests_is_on_the_first_page_of_a_run(
    given: str, asked: bool, proposed: bool
) -> None:
    """Its proposal went from the page, and nothing came in its place."""
    study = requested()
    data = Data(
        studies={study.name: study} if asked else {},
        run={"workload": {"assumptions": {"requests": given}}},
        fetch=lambda *_: pl.DataFrame(),
        folders={study.name: "requests"},
        paths=Paths(store="store", replayed="store"),
    )
    told = requests_to_change.studied(data)
    answered = words.answer(study)
    said = f"On requests: {answered[:1].lower()}{answered[1:]}"
    assert [one.said.replace("\u00a0", " ") for one in told] == ([said] if asked else [])
    assert all((Path("reports") / f"{one.page}.html").is_file() for one in told)
    commands = [command for _, command in requests_to_change.following(data)]
    assert len(commands) == proposed
    for command in commands:
        assert command.startswith("tracekit replay store --policy default_scheduler")
        assert f"--assume requests=sized:{data.folder(study.name)} " in command
