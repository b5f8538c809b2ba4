"""What every report promises: one file, readable by people, screen readers and machines."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import itertools
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest
from report_studies_support import comparison, fewest, requested
from report_support import HOSTILE, made_up, queries

from tracekit.base.errors import TracekitError
from tracekit.base.study import Study
from tracekit.replay.runs.run_folder import FRAMES
from tracekit.report.data import Data
from tracekit.report.render import all_pages, render, render_data

BUDGET_BYTES = 12_000_000
PACKED = "application/gzip"
_VOID = {"meta", "link", "br", "wbr", "img", "input", "hr"}


class Parsed(HTMLParser):
    """The elements of a page in order: tag, attributes and the text directly inside."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str], list[str]]] = []
        self.open: list[int] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}, []))
        if tag not in _VOID:
            self.open.append(len(self.elements) - 1)

    def handle_endtag(self, tag: str) -> None:
        at = self.open.pop()
        assert self.elements[at][0] == tag, f"{tag} closes {self.elements[at][:2]}"

    def handle_data(self, data: str) -> None:
        for at in self.open:
            self.elements[at][2].append(data)

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        """Attributes and whole text of every element of a kind."""
        return [(attrs, "".join(text)) for name, attrs, text in self.elements if name == tag]


@pytest.fixture(scope="module")
def html(run_folder: Path) -> str:
    """The report of a run beside its store: every page."""
    out = run_folder.parent / "report.html"
    with contextlib.chdir(run_folder.parent):
        render(run_folder, out)
    return out.read_text()


@pytest.fixture(scope="module")
def page(html: str) -> Parsed:
    return Parsed(html)


def test_every_page_is_there_and_in_the_contents(page: Parsed) -> None:
    ids = [attrs["id"] for attrs, _ in page.all("section")]
    recorded = all_pages()
    assert ids == [one.address for one in recorded.values() if one.address in ids]
    assert len(ids) >= 8
    links = [(attrs["href"][1:], text) for attrs, text in page.all("a")]
    assert [one for one in links if one[0] in ids] == [
        (one, recorded[one[1:]].title) for one in ids
    ]


