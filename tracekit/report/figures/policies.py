"""Figures on policies under the same load."""

import polars as pl

from tracekit.policy.placement import title_of_policy
from tracekit.replay.runs.run import BOUND, OBSERVED
from tracekit.report.figures import FACTS, Axis, Figure, Layer, ceiling_of
from tracekit.report.figures.nodes import CPU
from tracekit.report.plot import highest

_PRODUCTION = "production"
_USED, _WAITING = "nodes_used_mean", "pending"
_WIDTH, _POINTS = 0.05, 240


def _titled(name: str) -> str:
    return _PRODUCTION if name == OBSERVED else title_of_policy(name)


def _named(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.with_columns(pl.col("policy").map_elements(_titled, pl.String))


def _two(frame: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """The rows of production and of the policy of the verdict, else of the first other policy."""
    names = frame["policy"].unique(maintain_order=True).to_list()
    chosen = [one for one in facts.filter(kind="verdict")["subject"] if one in names]
    others = [one for one in names if one not in (OBSERVED, BOUND)]
    return _named(frame.filter(pl.col("policy").is_in([OBSERVED, *(chosen or others)[:1]])))


def _tradeoff(summary: pl.DataFrame, repeats: pl.DataFrame) -> pl.DataFrame:
    """Means over orders of arrival; policies with equal values share a mark."""
    frame = summary if repeats.is_empty() else repeats
    if not {_USED, CPU, _WAITING} <= set(frame.columns):
        return pl.DataFrame()
    means = frame.filter(pl.col("policy") != BOUND).group_by("policy", maintain_order=True).agg(
        pl.col(_USED, CPU, _WAITING).mean()
    )  # fmt: skip
    measured = _named(means.drop_nulls([_USED, CPU]))
    alike = measured.group_by(_USED, CPU, _WAITING, maintain_order=True).agg(
        pl.col("policy").first(), more=pl.len() - 1
    )
    name = pl.when(pl.col("more") > 0).then(pl.format("{} and {} more", "policy", "more"))
    return alike.select(
        name.otherwise("policy").alias("policy"), _USED, CPU, _WAITING,
        mark=pl.when(pl.col("policy") == _PRODUCTION).then(pl.lit(_PRODUCTION))
        .when(pl.col(_WAITING) > 0).then(pl.lit("leaves containers waiting"))
        .otherwise(pl.lit("places all")),
    )  # fmt: skip


def _counted(nodes: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """Nodes by ranges of mean use; a node of exactly 100 % is in the range that ends there."""
    uses = {"cpu_mean_fraction": "CPU", "memory_mean_fraction": "memory"}
    long = _two(nodes, facts).unpivot(
        [one for one in uses if one in nodes.columns],
        index="policy", variable_name="resource", value_name="use",
    ).filter(pl.col("use").is_not_nan())  # fmt: skip
    at = ((pl.col("use").cast(pl.Float64) - 1e-6) / _WIDTH).floor().clip(0).cast(pl.Int64)
    counts = long.group_by("resource", "policy", at.alias("at")).agg(nodes=pl.len())
    every = long.select("resource", "policy").unique().join(
        pl.DataFrame({"at": range(int(counts["at"].max() or 0) + 2)}), how="cross"  # type: ignore[arg-type]
    )  # fmt: skip
    filled = every.join(counts, on=["resource", "policy", "at"], how="left")
    return filled.sort("resource", "policy", "at").select(
        pl.col("resource").replace(uses), "policy",
        use_from_fraction=(pl.col("at") * _WIDTH).round(4),
        nodes=pl.col("nodes").fill_null(0).cast(pl.Int64),
    )  # fmt: skip


def _peaks(steps: pl.DataFrame, facts: pl.DataFrame) -> pl.DataFrame:
    """The use of the fullest node over time, once the cluster is filled, with all short peaks."""
    settled = steps.filter(pl.col("settled")) if "settled" in steps.columns else steps
    shown = _two(settled.sort("policy", "time_ms", maintain_order=True), facts)
    times = shown["time_ms"] - int(shown["time_ms"].min() or 0)  # type: ignore[arg-type]
    thinned = shown.with_columns(time_h=times / 3_600_000)
    peaks = highest(thinned, "policy", "cpu_max_fraction", _POINTS)
    return peaks.select(
        "policy",
        "time_h",
        "cpu_max_fraction",
        ceiling=pl.lit(ceiling_of(facts, "cpu_p99_over_time_fraction")),
    )


policy_tradeoff = Figure(
    title="Nodes in use against the fullest node, by policy",
    question="Does another policy use fewer nodes, and does it fill one of them too far?",
    how_to_read="Each mark is a way to place: further left it uses fewer nodes, further down its"
    " fullest node is less full. Both are means over the orders of arrival.",
    absent="Fewer than two policies were replayed.",
    reads=("replay/summary", "replay/repeats"),
    rows=_tradeoff,
    layers=(Layer(mark="points", x=_USED, y=CPU, by="mark", size=11),),
    x=Axis(title="Nodes in use, mean over time", unit="nodes"),
    y=Axis(title="CPU of the fullest node, 99 % of the time", unit="% of node", percent=True),
    label="policy",
    beside="policy",
    colors={
        _PRODUCTION: "observed",
        "places all": "policy-1",
        "leaves containers waiting": "policy-2",
    },
    fewest=2,
    height_px=420,
)

load_of_nodes = Figure(
    title="Nodes by their mean use, in production and under the policy",
    question="Does the policy even out the load, or move it?",
    how_to_read="A line counts the nodes in every range of mean use, five points wide. A narrow"
    " hill is an even load; nodes far to the left could be emptied.",
    absent="The run does not say how full each node was.",
    reads=("replay/nodes", FACTS),
    rows=_counted,
    layers=(Layer(mark="steps", x="use_from_fraction", y="nodes", by="policy"),),
    x=Axis(title="Mean {panel} in use", unit="% of node", percent=True, zero=True),
    y=Axis(title="Nodes", unit="count", zero=True),
    label="policy",
    panel="resource",
    colors={_PRODUCTION: "observed"},
    height_px=190,
)

peak_over_time = Figure(
    title="CPU of the fullest node over time",
    question="When does the fullest node come near its ceiling?",
    how_to_read="The highest of each stretch of time, in the first order of arrival, once the"
    " cluster is filled. The dashed line is the ceiling; above 100 % containers slow down.",
    absent="The run holds no samples over time.",
    reads=("replay/steps", FACTS),
    rows=_peaks,
    layers=(
        Layer(mark="levels", x="time_h", y="ceiling", color="warn", dash="dash"),
        Layer(mark="lines", x="time_h", y="cpu_max_fraction", by="policy"),
    ),
    x=Axis(title="Time since the cluster was filled", unit="h"),
    y=Axis(title="CPU of the fullest node", unit="% of node", percent=True, zero=True),
    label="policy",
    colors={_PRODUCTION: "observed"},
)
