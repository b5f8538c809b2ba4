"""Pages of a report: the templates of ``reports/``, described by the comment they start with.

A template starts with::

    {# title: Zones
       order: 30
       needs: store #}

``needs`` is ``store``, ``run``, ``data`` (either), ``sizing``, ``any``, or ``study`` and names of
studies of which one is enough: a page is left out when there is no such thing. Files that start
with an underscore are parts that pages share.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from tracekit.assets import asset_dir
from tracekit.errors import TracekitError
from tracekit.report.data import Data

_HEADER = re.compile(r"\A\{#\s*(.*?)\s*#\}", re.DOTALL)
_NEEDS = re.compile(r"store|run|data|sizing|any|study( \w+)+")


@dataclass(frozen=True, kw_only=True)
class Page:
    """A page of the report; its name is its file's name."""

    name: str
    template: str
    title: str
    order: int
    needs: str

    def fits(self, data: Data) -> bool:
        """Whether the data is there that the page speaks of."""
        kind, *studies = self.needs.split()
        there = {
            "store": data.has_store,
            "run": data.has_run,
            "data": data.has_store or data.has_run,
            "sizing": data.sizing is not None,
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
    order, needs = fields.get("order", ""), fields.get("needs", "")
    if not fields.get("title") or not order.isdigit() or not _NEEDS.fullmatch(needs):
        raise TracekitError(
            f"reports/{path.name} does not start with title, order and needs in one comment",
            hint="write title: Zones, order: 30 and needs: store, run, data, any or study NAME,"
            " a line each",
        )
    return Page(
        name=path.stem, template=path.name, title=fields["title"], order=int(order), needs=needs
    )
