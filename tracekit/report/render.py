"""Puts a report together: data in, one HTML file out that needs nothing else."""

import base64
import contextlib
import gzip
import hashlib
import os
import re
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
from tracekit.replay.policy.own_files import FILES
from tracekit.report.blocks import SIZE, block
from tracekit.report.computed import folders_of
from tracekit.report.contents import answer, contents
from tracekit.report.data import Data, load, open_source, read_run
from tracekit.report.drawing import palette
from tracekit.report.figures import get_figure
from tracekit.report.findings import Said, key_findings
from tracekit.report.libraries import inline, plotly, tables, tables_style
from tracekit.report.pages import FAULTS, GROUPS, Page, all_pages, page_fault
from tracekit.report.paths import paths
from tracekit.report.sizing_run import find_sizing
from tracekit.report.studies import read_studies
from tracekit.shell import in_lines
from tracekit.shown import Shown
from tracekit.store.folder import open_store
from tracekit.study import STUDY_FOLDER

#: A text longer than this may end a line between the parts of a name.
_LONG_NAME = 10


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportSummary(Shown):
    """A report that was written.

    Parameters
    ----------
    answers : tuple of str
        What was asked for.
    findings : tuple of str
        These, and what else the data say.
    left_out : tuple of str
        A sentence for each page that could not be made.
    """

    path: Path
    size_bytes: int
    findings: tuple[str, ...]
    answers: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def render(
    source: Path,
    out: Path,
    *,
    studies: Sequence[Path] = (),
    progress: Progress = SILENT,
) -> ReportSummary:
    """Write the report of a store, a run or a study folder.

    The same data gives the same bytes wherever the working folder lies that ``source`` is in:
    commands to copy name paths from there.

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
    replayed = None if run is None else read_run(run)["workload"]
    found = read_studies(Path(source), studies, load=replayed)
    _check_out(Path(out))
    store = open_store(folder) if folder else None
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database(store)) if store else None
        sizing = find_sizing(Path(source), folder)
        document = read_run(run) if run else {}
        named = paths(
            Path(source),
            folder or _store_beside(Path(source)),
            run,
            # what a run replayed instead of a store
            loader=str(document.get("workload", {}).get("loader", "")),
            files=[one for policy in document.get("policies", ()) for one in policy.get(FILES, ())],
            results=folders_of(folder) | ({SIZE: sizing} if sizing else {}),
        )
        data = load(database, store, run, studies=found, sizing=sizing, paths=named)
        left_out: list[str] = []
        html = render_data(data, progress=progress, left_out=left_out)
        answers, said = _answers(data), _findings(data)
    text = html.encode()
    _write(Path(out), text)
    return ReportSummary(
        path=Path(out),
        size_bytes=len(text),
        answers=answers,
        findings=(*answers, *said),
        left_out=tuple(left_out),
    )


def _findings(data: Data) -> tuple[str, ...]:
    """What else the data say."""
    return tuple(sentence(item) for item in key_findings(data).values())


def _answers(data: Data) -> tuple[str, ...]:
    """What was asked for; nothing where its page has a fault."""
    try:
        return tuple(plain(one) for one in answer.told(data))
    except FAULTS:
        if os.environ.get("TRACEKIT_DEBUG"):
            raise
        return ()


def _store_beside(source: Path) -> Path | None:
    """The store of a study that lies where ``tracekit run`` and its advice put studies."""
    if not STUDY_FOLDER.holds(source):
        return None
    folder = source.resolve().parent.parent / "store"
    with contextlib.suppress(TracekitError):
        open_store(folder)
        return folder
    return None


def sentence(said: Said) -> str:
    """A finding as one plain sentence."""
    return plain(f"{said.value} {said.sentence}")


def plain(text: str) -> str:
    """Text as a terminal shows it."""
    return text.replace("\u00a0", " ")


def render_data(
    data: Data, *, progress: Progress = SILENT, left_out: list[str] | None = None
) -> str:
    """The report of some data, as HTML.

    A page with a fault of tracekit's says so in its place, and the others are whole.

    Parameters
    ----------
    left_out : list of str, optional
        Gets a sentence for each page that could not be made.
    """
    fitting = [page for page in all_pages().values() if _fits(page, data)]
    pages = [page for group in GROUPS for page in fitting if page.group == group]
    environment = _environment(data)
    sections = []
    with progress.task("report", len(pages), "pages") as task:
        for page in pages:
            used = {one.name for one in pages}
            template = environment.get_template(page.template)
            try:
                body = template.render(page=page, used=used)
            except FAULTS as error:
                told = page_fault(page, error)
                progress.told(told)
                if left_out is not None:
                    left_out.append(told)
                body = environment.get_template("_fault.html").render(page=page, told=told)
            sections.append((page, Markup(body)))  # noqa: S704 - a template's own escaped output
            task.advance(1, page.title)
    libraries = {"plotly": plotly(), "tables": tables()}
    scripts = {name: _asset(f"_{name}.js") for name in ("theme", "pages", "report", "pair")}
    used = {page.name for page in pages}
    if "pair" not in used:
        del scripts["pair"]
    return environment.get_template("_layout.html").render(
        title=contents.title(data),
        sections=sections,
        used=used,
        style=Markup(_style()),  # noqa: S704 - our own file
        scripts={name: Markup(text) for name, text in scripts.items()},  # noqa: S704 - our own files
        packed={name: _packed(text) for name, text in libraries.items()},
        script_hashes=[_hash(script) for script in (*scripts.values(), *libraries.values())],
    )


def _fits(page: Page, data: Data) -> bool:
    """Whether a page is shown; one with a fault in what it asks for is, and tells of it."""
    try:
        return page.fits(data)
    except FAULTS:
        return True


def breakable(text: str, ends: str = "/_") -> Markup:
    """A text whose long names end a line between their parts, not within a word.

    What is copied from the page holds nothing more than the text.
    """
    between = rf"(?<=[{re.escape(ends)}])(?=\w)"
    parts = re.split(between, text) if len(text) > _LONG_NAME else [text]
    return Markup("<wbr>").join(parts)


def _environment(data: Data) -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(asset_dir("reports")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(in_lines=in_lines, breakable=breakable)
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


def _packed(text: str) -> str:
    """A script compressed, as text that may stand in a page; the same text gives the same bytes."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _asset(name: str) -> str:
    return inline((asset_dir("reports") / name).read_text(encoding="utf-8"))


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
    own = (asset_dir("reports") / "_style.css").read_text(encoding="utf-8")
    return "\n".join((*rules, tables_style(), own))


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
