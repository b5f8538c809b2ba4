"""Options of the command line, in the annotations of library functions' parameters.

For example ``jobs: Annotated[int, Option("Processes side by side.", minimum=1)] = 1``. See
``tracekit.commands.shell.signature`` for how a subcommand is made of them. A parameter that a lower
package takes as well is declared there with ``About``, in ``declared.py``: type, help, range and
default. An ``Option`` beside it adds its flags. Parameters of several commands are declared below;
a command changes a part of one by a further ``Option``.

This file and the files of commands import nothing heavy at the top, so that ``--help`` answers at
once. A command imports what it needs when it is called.
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
    """The declaration of a parameter of a library function as a command-line option.

    Parameters
    ----------
    doc : str
        The help; empty for the help of another ``About`` in the same annotation.
    names : str
        The flags, with blanks between; empty for ``--`` and the parameter's name.
    metavar : str, optional
        The word for the value in the help.
    read : callable, optional
        Makes the value from the typed text.
    takes : type, optional
        The type of the typed value, if it is not text; ``read`` then gets a value of this type.
    default : object
        The typed text by default; None for the function's own default.
    shown : str, optional
        The text that the help shows as the default where the default is None.
    off : bool
        Whether the option is a flag that sets the value to False.
    completes : str
        The kind of words that complete it: ``policies``, ``stores``, ... of
        ``tracekit.commands.shell.completion``.
    setting : str
        The name of a setting of ``tracekit.toml`` that several commands share.
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
    """A positional parameter."""


_UNITS = {"": 1, "b": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}


def size_bytes(text: str) -> int:
    """Return a size such as ``1GB`` or ``512MiB`` in bytes; raises TracekitError for other text."""
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", text.lower())
    if not match:
        raise TracekitError(
            f"'{text}' is not a size", hint="write a number and a unit, for example 1GB or 512MiB"
        )
    number, unit, binary = match.groups()
    power = " kmgt".index(unit) if unit else 0
    return int(float(number) * (1024**power if binary else _UNITS[unit]))


def key_values(pairs: Sequence[str]) -> Mapping[str, str]:
    """Return ``name=value`` texts as a dictionary; raises TracekitError for other texts."""
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
    """Return ``name=file`` texts as a dictionary; raises TracekitError for a repeated name.

    Without ``=`` the name is the file's, up to its first dot: ``a/b.csv.gz`` is named ``b``.
    """
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


def with_start(assume: Sequence[str], start: str) -> Sequence[str]:
    """Return ``assume``, with ``start=<start>`` added unless ``start`` is the default."""
    return assume if start == START else [*assume, f"start={start}"]


def with_prices(
    assume: Sequence[str], prices: Sequence[str], table: Path | str | None, currency: str | None
) -> Sequence[str]:
    """Return ``assume``, with ``prices=...`` and ``currency=...`` added where they are given.

    ``table`` is a file of prices by instance type. Raises TracekitError for a wrong price or
    currency, and for a table without prices.
    """
    from tracekit.cluster.circumstances import check_currency, read_prices

    text = ",".join([*([str(Path(table).absolute())] if table else []), *prices])
    if text:
        read_prices(text)
    return [
        *assume,
        *([f"prices={text}"] if text else []),
        *([f"currency={check_currency(currency)}"] if currency else []),
    ]


def names_in(text: str) -> list[str]:
    """Return the names in a text with commas between them."""
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
#: A command adds an ``Option`` that says what holds without it.
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
