"""The documentation builds as a site, strictly, and loads nothing from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from docs_support import DOCS

from tracekit import commands
from tracekit._version import VERSION

ROOT = DOCS.parent
#: What ``make docs`` puts beside the pages once they are built.
_EXAMPLE = "example-report.html"
_ID = re.compile(r"\bid=[\"']?([^\s\"'>]+)")
_LINK = re.compile(r"<(?:a|link|img|script)\b[^>]*?\b(?:href|src)=[\"']?([^\s\"'>]+)")
_LOADED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=[\"']?(https?:)?//")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, place / "docs")
    shutil.copy(ROOT / "mkdocs.yml", place)
    (place / "tracekit").symlink_to(ROOT / "tracekit")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=place,
        env={**os.environ, "http_proxy": "http://localhost:1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return place / "build" / "site"


@pytest.mark.slow
def test_every_page_is_there(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        name = page.relative_to(DOCS)
        html = name.with_name("index.html" if name.name == "README.md" else f"{name.stem}.html")
        assert (site / html).is_file(), html


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in site.rglob("*.html"):
        assert not _LOADED.search(page.read_text(encoding="utf-8")), page
    for sheet in site.rglob("*.css"):
        assert not re.search(r"@import|url\(['\"]?https?:", sheet.read_text(encoding="utf-8"))


def test_every_link_leads_somewhere(site: Path) -> None:
    ids = {
        page: set(_ID.findall(page.read_text(encoding="utf-8"))) for page in site.rglob("*.html")
    }
    for page in ids:
        for link in _LINK.findall(page.read_text(encoding="utf-8")):
            path, _, part = unquote(link).partition("#")
            if urlsplit(link).scheme or path.startswith("/") or path == _EXAMPLE:
                continue
            result = (page.parent / path).resolve() if path else page
            result = result / "index.html" if result.is_dir() else result
            assert result.is_file(), f"{page.name}: {link}"
            if part and result in ids and not part.startswith("__"):
                assert part in ids[result], f"{page.name}: {link}"


def test_the_api_is_made_from_docstrings(site: Path) -> None:
    text = (site / "reference" / "api.html").read_text(encoding="utf-8")
    for name in commands.function_names():
        if name != "listing":
            assert f"tracekit.commands.{name}.{name}" in text
    # the parameters of a docstring are a table
    assert "repeats_up_to" in text
    assert "A workload of <code>tracekit.cluster.named</code>" in text


def test_the_citation_names_this_version() -> None:
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {VERSION}\n" in text
    for key in ("cff-version", "message", "title", "authors", "license"):
        assert re.search(rf"^{key}:", text, re.MULTILINE), key


def test_the_citation_has_the_form_of_its_schema() -> None:
    """What schema 1.2.0 of the Citation File Format asks for, as far as this file goes."""
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert cited["cff-version"] == "1.2.0"
    assert cited["type"] in {"software", "dataset"}
    # a version that the changelog does not call released has no day on which it was
    heading = next(
        line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if "## " in line
    )
    assert f"## {cited['version']}" in heading
    assert ("date-released" in cited) == ("unreleased" not in heading)
    assert cited["authors"]
    assert all({"name"} == set(one) or "family-names" in one for one in cited["authors"])
    texts = ("message", "title", "abstract", "license", "version")
    assert all(isinstance(cited[key], str) and cited[key].strip() for key in texts)
    assert len(set(cited["keywords"])) == len(cited["keywords"])
    recorded = {*texts, "cff-version", "type", "authors", "keywords", "date-released"}
    assert set(cited) <= recorded
