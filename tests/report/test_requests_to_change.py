"""The page on requests says what the command line says, and shows every service."""

from __future__ import annotations

import dataclasses

import polars as pl
from report_studies_support import requested

from tracekit.report.contents import requests_to_change
from tracekit.report.contents.answer import answer
from tracekit.report.data import Data
from tracekit.report.paths import Paths
from tracekit.sizing.requests import told as words


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
    services = set(words.services(study)["service"])
    both = [words.freeing_most(study), words.needing_more(study)]
    assert set().union(*(rows["service"] for rows in both)) == services
    assert len(requests_to_change.most(data).rows) == both[0].height
    assert len(requests_to_change.more(data).rows) == both[1].height
    assert len(requests_to_change.risky(data).rows) == words.at_risk(study).height


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
