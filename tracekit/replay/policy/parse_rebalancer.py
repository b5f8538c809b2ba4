"""Rebalance policies as they are typed: by name, or a descheduler's configuration in a file."""

from __future__ import annotations

from pathlib import Path

from tracekit import parameters
from tracekit.replay.rebalance import RebalancePolicy, build_rebalancer, get_rebalancer
from tracekit.replay.rebalance._descheduler_file import descheduler
from tracekit.yaml_file import is_document


def parse_rebalancer(text: str) -> RebalancePolicy:
    """The policy that ``NAME[param=value,...]`` spells, or a ``DeschedulerPolicy`` in a file.

    ``str`` of it is the same text again, of a file without its folder.
    """
    name, given = parameters.split(text)
    if is_document(name):
        return descheduler(Path(name), given)
    return build_rebalancer(get_rebalancer(name), given)
