"""The assumption ``requests``: the origin of containers' requests."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

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
    """The chosen source of requests; ``place`` is the folder of ``sized`` or the file."""

    kind: Kind
    place: Path | None = None
    policy: str | None = None


def choice_of(text: str, *, recorded: bool) -> Choice:
    """The choice that a text names.

    Parameters
    ----------
    recorded : whether the store records requests

    Raises
    ------
    TracekitError
        For an unknown word that is no file, and for ``recorded`` if the store records no
        requests.
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
    """Settings with absolute paths, which hold in another process too."""
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
    """The choice for manifests: of a path the last part alone, which is equal on all machines."""
    if text.startswith(_SIZED):
        return f"{_SIZED}{Path(text.removeprefix(_SIZED)).name}"
    return Path(text).name if text.endswith(_FILES) else text
