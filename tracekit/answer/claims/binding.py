"""Readings from a replay down to the vCPU, paired by order of arrival."""

from collections.abc import Callable, Iterator

import polars as pl

from tracekit.answer.claims.reading import Reading, mean_of

_OWN, _LOST = "interference", "inflation_vcpus"
_AGAINST = {"binding_first_free": "least_allocated", "binding_whole_cores": "whole_cores_emptiest"}


def readings(frame: Callable[[str], pl.DataFrame]) -> Iterator[tuple[str, Reading]]:
    """The change of lost vCPUs from other ways to bind to that of the patent."""
    repeats = frame("bind/repeats")
    if repeats.is_empty():
        return
    lost = {
        str(name): part.sort("repeat")[_LOST].cast(pl.Float64).to_numpy()
        for (name,), part in repeats.group_by("policy", maintain_order=True)
    }
    for name, other in _AGAINST.items():
        if {_OWN, other} <= set(lost) and (lost[other] > 0).all():
            yield name, mean_of(lost[_OWN] / lost[other] - 1)
