"""Pages of a report: the templates of ``reports/``, described by the comment they start with.

A template starts with::

    {# title: Zones
       question: Does a node's memory follow its CPU?
       group: trace
       order: 30
       needs: store #}

``question`` is what the page answers; the contents show it. ``group`` is the part of the contents
it stands in, one of ``GROUPS``. ``needs`` is ``store``, ``run``, ``data`` (either), ``sizing``,
``binding``, ``calls``, ``neighbours``, ``published`` (see the functions below), ``any``, ``study``
and names of studies of which one is enough, or ``rows`` and names of queries of which one must have
rows; several of these with ``or`` between them. A page is left out when there is no such thing: one
whose content these data cannot have would be an empty promise in the contents. Files that start
with an underscore are parts that pages share.
"""

import functools
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import jinja2

from tracekit.assets import asset_dir
from tracekit.errors import TracekitError
from tracekit.report.data import Data
from tracekit.sources import is_published

_HEADER = re.compile(r"\A\{#\s*(.*?)\s*#\}", re.DOTALL)
_NAMES = r"( (?!or\b)[\w/]+)+"
_NEED = (
    rf"(store|run|data|sizing|binding|calls|neighbours|published|any|study{_NAMES}|rows{_NAMES})"
)
_NEEDS = re.compile(rf"{_NEED}( or {_NEED})*")
#: The parts of the contents, in order, and what they are called there.
GROUPS = {
    "decision": "The decision",
    "trace": "The trace",
    "study": "Studies",
    "reference": "To look up",
}


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the report; its name is its file's name."""

    name: str
    template: str
    title: str
    question: str
    group: str
    order: int
    needs: str

    @property
    def address(self) -> str:
        """Where the page is found in the file, behind ``#``."""
        return f"/{self.name}"

    def fits(self, data: Data) -> bool:
        """Whether the data is there that the page speaks of."""
        return any(_is_there(need, data) for need in self.needs.split(" or "))


def _is_there(need: str, data: Data) -> bool:
    kind, *names = need.split()
    there: dict[str, Callable[[], bool]] = {
        "store": lambda: data.has_store,
        "run": lambda: data.has_run,
        "data": lambda: data.has_store or data.has_run,
        "sizing": lambda: data.sizing is not None,
        "binding": lambda: not data.result("bind/repeats").is_empty(),
        "calls": lambda: _calls(data),
        "neighbours": lambda: _neighbours(data),
        "published": lambda: _published(data),
        "study": lambda: any(name in data.studies for name in names),
        "rows": lambda: not all(data.query(name).is_empty() for name in names),
        "any": lambda: True,
    }
    return there[kind]()


def _calls(data: Data) -> bool:
    """Whether the store holds calls; call graphs of more than are rebuilt unasked count, too."""
    tables = (data.info or {}).get("tables", {})
    return (
        bool(tables.get("call", {}).get("rows")) or not data.result("callgraph/shapes").is_empty()
    )


def _neighbours(data: Data) -> bool:
    """Whether a fit can tell what neighbours cost.

    That takes the vCPUs of containers. Where only their node is known, it takes calls at least:
    without these nobody knows how much work a container did, and a fit is never more than weak.
    """
    fitted = data.result("fit/coefficients")
    if fitted.is_empty():
        return False
    tables = (data.info or {}).get("tables", {})
    told = any(tables.get(name, {}).get("rows") for name in ("call", "service_rate"))
    return bool((fitted["mode"] != "proxy").any()) or told


def _published(data: Data) -> bool:
    """Whether the store is of a published trace: claims of its study say nothing of one's own."""
    return any(is_published(one["release"]) for one in (data.info or {}).get("sources", []))


@functools.cache
def all_pages() -> dict[str, Page]:
    """Every page, by name, in the order of the report."""
    paths = sorted(asset_dir("reports").glob("[!_]*.html"))
    pages = sorted((_read(path) for path in paths), key=lambda page: (page.order, page.name))
    return {page.name: page for page in pages}


def _read(path: Path) -> Page:
    found = _HEADER.match(path.read_text(encoding="utf-8"))
    lines = found[1].splitlines() if found else []
    fields = {
        key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)
    }
    order, needs, group = (fields.get(name, "") for name in ("order", "needs", "group"))
    told = fields.get("title") and fields.get("question", "").endswith("?")
    if not (told and order.isdigit() and group in GROUPS and _NEEDS.fullmatch(needs)):
        raise TracekitError(
            f"reports/{path.name} does not start with title, question, group, order and needs"
            " in one comment",
            hint="a line each: title: Zones, question: What are they?, group: trace, order: 30,"
            " needs: store, run, data, any, study NAME or rows QUERY",
        )
    return Page(
        name=path.stem,
        template=path.name,
        title=fields["title"],
        question=fields["question"],
        group=group,
        order=int(order),
        needs=needs,
    )


#: What a fault in a page's own code raises; damage and refusals of the system have other types.
FAULTS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    jinja2.TemplateError,
)


def page_fault(page: Page, error: Exception) -> str:
    """What is said of a page that has a fault of tracekit's; raises it with TRACEKIT_DEBUG."""
    if os.environ.get("TRACEKIT_DEBUG"):
        raise error
    reason = next(iter(str(error).splitlines()), "")
    return (
        f"The page '{page.title}' could not be made: {type(error).__name__}: {reason}. The other"
        " pages are whole. This is a bug; run 'tracekit --debug report ...' and report what it"
        " prints."
    )
