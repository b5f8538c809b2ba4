"""What changed assumptions say of a run's answer, where others than its policy were tried."""

from __future__ import annotations

import dataclasses
from typing import Any

import jinja2
import numpy as np
import polars as pl
import pytest
from report_memory_support import LOAD, memory_decides
from report_studies_support import varied

from tracekit.answer.sensitivity.answers import BASE, answered, ranked
from tracekit.assets import asset_dir
from tracekit.replay.runs.results import Results
from tracekit.report.contents import answer, contents, vary
from tracekit.report.data import Data, of_the_answer
from tracekit.study import Study


def tried(*policies: str, answer: tuple[str, ...] = (), subject: str = "") -> Study:
    """A study of these policies under the assumptions of the run."""
    made = varied()
    said = "No policy can be recommended: every policy overloads nodes."
    given: dict[str, Any] = {"policies": list(policies), "answer": list(answer), "workload": LOAD}
    about = {**made.about, **given, "answer_said": said, "subject": subject}
    return dataclasses.replace(made, about=about)


def of(*studies: Study) -> Data:
    first, *others = studies
    beside = [(f"assumptions-{at}", one) for at, one in enumerate(others)]
    return memory_decides({"assumptions": first}, beside)


def hangs(data: Data) -> str:
    assert data.decision is not None
    assert data.decision.subject == "lra"
    return vary.hangs(data, data.decision)


def test_a_study_that_did_not_try_the_policy_says_so() -> None:
    said = hangs(of(tried("bra", "cwt")))
    assert said == (
        "Changed assumptions were tried of bra and cwt alone: whether what is said of lra hangs on"
        " them is open."
    )
    assert "No policy can be recommended" in hangs(of(tried("bra", "lra")))
    assert "changed assumptions" in hangs(of(tried("bra", "lra", answer=("lra",))))


def test_the_command_names_the_policies_of_the_run_on_every_page() -> None:
    data = memory_decides({})
    data.run = {**(data.run or {}), "workload": {**LOAD, "quantities": {"requests": "assumed"}}}
    data.paths = dataclasses.replace(data.paths, store="STORE", replayed="STORE")
    command = (
        "tracekit sensitivity STORE --policy lra --policy bra --measure memory_max_fraction"
        " --out studies/assumptions"
    )
    assert command in [asked for _, asked in answer.answer(data).next]
    loader = jinja2.FileSystemLoader(asset_dir("reports"))
    environment = jinja2.Environment(loader=loader, autoescape=True)
    environment.filters.update(in_lines=lambda text, _: text, breakable=str)
    page = environment.get_template("rests.html").render(data=data, contents=contents)
    assert command in page
    # where others were tried it is offered again, to another folder
    data.studies = {"assumptions": tried("bra", "cwt")}
    steps = [asked for _, asked in answer.answer(data).next]
    assert command.replace("assumptions", "assumptions-lra") in steps


def test_of_several_studies_the_one_that_tried_the_policy_is_shown() -> None:
    data = of(tried("bra", "cwt", subject="bra"), tried("lra", "bra", answer=("lra",)))
    of_the_answer(data)
    assert data.studies["assumptions"].about["policies"] == ["lra", "bra"]
    assert [folder for folder, _ in data.other_studies] == ["assumptions"]
    assert data.folders["assumptions"] == "assumptions-0"


@pytest.mark.parametrize(
    ("pending", "mean"), [((2, 2, 1, 2, 3, 2), 2.0), ((0, 0, 0, 0, 0, 1), 1 / 6)]
)
def test_who_was_never_placed_is_told_at_the_mean(pending: tuple[int, ...], mean: float) -> None:
    rng = np.random.Generator(np.random.PCG64(0))
    rows = [
        {"policy": name, "repeat": at, "pending": float(many), "cpu_max_fraction": rng.random()}
        for name in ("a", "b")
        for at, many in enumerate(pending)
    ]
    frame = pl.DataFrame(rows)
    about = {"workload": {"nodes": 10, "steps": 100, "containers": 1000}, "seed": 0}
    found = Results(about, frame.filter(repeat=0).drop("repeat"), frame)
    ranks = ranked({BASE: found}, "cpu_max_fraction", {BASE: answered(found)})
    assert ranks["pending"].to_list() == pytest.approx([mean, mean])


def test_a_study_with_another_answer_is_no_support_for_that_of_the_run() -> None:
    data = of(tried("cwt", "lra", answer=("cwt",), subject="cwt"))
    assert hangs(data).replace("\u00a0", " ") == (
        "The study of changed assumptions replayed cwt and lra alone, and its answer without"
        " changes is another: cwt. Whether the answer of this run hangs on an assumption is open."
    )
    (said,) = (one for one in vary.answer(data).told if "answers otherwise" in one)
    assert "Use lra" in said
    same = of(tried("bra", "lra", answer=("lra",), subject="lra"))
    assert "leaves the answer as it is" in hangs(same)
    assert not any("answers otherwise" in one for one in vary.answer(same).told)
