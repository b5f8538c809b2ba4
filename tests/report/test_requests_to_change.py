"""The page on requests says what the command line says, and shows every service."""

from __future__ import annotations

import dataclasses

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
    services = words.services(study)["service"].n_unique()
    assert len(requests_to_change.most(data).rows) == services
    assert len(requests_to_change.risky(data).rows) == words.at_risk(study).height


def test_without_anybody_at_risk_there_is_no_such_table() -> None:
    study = requested()
    calm = study.frames["services"].with_columns(at_risk=False)
    frames = {**study.frames, "services": calm}
    data = Data(studies={study.name: dataclasses.replace(study, frames=frames)})
    assert requests_to_change.risky(data).rows == []


def test_a_risk_that_no_policy_keeps_is_said() -> None:
    study = requested()
    assert "frees most" in words.within(study)
    none = dataclasses.replace(study, about={**study.about, "risk_share": -1.0})
    assert words.within(none).startswith("No policy keeps within")
