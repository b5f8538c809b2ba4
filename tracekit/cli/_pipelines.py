"""A comparison as pipelines take it: JUnit XML, and markdown for their pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from tracekit.files.replacing import replaced_file

if TYPE_CHECKING:
    from tracekit.errors import TracekitError
    from tracekit.study import Study


def write_junit(found: Study, path: Path) -> None:
    """Write a test case for each threshold and policy; without thresholds, one for each policy."""
    from tracekit.answer.comparison.compared_run import OPEN, outcome_told, warnings_of
    from tracekit.answer.comparison.words import over_orders

    about, outcomes = found.about, found.frames["thresholds"].to_dicts()
    untold = [one for one in outcomes if one["outcome"] in OPEN]
    suite = ET.Element(
        "testsuite",
        name=f"tracekit compare {about['base']} {about['new']}",
        tests=str(len(outcomes) or len(about["policies"])),
        failures=str(sum(one["failed"] for one in outcomes)),
        errors="0",
        skipped=str(len(untold)),
    )
    if warnings := warnings_of(about):
        properties = ET.SubElement(suite, "properties")
        for warning in warnings:
            ET.SubElement(properties, "property", name="warning", value=warning)
    for one in outcomes:
        case = ET.SubElement(suite, "testcase", classname=one["policy"], name=one["threshold"])
        if one["failed"]:
            ET.SubElement(case, "failure", message=went(one)).text = _changes_of(
                found, one["policy"]
            )
        elif one in untold:
            ET.SubElement(case, "skipped", message=outcome_told(one))
        else:
            ET.SubElement(case, "system-out").text = f"{one['measure']}: {over_orders(one)}"
    for policy in () if outcomes else about["policies"]:
        case = ET.SubElement(suite, "testcase", classname=policy, name="compared")
        ET.SubElement(case, "system-out").text = _changes_of(found, policy)
    _write(suite, path)


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


def write_markdown(found: Study, path: Path) -> None:
    """Write thresholds and what changed as tables of markdown."""
    with replaced_file(path) as made:
        made.write_text("\n".join(_page(found)) + "\n", encoding="utf-8")


def write_markdown_error(error: TracekitError, path: Path) -> None:
    """Write that nothing was compared, and why."""
    said = "\n\n".join(_text(one) for one in (error.what, error.hint) if one)
    with replaced_file(path) as made:
        made.write_text(f"## Nothing was compared\n\n{said}\n", encoding="utf-8")


def _page(found: Study) -> Iterator[str]:
    from tracekit.answer.comparison.compared_run import warnings_of
    from tracekit.answer.comparison.words import (
        HEADS,
        base_told,
        cells,
        changed,
        over_orders,
        too_few,
    )

    about, outcomes = found.about, found.frames["thresholds"].to_dicts()
    yield f"## {_text(about['new'])} compared with {_text(about['base'])}"
    for warning in warnings_of(about):
        yield f"\n**{_text(warning)}.**"
    failed = sum(one["failed"] for one in outcomes)
    if outcomes:
        yield f"\n{failed} of {len(outcomes)} thresholds failed.\n"
        yield from _table(
            ("threshold", "policy", "base", "new", "outcome"),
            [
                (
                    f"`{one['threshold']}`",
                    one["policy"],
                    base_told(one),
                    over_orders(one),
                    f"**{outcome(one)}**" if one["failed"] else outcome(one),
                )
                for one in outcomes
            ],
        )
    for what, names in (("base", about["only_base"]), ("new", about["only_new"])):
        if names:
            yield f"\nOnly in {_text(about[what])}: {_text(', '.join(names))}."
    changes = changed(found)
    of = ", ".join(about["policies"])
    yield f"\n### What changed under {_text(of)}\n"
    if changes:
        yield from _table(HEADS, [cells(row, about) for row in changes])
    else:
        yield "No measure changed."
    if said := too_few(found):
        yield f"\n{said}"
    if (differs := found.frames["settings"]).height:
        yield "\n### Settings that differ\n"
        yield from _table(("setting", "base", "new"), differs.rows())


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(columns)} |"
    yield f"|{' --- |' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(_text(cell) for cell in row)} |"


def _text(value: str) -> str:
    """A text as one cell of a table: names come from whoever named a folder or a policy."""
    plain = value.replace("|", "\\|")
    return " ".join((plain if plain.startswith("`") else plain.replace("<", "&lt;")).split())


def outcome(row: dict[str, Any]) -> str:
    """What became of a threshold; what counts as failed is in capitals."""
    found = str(row["outcome"])
    return found.upper() if row["failed"] else found


def went(row: dict[str, Any]) -> str:
    """What became of a threshold that failed, with the values of its measure."""
    from tracekit.answer.comparison.compared_run import NOT_COMPARABLE
    from tracekit.answer.comparison.words import base_told, of_another, over_orders

    if row["base"] is None:
        # a policy that is new, or a measure that the base has not
        return f"is exceeded by {row['policy']}: {row['measure']} is {over_orders(row)}"
    values = f"{row['measure']} went from {base_told(row)} to {over_orders(row)}"
    if of_another(row):
        values = f"{row['measure']} is {over_orders(row)}, beside {base_told(row)} in the base"
    if row["outcome"] == NOT_COMPARABLE:
        why = "fewer containers were placed than in the base"
        return f"cannot be judged for {row['policy']}: {why}; {values}"
    return f"is exceeded by {row['policy']}: {values}"


def _changes_of(found: Study, policy: str) -> str:
    from tracekit.answer.comparison.compared_run import UNCHANGED, verdict_told
    from tracekit.answer.comparison.words import too_few, value

    rows = found.frames["changes"].filter(policy=policy).to_dicts()
    if not rows:
        return f"only in {found.about['new']}"
    lines = [
        f"{row['measure']}: {value(row, 'base')} to {value(row, 'new')}"
        f" ({verdict_told(row, found.about)})"
        for row in rows
        if row["verdict"] not in UNCHANGED
    ]
    if lines and any(row["change_low"] is None for row in rows):
        lines.append(too_few(found))
    return "\n".join(filter(None, lines)) or "no measure changed"
