"""The page on the fewest nodes says which policies were not tried, and how to ask one."""

from __future__ import annotations

import re
import shlex
from html import unescape
from pathlib import Path

import pytest
from report_studies_support import fewest

from tracekit.cli import run
from tracekit.report.contents import fewest_others as page
from tracekit.report.data import Data
from tracekit.verbs.replay import replay

LOAD = "paper000[containers=30,nodes=3]"
POLICIES = ["first_fit", "random", "default_scheduler"]


@pytest.fixture
def text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    replay(None, POLICIES, workload=LOAD, out=Path("out/run"), repeats=6)
    ask = ["nodes", "--workload", LOAD, "--policy", "first_fit", "--repeat", "1"]
    assert run([*ask, "--out", "out/studies/fewest"]) == 0
    return _reported()


def _reported() -> str:
    assert run(["report", "out/run", "--out", "page.html"]) == 0
    return unescape(Path("page.html").read_text()).replace("\u00a0", " ")


@pytest.mark.slow
def test_who_was_not_asked_is_said_and_how_to_ask(text: str) -> None:
    """The command is run as it stands; then one fewer is left."""
    assert "2 other policies of the run were not tried" in text
    command = re.search(r"tracekit nodes[^<]*--policy default_scheduler[^<]*fewest-[^\s<]+", text)
    assert command is not None
    words = shlex.split(command[0].replace("\\\n", " "))
    assert run(words[1:]) == 0
    again = _reported()
    assert "1 other policy of the run was not tried" in again
    assert "To ask one of them, random for example:" in again


def test_a_study_alone_knows_of_no_others() -> None:
    data = Data(studies={"fewest_nodes": fewest()})
    assert page.unasked(data) == []
    assert page.said(data) == ""
