"""The whole loop: every call of every command fails once with each error, and is killed once.

Program: ``python tests/faults/every_call.py [SHARE]``, or ``make fuzz``.
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from failing_loop import ERRORS, FURTHER, SCENARIOS, Loop, Loss, Scenario
from forks import Forks

#: An open for reading fails alike wherever it is: of these, one in so many is tried.
_READS = 0.05


def main(share: float = 1.0) -> int:
    """Try every point; print a line a command and one for each loss; 1 when there is any."""
    folder = Path(tempfile.mkdtemp(prefix="tracekit-calls-"))
    with ThreadPoolExecutor(2) as pool:
        every = (*SCENARIOS, *FURTHER)
        done = list(pool.map(lambda scenario: _through(scenario, folder, share), every))
    losses = [loss for _, found in done for loss in found]
    points = sum(tried for tried, _ in done)
    print(f"{points:,} points, {len(losses)} losses")
    return 1 if losses else 0


def _through(scenario: Scenario, folder: Path, share: float) -> tuple[int, list[Loss]]:
    started, found, tried = time.monotonic(), [], 0
    with Forks(folder / f"{scenario.name}-said", faults=True) as forks:
        loop = Loop(scenario, folder / scenario.name, forks)
        for point in loop.points(ERRORS, of_calls=share, of_reads=_READS * share):
            tried += 1
            if loss := loop.try_point(point):
                print(f"  {loss}", flush=True)
                found.append(loss)
    print(
        f"{scenario.name}: {loop.calls} calls and {loop.reads} opens for reading, {tried} points,"
        f" {len(found)} losses, {time.monotonic() - started:.0f} s",
        flush=True,
    )
    return tried, found


if __name__ == "__main__":
    sys.exit(main(*(float(argument) for argument in sys.argv[1:2])))
