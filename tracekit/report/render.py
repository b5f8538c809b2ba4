"""Puts a report together: data in, one HTML file out that needs nothing else."""

from __future__ import annotations

import base64
import contextlib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from tracekit._version import VERSION
from tracekit.assets import asset_dir
from tracekit.errors import TracekitError
from tracekit.files.replacing import replaced_file
from tracekit.progress import SILENT, Progress
from tracekit.query.database import Database
from tracekit.report import palette
from tracekit.report.blocks import block
from tracekit.report.contents import contents
from tracekit.report.data import Data, load, open_source
from tracekit.report.figures import get_figure
from tracekit.report.findings import Said, key_findings
from tracekit.report.pages import all_pages
from tracekit.report.sizing_run import find_sizing
from tracekit.report.studies import read_studies
from tracekit.shown import Shown
from tracekit.store.folder import open_store


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportSummary(Shown):
    """A report that was written.

    Parameters
    ----------
    findings : tuple of str
        The key findings in words.
    """

    path: Path
    size_bytes: int
    findings: tuple[str, ...]


def render(
    source: Path,
    out: Path,
    *,
    studies: Sequence[Path] = (),
    progress: Progress = SILENT,
) -> ReportSummary:
    """Write the report of a store, a run or a study folder; the same data gives the same bytes.

    Parameters
    ----------
    studies : sequence of path
        Study folders to show as well; those in the folder ``studies`` beside the store or the run
        are shown anyway.

    Raises
    ------
    TracekitError
        When ``source`` is none of these, or ``out`` cannot be written.
    """
    folder, run = open_source(Path(source))
    found = read_studies(Path(source), studies)
    _check_out(Path(out))
    store = open_store(folder) if folder else None
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database(store)) if store else None
        sizing = find_sizing(Path(source), folder)
        data = load(database, store, run, studies=found, sizing=sizing)
        html = render_data(data, progress=progress)
        said = key_findings(data)
    text = html.encode()
    _write(Path(out), text)
    findings = tuple(sentence(item) for item in said.values())
    return ReportSummary(path=Path(out), size_bytes=len(text), findings=findings)


def sentence(said: Said) -> str:
    """A finding as one plain sentence."""
    return f"{said.value} {said.sentence}".replace("\u00a0", " ")


def render_data(data: Data, *, progress: Progress = SILENT) -> str:
    """The report of some data, as HTML."""
    pages = [page for page in all_pages().values() if page.fits(data)]
    environment = _environment(data)
    sections = []
    with progress.task("report", len(pages), "pages") as task:
        for page in pages:
            body = environment.get_template(page.template).render(page=page)
            sections.append((page, Markup(body)))  # noqa: S704 - a template's own escaped output
            task.advance(1, page.title)
    scripts = [_asset("_theme.js"), _plotly(), _asset("_report.js"), _asset("_policies.js")]
    return environment.get_template("_layout.html").render(
        title=contents.title(data),
        sections=sections,
        style=Markup(_style()),  # noqa: S704 - our own file
        scripts=[Markup(script) for script in scripts],  # noqa: S704 - our own files and plotly.js
        script_hashes=[_hash(script) for script in scripts],
    )


def _environment(data: Data) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(asset_dir("reports")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    numbers = iter(range(1, 1000))

    def figure(name: str) -> Markup:
        shown = block(name, get_figure(name), data)
        macro: Any = environment.get_template("_blocks.html").module
        return Markup(macro.figure(shown, next(numbers)))  # noqa: S704 - escaped by the macro

    environment.globals.update(
        data=data,
        contents=contents,
        figure=figure,
        findings=key_findings(data),
        version=VERSION,
        titles={page.name: page.title for page in all_pages().values()},
    )
    return environment


def _plotly() -> str:
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - five megabytes, only when needed

    return _inline(str(get_plotlyjs()))


def _asset(name: str) -> str:
    return _inline((asset_dir("reports") / name).read_text(encoding="utf-8"))


def _inline(script: str) -> str:
    """A script that may stand in a page: line ends as the browser will hash them."""
    if "</script" in script.lower():
        script = script.replace("</script", "<\\/script")
    return script.replace("\r\n", "\n").replace("\r", "\n")


def _hash(script: str) -> str:
    """What the page's security policy knows a script by."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _style() -> str:
    light = palette.declarations(dark=False)
    dark = palette.declarations(dark=True)
    unchosen = ":root:not([data-theme])"
    rules = (
        f":root {{ color-scheme: light; {light} }}",
        f"@media (prefers-color-scheme: dark) {{ {unchosen} {{ color-scheme: dark; {dark} }} }}",
        f':root[data-theme="dark"] {{ color-scheme: dark; {dark} }}',
        f"@media print {{ :root, :root[data-theme] {{ color-scheme: light; {light} }} }}",
    )
    return "\n".join((*rules, (asset_dir("reports") / "_style.css").read_text(encoding="utf-8")))


def _check_out(out: Path) -> None:
    if out.is_dir():
        raise TracekitError(
            f"--out {out} is a folder, expected a file", hint=f"for example --out {out}/report.html"
        )


def _write(out: Path, text: bytes) -> None:
    try:
        with replaced_file(out) as made:
            made.write_bytes(text)
    except OSError as error:
        raise TracekitError(
            f"cannot write the report to {out}: {error.strerror or error}",
            hint="give --out a file in a folder that you may write to",
        ) from error
