"""A comparison as pipelines take it: JUnit XML, and markdown for their pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from tracekit.base.files.replacing import replaced_file
from tracekit.report.computed import HEADS, cells
from tracekit.report.sentences import headline, long, short

if TYPE_CHECKING:
    from tracekit.base.errors import TracekitError
    from tracekit.base.facts import Answer, Fact
    from tracekit.base.study import Study


def write_junit(found: Study, answer: Answer, path: Path) -> None:
    """Write a test case for each threshold and policy; without thresholds, one for each policy."""
    about, checks = found.about, answer.of("check")
    failed, skipped = (
        [c for c in checks if c.verdict == v] for v in ("does_not_hold", "cannot_tell")
    )
    suite = ET.Element(
        "testsuite",
        name=f"tracekit compare {about['base']} {about['new']}",
        tests=str(len(checks) or len(about["policies"])),
        failures=str(len(failed)),
        errors="0",
        skipped=str(len(skipped)),
    )
    if warnings := _warnings(answer):
        properties = ET.SubElement(suite, "properties")
        for warning in warnings:
            ET.SubElement(properties, "property", name="warning", value=warning)
    for one in checks:
        policy = str(one.about_it("policy"))
        case = ET.SubElement(suite, "testcase", classname=policy, name=one.subject)
        if one.verdict == "does_not_hold":
            ET.SubElement(case, "failure", message=long(one)).text = _changes_of(answer, policy)
        elif one.verdict == "cannot_tell":
            ET.SubElement(case, "skipped", message=long(one))
        else:
            ET.SubElement(case, "system-out").text = long(one)
    for policy in () if checks else about["policies"]:
        case = ET.SubElement(suite, "testcase", classname=policy, name="compared")
        ET.SubElement(case, "system-out").text = _changes_of(answer, policy)
    _write(suite, path)


def _warnings(answer: Answer) -> list[str]:
    """What has to be known before any change is believed."""
    return [long(one) for one in answer.facts if one.weight == 1 and one.kind != "check"]


def write_junit_error(error: TracekitError, path: Path) -> None:
    """Write that nothing was compared, and why, as one test case with an error."""
    suite = ET.Element("testsuite", name="tracekit compare", tests="1", failures="0", errors="1")
    suite.set("skipped", "0")
    case = ET.SubElement(suite, "testcase", classname="tracekit compare", name="compared")
    ET.SubElement(case, "error", message=error.what).text = error.hint or ""
    _write(suite, path)


def _write(suite: ET.Element, path: Path) -> None:
    suites = ET.Element("testsuites")
    suites.append(suite)
    ET.indent(suites)
    with replaced_file(path) as made:
        ET.ElementTree(suites).write(made, encoding="utf-8", xml_declaration=True)


def write_markdown(found: Study, answer: Answer, path: Path) -> None:
    """Write thresholds and what changed as tables of markdown."""
    with replaced_file(path) as made:
        made.write_text("\n".join(_page(found, answer)) + "\n", encoding="utf-8")


def write_markdown_error(error: TracekitError, path: Path) -> None:
    """Write that nothing was compared, and why."""
    said = "\n\n".join(_text(one) for one in (error.what, error.hint) if one)
    with replaced_file(path) as made:
        made.write_text(f"## Nothing was compared\n\n{said}\n", encoding="utf-8")


def _page(found: Study, answer: Answer) -> Iterator[str]:
    about, checks = found.about, answer.of("check")
    yield f"## {_text(about['new'])} compared with {_text(about['base'])}"
    yield f"\n{_text(headline(answer))}"
    for warning in _warnings(answer):
        yield f"\n**{_text(warning)}**"
    if checks:
        yield "\n### Thresholds\n"
        yield from _table(("threshold", "policy", "outcome", ""), [_row(one) for one in checks])
    for one in answer.of("runs_differ"):
        if one.because == "only_in":
            yield f"\n{_text(long(one))}"
    changes = [one for one in answer.of("run_changed") if one.verdict != "same"]
    if changes:
        yield "\n### What changed\n"
        yield from _table(HEADS, [cells(one) for one in changes])
    if (differs := found.frames["settings"]).height:
        yield "\n### Settings that differ\n"
        yield from _table(("setting", "base", "new"), differs.rows())


def _row(check: Fact) -> tuple[str, ...]:
    """A threshold as a row; one that failed stands out."""
    outcome = str(check.about_it("outcome"))
    failed = check.verdict == "does_not_hold"
    return (
        f"`{check.subject}`",
        str(check.about_it("policy")),
        f"**{outcome.upper()}**" if failed else outcome,
        long(check),
    )


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(_text(cell) for cell in row)} |"


def _text(value: str) -> str:
    """A text as one cell of a table: names come from whoever named a folder or a policy."""
    plain = value.replace("|", "\\|")
    return " ".join((plain if plain.startswith("`") else plain.replace("<", "&lt;")).split())


def _changes_of(answer: Answer, policy: str) -> str:
    """What changed under a policy, a line each."""
    changes = [
        short(one)
        for one in answer.of("run_changed")
        if one.subject == policy and one.verdict != "same"
    ]
    return "\n".join(changes)
