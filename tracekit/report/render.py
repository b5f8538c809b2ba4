"""The ten pages of a report, and their rendering as one self-contained HTML file.

The template of a page is ``reports/<name>.html``. A page on which nothing can be shown is left out.
"""

import base64
import gzip
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jinja2
from markupsafe import Markup

from tracekit._version import VERSION
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Answer
from tracekit.base.files.replacing import replaced_file
from tracekit.base.folders import asset_dir
from tracekit.base.progress import SILENT, Progress
from tracekit.base.shown import Shown
from tracekit.report import again, plot
from tracekit.report.data import Data, opened
from tracekit.report.page import Printer

#: The errors of a bug in a page's code; damaged files and system errors have other types.
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    jinja2.TemplateError,
)


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the report.

    Parameters
    ----------
    always : bool
        Whether the page is there even if it shows nothing.
    """

    name: str
    title: str
    question: str
    always: bool = False

    @property
    def template(self) -> str:
        """The file of the page's template."""
        return f"{self.name}.html"

    @property
    def address(self) -> str:
        """The address of the page in the file, after ``#``."""
        return f"/{self.name}"


PAGES = (
    Page(name="answer", title="Answer", question="What should I do?", always=True),
    Page(name="nodes", title="Nodes", question="How many nodes are enough, and which can go?"),
    Page(name="requests", title="Requests", question="Which requests are wrong?"),
    Page(name="policies", title="Policies", question="Is another scheduling policy better?"),
    Page(name="trace", title="The trace", question="What was recorded, and can it be trusted?"),
    Page(name="services", title="Services and calls", question="What do services need?"),
    Page(name="neighbours", title="Neighbours", question="Do containers slow each other down?"),
    Page(name="claims", title="Claims", question="Does what papers say hold here?"),
    Page(name="words", title="Words", question="What do the words mean?", always=True),
    Page(name="again", title="The same again", question="How is this made again?", always=True),
)


def all_pages() -> dict[str, Page]:
    """Return every page, by name, in the order of the report."""
    return {page.name: page for page in PAGES}


def page_fault(page: Page, error: Exception) -> str:
    """Return the text in place of a page that fails by a bug; TRACEKIT_DEBUG raises the error."""
    if os.environ.get("TRACEKIT_DEBUG"):
        raise error
    reason = next(iter(str(error).splitlines()), "")
    return (
        f"The page '{page.title}' could not be made: {type(error).__name__}: {reason}. The other"
        " pages are whole. This is a bug; run 'tracekit --debug report ...' and report what it"
        " prints."
    )


def plotly() -> str:
    """Return the script of plotly from the installed package."""
    from plotly.offline import get_plotlyjs  # noqa: PLC0415 - five megabytes, only when needed

    return inline(str(get_plotlyjs()))


def tables() -> str:
    """Return the script of DataTables from the package itables; it sets ``tracekit.DataTable``.

    The package's module becomes a function that is called at once, because other scripts of a page
    cannot import a module of the page.
    """
    text = resources.files("itables").joinpath("html", "dt_bundle.js").read_text("utf-8")
    body, _, behind = text.rpartition("export{")
    exports, _, rest = behind.partition("};")
    table = next((one for one in exports.split(",") if one.endswith(" as default")), "")
    if not body or not table:
        raise TracekitError(
            "the installed itables has another form than this tracekit knows",
            hint="pip install 'itables>=2.9,<3'",
        )
    handed = f"window.tracekit.DataTable={table.removesuffix(' as default').strip()};"
    return inline(f"(()=>{{{body}{handed}}})();{rest}")


def tables_style() -> str:
    """Return the style sheet of DataTables without the images in it."""
    text = resources.files("itables").joinpath("html", "dt_bundle.css").read_text("utf-8")
    first, *others = text.split("url(")
    return "none".join((first, *(one.partition(")")[2] for one in others)))


def inline(script: str) -> str:
    r"""Return a script that may stand in a page: no closing script tag, and line ends as ``\n``."""
    if "</script" in script.lower():
        script = script.replace("</script", "<\\/script")
    return script.replace("\r\n", "\n").replace("\r", "\n")


