"""Findings: what a report says first, each a number and the sentence around it."""

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass

from tracekit import registry
from tracekit.report.data import Data

#: How many findings stand at the head of a report.
MOST_FINDINGS = 5


@dataclass(frozen=True, kw_only=True)
class Said:
    """A finding in words: the number, the sentence, and where to read on.

    Parameters
    ----------
    page : str
        The page of the report that shows it, by name.
    """

    value: str
    sentence: str
    page: str


@dataclass(frozen=True, kw_only=True)
class Finding:
    """A finding; its name is its file's name.

    Parameters
    ----------
    order : int
        Its place among the findings; the first ones with something to say are shown.
    find : callable
        ``Data`` to what there is to say, None when the data says nothing about it.
    """

    order: int
    find: Callable[[Data], Said | None]


@functools.cache
def all_findings() -> dict[str, Finding]:
    """Every finding, by name."""
    return registry.instances(sys.modules[__name__], Finding)


def key_findings(data: Data) -> dict[str, Said]:
    """The first findings that have something to say, by name, in their order."""
    ordered = sorted(all_findings().items(), key=lambda item: (item[1].order, item[0]))
    said = ((name, finding.find(data)) for name, finding in ordered)
    return dict([(name, found) for name, found in said if found is not None][:MOST_FINDINGS])
