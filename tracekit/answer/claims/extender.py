"""Readings from the experiments of the Liang extender, paired by order of arrival."""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from tracekit.answer.claims.reading import Reading, mean_of
from tracekit.base.arrays import FloatArray

DEFAULT, BNP, CMDN = "default_scheduler", "bnp", "cmdn[balanced=true]"


def readings(frame: Callable[[str], pl.DataFrame]) -> Iterator[tuple[str, Reading]]:
    """What each claim on the extender comes to."""
    loads = frame("extender/loads")
    if loads.columns:
        last = loads.filter(pl.col("containers") == pl.col("containers").max())
        for name, policy, resource, measure in (
            ("bnp_network_spread", BNP, "net", "spread"),
            ("bnp_network_highest", BNP, "net", "highest"),
            ("cmdn_cpu_spread", CMDN, "cpu", "spread"),
        ):
            own, other = (_by_order(last, one, resource, measure) for one in (policy, DEFAULT))
            yield name, mean_of(own - other)
    times = frame("extender/decisions")
    if times.columns:
        took = {str(mode): part.sort("decision")["took_ms"].to_numpy()
                for (mode,), part in times.group_by("mode")}  # fmt: skip
        yield "extender_slower", _times_as_long(took["cached"], took["default"])
        yield "fetching_slower", _times_as_long(took["refetched"], took["cached"])


def _by_order(loads: pl.DataFrame, policy: str, resource: str, measure: str) -> FloatArray:
    """The spread over nodes, or the highest load of one, by order of arrival."""
    load = pl.col("load_fraction")
    taken = load.max() - load.min() if measure == "spread" else load.max()
    rows = loads.filter(policy=policy, resource=resource).group_by("order").agg(taken).sort("order")
    return rows["load_fraction"].to_numpy()


def _times_as_long(one: FloatArray, other: FloatArray) -> Reading:
    """The geometric mean of paired ratios: a mean would be that of the slowest decision."""
    read = mean_of(np.log(one / other))
    value, low, high = (
        None if limit is None else float(np.exp(limit))
        for limit in (read.value, read.low, read.high)
    )
    return Reading(value=value, low=low, high=high, samples=read.samples)
