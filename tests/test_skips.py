"""What CI may skip: reasons of a list, and no other."""

from __future__ import annotations

from skips import allowed, unexpected

LIST = "# why\nno compiler\n\nwithout shared:\nreal rows of\n"


def test_reasons_that_are_on_the_list() -> None:
    reasons = ["no compiler, or not Linux", "real rows of ctm21 are not at hand", "no browser"]
    with_shared = unexpected(reasons, allowed(LIST, shared=True))
    assert dict(with_shared) == {"real rows of ctm21 are not at hand": 1, "no browser": 1}
    assert dict(unexpected(reasons, allowed(LIST, shared=False))) == {"no browser": 1}


def test_an_empty_list_allows_nothing() -> None:
    assert dict(unexpected(["no browser"] * 2, allowed("", shared=True))) == {"no browser": 2}
