"""JSON that breaks off, and JSON that is wrong, are told apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from reading_support import opened

from tracekit.errors import TracekitError
from tracekit.sources.own._json_items import items

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
