"""Every result of a verb shows itself: in a notebook as HTML, at a prompt as a few lines."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_studies_support import fewest, varied
from store_support import tiny_store
from workload_support import parquet_folder

import tracekit
from tracekit import catalogue, displays, registry, verbs
from tracekit.shown import Bar, Page, Shown

#: What a verb may give besides: frames and plain values, which notebooks show well enough.
PLAIN = {
    "pl.DataFrame", "dict[str, Any]", "list[Scored]", "Decision",
    "duckdb.DuckDBPyConnection",
}  # fmt: skip


def returned(verb: str) -> str:
    """What a verb's signature says it returns."""
    text = Path(inspect.getfile(importlib.import_module(f"{verbs.__name__}.{verb}"))).read_text()
    found = [
        one for one in ast.parse(text).body if isinstance(one, ast.FunctionDef) and one.name == verb
    ]
    return ast.unparse(found[0].returns) if found and found[0].returns else ""


def shown_kinds() -> dict[str, type[Shown]]:
    """Every class that shows itself, by its name there."""
    for name in registry.module_names(displays):
        importlib.import_module(f"tracekit.displays.{name}")
    others = (
        "query.describe synth.output query.plan fetch.run fetch.prometheus fetch.kubernetes"
        " verbs._whole"
    )
    for name in others.split():
        importlib.import_module(f"tracekit.{name}")
    return {
        kind.__name__: kind for kind in Shown.__subclasses__() if "tests" not in kind.__module__
    }


@pytest.mark.parametrize("verb", registry.module_names(verbs))
def test_what_a_verb_returns_shows_itself(verb: str) -> None:
    found = returned(verb)
    kinds = {found} if found in PLAIN else {one.split(".")[-1] for one in found.split(" | ")}
    assert kinds <= {"", *PLAIN, *shown_kinds()}


def test_a_display_is_named_after_a_class() -> None:
    names = {
        kind.display or re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()
        for kind in Shown.__subclasses__()
    }
    assert set(registry.module_names(displays)) <= names


@dataclass(frozen=True, kw_only=True, repr=False)
class Made(Shown):
    """A result without a display of its own."""

    where: str
    frame: pl.DataFrame
    frames: dict[str, pl.DataFrame]
    count: int = 12_345


MADE = Made(
    where="<here> & 'there'",
    frame=pl.DataFrame({"name": [f"<{at}>" for at in range(100)], "value": [0.123456] * 100}),
    frames={"a/b": pl.DataFrame({"x": [1]})},
)


def test_without_a_display_it_is_its_frames_and_plain_values() -> None:
    assert repr(MADE).splitlines() == [
        "Made",
        "  where: <here> & 'there'",
        "  count: 12,345",
        "  .frame: 100 rows of name, value",
        "  .frames['a/b']: 1 row of x",
    ]
    html = MADE._repr_html_()
    assert "&lt;here&gt; &amp;" in html
    assert "<here>" not in html
    assert html.count("<tr>") == 1 + 15
    assert "<td style='text-align:right'>0.1235</td>" in html


def test_bars_have_names_values_and_intervals() -> None:
    class Drawn(Shown):
        def shown(self) -> Page:
            bars = [
                Bar(name="<a>", value=2.0, low=1.0, high=4.0, strong=True),
                Bar(name="b", value=0),
            ]
            return Page(title="t", bars=bars, axis="nodes [1]")

    html = Drawn()._repr_html_()
    assert "<title>&lt;a&gt;</title>" in html
    assert "width='165.0'" in html  # half of the largest, which the interval's end is
    assert "nodes [1]" in html
    assert html.count("<line ") == 1


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("shown")
    store = tiny_store(folder).path
    load = parquet_folder(folder / "load")
    run = tracekit.replay(
        None, ["first_fit", "worst_fit"], out=folder / "run", workload=load, repeats=6
    )
    once = tracekit.replay(None, ["first_fit"], out=folder / "once", workload=load, repeats=1)
    return {
        "run": run,
        "once": once,
        "comparison": tracekit.compare(folder / "run", folder / "once"),
        "nodes": tracekit.nodes(workload=load, policies=["first_fit"]),
        "ingest": tracekit.ingest(folder / "traces", store),
        "calls": tracekit.callgraph(store),
        "fit": tracekit.fit(store),
        "report": tracekit.report(folder / "run", folder / "report.html"),
        "estimate": tracekit.estimate(store),
        "info": tracekit.info(store),
        "check": tracekit.check(store),
        "verify": tracekit.check(store, verify=True),
    }


