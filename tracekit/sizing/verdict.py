"""Whether the agent beats its rivals, and whether the order that its study reports holds."""

from dataclasses import dataclass

import polars as pl

from tracekit.sizing.intervals import is_agent

#: What 'beats' is decided by: served in time, and how well what was reserved is used.
DECIDING = ("qos", "container_cpu_fraction", "container_memory_fraction")
#: The baselines an engineer would ask for; each name is looked for at the start of the text.
RIVALS = ("percentile_request", "vertical_pod_autoscaler")
#: Differences smaller than this are none.
SAME = 0.005


@dataclass(frozen=True)
class Duel:
    """Whether the agent beats a rival: better somewhere and worse nowhere it counts."""

    agent: str
    rival: str
    better: tuple[str, ...]
    worse: tuple[str, ...]
    means: dict[str, tuple[float, float]]

    @property
    def beats(self) -> bool:
        """Better in one deciding measure at least, worse in none."""
        return bool(self.better) and not self.worse


def duels(summary: pl.DataFrame, differences: pl.DataFrame) -> list[Duel]:
    """The agent against each rival, lost ones first.

    With several seeds a difference counts when its interval excludes zero; in any case only from
    half a percentage point on.
    """
    means = {(row["policy"], row["measure"]): row["mean"] for row in summary.to_dicts()}
    found = []
    pairs = differences.select("agent", "policy").unique(maintain_order=True).rows()
    for agent, rival in pairs:
        if rival.partition("[")[0] not in RIVALS:
            continue
        gaps = differences.filter(agent=agent, policy=rival).to_dicts()
        signs = {row["measure"]: _sign(row) for row in gaps if row["measure"] in DECIDING}
        both = {name: (means[agent, name], means[rival, name]) for name in DECIDING}
        better = tuple(name for name in DECIDING if signs[name] > 0)
        worse = tuple(name for name in DECIDING if signs[name] < 0)
        found.append(Duel(agent, rival, better, worse, both))
    return sorted(found, key=lambda duel: duel.beats)


def _sign(row: dict[str, float | None]) -> int:
    mean, low, high = row["mean"] or 0.0, row["low"], row["high"]
    doubtful = low is not None and high is not None and low <= 0 <= high
    return 0 if doubtful or abs(mean) < SAME else (1 if mean > 0 else -1)


def claims(summary: pl.DataFrame) -> pl.DataFrame:
    """The order that the study reports, a row for each claim, with what each policy comes to.

    Columns: claim, agent, minimum_selection, random_selection, holds.

    Empty without the agent, minimum selection and random selection among the policies.
    """
    means = {
        (row["policy"], row["measure"]): row["mean"]
        for row in summary.to_dicts()
        if row["mean"] is not None
    }
    names = summary["policy"].unique(maintain_order=True).to_list()
    agent = next((name for name in names if is_agent(name)), None)
    wanted = (agent, "minimum_selection", "random_selection")
    rows = _claims(means, *wanted) if agent and set(wanted) <= set(names) else []
    schema = {
        "claim": pl.String,
        **dict.fromkeys(("agent", "minimum_selection", "random_selection"), pl.Float64),
        "holds": pl.Boolean,
    }
    return pl.DataFrame(rows, schema=schema, orient="row")


def _claims(
    means: dict[tuple[str, str], float], agent: str | None, ms: str, mn: str
) -> list[tuple[str, float, float, float, bool]]:
    def of(measure: str) -> tuple[float, float, float]:
        return (means[agent or "", measure], means[ms, measure], means[mn, measure])

    rows = []
    for where in ("container", "node"):
        name = f"{where}_cpu_fraction"
        ours, theirs, drawn = of(name)
        claim = f"{where} CPU utilization: agent above minimum above random selection"
        rows.append((claim, *of(name), ours > theirs > drawn))
    name = "container_memory_fraction"
    claim = "container memory utilization: agent as minimum selection (within 5 points)"
    rows.append((claim, *of(name), abs(of(name)[0] - of(name)[1]) <= 0.05))
    claim = "node G: agent below minimum selection (the study reports 11 % for the agent)"
    rows.append((claim, *of("node_g"), of("node_g")[0] < of("node_g")[1]))
    claim = "QoS: agent best of the three, below the 96.68 % of its training"
    rows.append((claim, *of("qos"), of("qos")[0] == max(of("qos")) and of("qos")[0] < 0.9668))
    claim = "changed limits: agent most"
    rows.append((claim, *of("change_share"), of("change_share")[0] == max(of("change_share"))))
    return rows
