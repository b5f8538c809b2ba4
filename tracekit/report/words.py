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
    "not_recorded",
    "number",
    "percent",
    "short_hash",
    "short_id",
    "short_ids",
    "signed",
    "spaced",
]


def not_recorded(nodes: int) -> str:
    """A sentence on nodes that do not count, as nobody recorded their use; empty for none."""
    if not nodes:
        return ""
    noun, verb = count(nodes, "further node"), "is" if nodes == 1 else "are"
    return f"{noun}, whose use is not recorded, {verb} left out."
