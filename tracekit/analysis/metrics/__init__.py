"""Metrics of arrays: a few in a file, a documented numpy function inside; what SQL gives agrees."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tracekit.base import registry

F = TypeVar("F", bound=Callable[..., Any])

#: A series whose variance is no more than this is constant: the rest is rounding.
CONSTANT_VARIANCE = 1e-18
#: How often an interval is to hold what it is of.
LEVEL = 0.95
#: A normal value lies within so many standard deviations of its mean in 95 % of cases.
NORMAL_95 = 1.959964


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A metric; its name is that of its function.

    Parameters
    ----------
    title : str
        What it is called in tables and figures.
    unit : str
        Unit of the value: ``0..1`` for fractions, ``-1..1``, ``1/h``, ``count``, ``label``, or
        ``as given`` where it is that of the input.
    source : str
        Where the formula comes from: document and equation.
    function : callable
        Arrays in, array or number out; its docstring gives shapes and edge cases.
    """

    title: str
    unit: str
    source: str
    function: Callable[..., Any]


_METRICS: dict[str, Metric] = {}


def metric(title: str, unit: str, source: str) -> Callable[[F], F]:
    """Make a function of arrays a metric; see ``Metric``."""

    def noted(function: F) -> F:
        made = Metric(title=title, unit=unit, source=source, function=function)
        _METRICS[function.__name__] = made
        return function

    return noted


def all_metrics() -> dict[str, Metric]:
    """Every metric, by name."""
    for name in registry.module_names(sys.modules[__name__]):
        importlib.import_module(f"{__name__}.{name}")
    return dict(sorted(_METRICS.items()))
