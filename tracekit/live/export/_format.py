"""A format that a run may leave in, and what one writes."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from tracekit.base.documents.fields import decode
from tracekit.base.facts import Fact, Followup, Scalar
from tracekit.live.export._left import Left
from tracekit.policy.kubernetes.scorers import SCORERS
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance._descheduler_plugins import PLUGINS


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


def not_carried(
    policy: PlacementPolicy | RebalancePolicy,
    name: str,
    args: Mapping[str, Any],
    but: Iterable[str] = (),
) -> Iterator[Fact]:
    """A fact for each parameter that a plugin of these arguments has otherwise.

    Parameters
    ----------
    but : names of parameters that stand elsewhere in the file
    """
    read: Any = {**SCORERS, **PLUGINS}[name]
    there = dict(read.built(decode(args, read.kind, name)).spelled())
    for parameter, value in policy.spelled().items():
        if parameter not in but and there.get(parameter) != value:
            yield left_out("parameter", name=f"{policy.name()}.{parameter}", given=value)
