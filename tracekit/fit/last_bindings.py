"""Where containers were seen last: what a binding file says, as ``tracekit bind`` reads it."""

from __future__ import annotations

import polars as pl

from tracekit.fit.binding import Binding
from tracekit.vcpu.cpu_list import spell_cpu_list

BINDINGS = {"container": pl.String, "node": pl.String, "vcpus": pl.String}


def last_bindings(binding: Binding) -> pl.DataFrame:
    """Node and vCPUs of each container, of several times those of the last; by container."""
    start = dict(zip(binding.room.hosts, binding.room.offset.tolist(), strict=False))
    last = (
        binding.rows.sort("instance", "time_ms", maintain_order=True)
        .group_by("instance", maintain_order=True)
        .last()
    )
    rows = [
        (one, host, spell_cpu_list((binding.place[first : first + many] - start[host]).tolist()))
        for one, host, first, many in last.select("instance", "host", "first", "vcpus").iter_rows()
    ]
    return pl.DataFrame(rows, schema=BINDINGS, orient="row")
