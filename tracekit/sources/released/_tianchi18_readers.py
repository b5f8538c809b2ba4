"""Readers of the four files of Tianchi 2018, alone or in the zip they are released in."""

import re
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

import polars as pl

from tracekit.errors import TracekitError
from tracekit.sources._cluster import Batch, Broken, Head, Opened, Read
from tracekit.sources._rows import Delimited, Rule, long, refuse
from tracekit.sources._zipped import zipped
from tracekit.sources.released._lines import standing, whole
from tracekit.units import BYTES_PER_GIB

_GIB = float(BYTES_PER_GIB)
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
_INSTANCES_AT_ONCE = 4_000
_ZIP = b"PK\x03\x04"

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
_DISK_AND_COUNTS = {
    "disk": ("disk", "bytes", _GIB),
    **{name: (name, "count", 1.0) for name in FURTHER},
}


def alike(word: str, head: Head) -> bool:
    """Whether a file is of that kind, by its first line."""
    first = head.lines[:1] or [head.start.decode(errors="replace")]
    return re.match(LINES[word], first[0].strip()) is not None


def is_zip(head: Head) -> bool:
    """Whether it is a zip whose first member is one of the four files."""
    member = _first_member(head.start)
    return member is not None and any(
        alike(word, Head(name=head.name, start=member)) for word in LINES
    )


def read_zip(opened: Opened) -> Read:
    """All four files of a zip."""
    members = by_kind(zipped(opened.path, opened.name), opened.name)
    every = MappingProxyType({word: (member,) for word, member in members.items()})
    readers = {
        "machines": read_machines,
        "instances": read_instances,
        "apps": read_apps,
        "rules": read_rules,
    }
    for word, read in readers.items():
        if word in members:
            yield from read(replace(members[word], beside=every))


def read_machines(opened: Opened) -> Read:
    """Nodes with their sizes."""
    raw, broken = whole(opened, FORMS["machines"])
    yield from broken
    sizes = {
        "cpu": ("cpu", "cores", 1.0),
        "memory": ("memory", "bytes", _GIB),
        **_DISK_AND_COUNTS,
    }
    yield from standing(raw, sizes)


def read_instances(opened: Opened) -> Read:
    """Containers in the order of the file; those of the first placement name their node."""
    raw, broken = whole(opened, FORMS["instances"])
    yield from broken
    rules = [
        *_known(opened, "apps", "app"),
        *_known(opened, "machines", "node"),
    ]
    kept, unknown = refuse(raw, rules, "container")
    yield from unknown
    yield Batch(
        table="container",
        rows=kept.select(
            pl.lit(0, pl.Int64).alias("time_ms"),
            "container",
            pl.col("app").alias("service"),
            "node",
            pl.col("line").alias("position"),
            "line",
        ),
    )


def read_apps(opened: Opened) -> Read:
    """Requests and use of each application's instances, which stand in another file."""
    deployed = opened.beside.get("instances", ())
    if not deployed:
        raise TracekitError(
            f"{opened.name}: no file says which instances the applications have",
            hint="ingest it together with instance_deploy",
        )
    instances = pl.concat(whole(one, FORMS["instances"])[0] for one in deployed).drop("line")
    raw, broken = whole(opened, FORMS["apps"])
    yield from broken
    apps, wrong = curves(raw)
    yield from wrong
    apps = apps.with_columns(
        pl.lit(0, pl.Int64).alias("time_ms"),
        pl.col("cpu_curve").list.max().alias("cpu"),
        pl.col("memory_curve").list.max().alias("memory"),
    )
    of_instances = instances.join(apps, on="app", how="inner", maintain_order="left")
    asked = {
        "cpu": ("cpu", "cores", 1.0),
        "memory": ("memory", "bytes", _GIB),
        **_DISK_AND_COUNTS,
    }
    requests = long(of_instances, ["time_ms", "container"], asked)
    yield Batch(table="container_resource", rows=requests.rename({"amount": "request"}))
    for part in of_instances.iter_slices(_INSTANCES_AT_ONCE):
        yield Batch(table="container_amount", rows=_used(part))


def read_rules(opened: Opened) -> Read:
    """How many of an application may run beside another."""
    raw, broken = whole(opened, FORMS["rules"])
    yield from broken
    rules = [rule for name in ("holder", "guest") for rule in _known(opened, "apps", name)]
    kept, unknown = refuse(raw, rules, "sharing_rule")
    yield from unknown
    yield Batch(
        table="sharing_rule",
        rows=kept.select(pl.lit(0, pl.Int64).alias("time_ms"), "holder", "guest", "most", "line"),
    )


def _known(opened: Opened, word: str, column: str) -> list[Rule]:
    """The rule that names of a column stand in another file, where that is at hand."""
    files, form = opened.beside.get(word, ()), FORMS[word]
    if not files:
        return []
    names = pl.concat(whole(one, form)[0][form.columns[0]] for one in files)
    return [one_of_file(column, names, files[0].name)]


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


def _used(instances: pl.DataFrame) -> pl.DataFrame:
    """A row for each point of the curves of some containers."""
    points = pl.int_ranges(pl.col("cpu_curve").list.len())
    each = instances.select(
        "container", "cpu_curve", "memory_curve", points.alias("point"), "line"
    ).explode("cpu_curve", "memory_curve", "point")
    return long(
        each.with_columns((pl.col("point") * STEP_MS).cast(pl.Int64).alias("time_ms")),
        ["time_ms", "container"],
        {"cpu_curve": ("cpu", "cores", 1.0), "memory_curve": ("memory", "bytes", _GIB)},
    )


def _first_member(start: bytes) -> bytes | None:
    """How the first file in a zip begins; None for what is no zip, or packed otherwise."""
    if not start.startswith(_ZIP) or len(start) < 30:
        return None
    method = int.from_bytes(start[8:10], "little")
    names = int.from_bytes(start[26:28], "little") + int.from_bytes(start[28:30], "little")
    packed = start[30 + names :]
    if method == zipfile.ZIP_STORED:
        return packed[:4096]
    if method != zipfile.ZIP_DEFLATED:
        return None
    try:
        return zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, 4096)
    except zlib.error:
        return None


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
