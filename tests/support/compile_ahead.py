"""Compile the fast engine of every policy once, before tests begin in several processes.

They would begin with the same: each of them would compile all of it. It needs tracekit alone, so it
can go on while the packages of the tests are being installed.
"""

from __future__ import annotations

import numpy as np
from replay_support import Row, workload

from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import all_policies
from tracekit.replay.engine.engine import Engine
from tracekit.replay.fast.choose import fast_placer

#: Nodes for more than one leaf of the index, so that it is searched, and containers to search it.
NODES, CONTAINERS, STEPS = 80, 120, 6


def main() -> None:
    """Replay one small workload under each policy, compiled."""
    rng = np.random.default_rng(1)
    rows: list[Row] = [
        (900 * (at // 12), 9000, *rng.integers(1, 400, 2).tolist(), 0) for at in range(CONTAINERS)
    ]
    load = workload([(1000, 900), (800, 1000)] * (NODES // 2), rows, steps=STEPS)
    for name in sorted(all_policies()):
        Engine(load, parse_policy(name), np.random.default_rng(2), placer=fast_placer).run()


if __name__ == "__main__":
    main()
