"""The whole loop: every call of every command fails, is killed, and is where the power goes.

Program: ``python tests/faults/every_call.py [SHARE [NAME ...]]``, or ``make fuzz``. With a SHARE
from 0 to 1, one call fails of that share of the places in the code that calls are made from, and
that share of the images of the disk and of the allocations is tried; 1 is every place. Without
names every command is tried.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from failing_loop import ERRORS, FURTHER, SCENARIOS, Loop, Loss, Scenario, fetching
from fetch_support import NODE, archive_bytes, serving
from forks import Forks

#: What the fetched archive unpacks to: several chunks of a download.
_ARCHIVE_BYTES = 700_000
#: Moments of power loss, and allocations, of each command.
_IMAGES, _ALLOCATIONS = 400, 40
_PARTS = ("calls", "power", "allocations")


def main(share: float | None = None, names: frozenset[str] = frozenset()) -> int:
    """Try every point; print a line a command and one for each loss; 1 when there is any."""
    folder = Path(tempfile.mkdtemp(prefix="tracekit-calls-"))
    archives = {NODE: archive_bytes(_ARCHIVE_BYTES)}
    with serving(archives) as mirror, ThreadPoolExecutor(2) as pool:
        known = (*SCENARIOS, *FURTHER, fetching(mirror.base_url))
        every = [scenario for scenario in known if not names or scenario.name in names]
        done = list(pool.map(lambda scenario: _through(scenario, folder, share), every))
    lost = sum(losses for each in done for _, losses in each.values())
    for part in _PARTS:
        points = sum(each[part][0] for each in done if part in each)
        losses = sum(each[part][1] for each in done if part in each)
        print(f"{part}: {points:,} points, {losses} losses")
    return 1 if lost else 0


def _through(scenario: Scenario, folder: Path, share: float | None) -> dict[str, tuple[int, int]]:
    """The points that were tried in each part, and how many losses there were."""
    started = time.monotonic()
    results: dict[str, tuple[int, int]] = {}
    with Forks(folder / f"{scenario.name}-said", faults=True) as forks:
        loop = Loop(scenario, folder / scenario.name, forks)
        points = loop.every_point(ERRORS) if share is None else loop.points(ERRORS, share=share)
        results["calls"] = _tried(loop.try_point(point) for point in points)
        if not scenario.side_by_side:
            part = 1.0 if share is None else share
            power = loop.power_points(max(round(part * _IMAGES), 2))
            results["power"] = _tried(loop.try_power(power))
            few = loop.allocation_points(max(round(part * _ALLOCATIONS), 2))
            results["allocations"] = _tried(loop.try_point(point) for point in few)
    rows = ", ".join(f"{tried} {part} ({lost} losses)" for part, (tried, lost) in results.items())
    seconds = time.monotonic() - started
    print(f"{scenario.name}: {loop.counted}; {rows}; {seconds:.0f} s", flush=True)
    return results


def _tried(outcomes: Iterator[Loss | None]) -> tuple[int, int]:
    tried = lost = 0
    for loss in outcomes:
        tried += 1
        if loss is not None:
            lost += 1
            print(f"  {loss}", flush=True)
    return tried, lost


if __name__ == "__main__":
    share = float(sys.argv[1]) if len(sys.argv) > 1 else None
    sys.exit(main(share, frozenset(sys.argv[2:])))
