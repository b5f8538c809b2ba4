"""Types of call: which of them both ends record, and which calls can call on."""

from __future__ import annotations

import polars as pl

#: Called over the network by one service on another, which records the call too.
REMOTE = ("http", "mq", "rpc")
#: Of those, the ones that each end always records, by the release's description.
TWICE = ("http", "rpc")
#: Data stores: they answer, and call nobody.
STORES = ("db", "mc")


def in_order(rpc_types: pl.Series) -> list[str]:
    """The distinct types: remote ones first, stores last, by name within each.

    Where several calls share one rpc id, the first that can call on is taken for the caller of
    what is below it, so this order matters.
    """
    distinct = rpc_types.unique().drop_nulls().to_list()
    return sorted(distinct, key=lambda name: (_class(name), name))


def _class(name: str) -> int:
    return 0 if name in REMOTE else 2 if name in STORES else 1
