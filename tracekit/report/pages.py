"""Pages of a report: the templates of ``reports/``, described by the comment they start with.

A template starts with::

    {# title: Zones
       question: Does a node's memory follow its CPU?
       group: trace
       order: 30
       needs: store #}

``question`` is what the page answers; the contents show it. ``group`` is the part of the contents
it stands in, one of ``GROUPS``. ``needs`` is ``store``, ``run``, ``data`` (either), ``sizing``,
``binding``, ``any``, or ``study`` and names of studies of which one is enough; several of these
with ``or`` between them. A page is left out when there is no such thing. Files that start with an
underscore are parts that pages share.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from tracekit.assets import asset_dir
from tracekit.errors import TracekitError
from tracekit.report.data import Data

_HEADER = re.compile(r"\A\{#\s*(.*?)\s*#\}", re.DOTALL)
_NEED = r"(store|run|data|sizing|binding|any|study( (?!or\b)\w+)+)"
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
    kind, *studies = need.split()
    there = {
        "store": data.has_store,
        "run": data.has_run,
        "data": data.has_store or data.has_run,
        "sizing": data.sizing is not None,
        "binding": not data.result("bind/repeats").is_empty(),
        "study": any(name in data.studies for name in studies),
        "any": True,
    }
    return there[kind]


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
            " needs: store, run, data, any or study NAME",
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
