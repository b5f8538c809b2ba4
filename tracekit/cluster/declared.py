"""Assumptions that every kind of store has: each with its type, meaning and default.

Nothing slow is imported here, since the help of commands reads it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from tracekit.base import parameters
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.opened import is_file
from tracekit.base.parameters import About

Kind = Literal["uniform", "inferred", "recorded", "sized", "file"]
NAME = "requests"
AUTO = "auto"
_SIZED = "sized:"
_WORDS: tuple[Kind, ...] = ("uniform", "inferred", "recorded")
_FILES = (".csv", ".parquet")

#: The assumption's type in every set of assumptions that has it.
Requests = Annotated[
    str,
    About(
        "uniform: one size for all; recorded: those of the store; inferred: those that analyze"
        " tells; sized:DIR: those that tracekit requests chose; a CSV or Parquet file of your own;"
        " auto: recorded where the store records them, else uniform."
    ),
]


@dataclass(frozen=True)
class Choice:
    """The source of requests that the assumption ``requests`` chooses.

    ``place`` is the file, or the folder of the study in ``sized:FOLDER:POLICY``. ``policy`` is the
    policy named there. Both are None for other kinds.
    """

    kind: Kind
    place: Path | None = None
    policy: str | None = None


def choice_of(text: str, *, recorded: bool) -> Choice:
    """Return the source of requests that a value of the assumption ``requests`` names.

    Parameters
    ----------
    recorded : whether the store records requests

    Raises
    ------
    TracekitError
        For an unknown word that is no file, and for ``recorded`` if the store records no requests.
    """
    if text == AUTO:
        return Choice("recorded" if recorded else "uniform")
    if text == "recorded" and not recorded:
        raise TracekitError(
            "requests=recorded, but the store records no requests",
            hint="ingest containers.csv beside the usage, or take requests=inferred or uniform",
        )
    for word in _WORDS:
        if text == word:
            return Choice(word)
    if text.startswith(_SIZED):
        folder, policy = _folder(text.removeprefix(_SIZED))
        return Choice("sized", folder, policy)
    if not text.endswith(_FILES):
        close = nearest(text, [*_WORDS, AUTO])
        raise TracekitError(
            f"requests='{text}' is none of {AUTO}, {', '.join(_WORDS)}, sized:DIR, FILE.csv and"
            " FILE.parquet",
            hint=f"did you mean '{close}'?" if close else None,
        )
    if not is_file(Path(text)):
        raise TracekitError(f"requests={text}: no such file", hint="name a CSV or Parquet file")
    return Choice("file", Path(text))


def _folder(text: str) -> tuple[Path, str | None]:
    """A folder, and the policy after the last colon unless the whole text is a folder."""
    if Path(text).is_dir() or ":" not in text:
        return Path(text), None
    folder, _, policy = text.rpartition(":")
    return Path(folder), policy


def absolute(assume: Iterable[str]) -> tuple[str, ...]:
    """Return the settings with an absolute path in ``requests=``, for use in another process."""
    return tuple(_absolute(setting) for setting in assume)


def _absolute(setting: str) -> str:
    name, equals, value = setting.partition("=")
    value = value.strip()
    if name.strip() != NAME or not equals:
        return setting
    if value.startswith(_SIZED):
        return f"{NAME}={_SIZED}{Path(value.removeprefix(_SIZED)).absolute()}"
    return f"{NAME}={Path(value).absolute()}" if value.endswith(_FILES) else setting


def shown(text: str) -> str:
    """Return the value of ``requests`` for manifests, which is the same on all machines.

    Only the last part of a path is kept.
    """
    if text.startswith(_SIZED):
        return f"{_SIZED}{Path(text.removeprefix(_SIZED)).name}"
    return Path(text).name if text.endswith(_FILES) else text


Start = Annotated[
    Literal["empty", "observed"],
    About(
        "empty: everything is placed anew; observed: what ran at the beginning stays on its node, a"
        " policy places what arrives and a rebalancer moves from there."
    ),
]
START: Start = "empty"
Resources = Annotated[str, About("The resources that are asked for: all, or names with + between.")]
NodeCpuCores = Annotated[float, About("CPU of a node whose CPU is not recorded.", minimum=1e-3)]
NodeMemoryBytes = Annotated[int, About("Memory of a node whose memory is not recorded.", minimum=1)]
RequestCpuCores = Annotated[
    float,
    About("CPU request of a container of which none is known, or of all (uniform).", minimum=1e-3),
]
RequestMemoryBytes = Annotated[
    int,
    About("Memory request of a container of which none is known, or of all (uniform).", minimum=1),
]
LimitFactor = Annotated[float, About("Limit over request, where no limit is known.", minimum=1)]
LIMIT_FACTOR: LimitFactor = 1.5
TargetAllocFraction = Annotated[
    float, About("Requests over capacity, expected.", minimum=0.01, maximum=1)
]
ArrivalSpanMs = Annotated[
    int,
    About(
        "Containers there at the beginning arrive over this span; at most half of the time.",
        minimum=0,
    ),
]
ARRIVAL_SPAN_MS: ArrivalSpanMs = 7_200_000
UsedShare = Annotated[
    float,
    About("Use over request of a container without recorded use.", minimum=0, maximum=1),
]
StepMs = Annotated[
    int,
    About(
        "Time between two samples; 0: that of the recorded use, or as many times it as leave"
        " 2,880 steps.",
        minimum=0,
    ),
]

#: What stands before the name of a part of the ceiling in the assumption that sets it.
CEILING_PREFIX = "ceiling_"


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """Shares of CPU and memory above which a node is full.

    Raises TracekitError for a share that is out of range.
    """

    cpu_fraction: Annotated[
        float,
        About(
            "A node is full above this share of its CPU, at the 99th percentile over time.",
            minimum=0.01,
            maximum=1,
        ),
    ] = 0.8
    memory_fraction: Annotated[
        float,
        About(
            "A node is full above this share of its memory, at any time.", minimum=0.01, maximum=1
        ),
    ] = 0.9

    def __post_init__(self) -> None:
        parameters.check_ranges(self)
