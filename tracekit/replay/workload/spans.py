"""Spans of time as people write them: ``90s``, ``30m``, ``2h``, ``50%`` of the whole."""

from __future__ import annotations

import re

from tracekit.errors import TracekitError
from tracekit.units import MS_PER_DAY, MS_PER_HOUR, MS_PER_MINUTE, MS_PER_S

_UNITS = {
    "ms": 1,
    "s": MS_PER_S,
    "m": MS_PER_MINUTE,
    "min": MS_PER_MINUTE,
    "h": MS_PER_HOUR,
    "d": MS_PER_DAY,
}


def span_ms(text: str, *, whole: int, what: str) -> int:
    """A span in milliseconds; a number without a unit is such already.

    Parameters
    ----------
    whole : int
        What a percentage is of, in milliseconds.
    what : str
        Where the text stands, for the error.
    """
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|min|m|h|d|%)?\s*", text)
    if not found:
        raise TracekitError(
            f"'{text.strip()}' in {what} is no span of time", hint="for example 90s, 30m, 2h, 50%"
        )
    number, unit = float(found[1]), found[2] or "ms"
    return round(number * whole / 100) if unit == "%" else round(number * _UNITS[unit])
