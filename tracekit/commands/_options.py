"""Options of the command line: a verb's parameters carry them in their annotations.

``jobs: Annotated[int, Option("Processes side by side.", minimum=1)] = 1``. A subcommand is made
from this; see ``tracekit.commands.shell.signature``. What a package below takes as well is declared
there, in its ``declared.py``, with ``About``: the verb takes type, help, range and default from
it, and adds with ``Option`` how it is typed, if that is not by its name. What several verbs ask
for is declared below; a verb that says part of it in another way adds an ``Option`` with that
part. Nothing heavy is imported here or by a command's file, so that ``--help`` answers at once: a
command imports what it needs once it is called.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from tracekit.base.constants import MEMORY_LIMIT_BYTES
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import place
from tracekit.base.parameters import About
from tracekit.base.units import BYTES_PER_GIB
from tracekit.cluster.declared import START


@dataclass(frozen=True)
class Option(About):
    """A parameter as an option of the command line.

    Parameters
    ----------
    doc : str
        Its help; that of the ``About`` it is declared with when empty.
    names : str
        Its flags, with blanks between; ``--`` and the parameter's name when empty.
    metavar : str, optional
        What stands for its value in the help.
    read : callable, optional
        Makes the value from the text that was typed.
    takes : type, optional
        What is typed where that is another type than text: ``read`` is given it whole.
    default : object
        What holds on the command line when nothing is typed, before ``read``; the verb's own
        default when None.
    shown : str, optional
        The default as the help says it, where None stands for it.
    off : bool
        Whether the option is a flag that makes the value False.
    completes : str
        What the shell completes it with: ``policies``, ``stores``, ... of
        ``tracekit.commands.shell.completion``.
    setting : str
        What ``tracekit.toml`` calls it where several commands take it from there: ``policies``.
    """

    doc: str = ""
    names: str = ""
    metavar: str | None = None
    read: Callable[[Any], Any] | None = None
    takes: Any = None
    default: Any = None
    shown: str | None = None
    off: bool = False
    completes: str = ""
    setting: str = ""


@dataclass(frozen=True)
class Argument(Option):
    """A parameter that is told by where it stands."""


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


def key_values(pairs: Sequence[str]) -> Mapping[str, str]:
    """``name=value`` pairs as a dictionary; raises TracekitError for one without '='."""
    parsed = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise TracekitError(
                f"-p {pair}: expected name=value", hint="for example -p min_samples=20"
            )
        parsed[name.strip()] = value.strip()
    return parsed


def named_files(files: Sequence[str]) -> Mapping[str, str]:
    """``NAME=FILE`` by name; a file alone is named by its first word."""
    named: dict[str, str] = {}
    for one in files:
        name, equals, file = one.partition("=")
        name, file = (name.strip(), file) if equals else (Path(one).name.partition(".")[0], one)
        if name in named:
            raise TracekitError(
                f"--read {one}: the table {name} is {named[name]} already",
                hint=f"another name: --read {name}_2={file}",
            )
        named[name] = file
    return named


def starting(assume: Sequence[str], start: str) -> Sequence[str]:
    """The assumptions, with how the replay starts where that is not the default."""
    return assume if start == START else [*assume, f"start={start}"]


def priced(
    assume: Sequence[str], prices: Sequence[str], table: Path | str | None, currency: str | None
) -> Sequence[str]:
    """The assumptions, with prices by instance type and their currency where they are given.

    Raises TracekitError for a price or a currency that is none, and for a table without prices.
    """
    from tracekit.cluster.changed.prices import check_currency, read_prices

    text = ",".join([*([str(Path(table).absolute())] if table else []), *prices])
    if text:
        read_prices(text)
    return [
        *assume,
        *([f"prices={text}"] if text else []),
        *([f"currency={check_currency(currency)}"] if currency else []),
    ]


def names_in(text: str) -> list[str]:
    """Names with commas between."""
    return [name.strip() for name in text.split(",")] if text else []


Store = Annotated[
    Path | str,
    Argument("The store's folder or s3:// URL.", metavar="STORE", read=place, completes="stores"),
]
ReplayedStore = Annotated[
    Path | str | None,
    Argument("The store whose trace is replayed.", metavar="STORE", completes="stores"),
]
Seed = Annotated[int, Option("Seed of every random choice.", minimum=0)]
Policies = Annotated[
    Sequence[str],
    Option(
        "A policy; may be repeated.",
        names="--policy",
        completes="entrants",
        setting="policies",
        metavar="all|common|NAME[param=value,...]",
    ),
]
#: A verb says with an ``Option`` of its own what it is without it.
Repeats = Annotated[int | None, Option("Orders of arrival.", minimum=1, names="--repeat")]
OtherWorkload = Annotated[
    Path | str | None,
    Option("Ingest and replay this instead of a store.", metavar="NAME[:PATH]|PATH", takes=str),
]
Engine = Annotated[
    str | None,
    Option("For example spark:local[2], spark://HOST:7077.", metavar="duckdb|spark:MASTER"),
]
Frames = Annotated[Path | str | None, Option("Write all there, as Parquet.")]
FolderToFill = Annotated[str | Path, Argument("Folder to fill; made if it is not there.")]
RepeatsUpTo = Annotated[
    int | None,
    Option(
        "Add orders, up to so many, where it stays open which policy is best.",
        minimum=2,
        names="--repeat-up-to",
    ),
]
ReportedStudy = Annotated[str | Path | None, Option("Write a study folder there, for the report.")]
StudyFolder = Annotated[Path | str | None, Option("Write a study folder there.")]
RunFolder = Annotated[Path | str, Option("The run folder to write.", metavar="RUN")]
Assumed = Annotated[
    Sequence[str],
    Option(
        "Set an assumption; may be repeated.",
        metavar="NAME=VALUE",
        setting="assume",
        completes="assumptions",
    ),
]
MemoryLimit = Annotated[
    int,
    Option(
        "Memory for everything together; rows are sorted in it.",
        names="--memory-limit",
        takes=str,
        read=size_bytes,
        default=f"{MEMORY_LIMIT_BYTES // BYTES_PER_GIB}GiB",
    ),
]
Prices = Annotated[
    Sequence[str],
    Option(
        "What nodes of an instance type cost per hour, such as m6i.4xlarge=0.768; repeatable.",
        names="--price",
        metavar="TYPE=PRICE",
        setting="prices",
    ),
]
PriceTable = Annotated[
    Path | str | None,
    Option(
        "A table of prices, with the columns instance_type and price_per_hour.",
        names="--prices",
        metavar="FILE.csv",
        setting="price_table",
        takes=str,
    ),
]
Currency = Annotated[
    str | None,
    Option(
        "What amounts of money are followed by, such as USD.", metavar="CODE", setting="currency"
    ),
]
Gangs = Annotated[bool, Option("Admit a service's containers all or none.", names="--gang")]
SideBySide = Annotated[int, Option("Processes side by side.", minimum=1)]
