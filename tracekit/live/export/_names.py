"""Names that Kubernetes takes, of names that may be anything."""

import re
from collections.abc import Iterable

from tracekit.base.errors import TracekitError

#: A name of an object: a subdomain of RFC 1123.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST, _LONGEST_SPACE = 253, 63
_STRANGE = re.compile(r"[^a-z0-9]+")


def is_name(text: str) -> bool:
    """Whether an object of Kubernetes may have this name."""
    return len(text) <= _LONGEST and _NAME.fullmatch(text) is not None


def checked_name(text: str, what: str) -> str:
    """The name; raises TracekitError for one that no object may have."""
    if not is_name(text):
        raise TracekitError(
            f"'{text}' is the name of a {what}, and no object of Kubernetes can have it",
            hint="this format is for a cluster of Kubernetes; --to moves.csv takes any name",
        )
    return text


def object_names(ids: Iterable[str]) -> list[str]:
    """A name for each, its own where that will do; no two are alike."""
    return _unique(one if is_name(one) else _made(one) for one in ids)


def pod_names(ids: Iterable[str]) -> list[tuple[str, str]]:
    """Namespace and name for each, those of ``namespace/name`` where they will do."""
    parts = [one.partition("/") for one in ids]
    own = [
        (space, name)
        if slash and is_name(name) and is_name(space) and len(space) <= _LONGEST_SPACE
        else ("default", _made(space + slash + name))
        for space, slash, name in parts
    ]
    unique = _unique(f"{space}/{name}" for space, name in own)
    return [(space, name) for space, _, name in (one.partition("/") for one in unique)]


def _made(text: str) -> str:
    return _STRANGE.sub("-", text.lower()).strip("-")[: _LONGEST - 10].strip("-") or "unnamed"


def _unique(names: Iterable[str]) -> list[str]:
    found: dict[str, None] = {}
    many: dict[str, int] = {}
    for name in names:
        free = name
        while free in found:
            many[name] = many.get(name, 1) + 1
            free = f"{name}-{many[name]}"
        found[free] = None
    return list(found)
