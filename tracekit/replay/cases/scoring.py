"""Score recorded cases: read a file of cases, answer each, and compare it with its ``expected``."""

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
from tracekit.replay.cases import Answer, Question, _shapes, all_kinds

#: Keys of ``expected`` that say how to compare, not what.
_TOLERANCES = ("tolerance", "relative_tolerance")

#: Ending of a key of ``expected`` whose list holds all values that an answer may choose from.
_SUBSET = "_subset_of"

_FORM = "a case is {name, kind, inputs, expected}; a document holds them under 'cases'"


@dataclass(frozen=True, kw_only=True)
class Scored:
    """One case with its answer, or with the reason why it was skipped.

    Parameters
    ----------
    differences : list of str
        The differences of the answer from the case's ``expected``; empty when they agree.
    """

    name: str
    kind: str
    answer: Answer = field(default_factory=lambda: Answer(values={}))
    skipped: str = ""
    differences: Sequence[str] = ()

    def document(self) -> dict[str, Any]:
        """Return the JSON object of this case."""
        result = {"skipped": self.skipped} if self.skipped else self.answer.values
        return {"name": self.name, "kind": self.kind, **result}


@dataclass(frozen=True, kw_only=True)
class CasePolicy:
    """The policy that answers the cases of a file in place of the one that the file names.

    Parameters
    ----------
    name : str
        The policy's name, or the path of a configuration.
    settings : mapping of str to str
        Its parameters; a parameter wins over the argument of that name in a case.
    """

    name: str
    settings: Mapping[str, str]


def parse_case_policy(text: str) -> CasePolicy:
    """Parse ``NAME[param=value,...]``, the policy that is to answer cases.

    Raises
    ------
    TracekitError
        For an unknown policy.
    """
    name, settings = parameters.split(text)
    if find_rebalancer(name) is None and not is_document(name):
        get_policy(name)
    return CasePolicy(name=name, settings=settings)


def score_file(path: Path, policy: CasePolicy | None = None) -> list[Scored]:
    """Answer every case of a file: one case, or a document with ``cases``.

    Parameters
    ----------
    policy : CasePolicy, optional
        Answers every case instead of the policy that the document or the case names.

    Raises
    ------
    TracekitError
        When the file is no case file, or names an unknown policy.
    """
    document, cases = _read(path)
    scored = []
    for at, case in enumerate(cases):
        with _located(path, at, case):
            chosen = policy or CasePolicy(name=_policy_name(document, case), settings={})
            scored.append(_score(case, chosen))
    return scored


#: The shape of every case; its kind states the shape of its inputs.
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
    """A document and its cases; a single case is its own document."""
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
def _located(path: Path, at: int, case: Any) -> Iterator[None]:
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
        # the case has its kind's shape, and the kind or the policy cannot work with its values
        raise TracekitError(
            f"{where}: cannot be answered: {type(error).__name__}: {error}", hint=_FORM
        ) from error


def _policy_name(document: Mapping[str, Any], case: Mapping[str, Any]) -> str:
    """The policy that a case or its document names, or its strategy; '' where none does."""
    _CASE(case, "")
    s.optional(s.text)(document.get("policy"), "policy of the document")
    s.record(_shapes.ASKED)(case["inputs"], "inputs")
    stated = case.get("policy") or document.get("policy")
    if stated:
        return str(stated)
    strategy = (case["inputs"].get("args") or {}).get("strategy")
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", strategy).lower() if strategy else ""


def _score(case: Mapping[str, Any], policy: CasePolicy) -> Scored:
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
        policy=functools.partial(_policy, name, policy.name),
        settings=policy.settings,
        policy_name=policy.name,
    )
    answer = all_kinds()[kind].answer(question)
    unequal = list(differences(expected, answer.values))
    return Scored(name=name, kind=kind, answer=answer, differences=unequal)


def _policy(case: str, name: str) -> type[PlacementPolicy]:
    if not name:
        raise TracekitError(
            f"case '{case}' does not say which policy to score with", hint="give --policy NAME"
        )
    return get_policy(name)


def differences(expected: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[str]:
    """Yield the differences of ``answer`` from ``expected``, beyond the tolerances of ``expected``.

    Under a key that ends in ``_subset_of``, every value found must be among those expected.
    """
    absolute, relative = (float(expected.get(key) or 0.0) for key in _TOLERANCES)
    for key, wanted in expected.items():
        if key.endswith(_SUBSET):
            chosen = wanted if isinstance(wanted, list) else []
            strange = [one for one in answer.get(key) or () if one not in chosen]
            if strange:
                yield f"{key}: expected some of {json.dumps(wanted)}, got {json.dumps(strange)} too"

        elif key not in _TOLERANCES:
            yield from _compare(key, wanted, answer.get(key), absolute, relative)


def _is_number(one: Any) -> bool:
    return isinstance(one, int | float) and not isinstance(one, bool)


def _compare(
    path: str, wanted: Any, answer: Any, absolute: float, relative: float
) -> Iterator[str]:
    if isinstance(wanted, Mapping) and isinstance(answer, Mapping):
        for key in {**wanted, **answer}:
            yield from _compare(
                f"{path}.{key}", wanted.get(key), answer.get(key), absolute, relative
            )
    elif isinstance(wanted, list) and isinstance(answer, list) and len(wanted) == len(answer):
        for at, (one, other) in enumerate(zip(wanted, answer, strict=True)):
            yield from _compare(f"{path}[{at}]", one, other, absolute, relative)
    elif not _equal(wanted, answer, absolute, relative):
        yield f"{path}: expected {json.dumps(wanted)}, got {json.dumps(answer)}"


def _equal(wanted: Any, answer: Any, absolute: float, relative: float) -> bool:
    if _is_number(wanted) and _is_number(answer):
        return math.isclose(wanted, answer, rel_tol=relative, abs_tol=absolute)
    return type(wanted) is type(answer) and bool(wanted == answer)
