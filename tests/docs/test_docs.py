"""Every command and cell of the docs runs; links lead somewhere; the reference is current."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from docs_support import (
    CLAIM_PAGES,
    DOCS,
    blocks,
    file_of,
    pages,
    reference,
    typed_commands,
    with_claims,
)
from store_support import tiny_store

from tracekit.base.constants import WAITING_SHARE
from tracekit.cluster.declared import Ceiling
from tracekit.commands.shell import run

PAGES = pages()
CEILING = Ceiling()
ROOT = DOCS.parent
FOLDERS = (ROOT / "tracekit", ROOT / "tests", ROOT / "bench")
MODULES = [f"/{one.relative_to(ROOT)}" for top in FOLDERS for one in top.rglob("*.py")]
#: A module in the running text; the last parts of its path are enough.
_MODULE = re.compile(r"`([\w./]+\.py)`")
#: Names that stand for any module.
_MADE_UP = {"cli/x.py"}
_LINK = re.compile(r"\]\(([^)#]+?)(?:#[^)]*)?\)")


@pytest.fixture(scope="module")
def small_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a page other than the tutorial takes for granted."""
    return tiny_store(tmp_path_factory.mktemp("docs")).path


BENCHES = sorted((DOCS / "benchmarks").glob("*.txt"))


@pytest.mark.parametrize("bench", BENCHES, ids=lambda bench: bench.name)
def test_a_measurement_is_linked_and_can_be_made_again(bench: Path) -> None:
    """Its commit and its command stand in it, and a page or another measurement names it."""
    text = bench.read_text(encoding="utf-8")
    others = [one for one in (*PAGES, ROOT / "README.md", *BENCHES) if one != bench]
    assert any(bench.name in one.read_text(encoding="utf-8") for one in others)
    assert re.search(r"\b(at|commit) [0-9a-f]{7,8}\b", text, re.IGNORECASE)
    assert re.search(r"\bmake (bench|demo)|(tests|bench)/[\w/]+\.py|tracekit \w+", text)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_what_the_page_says_runs(
    page: Path, tmp_path: Path, small_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = list(blocks(page))
    if "how-to" in page.parts:
        (tmp_path / "mystore").symlink_to(small_store)
    cell_names: dict[str, Any] = {}
    for language, text in names:
        named = file_of(text)
        if named:
            Path(named[0]).write_text(named[1])
        elif language == "python":
            exec(compile(text, str(page), "exec"), cell_names)  # noqa: S102 - the page's own cells
        elif language == "sh":
            for arguments in typed_commands(text):
                assert run(arguments) == 0, arguments


@pytest.mark.parametrize(
    "page", [*PAGES, *ROOT.glob("*.md")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_links_lead_somewhere(page: Path) -> None:
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


@pytest.mark.parametrize(
    "page", [*DOCS.rglob("*.md"), *ROOT.glob("*.md")], ids=lambda page: str(page.relative_to(ROOT))
)
def test_modules_that_are_named_are_there(page: Path) -> None:
    """Three of the four that prove the bound had other names by then."""
    if page.name == "CHANGELOG.md":  # it tells of what was
        return
    named = set(_MODULE.findall(page.read_text(encoding="utf-8"))) - _MADE_UP
    assert not {name for name in named if not any(one.endswith(f"/{name}") for one in MODULES)}


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("model.md", f"up to {100 * WAITING_SHARE:g} % of the containers"),
        ("how-to/your-own-cluster.md", f"ceiling is {100 * CEILING.cpu_fraction:g} % of a node"),
        ("how-to/your-own-cluster.md", f"{100 * CEILING.memory_fraction:g} % of its memory"),
        ("how-to/shadow.md", f"{100 * CEILING.cpu_fraction:g} % CPU"),
        ("how-to/shadow.md", f"{100 * CEILING.memory_fraction:g} % memory"),
    ],
)
def test_a_page_has_the_number_of_the_code(page: str, text: str) -> None:
    assert text in (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", reference())
def test_the_reference_is_current(name: str) -> None:
    written = (DOCS / "reference" / name).read_text(encoding="utf-8")
    assert written == reference()[name], "run make reference"


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=lambda page: page.name)
def test_a_report_says_where_it_goes(page: Path) -> None:
    lines = [line.strip() for line in page.read_text("utf-8").splitlines()]
    reports = [line for line in lines if re.match(r"tracekit report [^-]", line)]
    assert [line for line in reports if "--out" not in line and "usage" not in line.lower()] == []


@pytest.mark.parametrize("page", CLAIM_PAGES, ids=lambda page: page.stem)
def test_tables_of_claims_are_of_the_recorded_verdicts(page: Path) -> None:
    assert page.read_text(encoding="utf-8") == with_claims(page), "run make reference"
