"""Figures on the number of nodes, and on the use of nodes that stay."""

import polars as pl

from tracekit.report.figures import FACTS, Axis, Figure, Layer, ceiling_of

CPU, MEMORY = "cpu_p99_over_time_fraction", "memory_max_fraction"
#: The lines of the curve: case, measure, name in the legend, and look.
_CASES = {"recorded": "requests as they are", "recommended": "requests as recommended"}
#: The cases of counts, and their requests.
_COUNTED = {"recorded": "recorded", "no_more_often": "recorded", "recommended": "recommended"}
_MEASURES = (CPU, MEMORY)
_LOOKS = {"recorded": "policy-1", "recommended": "policy-3"}
#: The curve ends at this multiple of the present or needed nodes, and at this use.
BEYOND, HIGHEST = 1.15, 1.5
_COST, _KEPT = "cost_per_hour", "cost_kept_per_hour"
_CURVE = {
    "mark": pl.String,
    "requests": pl.String,
    "nodes": pl.Int64,
    "value": pl.Float64,
    "holds": pl.Boolean,
    "name": pl.String,
}


def _read(frame: str) -> tuple[str, ...]:
    """The frames of the counts with recorded and with recommended requests, and the facts."""
    usual = f"fewest_nodes/{frame}_as_production"
    return f"fewest_nodes/{frame}", usual, f"fewest-recommended/{frame}", FACTS


def _curve(
    recorded: pl.DataFrame, usual: pl.DataFrame, recommended: pl.DataFrame, facts: pl.DataFrame
) -> pl.DataFrame:
    """The lines of both cases, the cost of nodes, and the points of the answer."""
    sizes = {"recorded": _joined(recorded, usual), "recommended": recommended}
    lines = [_lines(frame, case, facts) for case, frame in sizes.items() if not frame.is_empty()]
    return pl.concat([*lines, _ceilings(facts), _points(facts)])


def _lines(frame: pl.DataFrame, case: str, facts: pl.DataFrame) -> pl.DataFrame:
    """The highest use of a node with at least so many nodes, in any order of arrival."""
    cost = pl.col(_KEPT) if _KEPT in frame.columns else pl.lit(None, pl.Float64)
    at = _counted(frame, case, facts).group_by("nodes").agg(
        pl.col("holds").all(), pl.col(CPU, MEMORY).max(), cost.max().alias(_COST)
    ).sort("nodes", descending=True)  # fmt: skip
    at = at.with_columns(pl.col(CPU, MEMORY).cum_max().forward_fill())
    shown = [*_MEASURES, *([_COST] if case == "recorded" else [])]
    counts = [*facts["of"].drop_nulls(), *facts.filter(kind="nodes_needed")["value"].drop_nulls()]
    most = BEYOND * max(map(float, counts), default=float("inf"))
    at = at.filter(pl.col("nodes") <= most)
    long = at.unpivot(shown, index=["nodes", "holds"], variable_name="mark").drop_nulls("value")
    long = long.filter(~pl.col("mark").is_in(_MEASURES) | (pl.col("value") <= HIGHEST))
    return _fitted(long.with_columns(requests=pl.lit(_CASES[case]))).sort("mark", "nodes")


def _counted(frame: pl.DataFrame, case: str, facts: pl.DataFrame) -> pl.DataFrame:
    """The rows of the counted policy, else of the first policy."""
    counted = facts.filter(kind="nodes_needed", requests=case)["subject"].to_list()
    policy = next((one for one in counted if one in frame["policy"]), frame["policy"][0])
    return frame.filter(policy=policy)


def _joined(*frames: pl.DataFrame) -> pl.DataFrame:
    """Counts at the ceiling, and counts above it no more often than production."""
    filled = [one for one in frames if not one.is_empty()]
    return pl.concat(filled, how="diagonal_relaxed") if filled else pl.DataFrame()


