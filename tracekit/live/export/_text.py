"""Documents in YAML and commands for a shell, in which names stay names."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

#: Texts that mean themselves in any version of YAML without quotes.
_PLAIN = re.compile(r"[A-Za-z][-A-Za-z_./]*[A-Za-z]")
_WORDS = {"yes", "no", "on", "off", "true", "false", "null", "nan", "inf"}


def _text(dumper: Any, text: str) -> Any:
    """A text, in quotes where some reader of YAML might take it for something else."""
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    style = None if plain else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_DUMPER: Any = type("Dumper", (yaml.SafeDumper,), {"ignore_aliases": lambda *_: True})
_DUMPER.add_representer(str, _text)


def yaml_text(*documents: Any) -> str:
    """Documents in YAML, in the order of their keys."""
    return str(
        yaml.dump_all(documents, Dumper=_DUMPER, sort_keys=False, width=100, allow_unicode=False)
    )


def command(*words: str) -> str:
    """A line of a shell script, each word quoted where it must be."""
    return " ".join(map(shlex.quote, words))


def script(lines: Sequence[str]) -> bytes:
    """A script that stops at the first command that fails; it begins with ``exit``.

    Whoever has read it takes that line away.
    """
    head = (
        "#!/bin/sh",
        "# A plan to read. Nothing was executed; take the next line away to execute it.",
        'echo "read this plan first" >&2; exit 1',
        "set -eu",
    )
    return "\n".join([*head, *lines, ""]).encode()


def quantities(amounts: Mapping[str, int]) -> dict[str, str]:
    """Millicores of cpu and bytes of memory as Kubernetes writes them."""
    return {name: f"{many}m" if name == "cpu" else str(many) for name, many in amounts.items()}