def test_headings_are_in_order(page: Parsed) -> None:
    levels = [int(tag[1]) for tag, _, _ in page.elements if re.fullmatch(r"h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))


def test_every_figure_has_caption_data_and_table(page: Parsed, html: str) -> None:
    figures = [attrs for attrs, _ in page.all("figure")]
    drawn = [attrs["data-plot"] for attrs, _ in page.all("script") if "data-plot" in attrs]
    assert len(drawn) >= 3
    assert len(page.all("figcaption")) == len(figures)
    for attrs in figures:
        assert "role" not in attrs  # the element says that it is a figure
        assert attrs["aria-labelledby"] in {a.get("id") for _, a, _ in page.elements}
    for name in drawn:
        block = html[html.index(f'id="figure-{name}"') :]
        block = block[: block.index("</figure>")]
        assert f'download="{name}.csv"' in block
        assert "SELECT" in block


def test_ids_are_unique_and_every_link_leads_somewhere(page: Parsed) -> None:
    ids = [attrs["id"] for _, attrs, _ in page.elements if "id" in attrs]
    assert len(ids) == len(set(ids))
    for attrs, _ in page.all("a"):
        assert attrs["href"].startswith("data:") or attrs["href"][1:] in ids


def test_every_table_has_a_name_and_headed_columns(page: Parsed) -> None:
    wraps = [attrs for attrs, _ in page.all("div") if attrs.get("class") == "table-wrap"]
    assert len(wraps) == len(page.all("table")) >= 8
    assert all(attrs["aria-label"] for attrs in wraps)
    assert all(attrs["scope"] in {"col", "row"} for attrs, _ in page.all("th"))


def test_nothing_is_loaded_from_a_network(page: Parsed) -> None:
    for tag, attrs, _ in page.elements:
        assert "src" not in attrs, tag
        assert not (tag == "link" and not attrs["href"].startswith("data:"))
        assert not any(name.startswith("on") for name in attrs)
    style = "".join(text for _, text in page.all("style"))
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_just_the_scripts_of_the_page(page: Parsed) -> None:
    policy = next(a["content"] for a, _ in page.all("meta") if "http-equiv" in a)
    scripts = [text for attrs, text in page.all("script") if "type" not in attrs]
    packed = [text for attrs, text in page.all("script") if attrs.get("type") == PACKED]
    assert len(packed) == 2
    scripts += [gzip.decompress(base64.b64decode(text)).decode() for text in packed]
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.count("sha256-") == len(scripts)
    assert "default-src 'none'" in policy
    assert "http" not in policy


def test_names_of_the_trace_are_escaped(html: str, page: Parsed) -> None:
    scripts = [attrs for attrs, _ in page.all("script")]
    assert len([attrs for attrs in scripts if "type" not in attrs]) == 3
    assert HOSTILE not in html
    assert HOSTILE[:9] in "".join(text for _, text in page.all("code"))
    assert any(HOSTILE[:9] in text for _, text in _figure_texts(page))


def _figure_texts(page: Parsed) -> list[tuple[str, str]]:
    """Each figure's name and every text that is in it."""
    results = []
    for attrs, text in page.all("script"):
        if "data-plot" in attrs:
            data = json.loads(text)["data"]
            results.append((attrs["data-plot"], str([trace.get("customdata") for trace in data])))
    return results


def test_it_is_small_enough_to_send(html: str) -> None:
    assert len(html.encode()) < BUDGET_BYTES


@pytest.mark.slow
def test_a_large_trace_does_not_break_the_budget() -> None:
    text = render_data(made_up(nodes=13_000, steps=1440, more=30))
    assert len(text.encode()) < BUDGET_BYTES


def test_no_path_of_the_machine_is_told(html: str, run_folder: Path) -> None:
    assert str(run_folder.parent) not in html
    assert str(Path(__file__).resolve().parents[2]) not in html


def test_commands_name_the_folders_as_one_types_them(html: str) -> None:
    for command in (
        "tracekit ingest SRC store",
        "tracekit replay store ",
        "tracekit report again ",
    ):
        assert command in html


@pytest.mark.slow
def test_same_data_same_bytes_wherever_it_lies(
    html: str, run_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(run_folder.parent / "store", tmp_path / "elsewhere" / "store")
    shutil.copytree(run_folder, tmp_path / "elsewhere" / "run")
    monkeypatch.chdir(tmp_path / "elsewhere")
    summary = render(tmp_path / "elsewhere" / "run", tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == html
    assert summary.size_bytes == len(html.encode())
    assert summary.answer.facts


@pytest.mark.slow
def test_a_store_gives_no_replay(store: Path, tmp_path: Path) -> None:
    render(store, tmp_path / "store.html")
    ids = [attrs["id"] for attrs, _ in Parsed((tmp_path / "store.html").read_text()).all("section")]
    assert "/policies" not in ids
    assert {"/answer", "/trace", "/services", "/words", "/again"} <= set(ids)


def test_a_run_without_its_store_is_shown_alone(run_folder: Path, tmp_path: Path) -> None:
    shutil.copytree(run_folder, tmp_path / "alone")
    summary = render(tmp_path / "alone", tmp_path / "alone.html")
    text = (tmp_path / "alone.html").read_text()
    assert 'id="/policies"' in text
    assert 'id="/calls"' not in text
    assert summary.answer.facts


def test_an_empty_store_has_no_page_about_rows() -> None:
    frames = {name: frame.clear() for name, frame in queries(4).items()}
    data = Data(fetch=lambda name, _: frames[name], info={"tables": {}, "sources": []})
    parsed = Parsed(render_data(data))
    pages = [attrs["id"] for attrs, _ in parsed.all("section")]
    assert pages == ["/answer", "/words", "/again"]


@pytest.mark.parametrize(
    ("study", "page"),
    [(fewest(), "/nodes"), (comparison(), "/policies"), (requested(), "/requests")],
    ids=lambda one: getattr(one, "name", one),
)
def test_a_study_alone_has_its_page(study: Study, page: str) -> None:
    parsed = Parsed(render_data(Data(studies={"one": study})))
    assert page in [attrs["id"] for attrs, _ in parsed.all("section")]


def test_every_assumption_is_listed(page: Parsed) -> None:
    text = next(t for attrs, t in page.all("section") if attrs["id"] == "/again")
    for name in ("node_cpu_cores", "request_memory_bytes", "limit_factor", "arrival_span_ms"):
        assert name in text


@pytest.mark.parametrize("name", ["summary", "steps"])
def test_a_damaged_run_is_told(name: str, run_folder: Path, tmp_path: Path) -> None:
    assert name in FRAMES
    shutil.copytree(run_folder, tmp_path / "run")
    (tmp_path / "run" / f"{name}.parquet").unlink()
    with pytest.raises(TracekitError, match=name):
        render(tmp_path / "run", tmp_path / "out.html")


@pytest.mark.slow
def test_an_impossible_out_is_told(store: Path, tmp_path: Path) -> None:
    with pytest.raises(TracekitError, match="folder"):
        render(store, tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(TracekitError, match="report"):
        render(store, tmp_path / "file" / "out.html")
