"""Nodes of a folder: which of their rows stay, and which nodes other files may name."""

from collections.abc import Mapping

import polars as pl

from tracekit.intake.sources._cluster import Broken, Opened
from tracekit.intake.sources._columns import named_frames
from tracekit.intake.sources._places import Places
from tracekit.intake.sources._rows import refuse
from tracekit.intake.sources._times import undated
from tracekit.intake.sources.own._folder.checks import Known, unknown, with_stored
from tracekit.intake.sources.own._folder.documents import in_form, without_wrong_numbers

#: The base table whose form the rows of each kind of file have.
_FORMS: Mapping[str, str] = {"nodes": "node", "node": "node", "node_resource": "node_resource"}


def kept_nodes(frame: pl.DataFrame, table: str) -> tuple[pl.DataFrame, list[Broken]]:
    """The rows about nodes that stay, and the rejects.

    A price that is none says nothing of what the node has: it is a reject, and the node stays.
    """
    numbered, every = without_wrong_numbers(frame, table)
    rules = [*undated(numbered, ("time_ms",)), *in_form(numbered, table)]
    kept, wrong = refuse(numbered, rules, table)
    return kept, sorted([*every, *wrong], key=lambda one: one.line)


def timed(frame: pl.DataFrame) -> pl.DataFrame:
    """A file without times says how things are from the start."""
    there = "time_ms" in frame.columns
    return frame if there else frame.with_columns(pl.lit(0, dtype=pl.Int64).alias("time_ms"))


def known_nodes(opened: Opened) -> Known | None:
    """The nodes that stay of the files beside this one, and those of the store; None for none."""
    return with_stored(opened, _nodes_beside(opened), "node")


def _nodes_beside(opened: Opened) -> pl.Series | None:
    """The nodes that stay of the files beside this one; None without any such file."""
    files = [(file, form) for word, form in _FORMS.items() for file in opened.beside.get(word, ())]
    if not files:
        return None
    parts = [
        _ids(kept_nodes(frame, form)[0])
        for file, form in files
        for frame, _ in named_frames(file, form)
        if "node" in frame.columns
    ]
    return pl.concat(parts).unique() if parts else pl.Series("node", [], dtype=pl.String)


def listed_places(opened: Opened) -> Places:
    """The nodes of the containers that the store and the files beside this one list."""
    known = known_nodes(opened)
    stored = [opened.stored["container"]] if "container" in opened.stored else []
    return Places(
        [
            *(pl.read_parquet(path, columns=["container", "node"]) for path in stored),
            *(
                refuse(frame, unknown(frame, "node", known), "container")[0]
                for word in ("containers", "container")
                for file in opened.beside.get(word, ())
                for frame, _ in named_frames(file, "container")
            ),
        ]
    )


def _ids(frame: pl.DataFrame) -> pl.Series:
    """The nodes of rows whose time can be read, if they state one."""
    if frame.schema.get("time_ms") == pl.String:
        frame = frame.filter(pl.col("time_ms").cast(pl.Float64, strict=False).is_not_null())
    return frame.select(pl.col("node").cast(pl.String))["node"].unique()
