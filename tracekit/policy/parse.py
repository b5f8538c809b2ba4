"""Parses the text of a placement policy.

``NAME[param=value,...]`` is one policy by name or alias, ``PATH.py[...]`` a user's own policy,
``0.7*NAME[...]+0.3*NAME[...]`` a profile of several policies, and ``PATH.yaml`` or ``PATH.json``
the configuration of a scheduler.
"""

import functools
import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Mapping
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
from tracekit.policy.kubernetes.scorers import Translated
from tracekit.policy.placement import PlacementPolicy, all_policies, called
from tracekit.policy.placement.default_scheduler import nodes_to_find, search
from tracekit.policy.profile import EXAMPLE, Part, Profile, near_kind, profile, weighted
from tracekit.policy.promises import check_promises, check_result
from tracekit.policy.view.snapshot import Tie


def policies_of(word: str) -> list[str]:
    """Return the sorted policy names that ``all`` or ``common`` stands for, else ``[word]``."""
    every = all_policies()
    if word == "common":
        return sorted(name for name, kind in every.items() if kind.common)
    return sorted(every) if word == "all" else [word]


def get_policy(name: str) -> type[PlacementPolicy]:
    """Return the policy class with a name or an alias, or that of a user's own file ``PATH.py``."""
    if name.endswith(".py"):
        return load_own_policy(Path(name))
    kind = called(name, all_policies())
    if kind is not None:
        return kind
    listed = [one.strip() for one in name.split(",")]
    if len(listed) > 1 and set(listed) & set(all_policies()):
        raise TracekitError(
            f"'{name}' is a list, and --policy takes one at a time",
            hint=f"repeat it: {' '.join(f'--policy {one}' for one in listed)}",
        )
    raise unknown_name("policy", name, all_policies(), listing="tracekit list policies")


def parse_policy(text: str) -> PlacementPolicy:
    """Parse a placement policy or profile; ``str`` of the result is the same text."""
    terms = [_term(part) for part in terms_of(text)]
    if any(weight is not None for weight, _ in terms):
        return weighted([_part(weight, name, text) for weight, name in terms])
    name, given = parameters.split(text)
    if is_document(name):
        return configured(Path(name), given)
    return build_policy(get_policy(name), given)


def split_companion(text: str) -> tuple[str, str | None]:
    """Split a text into its placement policy and the rebalancer or schedulers after it, or None.

    Only a last term without a weight is split off: ``"0.5*a+0.5*b+c"`` gives ``"0.5*a+0.5*b"`` and
    ``"c"``.
    """
    terms = terms_of(text)
    if len(terms) == 1 or _term(terms[-1])[0] is not None:
        return text.strip(), None
    return "+".join(terms[:-1]), terms[-1]


def terms_of(text: str) -> list[str]:
    """Split a text at each '+' outside of brackets: ``"a[x=y:1+z:2]+b"`` has two terms."""
    terms, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "[") - (character == "]")
        if character == "+" and depth == 0:
            terms.append(text[start:at].strip())
            start = at + 1
    return [*terms, text[start:].strip()]


def _term(text: str) -> tuple[str | None, str]:
    """The weight before a '*' outside brackets, or None, and the rest of the term."""
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
    """Build a policy from its class and texts of parameters, which may include ``near_weight``.

    ``str`` of the policy repeats every given parameter, even with its default value. So two texts
    of one policy are two rows of a result, each with its own random stream.
    """
    if "near_weight" in given and "near_weight" not in parameters.names(kind):
        kind = near_kind(kind)
    made: Any = parameters.build(kind, f"policy {kind.name()}", given)
    if not isinstance(made, PlacementPolicy):
        raise TypeError(kind)
    # the class is frozen, and ``stated`` is no parameter
    object.__setattr__(made, "stated", frozenset(given))
    return made


# A scheduler's configuration file as a policy: ``--policy kube-scheduler.yaml``. The kind of the
# document decides how it is read. A note names each part of the document that tracekit leaves out.

_GIVEN = ("profile", "tie", "without")
_EXTENDER = "extender"
_TIES: Mapping[str, Tie] = {"first": "first", "reservoir": "reservoir"}


