"""Time series out of the forms in which Prometheus and VictoriaMetrics hand them out."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import numpy as np
import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources._cluster import Broken, Head, Opened
from tracekit.sources.own._json_items import Cut, first_members, items
from tracekit.sources.own._prometheus_metrics import name_in

_BLOCK_BYTES = 16 << 20
_SHOWN = 200
_NAMELESS = (
    "is a series without __name__; name the file after what it holds, for example"
    " container_cpu_in_use.json"
)
#: Rejects of series without a known meaning go to this table.
_TABLE = "container_amount"
_RANGE_ARRAY = re.compile(rb'\s*\[\s*\{\s*"(metric|values)"\s*:')
_EXPORTED = re.compile(rb'\s*\{\s*"metric"\s*:\s*\{')
_DUMPED = re.compile(r"\{[^{}=]+=\"")
_COMMENT = re.compile(r"# (TYPE|HELP|UNIT) \S+|# EOF$")
_SAMPLE = r"^([a-zA-Z_:][a-zA-Z0-9_:]*)?(\{.*\})?\s+(\S+)(?:\s+(\S+))?\s*$"
_LABEL = re.compile(r'\s*"?([^\s"={},]+)"?\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|$)')
_ESCAPED = re.compile(r"\\(.)")


@dataclass(frozen=True, kw_only=True)
class Series:
    """Samples of one series, or a part of them.

    Parameters
    ----------
    labels : mapping of str to str
        Without ``__name__``.
    line : int
        The line of its first sample, or the number of the series in the file, from 1.
    raw : bool
        Whether the series is as it was scraped, and no result of a query.
    times_ms, values : arrays
        int64, and float64 of finite values.
    """

    name: str
    labels: Mapping[str, str]
    line: int
    raw: bool
    times_ms: np.ndarray
    values: np.ndarray


def holds_ranges(head: Head) -> bool:
    """Whether a file begins as an answer to query_range, or as what promtool prints of it."""
    if _RANGE_ARRAY.match(head.start):
        return True
    members = first_members(head)
    asked = members.get("status") in ("success", "error")
    return asked and (b'"resultType"' in head.start or "errorType" in members)


def holds_exports(head: Head) -> bool:
    """Whether a file begins as VictoriaMetrics exports series."""
    return _EXPORTED.match(head.start) is not None


def holds_texts(head: Head) -> bool:
    """Whether a file begins as ``promtool tsdb dump`` prints it, or as OpenMetrics."""
    first = head.lines[0] if head.lines else ""
    if _COMMENT.match(first):
        return True
    found = re.match(_SAMPLE, first)
    return found is not None and bool(found[2]) and bool(_DUMPED.match(found[2]))


def read_series(
    opened: Opened, word: str, wanted: Callable[[str], bool]
) -> Iterator[Series | Broken]:
    """The series of a file whose names are wanted; what cannot be read, apart from them."""
    forms = {"range": _ranges, "export": _exports, "text": _texts}
    return forms[word](opened, wanted)


def _ranges(opened: Opened, wanted: Callable[[str], bool]) -> Iterator[Series | Broken]:
    stem = PurePath(opened.name).name
    for item in items(opened):
        if isinstance(item, Cut):
            yield _broken(item.number, item.reason, item.text)
            continue
        value = item.value
        if isinstance(value, dict) and value.get("status") == "error":
            raise TracekitError(
                f"{opened.name}: Prometheus answered with an error: {value.get('error')}",
                hint="ask again, and keep the answer to a query that works",
            )
        if isinstance(value, dict) and value.get("status") == "success":
            continue
        try:
            labels = dict(value["metric"])
            samples = value["values"] if "values" in value else [value["value"]]
        except (KeyError, TypeError, ValueError):
            yield _broken(item.number, "is no series: expected metric and values", value)
            continue
        raw = "__name__" in labels
        name = labels.pop("__name__", None) or item.around.get("name") or name_in(stem)
        if name is None:
            yield _broken(item.number, _NAMELESS, labels)
        elif wanted(name):
            yield from _answered(name, labels, item.number, samples, raw=raw)


def _answered(
    name: str, labels: dict[str, str], number: int, samples: Any, *, raw: bool
) -> Iterator[Series | Broken]:
    try:
        times = [time for time, _ in samples]
        texts = [text for _, text in samples]
    except (TypeError, ValueError):
        yield _broken(number, "is no series: expected pairs of time and value", labels)
        return
    yield from _series(name, labels, number, times, texts, raw=raw, scale=1000.0)


def _exports(opened: Opened, wanted: Callable[[str], bool]) -> Iterator[Series | Broken]:
    with opened.stream() as stream:
        for line, text in enumerate(stream, start=1):
            if not text.strip():
                continue
            try:
                value = json.loads(text)
                labels = dict(value["metric"])
                times, values = value["timestamps"], value["values"]
                if len(times) != len(values):
                    reason = f"has {len(times)} timestamps for {len(values)} values"
                    yield _broken(line, reason, labels)
                    continue
            except (ValueError, KeyError, TypeError) as error:
                yield _broken(line, f"is no series: {error}", text.decode(errors="replace"))
                continue
            name = labels.pop("__name__", "")
            if wanted(name):
                yield from _series(name, labels, line, times, values, raw=True, scale=1.0)


def _series(
    name: str,
    labels: dict[str, str],
    line: int,
    times: Sequence[Any],
    texts: Sequence[Any],
    *,
    raw: bool,
    scale: float,
) -> Iterator[Series | Broken]:
    """The samples that are numbers; the others, one by one, are broken."""
    try:
        at = np.asarray(times, dtype=np.float64)
        values = np.asarray(texts, dtype=np.float64)
    except (TypeError, ValueError):
        at, values = (np.array([_number(one) for one in some]) for some in (times, texts))
    good = np.isfinite(at) & np.isfinite(values)
    shown = f"{name}{json.dumps(labels)}"
    for place in np.flatnonzero(~good).tolist():
        yield _broken(line, _not_finite(texts[place]), f"{shown} at {times[place]}")
    if good.any():
        yield Series(
            name=name,
            labels=labels,
            line=line,
            raw=raw,
            times_ms=np.rint(at[good] * scale).astype(np.int64),
            values=values[good],
        )


def _number(text: Any) -> float:
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def _not_finite(text: Any) -> str:
    if text is None or str(text).lower() in ("nan", "null"):
        return "is NaN, expected a number: the series ended here, or its query had no answer"
    return f"is '{str(text)[:60]}', expected a finite number"


def _texts(opened: Opened, wanted: Callable[[str], bool]) -> Iterator[Series | Broken]:
    known: dict[tuple[str, str], tuple[str, dict[str, str]] | None] = {}
    first, rest = 1, b""
    with opened.stream() as stream:
        while True:
            data = stream.read(_BLOCK_BYTES)
            cut = data.rfind(b"\n") + 1
            block = rest + data[:cut] if data else rest
            rest = data[cut:] if cut or not data else rest + data
            if block and (cut or not data):
                yield from _block(block, first, known, wanted)
                first += block.count(b"\n")
            if not data:
                return


def _block(
    block: bytes,
    first: int,
    known: dict[tuple[str, str], tuple[str, dict[str, str]] | None],
    wanted: Callable[[str], bool],
) -> Iterator[Series | Broken]:
    lines = block.decode(errors="replace").split("\n")
    frame = pl.DataFrame({"text": lines}).with_columns(
        pl.int_range(first, first + len(lines), dtype=pl.Int64).alias("line"),
        pl.col("text").str.strip_chars_end("\r"),
    )
    frame = frame.filter((pl.col("text") != "") & ~pl.col("text").str.starts_with("#"))
    parts = frame.with_columns(
        pl.col("text").str.extract_groups(_SAMPLE).struct.rename_fields(["n", "l", "v", "t"])
    ).unnest("text")
    whole = parts["v"].is_not_null() & (parts["n"].is_not_null() | parts["l"].is_not_null())
    for line, text in frame.filter(~whole).select("line", "text").iter_rows():
        yield _broken(line, "is no sample: expected {labels} value time", text)
    parts = parts.filter(whole).with_columns(pl.col("n", "l").fill_null(""))
    for (name, labels), rows in parts.group_by("n", "l", maintain_order=True):
        key = str(name), str(labels)
        if key not in known:
            known[key] = _labelled(*key)
        found, line = known[key], int(rows["line"][0])
        if found is None:
            yield _broken(line, "has labels that cannot be read", f"{name}{labels}")
        elif wanted(found[0]):
            yield from _sampled(rows, found, dumped=not name)


def _sampled(
    rows: pl.DataFrame, found: tuple[str, dict[str, str]], *, dumped: bool
) -> Iterator[Series | Broken]:
    """Samples of a series; a dump counts in milliseconds, OpenMetrics in seconds."""
    value = pl.col("v").str.to_lowercase().str.strip_prefix("+")
    read = rows.with_columns(
        value.cast(pl.Float64, strict=False).alias("value"),
        pl.col("t").cast(pl.Float64, strict=False).alias("time"),
    )
    good = read["value"].is_finite().fill_null(value=False) & read["time"].is_not_null()
    for line, text, time in read.filter(~good).select("line", "v", "t").iter_rows():
        reason = "has no time" if time is None else _not_finite(text)
        yield _broken(line, reason, f"{found[0]}{json.dumps(found[1])} {text} {time or ''}")
    kept = read.filter(good)
    if kept.height:
        yield Series(
            name=found[0],
            labels=found[1],
            line=int(kept["line"][0]),
            raw=True,
            times_ms=np.rint(kept["time"].to_numpy() * (1.0 if dumped else 1000.0)).astype(
                np.int64
            ),
            values=kept["value"].to_numpy(),
        )


def _labelled(name: str, text: str) -> tuple[str, dict[str, str]] | None:
    """Name and labels; None when they are no labels."""
    inside, at, labels = text[1:-1], 0, {}
    while inside[at:].strip():
        found = _LABEL.match(inside, at)
        if found is None:
            return None
        labels[found[1]] = _ESCAPED.sub(_unescaped, found[2])
        at = found.end()
    return labels.pop("__name__", name), labels


def _unescaped(found: re.Match[str]) -> str:
    return "\n" if found[1] == "n" else found[1]


def _broken(line: int, reason: str, text: Any) -> Broken:
    shown = text if isinstance(text, str) else json.dumps(text)
    return Broken(table=_TABLE, line=line, reason=reason, text=shown[:_SHOWN])
