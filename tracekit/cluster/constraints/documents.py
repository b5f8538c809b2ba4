"""JSON in a column of a table: read strictly, and named where it is broken."""

import json

from tracekit.base.errors import TracekitError

_SHOWN = 80


class DocumentError(ValueError):
    """A document is JSON, and not what it should be."""


def parsed(text: str) -> object:
    """The document in the text; raises ValueError where it is not JSON."""
    read: object = json.loads(text)
    return read


def broken(kind: str, name: str, column: str, text: str, why: object) -> TracekitError:
    """The error for a document that cannot be what it is taken for."""
    shown = text if len(text) <= _SHOWN else f"{text[:_SHOWN]}..."
    return TracekitError(f"{kind} '{name}' has {column} {shown}: {why}")
