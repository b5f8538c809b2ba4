"""Metrics: documented numpy functions of arrays; SQL queries give the same values."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from tracekit.base import registry

F = TypeVar("F", bound=Callable[..., Any])

#: A series with at most this variance is constant: the variance is rounding.
CONSTANT_VARIANCE = 1e-18
#: The confidence level of intervals.
LEVEL = 0.95
#: The 97.5 % quantile of the standard normal distribution.
NORMAL_95 = 1.959964


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A registered function that computes a metric; its name is that of the function.

    Parameters
    ----------
    title : str
        The name in tables and figures.
    unit : str
        Unit of the value: ``0..1`` for fractions, ``-1..1``, ``1/h``, ``count``, ``label``, or
        ``as given`` for the unit of the input.
    source : str
        The origin of the formula: document and equation.
    function : callable
        Arrays in, array or number out; its docstring gives shapes and edge cases.
    """

    title: str
    unit: str
    source: str
    function: Callable[..., Any]


_METRICS: dict[str, Metric] = {}


def metric(title: str, unit: str, source: str) -> Callable[[F], F]:
    """Return a decorator that registers a function of arrays as a ``Metric``."""

    def noted(function: F) -> F:
        made = Metric(title=title, unit=unit, source=source, function=function)
        _METRICS[function.__name__] = made
        return function

    return noted


def all_metrics() -> dict[str, Metric]:
    """Return every metric, by name."""
    for name in registry.module_names(sys.modules[__name__]):
        importlib.import_module(f"{__name__}.{name}")
    return dict(sorted(_METRICS.items()))