@dataclass(frozen=True, kw_only=True, repr=False)
class ReportSummary(Shown):
    """A report that was written.

    Parameters
    ----------
    answer : Answer
        The answer on its first page.
    left_out : tuple of str
        A sentence for each page that could not be made.
    """

    path: Path
    size_bytes: int
    answer: Answer
    left_out: tuple[str, ...] = ()


#: Characters that turn the direction of a text, and their replacement.
_TURNING = (*range(0x202A, 0x202F), *range(0x2066, 0x206A))
_UNSHOWN = "\ufffd"


def render(
    source: Path,
    out: Path,
    *,
    studies: Sequence[Path] = (),
    queries: bool = True,
    progress: Progress = SILENT,
) -> ReportSummary:
    """Write the report of a store, a run or a study folder.

    Commands in the page have paths relative to the working folder. So the same data gives the same
    bytes wherever this folder lies.

    Parameters
    ----------
    studies : sequence of path
        Further study folders, beside those in the folder ``studies`` beside the store or the run.
    queries : bool
        Whether the store is queried; without queries the pages on the trace are left out.

    Raises
    ------
    TracekitError
        For another source, and for an ``out`` that cannot be written.
    """
    source, out = Path(source), Path(out)
    _check_out(out)
    left_out: list[str] = []
    with opened(source, studies, queries=queries) as data:
        html, answer = _rendered(data, progress, left_out)
    text = html.encode()
    _write(out, text)
    return ReportSummary(path=out, size_bytes=len(text), answer=answer, left_out=tuple(left_out))


def render_data(
    data: Data, *, progress: Progress = SILENT, left_out: list[str] | None = None
) -> str:
    """Return the report of some data, as HTML.

    A page that fails because of a bug has an error in its place; other pages are whole.

    Parameters
    ----------
    left_out : list of str, optional
        Gets a sentence for each page that could not be made.
    """
    return _rendered(data, progress, [] if left_out is None else left_out)[0]


def _rendered(data: Data, progress: Progress, left_out: list[str]) -> tuple[str, Answer]:
    environment = _environment()
    printer = Printer(data, environment)
    sections: list[tuple[Page, Markup]] = []
    with progress.task("report", len(PAGES), "pages") as task:
        for page in PAGES:
            body = _body(page, printer, environment, left_out, progress)
            if body is not None:
                sections.append((page, Markup(body)))  # noqa: S704 - a template's escaped output
            task.advance(1, page.title)
    libraries = {"plotly": plotly(), "tables": tables()}
    scripts = {name: _asset(f"_{name}.js") for name in ("theme", "pages", "report")}
    html = environment.get_template("_layout.html").render(
        title=printer.headline(),
        name=_name(data),
        sections=sections,
        version=VERSION,
        style=Markup(_style()),  # noqa: S704 - our own file
        scripts={name: Markup(text) for name, text in scripts.items()},  # noqa: S704 - our own files
        packed={name: _packed(text) for name, text in libraries.items()},
        script_hashes=[_hash(script) for script in (*scripts.values(), *libraries.values())],
    )
    for code in _TURNING:
        html = html.replace(chr(code), _UNSHOWN).replace(f"\\u{code:04x}", _UNSHOWN)
    return html, printer.answer


def _body(
    page: Page,
    printer: Printer,
    environment: jinja2.Environment,
    left_out: list[str],
    progress: Progress,
) -> str | None:
    """The page as HTML; None for an empty page."""
    printer.begin_page()
    template = environment.get_template(page.template)
    try:
        body = template.render(p=printer, data=printer.data, again=again, version=VERSION)
    except FAULTS as error:
        fault = page_fault(page, error)
        progress.say(fault)
        left_out.append(fault)
        return environment.get_template("_fault.html").render(fault=fault)
    return body if printer.shown or page.always else None


def _name(data: Data) -> str:
    """The title of the report: the name of the store or the workload."""
    load = (data.run or {}).get("workload", {})
    return str(load.get("name") or Path(data.paths.store).name)


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(asset_dir("reports")),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _packed(text: str) -> str:
    """A script as compressed text for a page; the same text gives the same bytes."""
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _asset(name: str) -> str:
    return inline((asset_dir("reports") / name).read_text(encoding="utf-8"))


def _hash(script: str) -> str:
    """The hash of a script in the page's security policy."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _style() -> str:
    light = plot.declarations(dark=False)
    dark = plot.declarations(dark=True)
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