#: What must be seen of each result.
SEEN = {
    "run": ["2 nodes", "first_fit", "worst_fit", ".placements: ", "<table>"],
    "once": ["No policy can be recommended", "first_fit"],
    "comparison": ["Comparison of two runs", "from run to once", ".frames["],
    "nodes": ["Fewest nodes that are enough", "first_fit", "<svg"],
    "ingest": ["0 rows of 0 new files", "files already in the store", "tracekit.connect("],
    "calls": ["Call graphs: ", "missing", "<svg", ".edges: "],
    "fit": ["What neighbours cost", "verdict", ".fitted.services"],
    "report": ["Report ", "report.html'", "<a href="],
    "estimate": ["Plan"],
    "info": ["Store: ", "container_usage", "recorded: "],
    "check": ["Data quality: ", "rows kept of"],
    "verify": ["stored files read, 0 damaged"],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SEEN)
def test_a_result_shows_what_it_is(name: str, results: dict[str, Any]) -> None:
    html, text = results[name]._repr_html_(), repr(results[name])
    for seen in SEEN[name]:
        assert seen in html, html[:2000]
    assert len(html) < 60_000
    assert len(text) < 4_000
    assert "shape:" not in text


#: Of a study: how its first sentence begins, the heads of its table, and a row of it.
ANSWERED = {
    "fewest nodes": (
        fewest,
        "6 of 10 nodes are enough for lra for 1.5 times the containers",
        ["policy", "nodes", "can go", "bound", "CPU", "memory", "overload"],
        ["bra", "7..8", "2..3", "5", "72.0 %", "40.0 %", "0"],
    ),
    "changed assumptions": (
        varied,
        "The answer without changes is lra. It stays under 1 of 3 changes: arrival=trace. It turns",
        ["changed", "the answer", "agreement", "first by ranks alone"],
        ["node_cpu_cores=52", "barred: bra", "-1.00", "bra"],
    ),
}


@pytest.mark.parametrize("name", ANSWERED)
def test_a_study_shows_its_answer_first_and_the_table_of_the_terminal(name: str) -> None:
    made, begins, heads, row = ANSWERED[name]
    study = made()
    page = study.shown()
    assert page.lines[0].replace("\u00a0", " ").startswith(begins)
    assert list(page.columns) == heads
    assert row in [[str(cell).replace("\u00a0", " ") for cell in one] for one in page.rows]
    for raw in ("{", "workload:", "limits:"):
        assert raw not in " ".join(page.lines)


@pytest.mark.slow
def test_a_connection_shows_what_may_be_asked(tmp_path: Path) -> None:
    html = tracekit.connect(tiny_store(tmp_path).path)._repr_html_()  # type: ignore[attr-defined]
    assert "usage_zone_summary" in html
    assert "container_usage" in html


@pytest.mark.slow
def test_what_sql_gives_shows_its_first_rows(tmp_path: Path) -> None:
    opened: Any = tracekit.connect(tiny_store(tmp_path).path)
    few = opened.sql("SELECT 1.5 AS cpu_fraction, 'a' AS name")._repr_html_()
    assert "1 row of 2 columns" in few
    assert "<th>cpu %</th>" in few
    many = opened.sql("FROM range(40)")._repr_html_()
    assert "the first 15 rows of 1 columns" in many
    assert many.count("<tr>") == 16


@pytest.mark.parametrize("kind", catalogue.KINDS)
def test_what_there_is_of_a_kind_shows_itself(kind: str) -> None:
    entries: Any = tracekit.listing(kind)
    html = entries._repr_html_()
    assert html.count("<tr>") == len(entries) + 1
    assert str(entries[0]["name"]) in html
    assert list(entries) == catalogue.KINDS[kind]()
    assert repr(entries).startswith(f"{len(entries)} ")
