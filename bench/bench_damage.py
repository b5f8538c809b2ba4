"""How many of the true calls are found in damaged records, and by which way: the table.

``python bench/bench_damage.py`` prints it, with the means of some seeds of the damage.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests/support"))

from callgraph_support import rows_of
from damaged_calls import DAMAGES, TrueCall, by_majority, made_up
from damaged_paths import FURTHER

from tracekit.analysis.callgraph.graph import Graph, rebuild
from tracekit.analysis.callgraph.run import calls_frame

Found = dict[int, set[TrueCall]]
#: Recall and precision.
Share = tuple[float, float]
ROWS = DAMAGES | FURTHER
SEEDS = (21, 4242, 7)
TRACES = made_up(np.random.Generator(np.random.PCG64(20)), 1500)
TRUTH: Found = {number: set(trace.calls) for number, trace in TRACES.items()}


def told(graph: Graph) -> Found:
    """The calls of which both names are known; that of an entry's caller is not asked for."""
    found: Found = defaultdict(set)
    names = ("trace_key", "rpc_id", "upstream_key", "downstream_key")
    for trace, *call in calls_frame(graph).select(names).rows():
        path, caller, callee = call
        if callee is not None and (caller is not None or path == "0"):
            found[trace].add(TrueCall(path, caller, callee))
    return found


def recall_and_precision(found: Found) -> Share:
    right = sum(len(calls & found.get(trace, set())) for trace, calls in TRUTH.items())
    return right / sum(map(len, TRUTH.values())), right / sum(map(len, found.values()))


def measured(name: str, seed: int) -> dict[str, Share]:
    """How good each way is on records that are damaged."""
    rng = np.random.Generator(np.random.PCG64(seed))
    records = {number: ROWS[name](rng, trace.records) for number, trace in TRACES.items()}
    rows = rows_of(records)
    majority = {number: by_majority(damaged) for number, damaged in records.items()}
    found = {
        "naive": told(rebuild(rows, mode="naive")),
        "repair": told(rebuild(rows)),
        "majority": majority,
    }
    return {way: recall_and_precision(calls) for way, calls in found.items()}


def main() -> None:
    ways = ("naive", "repair", "majority")
    sys.stdout.write(f"{'damage':<28}" + "".join(f"{way:<19}" for way in ways).rstrip() + "\n")
    for name in ROWS:
        shares = [measured(name, seed) for seed in SEEDS]
        means = [np.mean([share[way] for share in shares], axis=0) for way in ways]
        row = "    ".join(f"{recall:.4f} / {precision:.4f}" for recall, precision in means)
        sys.stdout.write(f"{name:<28}{row}\n")


if __name__ == "__main__":
    main()
