"""Every cause that code gives has a template, and every template has code that gives its cause."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import tracekit
from tracekit.answer.caveats import _BY_RULE, _ELSEWHERE
from tracekit.base.facts import kinds

HOME = Path(tracekit.__file__).parent


@cache
def _trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in HOME.rglob("*.py")}


#: Functions that make a fact of the cause that is their first argument, and its kind.
MAKERS = {"remark": "remark", "_doubt": "doubt", "_doubt_of": "doubt", "waiting_fact": "doubt"}
#: Kinds whose causes stand in code; those of other kinds come from results.
KINDS = (
    "doubt", "broken_rows", "remark", "distorted", "counted", "growth", "use_assumed", "unjudged",
    "finding", "file",
)  # fmt: skip


def _texts(node: ast.AST | None) -> Iterator[str]:
    """The texts that an expression may be, each as a pattern."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield re.escape(node.value)
    elif isinstance(node, ast.JoinedStr):
        parts = [next(_texts(one), ".*") for one in node.values]
        yield "".join(parts)
    elif isinstance(node, ast.IfExp):
        yield from _texts(node.body)
        yield from _texts(node.orelse)


def _looped(tree: ast.AST) -> Iterator[str]:
    """The texts that a loop gives to ``because``."""
    for one in ast.walk(tree):
        if isinstance(one, ast.For) and isinstance(one.target, ast.Tuple):
            at = [getattr(name, "id", "") for name in one.target.elts]
            if "because" in at and isinstance(one.iter, ast.Tuple):
                for row in one.iter.elts:
                    yield from _texts(row.elts[at.index("because")])  # type: ignore[attr-defined]


def _given() -> Iterator[tuple[str, str]]:
    """Each kind with a cause that code gives it."""
    for tree in _trees().values():
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call):
                continue
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            options = {one.arg: one.value for one in call.keywords}
            kind = next(_texts(options.get("kind")), MAKERS.get(name, ""))
            cause = call.args[0] if name in MAKERS and call.args else options.get("because")
            if name in {*MAKERS, "Fact"}:
                yield from ((kind, text) for text in _texts(cause) if kind in KINDS)


def _counts() -> Iterator[str]:
    """The names of what is counted while a workload is built."""
    starts = r"(containers?|nodes|rows|gangs|steps|constraint)_"
    for path, tree in _trees().items():
        if path.is_relative_to(HOME / "cluster"):
            for one in ast.walk(tree):
                if isinstance(one, ast.Dict | ast.DictComp):
                    keys = one.keys if isinstance(one, ast.Dict) else [one.key]
                    texts = [text for key in keys for text in _texts(key)]
                    yield from (text for text in texts if re.match(starts, text))


def test_every_cause_has_a_template() -> None:
    given = {*_given()} | {
        ("doubt", one) for one in _looped(_trees()[HOME / "store" / "doubts.py"])
    }
    assert len(given) > 60
    assert [
        (kind, text) for kind, text in sorted(given)
        if text and not any(re.fullmatch(text, cause) for cause in kinds()[kind].short)
    ] == []  # fmt: skip


def test_every_count_has_a_template() -> None:
    recorded = {*kinds()["distorted"].short, *kinds()["counted"].short, *_ELSEWHERE}
    counts = {one for one in _counts() if not one.startswith(tuple(_BY_RULE))}
    assert len(counts) > 20
    assert [
        one for one in sorted(counts) if not any(re.fullmatch(one, it) for it in recorded)
    ] == []


def test_every_template_has_its_cause() -> None:
    texts = {
        text
        for tree in _trees().values()
        for one in ast.walk(tree)
        if isinstance(one, ast.Constant | ast.JoinedStr)
        for text in _texts(one)
        if len(text) < 80 and text.strip(".*")
    }
    exact = {one for one in texts if ".*" not in one}
    patterns = [re.compile(one) for one in texts - exact if len(one) > 12]
    causes = [(kind, cause) for kind in KINDS for cause in kinds()[kind].short if cause]
    assert [
        (kind, cause) for kind, cause in causes
        if re.escape(cause) not in exact and not any(one.fullmatch(cause) for one in patterns)
    ] == []  # fmt: skip
