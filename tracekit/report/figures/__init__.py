"""The declared figures of the report: their data, their rows, and their marks.

``tracekit.report.drawing`` draws all of them, for wide and for narrow windows.
"""

import functools
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import polars as pl

from tracekit.base import registry
from tracekit.cluster.declared import Ceiling

#: The kinds of marks. Stems rise from the horizontal axis; levels are lines across the panel.
Mark = Literal["points", "lines", "steps", "bars", "stems", "levels"]
#: The name by which a figure reads the facts of the answer; see ``tracekit.report.blocks.read``.
FACTS = "answer/facts"


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis: ``title [unit]``; ``{panel}`` in them is the value of the figure's panel.

    Parameters
    ----------
    percent : bool
        Whether fractions are drawn as percentages.
    log, zero : bool
        Whether the axis is logarithmic, and whether it begins at 0.
    span : pair of float, optional
        The least range of the axis.
    """

    title: str
    unit: str
    percent: bool = False
    log: bool = False
    zero: bool = False
    span: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Layer:
    """Marks of one look.

    Parameters
    ----------
    x, y : str
        Columns. Where rows have names, ``y`` is left out.
    name : str
        The name in the legend; empty for none.
    where : expression, optional
        The rows with such a mark; all rows if not given.
    by : str
        A column; each of its values has its own name and colour.
    low, high : str
        Columns of an interval.
    second : bool
        Whether the marks belong to the second upright axis.
    """

    mark: Mark
    x: str
    y: str = ""
    name: str = ""
    where: pl.Expr | None = None
    by: str = ""
    color: str = "policy-1"
    low: str = ""
    high: str = ""
    symbol: str = "circle"
    size: float = 7
    width: float = 2
    opacity: float = 1.0
    dash: str = "solid"
    second: bool = False


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure; its name is that of its variable.

    Parameters
    ----------
    title : str
        The title of the figure.
    question : str
        The question that the figure answers; it ends with a question mark.
    how_to_read : str
        An explanation for a reader who sees such a figure for the first time.
    absent : str
        The text on the missing data where there is nothing to draw.
    reads : tuple of str
        Queries (``usage/node_profile``), frames of the run folder (``replay/steps``), of
        studies, or facts. At least one of them that is not a fact must exist.
    rows : callable
        Takes the frames of ``reads``, in that order, and returns the frame that is drawn and
        downloaded; the table shows a part of it. A frame that does not exist has no columns.
    x, y, second : Axis
        Without ``y`` each row has a line of its own, named by ``label``.
    label : str
        The column with the text of each mark.
    beside : str
        The column of the names that stand beside marks; null where none does.
    panel : str
        The column each value of which has a panel of its own.
    colors : mapping of str to str
        The colour of each value of a layer's column ``by``; a value that is not listed gets the
        next colour of the palette.
    diagonal : bool
        Whether a dashed line marks where both axes are equal.
    fewest : int
        With fewer rows there is nothing to draw.
    """

    title: str
    question: str
    how_to_read: str
    absent: str
    reads: tuple[str, ...]
    rows: Callable[..., pl.DataFrame]
    layers: tuple[Layer, ...]
    x: Axis
    y: Axis | None = None
    second: Axis | None = None
    label: str
    beside: str = ""
    panel: str = ""
    colors: Mapping[str, str] = field(default_factory=dict)
    diagonal: bool = False
    fewest: int = 1
    height_px: int = 380


@functools.cache
def all_figures() -> dict[str, Figure]:
    """Return every figure, by name."""
    return registry.named(sys.modules[__name__], Figure)


def get_figure(name: str) -> Figure:
    """Return the figure of that name; raises TracekitError for an unknown one."""
    return registry.pick(all_figures(), name, "figure", listing="tracekit list figures")


def ceiling_of(facts: pl.DataFrame, measure: str) -> float:
    """Return the used fraction from which a node is full: the answer's, else the default."""
    own = facts.filter(kind="ceiling", measure=measure)["value"].to_list()
    usual = Ceiling()
    of_cpu = measure.startswith("cpu_")
    return float(own[0]) if own else usual.cpu_fraction if of_cpu else usual.memory_fraction
