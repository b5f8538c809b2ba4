"""The ten pages of a report, with their titles and questions.

The template of a page is ``reports/<name>.html``. A page on which nothing can be shown is left out.
"""

import os
from dataclasses import dataclass

import jinja2

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
    """Every page, by name, in the order of the report."""
    return {page.name: page for page in PAGES}


def page_fault(page: Page, error: Exception) -> str:
    """The text in place of a page that fails by a bug; TRACEKIT_DEBUG raises the error."""
    if os.environ.get("TRACEKIT_DEBUG"):
        raise error
    reason = next(iter(str(error).splitlines()), "")
    return (
        f"The page '{page.title}' could not be made: {type(error).__name__}: {reason}. The other"
        " pages are whole. This is a bug; run 'tracekit --debug report ...' and report what it"
        " prints."
    )
