from __future__ import annotations

from tracekit.intake.sources import get_source

#: Archives of the release by its fetchData.sh, and the hours each table covers.
RELEASED = {"node": 1, "resource": 12, "rate": 25, "call": 145}


def test_the_release_has_183_archives() -> None:
    archives = {fmt.word: fmt.archives for fmt in get_source("ctm21").formats}
    assert {word: a.parts for word, a in archives.items() if a is not None} == RELEASED
