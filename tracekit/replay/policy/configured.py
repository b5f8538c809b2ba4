"""A scheduler's configuration file as a policy: ``--policy kube-scheduler.yaml``.

Its kind says how it is read. What tracekit does not know of it, or cannot do for want of data, is
told in lines of their own, and never left out without a word.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit.arrays import IntArray
from tracekit.errors import TracekitError
from tracekit.parameters import ParameterError
from tracekit.replay.placement import PlacementPolicy
from tracekit.replay.placement._window import nodes_to_find, search
from tracekit.replay.policy.kubernetes import configuration, policy_document
from tracekit.replay.policy.kubernetes.configuration import Translated
from tracekit.replay.policy.profile import Profile, profile
from tracekit.replay.view.choice import Tie
from tracekit.yaml_file import read_document

_GIVEN = ("profile", "tie", "without")
_EXTENDER = "extender"
_TIES: Mapping[str, Tie] = {"first": "first", "reservoir": "reservoir"}


def configured(path: Path, given: Mapping[str, str]) -> PlacementPolicy:
    """The policy of a configuration file.

    Parameters
    ----------
    given : mapping
        ``profile``: which of several; ``tie``: ``reservoir``, as the scheduler does, or ``first``;
        ``without=extender``: that an extender is left out, which is spelled where it is so.

    Raises
    ------
    TracekitError
        For a file that is none, of another kind, or with values that the scheduler would refuse.
    """
    strange = [name for name in given if name not in _GIVEN]
    if strange:
        raise TracekitError(
            f"{path.name} has no parameter '{strange[0]}'; it has: {', '.join(_GIVEN)}",
            hint="all else is said in the file",
        )
    tie = _TIES.get(given.get("tie", "reservoir"))
    if tie is None:
        raise TracekitError(f"tie of {path.name} is '{given['tie']}', expected first or reservoir")
    document = read_document(path)
    try:
        found = _translated(document, path, given.get("profile", ""))
    except ParameterError as error:
        raise TracekitError(f"'{path}': {error.field}: {error.what}", hint=error.hint) from error
    except TracekitError as error:
        told = error.what if str(path) in error.what else f"'{path}': {error.what}"
        raise TracekitError(told, hint=error.hint) from error
    given = _spelled_out(path, given, lacking=found.lacks_extender)
    spelled = ",".join(f"{name}={value}" for name, value in given.items())
    ending = f"[{spelled}]" if spelled else ""
    attributes: dict[str, Any] = {
        "text": f"{path.name}{ending}",
        "where": f"{path.resolve()}{ending}",
        "document": str(path.resolve()),
        "source": f"{path.name}, kind {document['kind']}",
        "lifts": frozenset(found.lifted),
        "notes": tuple(f"{path.name}: {note}" for note in found.notes),
        "preempts": found.preempts,
        "gang_wait_ms": found.gang_wait_ms,
        "gang_backoff_ms": found.gang_backoff_ms,
        "candidates": _window(found.percentage, scores=found.scores),
    }
    return profile(tuple(found.parts), tie, tuple(attributes.items()))


def _spelled_out(path: Path, given: Mapping[str, str], *, lacking: bool) -> dict[str, str]:
    """What is given, with that an extender is left out: a row so named is not what people run."""
    if "without" in given and not (lacking and given["without"] == _EXTENDER):
        raise TracekitError(
            f"without of {path.name} is '{given['without']}', but no such part of it is left out",
            hint="leave it away: where an extender is left out, the name says so by itself",
        )
    return {**given, "without": _EXTENDER} if lacking else dict(given)


def _translated(document: Mapping[str, Any], path: Path, wanted: str) -> Translated:
    kind = document.get("kind")
    if kind == configuration.KIND:
        return configuration.translated(document, path, wanted)
    if kind == policy_document.KIND:
        return policy_document.translated(document)
    hint = f"as a policy: {configuration.KIND}, or {policy_document.KIND} of earlier versions"
    if kind == "DeschedulerPolicy":
        hint = f"it rebalances: --policy least_allocated --rebalance {path}"
    raise TracekitError(f"'{path}' is of kind '{kind}', which places nothing", hint=hint)


@functools.cache
def _window(percentage: int, *, scores: bool) -> Any:
    """The method that looks at some of the feasible nodes; at the first if nothing scores."""

    def candidates(
        self: Profile,  # noqa: ARG001 - it stands for a method
        feasible: IntArray,
        start: int,
        nodes: int,
    ) -> tuple[IntArray, int]:
        return search(feasible, start, nodes_to_find(nodes, percentage) if scores else 1)

    return candidates
