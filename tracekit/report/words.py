"""Numbers and lists as a sentence of the report says them: those of ``tracekit.words``."""

from tracekit.words import (
    MINUS,
    NBSP,
    count,
    few,
    listed,
    number,
    percent,
    short_hash,
    short_id,
    short_ids,
    signed,
    spaced,
)

__all__ = [
    "MINUS",
    "NBSP",
    "count",
    "few",
    "listed",
    "number",
    "percent",
    "short_hash",
    "short_id",
    "short_ids",
    "signed",
    "spaced",
]
