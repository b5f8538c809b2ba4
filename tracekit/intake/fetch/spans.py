"""Parses times and spans that a user types: 2026-01-31, 1767225600, now-24h; 30s, 5m, 1d."""

import re
from datetime import UTC, datetime

from tracekit.base.errors import TracekitError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800}
_SPAN = re.compile(r"(\d+)([smhdw]?)")
_NOW = re.compile(r"now(?:-(.+))?")


def span_s(text: str, option: str) -> int:
    """Parse a span such as ``5m`` into seconds; raises TracekitError for another text."""
    match = _SPAN.fullmatch(text.strip())
    if not match or int(match[1]) == 0:
        raise TracekitError(f"{option} {text}: not a span", hint="for example 30s, 5m, 6h or 1d")
    return int(match[1]) * _SECONDS[match[2] or "s"]


def time_s(text: str, option: str, now_s: float) -> int:
    """Parse a time into seconds since 1970; a time without a zone is UTC.

    Raises TracekitError for a text that is no time.
    """
    stripped = text.strip()
    match = _NOW.fullmatch(stripped)
    if match:
        return int(now_s) - (span_s(match[1], option) if match[1] else 0)
    if re.fullmatch(r"\d{9,11}(\.\d+)?", stripped):
        return int(float(stripped))
    try:
        read = datetime.fromisoformat(stripped)
    except ValueError:
        raise TracekitError(
            f"{option} {text}: not a time",
            hint="for example 2026-01-31, 2026-01-31T12:00:00Z, 1767225600 or now-24h",
        ) from None
    return int((read if read.tzinfo else read.replace(tzinfo=UTC)).timestamp())


def spelled_time(time: int) -> str:
    """Print a time in seconds since 1970 as ``2026-01-31T12:00:00Z``."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def spelled_span(span: int) -> str:
    """Print a span in seconds as PromQL reads it: ``90s``, ``5m``."""
    return f"{span // 60}m" if span % 60 == 0 else f"{span}s"
