"""tracekit compare: exit codes for pipelines, and one JSON document."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tracekit.commands.replay import replay
from tracekit.commands.shell import run


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("two")
    for name, target in (("base", 0.5), ("new", 0.85)):
        text = f"paper000[containers=60,nodes=4,target_alloc_fraction={target}]"
        replay(None, ["lra"], out=folder / name, workload=text)
    return str(folder / "base"), str(folder / "new")


def test_exit_codes(two: tuple[str, str]) -> None:
    assert run(["compare", *two]) == 0
    assert run(["compare", *two, "--fail-if", "cpu_mean_fraction < 0"]) == 0
    assert run(["compare", *two, "--fail-if", "cpu_mean_fraction > 1.05 * base"]) == 1
    assert run(["compare", *two, "--fail-if", "nonsense"]) == 2


def test_a_gate_does_not_pass_on_what_is_not_comparable(
    two: tuple[str, str], tmp_path: Path
) -> None:
    """The new run leaves containers without a node: what is less than in the base says nothing."""
    junit = tmp_path / "junit.xml"
    arguments = ["--fail-if", "cpu_mean_fraction < base", "--junit", str(junit)]
    assert run(["compare", *two, *arguments]) == 1
    assert 'failures="1"' in junit.read_text()


def test_json_and_study(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *two, "--json", "--out", str(tmp_path / "study")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/compare/1"
    assert {one["kind"] for one in document["facts"]} >= {"verdict", "run_changed", "runs_differ"}
    assert document["policies"] == ["lra"]
    assert (tmp_path / "study" / "changes.parquet").is_file()


def test_a_pipeline_gets_junit_and_markdown(two: tuple[str, str], tmp_path: Path) -> None:
    junit, markdown = tmp_path / "junit.xml", tmp_path / "page.md"
    files = ["--junit", str(junit), "--markdown", str(markdown)]
    thresholds = ["--fail-if", "cpu_mean_fraction > 1.05 * base", "--fail-if", "pending > 5"]
    assert run(["compare", *two, *thresholds, *files]) == 1
    (suite,) = ET.fromstring(junit.read_bytes())  # noqa: S314 - our own file
    # production and the policy, by two thresholds
    assert suite.tag == "testsuite"
    cases = {(one.get("classname"), one.get("name")): one for one in suite.iter("testcase")}
    assert int(suite.get("tests", 0)) == len(cases)
    failed = {key for key, one in cases.items() if one.find("failure") is not None}
    assert ("lra", "cpu_mean_fraction > 1.05 * base") in failed
    assert int(suite.get("failures", 0)) == len(failed)
    assert ("lra", "pending > 5") in cases.keys() - failed
    warned = [one.get("value", "") for one in suite.iter("property")]
    page = markdown.read_text()
    assert warned
    assert all(one in page for one in warned)
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert {line.count(" |") for line in rows} <= {3, 4, 7}


def test_a_policy_that_is_new_is_held_to_numbers(two: tuple[str, str], tmp_path: Path) -> None:
    """It was listed under 'only in', and the gate stayed open."""
    added, junit = tmp_path / "added", tmp_path / "junit.xml"
    load = "paper000[containers=60,nodes=4,target_alloc_fraction=0.5]"
    replay(None, ["lra", "first_fit"], out=added, workload=load)
    files = ["--junit", str(junit)]
    number, base = "first_fit: cpu_mean_fraction > 0", "cpu_mean_fraction > 2 * base"
    arguments = ["compare", two[0], str(added), "--fail-if"]
    assert run([*arguments, number, "--fail-if", base, *files]) == 1
    (suite,) = ET.fromstring(junit.read_bytes())  # noqa: S314 - our own file
    cases = {(one.get("classname"), one.get("name")): one for one in suite.iter("testcase")}
    assert cases["first_fit", number].find("failure") is not None
    assert cases["first_fit", base].find("skipped") is not None
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    # without a policy every one is held to it, but none to a base that it has not
    assert run([*arguments, "cpu_mean_fraction > 0"]) == 1
    assert run([*arguments, base]) == 0


def test_a_pipeline_is_told_why_nothing_was_compared(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "junit.xml"
    files = ["--junit", str(junit)]
    wrong = ["--fail-if", "cpu_mean_fractoin > 1", *files]
    assert run(["compare", *two, *wrong]) == 2
    (suite,) = ET.fromstring(junit.read_bytes())  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")
    error = suite[0].find("error")
    assert error is not None
    assert "cpu_mean_fractoin" in str(error.get("message"))
    assert str(error.get("message")) in capsys.readouterr().err


def test_without_thresholds_each_policy_is_a_case(two: tuple[str, str], tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    assert run(["compare", two[0], two[0], "--junit", str(junit)]) == 0
    (suite,) = ET.fromstring(junit.read_bytes())  # noqa: S314 - our own file
    assert [one.get("classname") for one in suite] == ["lra"]
    assert not suite[0].findtext("system-out")


def test_no_name_of_a_measure_is_broken(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A name is typed after --fail-if as it stands in the table."""
    assert run(["compare", *two, "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert run(["compare", *two, "--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = {line.split()[0] for line in lines if line.startswith(" ") and line.strip()}
    assert {one["measure"] for one in changes} <= first
    assert max(map(len, lines)) <= 80
