"""The whole loop: every call of every command fails once with each error, and is killed once.

Program: ``python tests/faults/every_call.py [SHARE [NAME ...]]``, or ``make fuzz``. With a SHARE
from 0 to 1, one call fails of that share of the places in the code that calls are made from; 1 is
every place. Without names every command is tried.
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from failing_loop import ERRORS, FURTHER, SCENARIOS, Loop, Loss, Scenario, fetching
from fetch_support import NODE, archive_bytes, serving
from forks import Forks

#: What the fetched archive unpacks to: several chunks of a download.
_ARCHIVE_BYTES = 700_000


def main(share: float | None = None, names: frozenset[str] = frozenset()) -> int:
    """Try every point; print a line a command and one for each loss; 1 when there is any."""
    folder = Path(tempfile.mkdtemp(prefix="tracekit-calls-"))
    archives = {NODE: archive_bytes(_ARCHIVE_BYTES)}
    with serving(archives) as mirror, ThreadPoolExecutor(2) as pool:
        known = (*SCENARIOS, *FURTHER, fetching(mirror.base_url))
        every = [scenario for scenario in known if not names or scenario.name in names]
        done = list(pool.map(lambda scenario: _through(scenario, folder, share), every))
    losses = [loss for _, found in done for loss in found]
    points = sum(tried for tried, _ in done)
    print(f"{points:,} points, {len(losses)} losses")
    return 1 if losses else 0


def _through(scenario: Scenario, folder: Path, share: float | None) -> tuple[int, list[Loss]]:
    started, found, tried = time.monotonic(), [], 0
    with Forks(folder / f"{scenario.name}-said", faults=True) as forks:
        loop = Loop(scenario, folder / scenario.name, forks)
        points = loop.every_point(ERRORS) if share is None else loop.points(ERRORS, share=share)
        for point in points:
            tried += 1
            if loss := loop.try_point(point):
                print(f"  {loss}", flush=True)
                found.append(loss)
    print(
        f"{scenario.name}: {loop.counted}, {tried} points,"
        f" {len(found)} losses, {time.monotonic() - started:.0f} s",
        flush=True,
    )
    return tried, found


if __name__ == "__main__":
    share = float(sys.argv[1]) if len(sys.argv) > 1 else None
    sys.exit(main(share, frozenset(sys.argv[2:])))
