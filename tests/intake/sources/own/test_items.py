"""Long and broken JSON, spans that are set down on disk, and real traces of SimKube."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from series_support import opened, read
from tests_support import shared_data

from tracekit.base.errors import TracekitError
from tracekit.intake.sources.own import _json_items, _spans
from tracekit.intake.sources.own._json_items import Item, items

OWN = Path(__file__).parent
LIST = r'{"items": [{"a": true, "b": -1.5e3}, {"c": "x\u00e9\n", "d": null}]}'


def test_whatever_is_no_whole_json_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    cut = [LIST[:end] for end in range(1, len(LIST) - 1)]
    wrong = [LIST.replace("null", "nul"), LIST.replace("null", "null,"), LIST.replace('d":', 'd"')]
    for text in (*cut, *wrong, '{"items": [{"a": "' + "x" * (18 << 20) + '"}]}'):
        path.write_text(text)
        with pytest.raises(TracekitError):
            list(items(opened(path)))


def test_half_of_a_character_loses_no_more_than_itself(tmp_path: Path) -> None:
    path = tmp_path / "some.json"
    path.write_text(r'{"items": [{"a\ud800": "p\udfff"}, {"b": "\ud83d\ude00"}]}')
    results = [item.value for item in items(opened(path)) if isinstance(item, Item)]
    assert results == [{"a?": "p?"}, {"b": "\U0001f600"}]


def test_documents_are_read_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [*OWN.glob("jaeger/form_*/traces.json")]
    whole = [read("jaeger", path).tables["call"] for path in paths]
    monkeypatch.setattr(_json_items, "_CHUNK_CHARS", 100)
    for path, rows in zip(paths, whole, strict=True):
        assert read("jaeger", path).tables["call"].equals(rows)


def test_many_spans_are_set_down_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    path = OWN / "otlp" / "places" / "spans.json"
    order = ("trace", "rpc_id", "line")
    whole = read("otlp", path).tables["call"].sort(order)
    monkeypatch.setattr(_spans, "_HELD_SPANS", 3)
    assert read("otlp", path).tables["call"].sort(order).equals(whole)


def test_a_line_of_many_brackets_is_a_reject(tmp_path: Path) -> None:
    path = tmp_path / "spans.json"
    path.write_text(json.dumps({"resourceSpans": []}) + '\n{"resourceSpans":' + "[" * 100_000)
    assert [one.line for one in read("otlp", path).broken] == [2]


def test_the_real_traces_of_simkube() -> None:
    folder = shared_data("simkube")
    result = read("simkube", folder / "dsb-scaling.sktrace")
    assert result.broken == []
    pods = result.tables["container"]
    assert pods["service"].n_unique() == 27
    assert set(pods.filter(pods["time_ms"] == pods["time_ms"].min())["service"]) == set(
        pods["service"]
    )
    assert result.tables["container_resource"]["container"].n_unique() == pods.height
    result = read("simkube", folder / "cronjob.sktrace")
    assert result.broken == []
    assert result.rows("container", "service", "time_ms", "departure_ms") == [
        ("default/hello-simkube", 1_743_286_861_000 + at, 1_743_286_891_000 + at)
        for at in (0, 60_000, 120_000)
    ]
    assert read("simkube", folder / "trace.json").tables["container"].height == 2
