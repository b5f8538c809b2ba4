"""Figures of the report: one file each, found by its name."""

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit import registry
from tracekit.report.data import Data


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure; its name is its file's name.

    Parameters
    ----------
    title : str
        What is drawn.
    question : str
        What it answers, ends with a question mark.
    how_to_read : str
        For somebody who sees such a figure for the first time.
    reads : tuple of str
        Queries (``usage/node_profile``) or frames of the run folder (``replay/steps``).
    prepare : callable
        ``Data`` to the frame that is drawn, thinned to what a page can carry; without rows when
        there is nothing to draw.
    draw : callable
        That frame to a plotly figure. Axis titles carry units.
    takeaway : callable
        That frame, with at least one row, to one sentence with the number that matters.
    table : callable
        That frame to a short one that says the same to those who do not see the figure.
    absent : str
        The sentence that stands in the figure's place when there is nothing to draw.
    csv : tuple of str
        The frame's columns that the download has; all when empty.
    narrow : callable, optional
        That frame to the plotly figure for a narrow window. Without it the wide one is laid out
        anew there: titles of axes above, fewer ticks.
    note : callable, optional
        That frame to a sentence about what was left out or thinned, or an empty one.
    why_absent : callable, optional
        ``Data`` to the sentence that stands for ``absent`` where more is known, or an empty one.
    sql : callable, optional
        ``Data`` to the statements that give the figure's numbers, each with the name of what it
        reads; where there are none, all rows of what the figure reads are.
    """

    title: str
    question: str
    how_to_read: str
    reads: tuple[str, ...]
    prepare: Callable[[Data], pl.DataFrame]
    draw: Callable[[pl.DataFrame], Any]
    takeaway: Callable[[pl.DataFrame], str]
    table: Callable[[pl.DataFrame], pl.DataFrame]
    absent: str
    csv: tuple[str, ...] = ()
    narrow: Callable[[pl.DataFrame], Any] | None = None
    note: Callable[[pl.DataFrame], str] = lambda _: ""
    why_absent: Callable[[Data], str] = lambda _: ""
    sql: Callable[[Data], Sequence[tuple[str, str]]] = lambda _: ()


@functools.cache
def all_figures() -> dict[str, Figure]:
    """Every figure, by name."""
    return registry.instances(sys.modules[__name__], Figure)


def get_figure(name: str) -> Figure:
    """The figure of that name; raises TracekitError for an unknown one."""
    return registry.pick(all_figures(), name, "figure", listing="tracekit list figures")
