"""Whether the agent beats its rivals."""

from dataclasses import dataclass

import polars as pl

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
