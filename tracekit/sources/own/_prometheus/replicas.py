"""Which counter a series counts, and which replica of Prometheus saw it.

Two Prometheus that watch the same tell themselves apart by a label. Their series are one counter.
"""

import json
from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

_LABELS = ("prometheus_replica", "__replica__", "replica")
_COUNTER_BYTES, _REPLICA_BYTES = 8, 4


class Number(NamedTuple):
    """Of a counter, and of the replica that saw it, 0 where none is named; alike in every file."""

    counter: int
    replica: int

    @property
    def text(self) -> str:
        """The number as the table of ends has it."""
        replica = f"{self.replica:0{2 * _REPLICA_BYTES}x}" if self.replica else ""
        return f"{self.counter:0{COUNTER_DIGITS}x}{replica}"


#: So long is a counter's part of the text.
COUNTER_DIGITS = 2 * _COUNTER_BYTES


def number_in(text: str) -> Number:
    """The number that a text stands for."""
    counter, replica = text[:COUNTER_DIGITS], text[COUNTER_DIGITS:]
    return Number(int(counter, 16), int(replica or "0", 16))


def number_of(name: str, labels: Mapping[str, str]) -> Number:
    """The number of a series of this name."""
    replica = [(one, labels[one]) for one in _LABELS if labels.get(one)]
    return Number(
        _hash([name, sorted(apart_from_replica(labels))], _COUNTER_BYTES),
        _hash(replica, _REPLICA_BYTES) if replica else 0,
    )


def apart_from_replica(labels: Mapping[str, str]) -> Iterable[tuple[str, str]]:
    """The labels that say what a series is, and not who saw it."""
    return (one for one in labels.items() if one[0] not in _LABELS)


def _hash(what: object, size: int) -> int:
    return int.from_bytes(blake2b(json.dumps(what).encode(), digest_size=size).digest())
