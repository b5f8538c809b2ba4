"""Containers of a folder: which of their rows stay, and which containers other files may name."""

import json
from collections.abc import Iterator
from functools import partial

import polars as pl

from tracekit.intake.sources._cluster import Broken, Opened
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._rows import refuse
from tracekit.intake.sources._times import undated
from tracekit.intake.sources.own._folder.checks import (
    Known,
    ended_early,
    no_amounts,
    no_numbers,
    unknown,
    with_stored,
)
from tracekit.intake.sources.own._folder.columns import columns_of, further
from tracekit.intake.sources.own._folder.documents import in_form
from tracekit.intake.sources.own._folder.nodes import known_nodes

#: The kinds of files that list containers, each with the column that says when one arrived.
_LISTING = {"containers": "arrival_ms", "container": "time_ms"}


def kept_containers(frame: pl.DataFrame, nodes: Known | None) -> tuple[pl.DataFrame, list[Broken]]:
    """The rows of a wide list of containers that stay, and the rejects.

    A container of which a size or a time is unreadable is none: one reject, and no half.
    """
    rules = undated(frame, ("arrival_ms", "departure_ms"))
    rules += no_numbers(frame, ("arrival_ms", "departure_ms", "cpu_milli", "memory_bytes"))
    rules += [*unknown(frame, "node", nodes), *ended_early(frame)]
    amounts = further(frame, columns_of("container") | {"arrival_ms"})[0]
    rules += [*no_amounts([one.column for one in amounts]), *in_form(frame, "container")]
    return refuse(frame, rules, "container")


def known_containers(opened: Opened) -> Known | None:
    """The containers of the files beside this one that stay, and of the store; None without any.

    Of a list that is in the store, those stay that the store has of it.
    """
    named: dict[str, list[pl.Series]] = {}
    stay = []
    taken = _taken(opened)
    kept = partial(kept_containers, nodes=known_nodes(opened))
    for file, word, frame in _lists(opened):
        named.setdefault(file.name, []).append(_ids(frame))
        if str(file.path) not in taken:
            rows = kept(frame)[0] if word == "containers" else _in_form(frame)
            stay.append(_ids(_timed(rows, _LISTING[word])))
    listed = any(opened.beside.get(word) for word in _LISTING)
    known = with_stored(opened, _together(stay) if listed else None, "container")
    if known is None:
        return None
    rejected = {name: _together(some) for name, some in named.items()}
    return Known(known.ids, known.whose, rejected)


def _lists(opened: Opened) -> Iterator[tuple[Opened, str, pl.DataFrame]]:
    """Each file beside that lists containers, its kind, and its rows."""
    for word in _LISTING:
        for file in opened.beside.get(word, ()):
            for frame, _ in named_frames(file, "container"):
                if "container" in frame.columns:
                    yield file, word, frame


def _taken(opened: Opened) -> frozenset[str]:
    """The paths of the lists that are in the store."""
    path = opened.stored.get("containers_taken")
    return frozenset() if path is None else frozenset(json.loads(path.read_text("utf-8")))


def _in_form(frame: pl.DataFrame) -> pl.DataFrame:
    return refuse(frame, in_form(frame, "container"), "container")[0]


def _timed(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    """The rows that say when their container arrived, as no other is stored."""
    if column not in frame.columns:
        return frame.clear()
    return frame.filter(pl.col(column).cast(pl.Float64, strict=False).is_not_null())


def _ids(frame: pl.DataFrame) -> pl.Series:
    return frame.select(pl.col("container").cast(pl.String).alias("id"))["id"].unique()


def _together(parts: list[pl.Series]) -> pl.Series:
    return pl.concat(parts).unique() if parts else pl.Series("id", [], dtype=pl.String)
