"""Safe spelling of names, YAML and commands."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from tracekit.base.errors import TracekitError

#: The name of an object of Kubernetes: a subdomain of RFC 1123.
_NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LONGEST, _LONGEST_SPACE = 253, 63
_STRANGE = re.compile(r"[^a-z0-9]+")


def is_name(text: str) -> bool:
    """Return whether Kubernetes accepts a text as the name of an object (RFC 1123 subdomain)."""
    return len(text) <= _LONGEST and _NAME.fullmatch(text) is not None


def checked_name(text: str, what: str) -> str:
    """Return ``text``. Raise TracekitError if Kubernetes does not accept it as a name."""
    if not is_name(text):
        raise TracekitError(
            f"'{text}' is the name of a {what}, and no object of Kubernetes can have it",
            hint="this format is for a cluster of Kubernetes; --to moves.csv takes any name",
        )
    return text


def object_names(ids: Iterable[str]) -> list[str]:
    """Return a unique name that Kubernetes accepts for each id. A valid id stays as it is."""
    return _unique(one if is_name(one) else _made(one) for one in ids)


def pod_names(ids: Iterable[str]) -> list[tuple[str, str]]:
    """Return a unique namespace and name for each id. A valid ``namespace/name`` stays as it is."""
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
    unique: dict[str, None] = {}
    many: dict[str, int] = {}
    for name in names:
        free = name
        while free in unique:
            many[name] = many.get(name, 1) + 1
            free = f"{name}-{many[name]}"
        unique[free] = None
    return list(unique)


#: Texts that need no quotes in any version of YAML.
_PLAIN = re.compile(r"[A-Za-z][-A-Za-z_./]*[A-Za-z]")
_WORDS = {"yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}


def _quoted(dumper: Any, text: str) -> Any:
    """A text, in quotes where a reader of YAML could take it for another value."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    style = None if plain else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_DUMPER: Any = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
_DUMPER.add_representer(str, _quoted)


def yaml_text(*documents: Any) -> str:
    """Return documents as one YAML text; keys keep their order."""
    return str(
        yaml.dump_all(documents, Dumper=_DUMPER, sort_keys=False, width=100, allow_unicode=False)
    )


def command(*words: str) -> str:
    """Return words as a line of a shell script, quoted where needed."""
    return " ".join(map(shlex.quote, words))


def script(lines: Sequence[str]) -> bytes:
    """Return a shell script that stops at the first command that fails.

    It begins with ``exit``. The user removes that line after reading the plan.
    """
    head = (
        "#!/bin/sh",
        "# A plan to read. Nothing was executed; take the next line away to execute it.",
        'echo "read this plan first" >&2; exit 1',
        "set -eu",
    )
    return "\n".join([*head, *lines, ""]).encode()


def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    """Return millicores of ``cpu`` and bytes of ``memory`` as Kubernetes writes them: '500m'."""
    return {name: f"{many}m" if name == "cpu" else str(many) for name, many in amounts.items()}
