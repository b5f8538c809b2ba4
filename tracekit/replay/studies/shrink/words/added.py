"""How many nodes are to be added, and how many of those that are there can go then."""

from collections.abc import Mapping
from typing import Any

from tracekit.replay.studies.shrink.frames import ADDED


def added(row: Mapping[str, Any]) -> int:
    """How many further nodes a policy needs; ``row`` is its row of the study's ``policies``."""
    known = row.get(ADDED)
    # a study of an earlier version lets none go where some are added
    return max(row["nodes"] - row["of"], 0) if known is None else int(known)


def rank(row: Mapping[str, Any]) -> tuple[bool, int]:
    """Which of two answers is better, the lower one: as ``frames.BY_NODES`` has it."""
    return added(row) > 0, int(row["nodes"])


def gone(row: Mapping[str, Any]) -> int:
    """How many of the nodes that are there can go under a policy."""
    return int(row["of"] + added(row) - row["nodes"])
