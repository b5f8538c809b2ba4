"""Results that SQL alone does not give: a few in a file, computed from the rows of queries."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import RLock
from typing import Any, TypeVar

import numpy as np
import polars as pl

from tracekit.base import registry
from tracekit.base.seeds import labelled
from tracekit.store.query.run import AnyDatabase

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The inputs of a result: rows of queries, and the store where rows are not enough.

    ``seed`` and a result's own label give its random numbers, so that no result changes another.
    """

    database: AnyDatabase
    frames: dict[str, pl.DataFrame]
    seed: int = 0
    _done: dict[Any, Any] = field(default_factory=dict)
    _one_at_a_time: RLock = field(default_factory=RLock)

    def rng(self, label: str) -> np.random.Generator:
        """The random numbers of that label."""
        return labelled(self.seed, label)

    def once(self, function: Callable[[Inputs], T]) -> T:
        """The function's value for these inputs, computed once for all results."""
        with self._one_at_a_time:
            if function not in self._done:
                self._done[function] = function(self)
        found: T = self._done[function]
        return found


@dataclass(frozen=True, kw_only=True)
class Result:
    """A result; its name is that of the object in its file.

    Parameters
    ----------
    title : str
        What the rows tell.
    queries : tuple of str
        The queries whose rows it is computed from.
    tables : tuple of str
        Base tables it reads itself.
    function : callable
        Inputs in, frame out; its docstring names the columns.
    """

    title: str
    queries: tuple[str, ...]
    tables: tuple[str, ...] = ()
    function: Callable[[Inputs], pl.DataFrame]


@functools.cache
def all_results() -> dict[str, Result]:
    """Every computed result, by name."""
    return registry.named(sys.modules[__name__], Result)
