"""Which counter a series counts, and which replica of Prometheus saw it.

Two Prometheus that watch the same tell themselves apart by a label. Their series are one counter.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

_LABELS = ("prometheus_replica", "__replica__", "replica")
_COUNTER_BYTES = 8


class Number(NamedTuple):
    """Of a counter, the same in every file, and the replica that saw it, empty for none."""

    counter: int
    replica: str

    @property
    def text(self) -> str:
        """The counter as the table of ends has it."""
        return f"{self.counter:0{2 * _COUNTER_BYTES}x}"


def number_of(name: str, labels: Mapping[str, str]) -> Number:
    """The number of a series of this name."""
    told = json.dumps([name, sorted(apart_from_replica(labels))]).encode()
    counter = int.from_bytes(blake2b(told, digest_size=_COUNTER_BYTES).digest())
    return Number(counter, next((labels[one] for one in _LABELS if labels.get(one)), ""))


def apart_from_replica(labels: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """The labels that say what a series is, and not who saw it."""
    return (one for one in labels.items() if one[0] not in _LABELS)
