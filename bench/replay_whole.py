"""Whole replays at the trace's own size: what they cost, and how much of that is no decision."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from replay_load import Size, make_load

from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.samples import Samples
from tracekit.replay.fast.choose import fast_placer

#: A policy that reads requests alone, and one that reads measured usage.
POLICIES = ("least_allocated", "target_load_packing")
STEPS = 1_440

HEADER = (
    f"\n{'':<52} {'whole':>9} {'decisions':>10} {'sampling':>9} {'a step':>9} {'peak':>8}\n"
    f"{'whole replay, steps, containers, nodes':<52} {'s':>9} {'s':>10} {'s':>9} {'us':>9}"
    f" {'GiB':>8}"
)


class _Timed:
    """Adds up the CPU seconds of some methods of one object."""

    def __init__(self, samples: Samples) -> None:
        self.spent_s = 0.0
        for name in ("note", "take", "count", "frame"):
            setattr(samples, name, self._timed(getattr(samples, name)))

    def _timed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            began = time.thread_time()
            try:
                return method(*arguments)
            finally:
                self.spent_s += time.thread_time() - began

        return call


def whole_rows(size: Size, *, only: str = "", steps: int = STEPS) -> Iterator[str]:
    """One line per policy; CPU seconds of the thread, compiled code was called before."""
    wanted = [text for text in POLICIES if any(part in text for part in only.split("|"))]
    if not wanted:
        return
    load = make_load(replace(size, steps=steps), np.random.default_rng(0))
    warm = make_load(replace(size, containers=600, nodes=100, steps=8), np.random.default_rng(0))
    for text in wanted:
        Engine(warm, parse_policy(text), np.random.default_rng(0), placer=fast_placer).run()
        began = time.thread_time()
        engine = Engine(load, parse_policy(text), np.random.default_rng(0), placer=fast_placer,
                        clock=time.thread_time)  # fmt: skip
        timed = _Timed(engine.state.samples)
        outcome = engine.run()
        whole = time.thread_time() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        name = f"{text}, {steps:,}, {load.containers.count:,}, {load.nodes.count:,}"
        yield (
            f"{name:<52} {whole:>9.2f} {sum(outcome.latencies_s):>10.2f} {timed.spent_s:>9.2f}"
            f" {timed.spent_s / steps * 1e6:>9.0f} {peak:>8.2f}"
        )
