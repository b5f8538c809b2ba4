"""The list of reasons for which CI may skip a test is read as it is meant."""

from __future__ import annotations

from pathlib import Path

import pytest
from skips import allowed, unexpected

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
    text = (Path(__file__).parents[1] / ".ci" / "skips.txt").read_text(encoding="utf-8")
    always, without = (allowed(text, shared=shared) for shared in (True, False))
    assert always
    assert set(always) < set(without)


def test_what_no_start_allows_is_counted() -> None:
    found = unexpected(["no engine here", "real rows of x", "why", "why"], ("no engine",))
    assert found == {"real rows of x": 1, "why": 2}
