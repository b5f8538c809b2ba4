"""Readings from the study of test functions: comparisons won, with those that are lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace

import polars as pl

from tracekit.answer.claims.reading import Reading, share_of

_OWN = "tbesk"
#: How a claim reads the study: its frame, and whether the optimum is the origin.
_READ = {
    "functions_iterations": ("summary", True),
    "functions_evaluations": ("equal_evaluations", True),
    "functions_moved": ("equal_evaluations", False),
}


def readings(frame: Callable[[str], pl.DataFrame]) -> Iterator[tuple[str, Reading]]:
    """The share of functions and rivals on which TBESK is better beyond chance."""
    for name, (which, at_origin) in _READ.items():
        rows = frame(f"search_functions/{which}")
        if rows.columns:
            original = pl.col("variant") == "original"
            rivals = rows.filter(pl.col("search").str.split("[").list.first() != _OWN)
            told = rivals.filter(original if at_origin else ~original)["tbesk_is"].drop_nulls()
            many = len(told)
            won, lost = (int((told == word).sum()) for word in ("better", "worse"))
            if many:
                yield name, replace(share_of(won, many), worse=lost / many)
