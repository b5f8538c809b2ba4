"""Use over requests, and requests by a command."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from replay_support import STEP_MS, changed, workload

from tracekit.cluster.gangs import in_order_of
from tracekit.cluster.request_table import request_changes, use_over_requested
from tracekit.cluster.workload import Workload
from tracekit.commands.shell import run
from tracekit.intake.ingest import ingest
from tracekit.synth import write


def random_load(seed: int) -> Workload:
    """Twelve containers that come and go; of some nothing is recorded or requested."""
    rng = np.random.default_rng(seed)
    rows = [
        (int(came), int(came + lives), int(cpu), int(memory))
        for came, lives, cpu, memory in zip(
            rng.integers(0, 4, 12) * STEP_MS,
            rng.integers(1, 6, 12) * STEP_MS,
            rng.integers(0, 3, 12) * 500,
            rng.integers(0, 3, 12) * 700,
            strict=True,
        )
    ]
    load = workload([(9000, 9000)], rows, steps=6)
    usage = np.where(np.isnan(load.use.values), np.nan, rng.uniform(0, 900, load.use.values.shape))
    return changed(
        load,
        use={
            "values": usage.astype(np.float32),
            "recorded": rng.random((2, 12)) < 0.8,
            "settled_ms": STEP_MS,
        },
    )


def plain(load: Workload, resource: int) -> float | None:
    """Sample by sample."""
    assert load.use.recorded is not None
    used = requested = 0.0
    for step, now in enumerate(load.use.times_ms.tolist()):
        if now < load.use.settled_ms:
            continue
        for at in range(load.containers.count):
            column = at if load.use.column is None else int(load.use.column[at])
            present = load.containers.arrival_ms[at] <= now < load.containers.departure_ms[at]
            value = float(load.use.values[resource, step, column])
            if present and load.use.recorded[resource, column] and not math.isnan(value):
                used += value
                requested += float(load.containers.request[at, resource])
    return used / requested if requested else None


@pytest.mark.parametrize("seed", range(12))
def test_it_equals_plain_loops_in_any_order_of_arrival(seed: int) -> None:
    load = random_load(seed)
    result = use_over_requested(load)
    both = {"cpu": plain(load, 0), "memory": plain(load, 1)}
    assert result == pytest.approx({name: one for name, one in both.items() if one is not None})
    drawn = np.random.default_rng(seed).permutation(load.containers.count)
    order = drawn[np.argsort(load.containers.arrival_ms[drawn], kind="stable")]
    again = in_order_of(load, order, load.containers.arrival_ms)
    assert use_over_requested(again) == pytest.approx(dict(result))


@pytest.mark.parametrize(
    ("quantities", "names"),
    [
        ({}, True),
        ({"requests": "recorded", "use of containers": "recorded"}, True),
        ({"requests": "chosen", "requests: cpu_milli": "chosen"}, True),
        ({"requests": "assumed"}, False),
        ({"requests": "absent"}, False),
        ({"requests": "inferred"}, False),
        ({"use of containers": "assumed"}, False),
        ({"use of containers": "absent"}, False),
        ({"use of containers": "recorded", "use of containers: cpu": "absent"}, False),
    ],
)
def test_there_is_none_where_use_or_requests_are_no_record(
    quantities: dict[str, str], names: bool
) -> None:
    load = workload([(9, 9)], [(0, 9000, 4, 4)])
    result = use_over_requested(changed(load, provenance={"quantities": quantities}))
    assert result.get("cpu") == (0.5 if names else None)


def test_who_restarts_runs_at_the_end_and_is_counted_whatever_the_order() -> None:
    ends = (9000, 9000, 9000, 9000, 2000)
    load = workload([(9, 9)], [(0, end, 1 + at, 1) for at, end in enumerate(ends)])
    other = in_order_of(load, np.array([4, 2, 0, 3]), load.containers.arrival_ms)
    request = other.containers.request.copy()
    request[1, 0] += 1
    request[3, 1] += 1
    # it ended before
    request[0, 0] += 1
    after = changed(other, containers={"request": request})
    assert request_changes(load, after).tolist() == [False, False, True, True, False]
    assert not request_changes(load, other).any()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("requests_command")
    write(folder / "trace", preset="tiny", seed=3, tables=["node", "resource", "size"])
    ingest(folder / "trace", folder / "store")
    return folder / "store"


def test_a_run_says_what_requests_rest_on(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file beside the caller is found, and named without its folder."""
    monkeypatch.chdir(tmp_path)
    Path("mine.csv").write_text(
        "service,cpu_cores\n" + "".join(f"{name},2\n" for name in _services(store)),
        encoding="utf-8",
    )
    call = ["replay", str(store), "--policy", "best_fit", "--repeat", "1", "--out"]
    assert run([*call, "file", "--assume", "requests=mine.csv"]) == 0
    assert run([*call, "plain"]) == 0

    facts, plain = (
        json.loads(Path(name, "manifest.json").read_text())["workload"]
        for name in ("file", "plain")
    )
    assert facts["assumptions"]["requests"] == "mine.csv"
    assert facts["quantities"]["requests: cpu_milli"] == "chosen"
    assert facts["quantities"]["requests: memory_bytes"] == "recorded"
    assert plain["assumptions"]["requests"] == "auto"
    assert plain["quantities"]["requests"] == "recorded"
    assert plain["quantities"]["node sizes"] == "recorded"


def _services(store: Path) -> list[str]:
    from tracekit import query  # noqa: PLC0415 - the verb hides the package

    result = query(store, "services/profile")
    return [str(name) for name in result["service"]]
