"""The four files of Tianchi 2018, as its loader takes them: kinds, lines, demand curves."""

import re
from collections.abc import Iterable

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.intake.sources._cluster import Broken, Head, Opened
from tracekit.intake.sources._rows import Delimited, Rule, refuse

_NUMBER = r"-?[\d.]+"
#: How the lines of each file look; none of the four looks like another.
LINES = {
    "machines": rf"machine_\d+(,{_NUMBER}){{6}}",
    "instances": r"inst_\d+,app_\d+,(?:machine_\d+)?",
    "rules": r"app_\d+,app_\d+,\d+",
    "apps": rf"app_\d+,{_NUMBER}\|[^,]*,{_NUMBER}\|[^,]*(,{_NUMBER}){{4}}",
}
#: Kinds of applications that count against a node's own.
FURTHER = ("p", "m", "pm")
#: The release does not say how far apart the points are: 98 of them are taken for a day.
STEP_MS = 900_000
#: How the lines of each file are made.
FORMS = {
    "machines": Delimited(
        columns=("node", "cpu", "memory", "disk", *FURTHER),
        numbers=("cpu", "memory", "disk", *FURTHER),
        table="node",
    ),
    "instances": Delimited(columns=("container", "app", "node"), table="container"),
    "rules": Delimited(
        columns=("holder", "guest", "most"), numbers=("most",), table="sharing_rule"
    ),
    "apps": Delimited(
        columns=("app", "cpu", "memory", "disk", *FURTHER),
        numbers=("disk", *FURTHER),
        table="container_resource",
    ),
}


def alike(word: str, head: Head) -> bool:
    """Whether a file is of that kind, by its first line."""
    first = head.lines[:1] or [head.start.decode(errors="replace")]
    return re.match(LINES[word], first[0].strip()) is not None


def one_of_file(column: str, names: pl.Series, file: str) -> Rule:
    """The rule that names of a column, where it has one, are among those of another file."""
    known = names.drop_nulls().unique().to_list()
    return Rule(column=column, broken=~pl.col(column).is_in(known), expected=f"one of {file}")


def curves(raw: pl.DataFrame) -> tuple[pl.DataFrame, list[Broken]]:
    """Adds the demand curves as lists of numbers, with equally many points each."""
    made = raw.with_columns(
        pl.col(name).str.split("|").cast(pl.List(pl.Float64), strict=False).alias(f"{name}_curve")
        for name in ("cpu", "memory")
    )
    usual = made["cpu_curve"].list.len().mode().sort()
    points = int(usual[0]) if len(usual) and usual[0] is not None else 0
    rules = [
        Rule(
            column="app",
            broken=~pl.col("app").is_first_distinct(),
            expected="every application once",
        )
    ]
    for name in ("cpu", "memory"):
        curve = pl.col(f"{name}_curve")
        holes = curve.list.eval(pl.element().is_null() | ~pl.element().is_finite())
        rules += [
            Rule(
                column=name,
                broken=curve.list.len() != points,
                expected=f"{points} points, as most have",
            ),
            Rule(
                column=name,
                broken=holes.list.any() | (curve.list.min() < 0),
                expected="numbers of 0 or more",
            ),
        ]
    return refuse(made, rules, "container_resource")


def by_kind(files: Iterable[tuple[Head, Opened]], where: str) -> dict[str, Opened]:
    """The four files among others, by kind; raises TracekitError for two of one kind."""
    found: dict[str, Opened] = {}
    for head, opened in files:
        for word in (word for word in LINES if alike(word, head)):
            if word in found:
                raise TracekitError(
                    f"{where} holds two files of {word}: {found[word].name} and {opened.name}",
                    hint="give a folder or zip with one data set",
                )
            found[word] = opened
    return found
