"""The policy that a text spells: by its name, by an alias, by the file of a user's own, or several.

``NAME[param=value,...]`` is one, ``0.7*NAME[...]+0.3*NAME[...]`` a profile of several, and a name
that ends in ``.yaml`` or ``.json`` the configuration of a scheduler.
"""

import functools
import importlib.util
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from tracekit.base import parameters
from tracekit.base.arrays import IntArray
from tracekit.base.documents import is_document, read_document
from tracekit.base.errors import TracekitError, nearest, unknown_name
from tracekit.base.opened import is_file, read_bytes
from tracekit.base.parameters import ParameterError
from tracekit.policy.guard import IMPORT_LIMIT_S, OwnPolicyError, answers_for, guard, line_of
from tracekit.policy.kubernetes import configuration, policy_document
from tracekit.policy.kubernetes.extenders import Translated
from tracekit.policy.placement import PlacementPolicy, all_policies, called
from tracekit.policy.placement.default_scheduler import nodes_to_find, search
from tracekit.policy.profile import EXAMPLE, Part, Profile, near_kind, profile, weighted
from tracekit.policy.promises import check_promises, check_result
from tracekit.policy.view.snapshot import Tie


def policies_of(word: str) -> list[str]:
    """The names that ``all`` or ``common`` stands for, in order; any other text is one policy."""
    known = all_policies()
    if word == "common":
        return sorted(name for name, kind in known.items() if kind.common)
    return sorted(known) if word == "all" else [word]


def get_policy(name: str) -> type[PlacementPolicy]:
    """The policy of that name, of one of its aliases, or of a user's own file ``PATH.py``."""
    if name.endswith(".py"):
        return load_own_policy(Path(name))
    found = called(name, all_policies())
    if found is not None:
        return found
    listed = [one.strip() for one in name.split(",")]
    if len(listed) > 1 and set(listed) & set(all_policies()):
        raise TracekitError(
            f"'{name}' is a list, and --policy takes one at a time",
            hint=f"repeat it: {' '.join(f'--policy {one}' for one in listed)}",
        )
    raise unknown_name("policy", name, all_policies(), listing="tracekit list policies")


def parse_policy(text: str) -> PlacementPolicy:
    """The policy that a text spells; ``str`` of it is the same text again."""
    terms = [_term(part) for part in terms_of(text)]
    if any(weight is not None for weight, _ in terms):
        return weighted([_part(weight, name, text) for weight, name in terms])
    name, given = parameters.split(text)
    if is_document(name):
        return configured(Path(name), given)
    return build_policy(get_policy(name), given)


def cut(text: str) -> tuple[str, str | None]:
    """The text of the placement policy, and that of the rebalancer behind it if there is one.

    A rebalancer is the last of the terms between '+', where that has no weight.
    """
    terms = terms_of(text)
    if len(terms) == 1 or _term(terms[-1])[0] is not None:
        return text.strip(), None
    return "+".join(terms[:-1]), terms[-1]


def terms_of(text: str) -> list[str]:
    """The parts between the '+' outside brackets."""
    found, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "+" and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    return [*found, text[start:].strip()]


def _term(text: str) -> tuple[str | None, str]:
    """The weight before a '*' outside brackets, None where there is none, and what it weighs."""
    weight, star, rest = text.partition("*")
    return (None, text) if not star or "[" in weight else (weight.strip(), rest.strip())


def _part(weight: str | None, name: str, text: str) -> Part:
    if weight is None:
        raise TracekitError(f"'{name}' in '{text}' has no weight, others have", hint=EXAMPLE)
    try:
        return Part(float(weight), parse_policy(name))
    except ValueError:
        raise TracekitError(f"'{weight}' in '{text}' is no weight", hint=EXAMPLE) from None


def build_policy(kind: type[PlacementPolicy], given: Mapping[str, str]) -> PlacementPolicy:
    """A policy with parameters given as text; ``near_weight`` is a parameter of all of them.

    What is given is spelled, though it be the default: two spellings of one policy are two rows,
    each with a random stream of its own.
    """
    if "near_weight" in given and "near_weight" not in parameters.names(kind):
        kind = near_kind(kind)
    made: Any = parameters.build(kind, f"policy {kind.name()}", given)
    if not isinstance(made, PlacementPolicy):
        raise TypeError(kind)
    # a fact of this one, no parameter: the class is frozen
    object.__setattr__(made, "stated", frozenset(given))
    return made