def configured(path: Path, given: Mapping[str, str]) -> PlacementPolicy:
    """Build the policy of a scheduler's configuration file.

    Parameters
    ----------
    given : mapping
        ``profile``: the name of one of several profiles. ``tie``: ``reservoir`` by default, as the
        scheduler does, or ``first``. ``without``: ``extender``, only if one has to be left out.

    Raises
    ------
    TracekitError
        For a file that cannot be read, is of another kind, or has values that the scheduler would
        refuse.
    """
    strange = [name for name in given if name not in _GIVEN]
    if strange:
        close = nearest(strange[0], _GIVEN)
        raise TracekitError(
            f"{path.name} has no parameter '{strange[0]}'; it has: {', '.join(_GIVEN)}",
            hint=f"did you mean '{close}'?" if close else "the file has all other settings",
        )
    tie = _TIES.get(given.get("tie", "reservoir"))
    if tie is None:
        raise TracekitError(f"tie of {path.name} is '{given['tie']}', expected first or reservoir")
    document = read_document(path)
    try:
        read = _translated(document, path, given.get("profile", ""))
    except ParameterError as error:
        raise TracekitError(f"'{path}': {error.field}: {error.what}", hint=error.hint) from error
    except TracekitError as error:
        what = error.what if str(path) in error.what else f"'{path}': {error.what}"
        raise TracekitError(what, hint=error.hint) from error
    given = _spelled_out(path, given, lacking=read.lacks_extender)
    spelled = ",".join(f"{name}={value}" for name, value in given.items())
    ending = f"[{spelled}]" if spelled else ""
    attributes: dict[str, Any] = {
        "text": f"{path.name}{ending}",
        "where": f"{path.resolve()}{ending}",
        "document": str(path.resolve()),
        "source": f"{path.name}, kind {document['kind']}",
        "lifts": frozenset(read.lifted),
        "notes": tuple(f"{path.name}: {note}" for note in read.notes),
        "preempts": read.preempts,
        "gang_wait_ms": read.gang_wait_ms,
        "gang_backoff_ms": read.gang_backoff_ms,
        "candidates": _window(read.percentage, scores=read.scores),
    }
    return profile(tuple(read.parts), tie, tuple(attributes.items()))


def _spelled_out(path: Path, given: Mapping[str, str], *, lacking: bool) -> dict[str, str]:
    """The given settings; ``without=extender`` is added if an extender is left out."""
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
    """A method ``candidates`` for a percentage of nodes; the first node if no plugin scores."""

    def candidates(
        self: Profile,  # noqa: ARG001 - it stands for a method
        feasible: IntArray,
        start: int,
        nodes: int,
    ) -> tuple[IntArray, int]:
        return search(feasible, start, nodes_to_find(nodes, percentage) if scores else 1)

    return candidates


# A user's own placement policy: one file anywhere, used as ``--policy ./mine.py``. The file has one
# class derived from ``PlacementPolicy``; the policy has the name of the file. Before its first use
# the policy must keep the promises of ``tracekit.policy.promises``.

_PACKAGE = "own_policies"


def load_own_policy(path: Path) -> type[PlacementPolicy]:
    """Load and check the policy class of a user's file; a changed file is loaded again.

    Raises
    ------
    TracekitError
        If the file does not exist, does not run, holds no or several policies, has the name of a
        built-in policy, or breaks a promise.
    """
    _check_name(path)
    return _checked(path, path.resolve(), read_bytes(path))


@functools.cache
def _checked(path: Path, _place: Path, _text: bytes) -> type[PlacementPolicy]:
    """The policy of a file, cached by path, absolute path and content."""
    module = _imported(path)
    kinds = [
        value
        for value in vars(module).values()
        if isinstance(value, type)
        and issubclass(value, PlacementPolicy)
        and value.__module__ == module.__name__
    ]
    if len(kinds) != 1:
        raise TracekitError(
            f"{path} defines {len(kinds)} placement policies, expected one",
            hint="one class derived from tracekit.policy.placement.PlacementPolicy per file",
        )
    [kind] = kinds
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
    """The module of a file, registered in ``sys.modules``."""
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


def by_name(
    files: Iterable[Mapping[str, str]], spell: Callable[[str], str] = os.path.normpath
) -> dict[str, str]:
    """Map policy names to paths, changed by ``spell``; ``files`` has the form of ``files_of``."""
    return {_name(one["path"]): spell(one["path"]) for one in files}


def as_given(text: str, files: Mapping[str, str]) -> str:
    """Return a policy's text for ``--policy``, with names replaced by the paths of ``by_name``."""
    return "+".join(_with_path(term, files) for term in terms_of(text)) if files else text


def _with_path(term: str, files: Mapping[str, str]) -> str:
    named, bracket, parameters = term.partition("[")
    weight, star, name = named.rpartition("*")
    return f"{weight}{star}{files.get(name, name)}{bracket}{parameters}"


def _name(path: str) -> str:
    """The name of a policy in a file: the stem of a module, the full name of a document."""
    return Path(path).stem if path.endswith(".py") else Path(path).name
