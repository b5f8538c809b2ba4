"""The page on sources: who recorded what was replayed, or that nobody did."""

from __future__ import annotations

import polars as pl
import pytest

from tracekit.replay.measures import compared, measures_in
from tracekit.report.contents import quantities, sources, words
from tracekit.report.contents.assumed import rests_sentence
from tracekit.report.data import Data

ENTRY = {"release": "ctm21", "file": "Node_0.csv", "rows": 3, "table": "node_usage"}


def _texts(data: Data) -> str:
    return " ".join(cell.text for row in sources.releases(data).rows for cell in row)


def test_a_made_up_trace_is_not_called_a_published_one() -> None:
    recorded = Data(info={"sources": [ENTRY], "tables": {}})
    invented = Data(info={"sources": [ENTRY], "tables": {}, "made_up": True})
    assert "github" in _texts(recorded)
    assert not sources.made_up(recorded)
    assert "Made up by tracekit synth" in _texts(invented)
    assert "github" not in _texts(invented)
    assert "containers" not in _texts(invented)
    assert "tracekit synth" in sources.made_up(invented)


def test_a_workload_names_its_source_its_licence_and_its_files() -> None:
    run = {"workload": {"loader": "openb[departures=recorded]:../data/openb"}}
    shown = sources.workload(Data(run=run))
    assert shown is not None
    text = " ".join(cell.text for cell in shown.rows[0])
    for wanted in ("openb", "github.com/alibaba", "none stated", "openb_pod_list", "=recorded"):
        assert wanted in text
    assert sources.workload(Data(run={"workload": {"loader": ""}})) is None


def test_what_an_assumption_sets_aside_is_called_recorded() -> None:
    known = {
        "requests": "recorded",
        "arrivals": "recorded, but set aside by departures=none",
        "requests: gpu_milli": "recorded, but set aside by gpu=ignore",
        "use of containers": "assumed",
    }
    told = dict(quantities.rests(known, made_up=False))
    assert told["Recorded, but set aside by departures=none"] == "arrivals"
    assert told["Recorded, but set aside by gpu=ignore"] == "requests of GPU"
    assert told["Assumed"] == "use of containers"
    load = {"quantities": {**known, "prices": "recorded"}}
    short = quantities.grounds(load, made_up=False)
    assert short.replace("\u00a0", " ") == (
        "Recorded: 2 quantities. Assumed: use of containers. Recorded, but set aside by"
        " departures=none: arrivals. Recorded, but set aside by gpu=ignore: requests of GPU."
    )
    run = {"workload": {"quantities": known, "assumptions": {"gpu": "ignore"}}}
    said = rests_sentence(Data(run=run))
    assert "does not say arrivals" not in said
    assert "The trace says arrivals" in said


TIMES = {"time_min_ms": 0, "time_max_ms": 99 * 300_000, "step_ms": 300_000}
SPAN = {"start": "empty", "arrival_span_ms": 7_200_000}


@pytest.mark.parametrize(
    ("known", "given", "said"),
    [
        pytest.param({}, SPAN, "", id="nothing is said, as in a run of an earlier version"),
        pytest.param(
            {"requests": "recorded", "limits": "absent"},
            SPAN,
            "Recorded: 1 quantity. Assumed: arrival over 2 h of what was there at the beginning.",
            id="who was there comes over a span",
        ),
        pytest.param(
            {"requests": "assumed", "arrivals": "assumed"},
            SPAN,
            "Assumed: requests and arrivals.",
            id="nothing is recorded, so that no 0 is told",
        ),
        pytest.param(
            {"requests": "recorded"},
            {**SPAN, "start": "observed"},
            "Recorded: 1 quantity.",
            id="who was there stays",
        ),
    ],
)
def test_what_an_answer_rests_on_is_told_in_short(
    known: dict[str, str], given: dict[str, object], said: str
) -> None:
    load = {"quantities": known, "assumptions": given, **TIMES}
    assert quantities.grounds(load, made_up=False).replace("\u00a0", " ") == said
    shown = quantities.of_replay(Data(run={"workload": load}))
    assert (shown is not None) == bool(said)
    assert ("arrival over 2 h" in str(shown)) == ("arrival over 2 h" in said)


def test_the_glossary_has_every_measure_of_every_resource_of_the_run() -> None:
    columns = ["disk_max_fraction", "disk_stranded_share", "network_std_mean_fraction"]
    columns += ["network_max_fraction", *compared()]
    data = Data(run_frames={"summary": pl.DataFrame({name: [0.1] for name in columns})})
    rows = words.measures(data).rows
    named = {cell.text for row in rows for cell in row}
    assert {one.title for one in measures_in(columns).values()} <= named
