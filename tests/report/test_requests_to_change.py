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
from tracekit.sizing.requests import rows as words
from tracekit.study import Study, write_study


def test_the_page_begins_with_the_answer() -> None:
    study = requested()
    told = answer(Data(studies={study.name: study}, paths=Paths(source="sized")))
    assert told.change.endswith(study.about["subject"])
    assert [one.title for one in told.changes] == [
        "CPU requested [cores]",
        "Memory requested [GiB]",
        "CPU above the request",
        "Memory above the request",
    ]
    assert "--assume requests=sized:sized " in f"{told.next[0][1]} "


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
    needing, freeing = words.needing_more(study), words.freeing_most(study)
    assert set(needing["service"]) == {"more", "mixed", "other"}
    assert (needing["cpu_freed"].lt(0) | needing["memory_freed"].lt(0)).all()
    assert set(freeing["service"]) == {"less", "some"}
    assert not (freeing["cpu_freed"].lt(0) | freeing["memory_freed"].lt(0)).any()


def test_without_anybody_at_risk_there_is_no_such_table() -> None:
    study = requested()
    calm = study.frames["services"].with_columns(at_risk=False)
    frames = {**study.frames, "services": calm}
    data = Data(studies={study.name: dataclasses.replace(study, frames=frames)})
    assert requests_to_change.risky(data).rows == []


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
    assert len(told) == asked
    assert all((Path("reports") / f"{one.page}.html").is_file() for one in told)
    commands = [command for _, command in requests_to_change.following(data)]
    assert len(commands) == proposed
    for command in commands:
        assert command.startswith("tracekit replay store --policy default_scheduler")
        assert f"--assume requests=sized:{data.folder(study.name)} " in command
