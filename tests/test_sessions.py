"""Which files share a process, and for which reasons CI may skip a test."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from sessions import IN_COMPANY, allowed, scope, unexpected

ROOT = Path(__file__).parents[1]
_LIST = """# Reasons. Those below "without shared:" count only without it.
no engine

without shared:
real rows of
"""


@pytest.mark.parametrize(
    ("shared", "starts"),
    [(True, ("no engine",)), (False, ("no engine", "real rows of"))],
)
def test_comments_allow_nothing(shared: bool, starts: tuple[str, ...]) -> None:
    assert allowed(_LIST, shared=shared) == starts


def test_the_list_of_ci_has_both_parts() -> None:
    text = (ROOT / ".ci" / "skips.txt").read_text(encoding="utf-8")
    always, without = (allowed(text, shared=shared) for shared in (True, False))
    assert always
    assert set(always) < set(without)


def test_what_no_start_allows_is_counted() -> None:
    result = unexpected(["no engine here", "real rows of x", "why", "why"], ("no engine",))
    assert result == {"real rows of x": 1, "why": 2}


def test_each_group_has_files_and_every_other_file_is_its_own() -> None:
    paths = [path.relative_to(ROOT).as_posix() for path in ROOT.glob("tests/**/test_*.py")]
    files = Counter(map(scope, paths))
    groups = {one for one, many in files.items() if many > 1}
    assert groups == set(IN_COMPANY)
    assert files.keys() - groups <= set(paths)
