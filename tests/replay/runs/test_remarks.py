"""What a reader must know of a replayed workload: assumed use, and peaks that are not judged."""

from __future__ import annotations

import numpy as np
import pytest
from replay_support import STEP_MS, changed, workload
from tests_support import causes

from tracekit.cluster.workload import Workload
from tracekit.replay.runs.remarks import peaks, unjudged, use_assumed

HALF = 4
CPU, MEMORY = 0, 1
BOTH, ONLY_CPU, ONLY_MEMORY = (
    f"containers_with_request_as_{what}use" for what in ("", "cpu_", "memory_")
)


@pytest.mark.parametrize(
    ("counts", "containers", "quantities", "expected"),
    [
        ({}, 10, {}, []),
        ({}, 0, {}, []),
        ({BOTH: 3, ONLY_MEMORY: 7}, 10, {}, [("some", 3), ("some_memory", 7)]),
        ({ONLY_CPU: 5, ONLY_MEMORY: 0}, 10, {}, [("some_cpu", 5)]),
        ({BOTH: 1}, 101, {}, []),
        ({BOTH: 1}, 11, {}, [("some", 1)]),
        ({}, 3, {"use of containers": "recorded"}, []),
        ({}, 3, {"use of containers": "assumed"}, [("", None)]),
        (
            {BOTH: 3},
            3,
            {"use of containers": "assumed", "use of nodes": "recorded"},
            [("nodes_recorded", None)],
        ),
    ],
)
def test_requests_that_count_as_use_are_facts(
    counts: dict[str, int],
    containers: int,
    quantities: dict[str, str],
    expected: list[tuple[str, int | None]],
) -> None:
    """A source whose use is assumed need not count containers, and few hardly move a measure."""
    result = use_assumed(counts, containers, quantities)
    assert [(one.because, one.value) for one in result] == expected


def load(early: float, late: float, **provenance: object) -> Workload:
    """Two containers that production ran on two nodes of 100, half of the time unjudged."""
    made = workload([(100, 100)] * 2, [(0, 9000, 10, 10, 0), (2500, 9000, 10, 10, 1)], steps=8)
    usage = np.full((2, 8, 2), 20, dtype=np.float32)
    usage[CPU, :HALF, 1], usage[CPU, HALF:, 1] = early, late
    return changed(
        made,
        use={"values": usage, "settled_ms": HALF * STEP_MS},
        containers={"exchangeable": np.ones(2, bool)},
        provenance={"assumptions": {"arrival_span_ms": 7200}, **provenance},
    )


def test_a_higher_peak_is_a_fact_with_what_judges_it() -> None:
    made = load(97, 58)
    usage = made.use.values.copy()
    usage[MEMORY, 1, 0] = 90
    names = list(unjudged(changed(made, use={"values": usage})))
    assert causes(names) == ["early_peak"] * 2
    assert [one.value for one in names] == pytest.approx([0.97, 0.9])
    assert [one.against for one in names] == pytest.approx([0.58, 0.2])
    about = {"resource": "CPU", "first_ms": 4 * STEP_MS, "assumption": "arrival_span_ms"}
    assert dict(names[0].about) == about
    (plain,) = unjudged(load(97, 58, assumptions={}))
    assert plain.about["assumption"] is None


@pytest.mark.parametrize(
    ("early", "late", "other"),
    [
        (58, 58, {}),
        (58.4, 58, {}),
        (50, 97, {}),
        (97, 58, {"use": {"settled_ms": 0}}),
        (97, 58, {"containers": {"recorded_node": np.full(2, -1)}}),
    ],
)
def test_no_fact_where_later_peaks_are_as_high_or_production_is_unknown(
    early: float, late: float, other: dict[str, dict[str, object]]
) -> None:
    assert not list(unjudged(changed(load(early, late), **other)))


def test_who_came_at_a_recorded_time_counts_from_then_on() -> None:
    recorded = changed(load(97, 58), containers={"exchangeable": np.zeros(2, bool)})
    assert peaks(recorded, np.arange(2))[CPU] == pytest.approx(0.2)
    assert peaks(recorded, np.arange(HALF))[CPU] == pytest.approx(0.97)
    assert peaks(load(97, 58), np.arange(2))[CPU] == pytest.approx(0.97)
