"""Figures on the cost of neighbours."""

import numpy as np
import polars as pl

from tracekit.replay.chance import means
from tracekit.report.figures import Axis, Figure, Layer
from tracekit.report.plot import evenly

_MOST = 80
_SAME_CORE, _SAME_SOCKET, _SAME_NODE = "same core", "same socket", "same node (proxy)"
_LOST = "inflation_vcpus"


def _coefficients(coefficients: pl.DataFrame) -> pl.DataFrame:
    """The coefficients of services with a fit of their own, each sorted by size."""
    own = coefficients.filter(pl.col("basis") == "own")
    proxy = "proxy" in own["mode"]
    parts = []
    for name, words in (("k1", _SAME_CORE), ("k2", _SAME_NODE if proxy else _SAME_SOCKET)):
        one = own.select(
            "service", pl.lit(words).alias("beside"), pl.col(name).alias("value"),
            pl.col(f"{name}_low").alias("low"), pl.col(f"{name}_high").alias("high"),
        ).drop_nulls().sort("value", "service")  # fmt: skip
        parts.append(evenly(one.with_row_index("rank", 1), _MOST))
    return pl.concat(parts)


def _lost(repeats: pl.DataFrame) -> pl.DataFrame:
    """Means over orders of arrival by way to bind, best first; intervals hold together."""
    names = repeats["policy"].unique(maintain_order=True).to_list()
    each = [repeats.filter(policy=name).sort("repeat")[_LOST].cast(pl.Float64) for name in names]
    middle = means(np.stack([one.to_numpy() for one in each], axis=1), comparisons=len(names))
    frame = pl.DataFrame(
        {"policy": names, "lost_vcpus": middle.mean, "lost_low_vcpus": middle.low,
         "lost_high_vcpus": middle.high}
    )  # fmt: skip
    return frame.fill_nan(None).sort("lost_vcpus", maintain_order=True)


interference_coefficients = Figure(
    title="What neighbours cost each service",
    question="How much CPU does a container lose to those beside it?",
    how_to_read="Each dot is a service with a fit of its own, the line its 95 % interval. 0.2 says:"
    " when those beside it use half a vCPU, a container uses 0.1 of a vCPU more for the same work."
    " An interval that reaches 0 shows no effect.",
    absent="No service has a fit of its own.",
    reads=("fit/coefficients",),
    rows=_coefficients,
    layers=(
        Layer(mark="points", x="rank", y="value", low="low", high="high", by="beside", size=5),
    ),
    x=Axis(title="Services in order of the coefficient", unit="rank"),
    y=Axis(title="Cost per CPU beside it", unit="CPU / CPU"),
    label="service",
    colors={_SAME_CORE: "policy-2", _SAME_SOCKET: "policy-1", _SAME_NODE: "policy-1"},
)

interference_inflation = Figure(
    title="CPU lost to neighbours, by who chooses vCPUs",
    question="Which way to bind loses the least CPU?",
    how_to_read="A shorter bar is better: it adds up, over all containers, the CPU that they use"
    " more because of who shares their cores and sockets, averaged over time. Where lines over two"
    " bars overlap, the two may be alike.",
    absent="Nothing was bound down to the vCPU: tracekit bind does it.",
    reads=("bind/repeats",),
    rows=_lost,
    layers=(Layer(mark="bars", x="lost_vcpus", low="lost_low_vcpus", high="lost_high_vcpus"),),
    x=Axis(title="CPU lost to neighbours", unit="vCPUs", zero=True),
    label="policy",
    fewest=2,
)
