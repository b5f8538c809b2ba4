"""Score recorded cases: read a file of them, answer each, compare with what was expected."""

import functools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tracekit.base import parameters
from tracekit.base import shape as s
from tracekit.base.documents import is_document
from tracekit.base.errors import TracekitError
from tracekit.base.opened import read_text
from tracekit.policy.parse import get_policy
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.rebalance import find_rebalancer
from tracekit.replay.cases.case import Answer, Question
from tracekit.replay.cases.kinds import _shapes, all_kinds

#: Keys of ``expected`` that say how to compare, not what.
_TOLERANCES = ("tolerance", "relative_tolerance")

#: Ending of keys of ``expected`` that name what the found may be chosen from.
_SUBSET = "_subset_of"
#: Endings of keys of ``expected`` that bound a number found, and what the words for it are.
_BOUNDS = {"_min": "at least", "_max": "at most"}

_FORM = "a case is {name, kind, inputs, expected}; a document holds them under 'cases'"


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One case with its answer, or why it was skipped.

    Parameters
    ----------
    differences : list of str
        How the answer differs from the case's ``expected``; empty when it agrees.
    """

    name: str
    kind: str
    answer: Answer = field(default_factory=lambda: Answer(values={}))
    skipped: str = ""
    differences: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        """The JSON object of this case."""
        result = {"skipped": self.skipped} if self.skipped else self.answer.values
        return {"name": self.name, "kind": self.kind, **result}


def score_file(path: Path, policy: str | None = None) -> list[Scored]:
    """Answer every case of a file: one case, or a document with ``cases``.

    Parameters
    ----------
    policy : str, optional
        ``NAME[param=value,...]`` to score with instead of the document's policy.

    Raises
    ------
    TracekitError
        When the file is no case file, or names a policy that is not known.
    """
    path = Path(path)
    document, cases = _read(path)
    name, settings = parameters.split(policy) if policy else (None, {})
    if name and find_rebalancer(name) is None and not is_document(name):
        get_policy(name)
    found = []
    for at, case in enumerate(cases):
        with _told_where(path, at, case):
            found.append(_score(case, name or _policy_name(document, case), settings))
    return found


#: What every case says; its kind asks for more of its inputs.
_CASE = s.record(
    {
        "kind": s.text,
        "inputs": s.map_of(s.anything),
        "name": s.optional(s.text),
        "policy": s.optional(s.text),
        "expected": s.optional(s.map_of(s.bounded)),
    }
)
_COMPARED = s.record(dict.fromkeys(_TOLERANCES, s.optional(s.number(0))))


def _read(path: Path) -> tuple[Mapping[str, Any], list[Any]]:
    """A document and its cases; a case alone is its own document."""
    try:
        document = json.loads(read_text(path), parse_constant=_no_number)
    except FileNotFoundError:
        raise TracekitError(f"case file '{path}' is not there") from None
    except RecursionError:
        raise TracekitError(f"'{path}' is nested too deeply to be a case") from None
    except ValueError as error:
        raise TracekitError(f"'{path}' is not JSON: {error}") from None
    cases = document.get("cases", [document]) if isinstance(document, dict) else None
    if not isinstance(cases, list) or not all(
        isinstance(case, dict) and {"kind", "inputs"} <= set(case) for case in cases
    ):
        raise TracekitError(f"'{path}' holds no recorded cases", hint=_FORM)
    return document, cases


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


@contextmanager
def _told_where(path: Path, at: int, case: Any) -> Iterator[None]:
    """An error in a case names its file, its number and its name."""
    name = case.get("name")
    where = f"{path}: case {at + 1}" + (f" '{name}'" if isinstance(name, str) else "")
    try:
        yield
    except s.ShapeError as error:
        raise TracekitError(f"{where}: {error}", hint=_FORM) from None
    except TracekitError as error:
        raise TracekitError(f"{where}: {error.what}", hint=error.hint) from error
    except (LookupError, TypeError, AttributeError, ValueError, ArithmeticError) as error:
        # what its kind, whose shape it has, or its policy cannot make sense of
        raise TracekitError(
            f"{where}: cannot be answered: {type(error).__name__}: {error}", hint=_FORM
        ) from error


def _policy_name(document: Mapping[str, Any], case: Mapping[str, Any]) -> str | None:
    _CASE(case, "")
    s.optional(s.text)(document.get("policy"), "policy of the document")
    s.record(_shapes.ASKED)(case["inputs"], "inputs")
    stated = case.get("policy") or document.get("policy")
    if stated:
        return str(stated)
    strategy = (case["inputs"].get("args") or {}).get("strategy")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", strategy).lower() if strategy else None


def _score(case: Mapping[str, Any], policy: str | None, settings: Mapping[str, str]) -> Scored:
    name, kind = case.get("name") or "case", case["kind"]
    if kind not in all_kinds():
        return Scored(name=name, kind=kind, skipped=f"kind '{kind}' is not known")
    s.record(all_kinds()[kind].inputs)(case["inputs"], "inputs")
    s.bounded(case["inputs"], "inputs")
    expected = case.get("expected") or {}
    _COMPARED(expected, "expected")
    question = Question(
        name=name,
        inputs=case["inputs"],
        policy=functools.partial(_policy, name, policy),
        settings=settings,
        policy_name=policy,
    )
    answer = all_kinds()[kind].answer(question)
    found = list(differences(expected, answer.values))
    return Scored(name=name, kind=kind, answer=answer, differences=found)


def _policy(case: str, name: str | None) -> type[PlacementPolicy]:
    if name is None:
        raise TracekitError(
            f"case '{case}' does not say which policy to score with", hint="give --policy NAME"
        )
    return get_policy(name)


def differences(expected: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    """The differences of ``found`` from ``expected``, beyond the tolerances it states.

    Under a key that ends in ``_subset_of`` the list found must hold nothing but what is expected.
    A key that ends in ``_min`` or ``_max``, and that is not found itself, bounds the number found
    under the rest of its name; of a list it bounds the length.
    """
    absolute, relative = (float(expected.get(key) or 0.0) for key in _TOLERANCES)
    for key, wanted in expected.items():
        if key.endswith(_SUBSET):
            chosen = wanted if isinstance(wanted, list) else []
            strange = [one for one in found.get(key) or () if one not in chosen]
            if strange:
                yield f"{key}: expected some of {json.dumps(wanted)}, got {json.dumps(strange)} too"
        elif (ending := key[-4:]) in _BOUNDS and key not in found:
            if not _within(ending, wanted, found.get(key[:-4]), absolute, relative):
                number = json.dumps(found.get(key[:-4]))
                yield f"{key}: expected {_BOUNDS[ending]} {json.dumps(wanted)}, got {number}"
        elif key not in _TOLERANCES:
            yield from _compare(key, wanted, found.get(key), absolute, relative)


def _within(ending: str, wanted: Any, found: Any, absolute: float, relative: float) -> bool:
    """Whether a number, or the length of a list, is beyond no bound."""
    number = len(found) if isinstance(found, list) else found
    if not (_is_number(wanted) and _is_number(number)):
        return False
    least, most = (wanted, number) if ending == "_min" else (number, wanted)
    return bool(least <= most) or _equal(least, most, absolute, relative)


def _is_number(one: Any) -> bool:
    return isinstance(one, int | float) and not isinstance(one, bool)


def _compare(path: str, wanted: Any, found: Any, absolute: float, relative: float) -> Iterator[str]:
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        for key in {**wanted, **found}:
            yield from _compare(
                f"{path}.{key}", wanted.get(key), found.get(key), absolute, relative
            )
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for at, (one, other) in enumerate(zip(wanted, found, strict=True)):
            yield from _compare(f"{path}[{at}]", one, other, absolute, relative)
    elif not _equal(wanted, found, absolute, relative):
        yield f"{path}: expected {json.dumps(wanted)}, got {json.dumps(found)}"


def _equal(wanted: Any, found: Any, absolute: float, relative: float) -> bool:
    if _is_number(wanted) and _is_number(found):
        return math.isclose(wanted, found, rel_tol=relative, abs_tol=absolute)
    return type(wanted) is type(found) and bool(wanted == found)
