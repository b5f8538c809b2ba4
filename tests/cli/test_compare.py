"""tracekit compare: exit codes for pipelines, and one JSON document."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from tracekit.answer.comparison.words import base_told
from tracekit.cli import run
from tracekit.verbs.replay import replay


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("two")
    for name, target in (("base", 0.5), ("new", 0.85)):
        text = f"paper000[containers=60,nodes=4,target_alloc_fraction={target}]"
        replay(None, ["lra"], out=folder / name, workload=text)
    return str(folder / "base"), str(folder / "new")


def test_exit_codes(two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *two]) == 0
    assert run(["compare", *two, "--fail-if", "cpu_mean_fraction < 0"]) == 0
    assert run(["compare", *two, "--fail-if", "cpu_mean_fraction > 1.05 * base"]) == 1
    told = capsys.readouterr()
    assert "FAILED" in told.out
    assert "is exceeded by lra" in told.err
    assert run(["compare", *two, "--fail-if", "nonsense"]) == 2


def test_a_gate_does_not_pass_on_what_is_not_comparable(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The new run leaves containers without a node: what is less than in the base says nothing."""
    junit = tmp_path / "junit.xml"
    asked = ["--fail-if", "cpu_mean_fraction < base", "--junit", str(junit)]
    assert run(["compare", *two, *asked]) == 1
    told = capsys.readouterr()
    assert "NOT COMPARABLE" in told.out
    assert "cannot be judged for lra: fewer containers were placed than in the base" in told.err
    assert 'failures="1"' in junit.read_text()


def test_values_are_in_percent_and_chance_by_name(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *two]) == 0
    (row,) = (line for line in capsys.readouterr().out.splitlines() if " cpu_mean_fraction" in line)
    assert row.split()[2::2][:2] == ["%", "%"]


def test_json_and_study(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", *two, "--json", "--out", str(tmp_path / "study")]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "tracekit/compare/1"
    assert document["policies"] == ["lra"]
    assert (tmp_path / "study" / "changes.parquet").is_file()


def test_every_line_fits(two: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", *two, "--all"]) == 0
    assert max(len(line) for line in capsys.readouterr().out.splitlines()) <= 80


def test_a_pipeline_gets_junit_and_markdown(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
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
    missing = "Containers are left without a node that had one in the base, under lra ("
    warned = [one.get("value", "") for one in suite.iter("property")]
    assert warned[0].startswith(missing)
    page = markdown.read_text()
    assert missing in page
    assert page.startswith("## new compared with base\n")
    assert "| `cpu_mean_fraction > 1.05 * base` | lra |" in page
    assert "**FAILED**" in page
    assert "| lra | cpu_mean_fraction |" in page
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert {line.count(" |") for line in rows} <= {3, 5, 6}
    capsys.readouterr()


def test_what_a_threshold_is_held_against_stands_in_each_output(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mean passed where single orders broke the threshold, and nothing told of either."""
    files = {name: tmp_path / name for name in ("junit", "markdown")}
    call = ["compare", *two, "--fail-if", "imbalance_mean > 99"]
    call += ["--fail-if", "worst(imbalance_mean) > 99"]
    assert run([*call, *(part for name in files for part in (f"--{name}", str(files[name])))]) == 0
    page = " ".join(capsys.readouterr().out.split())
    for text in (page, *(path.read_text() for path in files.values())):
        assert " on average of 6 orders, at most " in text
        assert " in the worst of 6 orders, " in text
    assert "held against the mean of the orders of arrival" in page
    assert run([*call, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["thresholds"]
    assert [row["judged"] for row in rows] == ["mean", "worst"]
    assert all(row["new"] < row["new_worst"] and row["orders"] == 6 for row in rows)


def test_the_worst_order_of_the_base_stands_beside_that_of_the_new_run(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mean of the base stood beside the worst of the new run."""
    files = {name: tmp_path / name for name in ("junit", "markdown")}
    call = ["compare", *two, "--fail-if", "lra: worst(imbalance_mean) > 0.5 * base"]
    assert run([*call, *(part for name in files for part in (f"--{name}", str(files[name])))]) == 1
    capsys.readouterr()
    assert run([*call, "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["thresholds"]
    assert row["base_worst"] > row["base"]
    for path in files.values():
        assert base_told(row) in path.read_text()
    assert base_told(row).endswith(" in the worst order")


def test_a_policy_that_is_new_is_held_to_numbers(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was listed under 'only in', and the gate stayed open."""
    added, junit, page = (tmp_path / name for name in ("added", "junit.xml", "page.md"))
    load = "paper000[containers=60,nodes=4,target_alloc_fraction=0.5]"
    replay(None, ["lra", "first_fit"], out=added, workload=load)
    files = ["--junit", str(junit), "--markdown", str(page)]
    number, base = "first_fit: cpu_mean_fraction > 0", "cpu_mean_fraction > 2 * base"
    asked = ["compare", two[0], str(added), "--fail-if"]
    assert run([*asked, number, "--fail-if", base, *files]) == 1
    told = capsys.readouterr()
    assert f"threshold '{number}' is exceeded by first_fit: cpu_mean_fraction is " in told.err
    assert "not in the base" in told.out
    (suite,) = ET.fromstring(junit.read_bytes())  # noqa: S314 - our own file
    cases = {(one.get("classname"), one.get("name")): one for one in suite.iter("testcase")}
    assert cases["first_fit", number].find("failure") is not None
    assert cases["first_fit", base].find("skipped") is not None
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    assert f"| `{number}` | first_fit | - |" in page.read_text()
    assert "Only in added: first_fit." in page.read_text()
    # without a policy every one is held to it, but none to a base that it has not
    assert run([*asked, "cpu_mean_fraction > 0"]) == 1
    assert run([*asked, base]) == 0
    capsys.readouterr()


def test_a_pipeline_is_told_why_nothing_was_compared(
    two: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit, page = tmp_path / "junit.xml", tmp_path / "page.md"
    files = ["--junit", str(junit), "--markdown", str(page)]
    wrong = ["--fail-if", "cpu_mean_fractoin > 1", *files]
    assert run(["compare", *two, *wrong]) == 2
    (suite,) = ET.fromstring(junit.read_bytes())  # noqa: S314 - our own file
    assert (suite.get("tests"), suite.get("errors"), suite.get("failures")) == ("1", "1", "0")
    error = suite[0].find("error")
    assert error is not None
    assert "cpu_mean_fractoin" in str(error.get("message"))
    assert str(error.get("message")) in capsys.readouterr().err
    # the page stands in the summary of the pipeline, failed or not
    lines = page.read_text().splitlines()
    assert lines[0] == "## Nothing was compared"
    assert lines[2:] == [error.get("message"), "", error.text]


def test_without_thresholds_each_policy_is_a_case(two: tuple[str, str], tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    assert run(["compare", two[0], two[0], "--junit", str(junit)]) == 0
    (suite,) = ET.fromstring(junit.read_bytes())  # noqa: S314 - our own file
    assert [one.get("classname") for one in suite] == ["lra"]
    assert suite[0].findtext("system-out") == "no measure changed"


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
