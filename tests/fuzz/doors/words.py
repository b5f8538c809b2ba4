"""Texts that a user types: policies, assumptions, parameters, thresholds, names, sizes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from door import Case, Door
from forks import Done
from mutate import Rng, any_of, mutated_text
from tests_support import TraceFolder

_REPLAY = ("replay", "--workload", "paper000", "--out", "myrun")

#: A command line, and the words of it that are changed.
_LINES: tuple[tuple[tuple[str, ...], str], ...] = (
    ((*_REPLAY, "--policy"), "least_allocated[resources=cpu:1+memory:2]"),
    ((*_REPLAY, "--policy"), "requested_to_capacity_ratio[shape=0:0+100:10]"),
    ((*_REPLAY, "--policy"), "first_fit+load_spread[interval_ms=60000]"),
    ((*_REPLAY, "--policy"), "target_load_packing[target_utilization=0.4]"),
    ((*_REPLAY, "--policy", "first_fit", "--rebalance"), "low_node_utilization"),
    ((*_REPLAY, "--policy", "first_fit", "--assume"), "nodes=31"),
    ((*_REPLAY, "--policy", "first_fit", "--seed"), "7"),
    (("replay", "--policy", "first_fit", "--out", "myrun", "--workload"), "paper000"),
    (("replay", "store", "--policy", "first_fit", "--out", "myrun", "--assume"), "node_cpu_cores=96"),
    (("query", "store", "usage/node_profile", "-p"), "min_samples=20"),
    (("query", "store", "usage/node_series", "-p"), "node=abc"),
    (("query", "store"), "usage/zone_summary"),
    (("query", "store", "usage/zone_summary", "--format"), "csv"),
    (("compare", "base", "base", "--fail-if"), "imbalance_mean > 1.05 * base"),
    (("compare", "base", "base", "--fail-if"), "first_fit: cpu_max_fraction >= (0.9 + 0.1) / 2"),
    (("ingest", "traces", "store2", "--memory-limit"), "512MiB"),
    (("ingest", "traces", "store2", "--max-rejects"), "0.01"),
    (("list",), "policies"),
    (("list", "policies"), "least_allocated"),
    (("synth", "made", "--preset", "tiny", "--tables"), "node,resource"),
    (("fetch", "ctm21", "fetched", "--tables", "nothing", "--parts"), "0-3"),
)  # fmt: skip


class Words(Door):
    """One command line at a time."""

    share = 0.11

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """A store and a run to ask of."""
        TraceFolder.written(folder / "traces")
        return (
            ("ingest", "traces", "store", "--jobs", "1"),
            (*_REPLAY[:3], "--policy", "first_fit", "--out", "base"),
        )

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A whole command line, its last word changed."""
        shutil.copytree(start, folder, dirs_exist_ok=True)
        line, word = any_of(rng, _LINES)
        return Case(arguments=(*line, mutated_text(word, rng)))

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """A refused command leaves no result."""
        if done.code == 2 and any((folder / name).exists() for name in ("myrun", "store2")):
            return "refused, but a result was written"
        return None


DOOR = Words()
