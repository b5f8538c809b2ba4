"""JSON that breaks off, and JSON that is wrong, are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_support import opened

from tracekit.base.errors import TracekitError
from tracekit.intake.sources.own._json_items import Item, items
from tracekit.store.unreadable import TOO_LARGE

LIST = r'{"items": [{"a": true, "b": -1.5e3}, {"c": "x\u00e9\n", "d": null}]}'


def _said(folder: Path, text: str) -> str:
    path = folder / "some.json"
    path.write_text(text)
    with pytest.raises(TracekitError) as raised:
        list(items(opened(path)))
    return raised.value.what


def test_wherever_it_breaks_off_it_is_cut_off(tmp_path: Path) -> None:
    for end in range(1, len(LIST) - 1):
        assert "is cut off: the file ends before the" in _said(tmp_path, LIST[:end]), LIST[:end]


@pytest.mark.parametrize(
    ("wrong", "place"),
    [
        (LIST.replace('"d": null', '"d" null'), "'null}]}'"),
        (LIST.replace("null", "nul"), "'nul}]}'"),
        (LIST.replace("null", "null,"), "'}]}'"),
    ],
)
def test_what_is_wrong_near_the_end_is_not_cut_off(tmp_path: Path, wrong: str, place: str) -> None:
    said = _said(tmp_path, wrong)
    assert "object 2 is no JSON: Expecting" in said
    assert f"before {place}" in said


def test_no_object_is_so_long_that_memory_runs_out(tmp_path: Path) -> None:
    assert TOO_LARGE in _said(tmp_path, '{"items": [{"a": "' + "x" * (18 << 20) + '"}]}')


def test_half_of_a_character_loses_no_more_than_itself(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text(r'{"items": [{"a\ud800": "p\udfff"}, {"b": "\ud83d\ude00"}]}')
    found = [item.value for item in items(opened(path)) if isinstance(item, Item)]
    assert found == [{"a?": "p?"}, {"b": "\U0001f600"}]
