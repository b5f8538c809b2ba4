"""Which containers a policy that places several at once is asked about together."""

from __future__ import annotations

from typing import Any

import numpy as np
from tbesk_support import small

from tracekit.policy.parse import parse_policy
from tracekit.policy.placement._parts.batch import Batch
from tracekit.policy.view.snapshot import Snapshot
from tracekit.replay.engine.engine import Engine


def test_batches_end_with_the_sampling_step_and_hold_no_more_than_asked() -> None:
    load = small("arrival_span_ms=60000", "step_ms=10000")
    policy: Any = parse_policy("tbesk[batch_size=7,iterations=1]")
    sizes: list[tuple[int, int]] = []
    plain = type(policy).select

    def select(self: Any, seen: Snapshot, batch: Batch, rng: np.random.Generator) -> Any:
        sizes.append((seen.time_ms, len(batch.containers)))
        return plain(self, seen, batch, rng)

    watched = type("Watched", (type(policy),), {"select": select})
    outcome = Engine(load, watched(batch_size=7, iterations=1), np.random.default_rng(0)).run()
    assert sum(size for _, size in sizes) == load.containers
    assert max(size for _, size in sizes) == 7
    assert len(outcome.latencies_s) == load.containers
    for index, placed in enumerate(outcome.time_ms.tolist()):
        arrival = int(load.arrival_ms[index])
        assert arrival <= placed
        assert (placed - 1) // load.step_ms <= arrival // load.step_ms
