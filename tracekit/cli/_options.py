"""Arguments and options that several subcommands share."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from tracekit.errors import TracekitError
from tracekit.files.places import place

StoreArgument = Annotated[
    Path,
    typer.Argument(
        parser=place, metavar="STORE", help="The store's folder or s3:// URL.", show_default=False
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
EngineOption = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="duckdb|spark:MASTER",
        help="For example spark:local[2], spark://HOST:7077.",
    ),
]
SeedOption = Annotated[int, typer.Option("--seed", help="Seed of every random choice.", min=0)]

_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def size_bytes(text: str) -> int:
    """A size such as ``1GB``, ``512MiB`` or ``800M`` in bytes; raises TracekitError for another."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if not found:
        raise TracekitError(
            f"'{text}' is not a size", hint="write a number and a unit, for example 1GB or 512MiB"
        )
    number, unit, binary = found.groups()
    power = " kmgt".index(unit) if unit else 0
    return int(float(number) * (1024**power if binary else _UNITS[unit]))


def key_values(pairs: list[str] | None, *, option: str) -> dict[str, str]:
    """``name=value`` pairs as a dictionary; raises TracekitError for one without '='."""
    parsed = {}
    for pair in pairs or []:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise TracekitError(
                f"{option} {pair}: expected name=value", hint=f"for example {option} min_samples=20"
            )
        parsed[name.strip()] = value.strip()
    return parsed
