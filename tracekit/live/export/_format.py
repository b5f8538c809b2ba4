"""A format that a run may leave in, and what one writes."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tracekit.base.facts import Fact, Followup, Scalar
from tracekit.live.export._left import Left


@dataclass(frozen=True, kw_only=True)
class Written:
    """The content of files, and what there is to say of it.

    Parameters
    ----------
    files : mapping of str to bytes
        By name; of a format of one file the name is ''.
    facts : tuple of Fact
        The first says what is written.
    next : tuple of Followup
    """

    files: Mapping[str, bytes]
    facts: tuple[Fact, ...]
    next: tuple[Followup, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Format:
    """A format.

    Parameters
    ----------
    name : str
        As ``--to`` takes it.
    title : str
        What is written, in a line.
    write : callable
        Makes the files; raises TracekitError where the run has not what they need.
    folder : bool
        Whether there are several files.
    """

    name: str
    title: str
    write: Callable[[Left], Written] = field(repr=False)
    folder: bool = False


def left_out(because: str, value: Scalar = None, unit: str = "", **about: Scalar) -> Fact:
    """A fact of what a format cannot carry; ``because`` is the key of its template."""
    return Fact(kind="left_out", value=value, unit=unit, because=because, about=about)