def _stay(
    recorded: pl.DataFrame, usual: pl.DataFrame, recommended: pl.DataFrame, facts: pl.DataFrame
) -> pl.DataFrame:
    """The nodes that stay in the case of the verdict, else in the first counted case."""
    cases = {"recorded": recorded, "no_more_often": usual, "recommended": recommended}
    counted = [case for case, frame in cases.items() if not frame.is_empty()]
    ours = [case for case in facts.filter(kind="verdict")["case"] if case in counted] or counted
    requests = "recommended" if ours[0] == "recommended" else "recorded"
    staying = _counted(cases[ours[0]], requests, facts).filter("kept").sort("place")
    return staying.select(
        "node",
        "place",
        CPU,
        MEMORY,
        cpu_ceiling=pl.lit(ceiling_of(facts, CPU)),
        memory_ceiling=pl.lit(ceiling_of(facts, MEMORY)),
    )


def _fitted(frame: pl.DataFrame) -> pl.DataFrame:
    missing = [pl.lit(None, kind).alias(one) for one, kind in _CURVE.items() if one not in frame]
    return frame.with_columns(missing).select(list(_CURVE)).cast(_CURVE)  # type: ignore[arg-type]


def _ceilings(facts: pl.DataFrame) -> pl.DataFrame:
    return _fitted(
        pl.DataFrame(
            {
                "mark": ["ceiling", "memory ceiling"],
                "value": [ceiling_of(facts, CPU), ceiling_of(facts, MEMORY)],
            }
        )
    )


def _points(facts: pl.DataFrame) -> pl.DataFrame:
    """Production, the counts that are enough, and the lower bound."""
    fullest = facts.filter(kind="fullest_node", measure=CPU)
    high = dict(fullest.select("case", "value").iter_rows())
    count = dict(facts.filter(kind="nodes_needed").select("case", "value").iter_rows())
    every = facts["of"].drop_nulls().to_list()
    rows = [
        {"mark": requests, "requests": _CASES[requests], "nodes": count[case], "value": high[case],
         "name": f"enough: {count[case]:,.0f}"}
        for case, requests in _COUNTED.items()
        if count.get(case) is not None and case in high
    ]  # fmt: skip
    if "today" in high and every:
        rows += [{"mark": "today", "nodes": every[0], "value": high["today"],
                  "name": f"today: {every[0]:,.0f}"}]  # fmt: skip
    bounds = facts.filter(kind="lower_bound").drop_nulls("value").select("requests", "value")
    rows += [{"mark": "bound", "requests": _CASES[case], "nodes": least, "value": 1.0,
              "name": f"no fewer than {least:,.0f}"}
             for case, least in bounds.head(1).iter_rows() if case in _CASES]  # fmt: skip
    return _fitted(pl.DataFrame(rows, schema={n: _CURVE[n] for n in _CURVE}, strict=False))


def _line(case: str, measure: str) -> Layer:
    return Layer(
        mark="lines",
        x="nodes",
        y="value",
        # the legend has memory once: its lines have the colours of those of CPU
        name=f"CPU, {_CASES[case]}" if measure == CPU else "memory" if case == "recorded" else "",
        where=(pl.col("mark") == measure) & (pl.col("requests") == _CASES[case]),
        color=_LOOKS[case],
        width=3 if measure == CPU else 1.5,
        dash="solid" if measure == CPU else "dot",
    )


def _bound(case: str) -> Layer:
    return Layer(
        mark="stems",
        x="nodes",
        y="value",
        where=(pl.col("mark") == "bound") & (pl.col("requests") == _CASES[case]),
        color=_LOOKS[case],
        dash="dot",
    )


def _level(mark: str, color: str, width: float, name: str = "") -> Layer:
    return Layer(
        mark="levels",
        x="nodes",
        y="value",
        name=name,
        where=pl.col("mark") == mark,
        color=color,
        width=width,
        dash="dash",
    )


