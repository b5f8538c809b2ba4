"""The paths that rpc ids are: each distinct one once, with its parent path and its depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.arrays import Int32Array

#: What an rpc id must be. Real ids are up to 14 levels deep; the limit keeps a broken id from
#: costing a round of work for each of its levels.
PATH = r"^[0-9]+(\.[0-9]+){0,99}$"
NO_PATH = -1


@dataclass(frozen=True, kw_only=True)
class Paths:
    """Distinct paths in the order of their text, all their ancestors included.

    Parameters
    ----------
    text : Series of String, shape (paths,)
    parent : int32
        Code of the path without its last number, -1 for a path of one number.
    first : int32
        Code of the path of one number that the path starts with.
    depth : int32
        Dots in the path.
    """

    text: pl.Series
    parent: Int32Array
    first: Int32Array
    depth: Int32Array


def encode(rpc_ids: pl.Series) -> tuple[Paths, Int32Array]:
    """The paths of rpc ids, and each id's code; ``NO_PATH`` for an id that is no path."""
    distinct = rpc_ids.unique().drop_nulls()
    text = _with_ancestors(distinct.filter(distinct.str.contains(PATH)))
    # an enumeration in the order of the text gives each text its place in that order
    kind = pl.Enum(text)
    parent = _codes(_parents(text).cast(kind, strict=False))
    depth = text.str.count_matches(".", literal=True).cast(pl.Int32).to_numpy()
    paths = Paths(text=text, parent=parent, first=_firsts(parent, depth), depth=depth)
    return paths, _codes(rpc_ids.cast(kind, strict=False))


def _codes(values: pl.Series) -> Int32Array:
    return values.to_physical().cast(pl.Int32).fill_null(NO_PATH).to_numpy()


def _parents(text: pl.Series) -> pl.Series:
    """Each path without its last number; empty for a path of one number."""
    return text.str.strip_chars_end("0123456789").str.strip_suffix(".")


def _with_ancestors(text: pl.Series) -> pl.Series:
    """The paths and all their ancestors, sorted."""
    known = text
    fresh = text
    while len(fresh):
        above = _parents(fresh).unique()
        fresh = above.filter((above != "") & ~above.is_in(known.implode()))
        known = pl.concat([known, fresh])
    return known.sort().rename("path")


def _firsts(parent: Int32Array, depth: Int32Array) -> Int32Array:
    first = np.arange(len(parent), dtype=np.int32)
    for _ in range(int(depth.max(initial=0))):
        first = np.where(parent[first] >= 0, parent[first], first).astype(np.int32)
    return first
