"""Times and spans as one types them: 2026-01-31, 1767225600, now-24h; 30s, 5m, 1d."""

import re
from datetime import UTC, datetime

from tracekit.base.errors import TracekitError

_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604_800}
_SPAN = re.compile(r"(\d+)([smhdw]?)")
_NOW = re.compile(r"now(?:-(.+))?")


def span_s(text: str, option: str) -> int:
    """A span in seconds; raises TracekitError for another text."""
    found = _SPAN.fullmatch(text.strip())
    if not found or int(found[1]) == 0:
        raise TracekitError(f"{option} {text}: not a span", hint="for example 30s, 5m, 6h or 1d")
    return int(found[1]) * _SECONDS[found[2] or "s"]


def time_s(text: str, option: str, now_s: float) -> int:
    """A time in seconds since 1970; one without a zone is UTC. Raises TracekitError for another."""
    stripped = text.strip()
    found = _NOW.fullmatch(stripped)
    if found:
        return int(now_s) - (span_s(found[1], option) if found[1] else 0)
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
    """A time in seconds since 1970 as 2026-01-31T12:00:00Z."""
    return datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def spelled_span(span: int) -> str:
    """A span in seconds as PromQL takes it: 90s, 5m."""
    return f"{span // 60}m" if span % 60 == 0 else f"{span}s"