def _point(mark: str, color: str, symbol: str = "circle") -> Layer:
    return Layer(
        mark="points",
        x="nodes",
        y="value",
        where=pl.col("mark") == mark,
        color=color,
        symbol=symbol,
        size=13,
    )


nodes_curve = Figure(
    title="Nodes kept, and how full the fullest of them gets",
    question="How many nodes can go before one is too full?",
    how_to_read="Read from right to left: the fewer nodes stay, the fuller the fullest gets. A line"
    " is the highest that any node came to with so many nodes or more, in any order of arrival: CPU"
    " for all but 1 % of the time, memory at any time. A ring is a count with which a limit breaks:"
    " a node gets above the ceiling, or containers find no node. The upright line is a proven"
    " bound: no placement gets by with fewer.",
    absent="Nodes were not counted: tracekit nodes counts them.",
    reads=_read("sizes"),
    rows=_curve,
    layers=(
        _level("ceiling", "warn", 2.5, "ceiling of CPU"),
        _level("memory ceiling", "bound", 1.5, "ceiling of memory"),
        *(_line(case, measure) for measure in _MEASURES for case in _CASES),
        Layer(
            mark="points", x="nodes", y="value", name="a limit breaks", symbol="circle-open",
            where=(pl.col("mark") == CPU) & ~pl.col("holds"), color="warn", size=9,
        ),
        Layer(
            mark="lines", x="nodes", y="value", name="cost", where=pl.col("mark") == _COST,
            color="other", dash="dashdot", width=1.5, second=True,
        ),
        *(_bound(case) for case in _CASES),
        _point("recorded", _LOOKS["recorded"]),
        _point("recommended", _LOOKS["recommended"]),
        _point("today", "observed", "x"),
    ),
    x=Axis(title="Nodes kept", unit="nodes"),
    y=Axis(title="Use of the fullest node", unit="%", percent=True, zero=True, span=(0, 1)),
    second=Axis(title="Cost", unit="per hour", zero=True),
    label="requests",
    beside="name",
    height_px=420,
)  # fmt: skip


fewest_nodes = Figure(
    title="Fewest nodes on which every limit holds, by policy",
    question="Which policy gets by with the fewest nodes?",
    how_to_read="A bar is how many nodes are enough in every order of arrival together; the line"
    " over its end is what single orders need. The dashed line is a proven bound: no placement gets"
    " by with fewer.",
    absent="Fewer than two policies keep the limits.",
    reads=("fewest_nodes/policies",),
    rows=lambda policies: policies.filter(pl.col("nodes").is_not_null()).select(
        "policy", "nodes", "nodes_low", "nodes_high", "bound"
    ),
    layers=(
        Layer(mark="bars", x="nodes", low="nodes_low", high="nodes_high"),
        Layer(mark="stems", x="bound", color="bound", dash="dash"),
    ),
    x=Axis(title="Nodes that are enough", unit="nodes", zero=True),
    label="policy",
    fewest=2,
)

nodes_that_stay = Figure(
    title="How full each node gets that stays",
    question="Which of the nodes that stay come near the ceiling?",
    how_to_read="Each place across is one node, those that would go next on the right. Its dots are"
    " the CPU that it stays below for 99 % of the time, and its highest memory, in the worst order"
    " of arrival. The dashed lines are the ceilings of CPU and of memory.",
    absent="Nodes were not counted: tracekit nodes counts them.",
    reads=_read("nodes"),
    rows=_stay,
    layers=(
        Layer(mark="levels", x="place", y="cpu_ceiling", color="cpu", dash="dash"),
        Layer(mark="levels", x="place", y="memory_ceiling", color="memory", dash="dash"),
        Layer(mark="points", x="place", y=CPU, name="CPU", color="cpu"),
        Layer(mark="points", x="place", y=MEMORY, name="memory", color="memory", symbol="square"),
    ),
    x=Axis(title="Nodes that stay, in order", unit="place"),
    y=Axis(title="In use at the fullest", unit="% of node", percent=True, span=(0, 1)),
    label="node",
)  # fmt: skip
