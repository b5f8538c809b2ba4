"""A shadow: a record of the policies' choices, beside production's choices.

A record is a folder of files, one an hour, with a line of JSON for each decision and policy.
``tracekit ingest`` takes it.
"""

import asyncio
import json
from collections import Counter, OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, ClassVar

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.live.extender import Decided
from tracekit.live.objects import LivePod
from tracekit.live.state import State
from tracekit.policy.kubernetes.scorers import host_scores
from tracekit.policy.placement import PlacementPolicy, Reads
from tracekit.policy.placement._parts.load import fraction_after

#: The policy of rows with the choice of the cluster's own scheduler.
PRODUCTION = "production"
#: The most decisions that wait for their pod to be bound; older ones are given up.
_WAITING = 512


@dataclass(frozen=True)
class _Newest:
    """A reader of the newest sample."""

    reads: ClassVar[frozenset[Reads]] = frozenset({"usage"})

    def metric_time_ms(self, now_ms: int) -> int:
        return now_ms

    def metric_samples(self) -> int:
        return 1


@dataclass(kw_only=True)
class _Waiting:
    """A decision whose pod has no node yet, with the policies' choices.

    ``fractions`` is the use of each candidate after the decision, (candidates, 2).
    """

    decided: Decided
    choices: dict[str, int]
    fractions: FloatArray


@dataclass(kw_only=True)
class Shadow:
    """A recorder, into ``folder``, of the nodes that policies and the cluster's scheduler choose.

    Attributes
    ----------
    counts : counter of (policy, 'true' or 'false')
        Decisions by policy, and whether production chose the same node.
    """

    folder: Path
    state: State
    policy: PlacementPolicy
    others: Sequence[PlacementPolicy] = ()
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    _waiting: OrderedDict[str, _Waiting] = field(default_factory=OrderedDict)
    _file: IO[str] | None = None

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.state.on_bound = self._bound

    def note(self, decided: Decided) -> None:
        """Keep the choice of each policy for a pod, until kube-scheduler has bound the pod."""
        pod, positions = decided.pod, decided.positions
        in_cache = np.flatnonzero(positions >= 0)
        if not len(in_cache):
            return
        at, container = positions[in_cache], self.state.container(pod)
        choices = {str(self.policy): int(in_cache[np.argmax(decided.hundred[in_cache])])}
        for policy in self.others:
            snapshot = self.state.snapshot(policy, decided.time_ms)
            hundred, _ = host_scores(policy, snapshot, container, at)
            choices[str(policy)] = int(in_cache[np.argmax(hundred)])
        snapshot = self.state.snapshot(_Newest(), decided.time_ms)
        fractions = np.full((len(positions), 2), np.nan)
        for column in range(2):
            fractions[in_cache, column] = fraction_after(snapshot, column, container)[at]
        self._waiting.pop(pod.uid, None)
        self._waiting[pod.uid] = _Waiting(decided=decided, choices=choices, fractions=fractions)
        while len(self._waiting) > _WAITING:
            self._write(self._waiting.popitem(last=False)[1], None)

    def _bound(self, pod: LivePod) -> None:
        """Write the decision on a pod that has got its node."""
        waiting = self._waiting.pop(pod.uid, None)
        if waiting is not None:
            self._write(waiting, pod.node)

    def _write(self, waiting: _Waiting, node: str | None) -> None:
        decided = waiting.decided
        places = {decided.name(at): at for at in range(len(decided.positions))}
        rows = dict(waiting.choices)
        if node in places:
            rows = {PRODUCTION: places[node], **rows}
        out = self._open(decided.time_ms)
        for policy, at in rows.items():
            cpu, memory = waiting.fractions[at].tolist()
            line: dict[str, Any] = {
                "shadow": 1,
                "time_ms": decided.time_ms,
                "pod": decided.pod.name,
                "uid": decided.pod.uid,
                "service": decided.pod.service,
                "policy": policy,
                "node": decided.name(at),
                "candidates": len(places),
                "cpu_fraction": round(cpu, 6),
                "memory_fraction": round(memory, 6),
            }
            out.write(json.dumps(line) + "\n")
        if node is not None:
            for policy, at in waiting.choices.items():
                self.counts[policy, str(decided.name(at) == node).lower()] += 1

    def _open(self, time_ms: int) -> IO[str]:
        """The file of the hour, open for appending."""
        hour = datetime.fromtimestamp(time_ms / 1000, UTC)
        path = self.folder / f"shadow-{hour:%Y-%m-%dT%H}.jsonl"
        if self._file is None or self._file.name != str(path):
            if self._file is not None:
                self._file.close()
            self._file = path.open("a", encoding="utf-8")
        return self._file

    async def run(self) -> None:
        """Flush the file every second, until cancelled."""
        while True:
            await asyncio.sleep(1.0)
            if self._file is not None:
                self._file.flush()

    def close(self) -> None:
        """Write the decisions on pods without a node, and close the file."""
        while self._waiting:
            self._write(self._waiting.popitem(last=False)[1], None)
        if self._file is not None:
            self._file.close()
            self._file = None