# A policy out of a file: a scheduler's configuration, or a user's own policy in Python.

# A scheduler's configuration file as a policy: ``--policy kube-scheduler.yaml``. Its kind says
# how it is read. What tracekit does not know of it, or cannot do for want of data, is told in
# lines of their own, and never left out without a word.

_GIVEN = ("profile", "tie", "without")
_EXTENDER = "extender"
_TIES: Mapping[str, Tie] = {"first": "first", "reservoir": "reservoir"}


def configured(path: Path, given: Mapping[str, str]) -> PlacementPolicy:
    """The policy of a configuration file.

    Parameters
    ----------
    given : mapping
        ``profile``: the name of one of several profiles; ``tie``: ``reservoir``, as the scheduler
        does, or ``first``; ``without=extender``: the file's extender is left out.

    Raises
    ------
    TracekitError
        For a file that is none, of another kind, or with values that the scheduler would refuse.
    """
    strange = [name for name in given if name not in _GIVEN]
    if strange:
        close = nearest(strange[0], _GIVEN)
        raise TracekitError(
            f"{path.name} has no parameter '{strange[0]}'; it has: {', '.join(_GIVEN)}",
            hint=f"did you mean '{close}'?" if close else "all else is said in the file",
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
    """The given settings, with a note that an extender is left out: a cluster runs it."""
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


# A user's own placement policy: one file anywhere, used as ``--policy ./mine.py``. The file is a
# policy as any other: one class derived from ``PlacementPolicy``, its name the file's. It is held
# to the promises of ``tracekit.policy.promises`` before it is used.

_PACKAGE = "own_policies"


def load_own_policy(path: Path) -> type[PlacementPolicy]:
    """The policy of a file as it is now, checked; read again where the file has changed.

    Raises
    ------
    TracekitError
        When there is no such file, it does not run, holds none or several policies, bears the name
        of a built-in one, or breaks a promise.
    """
    _check_name(path)
    return _checked(path, path.resolve(), read_bytes(path))


@functools.cache
def _checked(path: Path, _place: Path, _text: bytes) -> type[PlacementPolicy]:
    """The policy of a file; place and text tell it from another of the same relative path."""
    module = _imported(path)
    found = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, PlacementPolicy)
        and value.__module__ == module.__name__
    ]
    if len(found) != 1:
        raise TracekitError(
            f"{path} defines {len(found)} placement policies, expected one",
            hint="one class derived from tracekit.policy.placement.PlacementPolicy per file",
        )
    kind = found[0]
    kind.file = str(path.resolve())
    guard(kind, functools.partial(check_result, kind))
    with answers_for(kind.file, "the policy", kind.limit_s):
        check_promises(kind, np.random.default_rng(0))
    return kind


def _check_name(path: Path) -> None:
    if not is_file(path):
        raise TracekitError(
            f"no policy file {path}", hint="give the path of a Python file, for example ./mine.py"
        )
    name = path.stem
    if not name.isidentifier():
        raise TracekitError(
            f"'{name}' cannot be a policy's name",
            hint="name the file in letters, digits and '_', for example my_policy.py",
        )
    if name in all_policies():
        raise TracekitError(
            f"{path}: a policy named '{name}' is built in", hint="give your file another name"
        )


def _imported(path: Path) -> ModuleType:
    """The file as a module of its own, found again by name in this process."""
    name = f"{_PACKAGE}.{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path.resolve())
    if spec is None or spec.loader is None:
        raise TracekitError(f"{path} is no Python file", hint="its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    file = str(path.resolve())
    try:
        with answers_for(file, "importing it", IMPORT_LIMIT_S):
            spec.loader.exec_module(module)
    except OwnPolicyError as error:
        del sys.modules[name]
        cause = error.__cause__
        if cause is None:
            raise
        line = line_of(file, cause)
        raise TracekitError(
            f"{path}{f':{line}' if line else ''} does not run: {type(cause).__name__}: {cause}",
            hint="run it with python to see more: a policy file must import cleanly",
        ) from cause
    return module
