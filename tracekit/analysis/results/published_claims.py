"""Claims of the study about nodes and containers, beside the same numbers of this store.

Source: Yao et al., C.S.A. 2023 32(4), section 2, on 13,000 nodes over 12 hours. Counts are set
beside each other as ratios, so that a store of any size can be judged.
"""

from dataclasses import dataclass

import polars as pl

from tracekit.analysis.results import Inputs, Result

_COHORTS, _LEVELS = "usage/node_cohorts", "usage/node_vs_container"
#: A reported number holds where the one here is no further from it than this part of it.
WITHIN = 0.25
HOLDS, FAILS, UNKNOWN = "holds", "does not hold", "cannot be told"
_SCHEMA = {
    "claim": pl.String,
    "reported": pl.Float64,
    "here": pl.Float64,
    "rule": pl.String,
    "verdict": pl.String,
}


@dataclass(frozen=True, kw_only=True)
class _Cell:
    """A number of the rows of a query: the one row with these values, and its column."""

    query: str
    where: tuple[tuple[str, str], ...]
    column: str

    def read(self, inputs: Inputs) -> float | None:
        rows = inputs.frames[self.query].filter(**dict(self.where))
        return None if rows.is_empty() else rows[self.column].item()


@dataclass(frozen=True, kw_only=True)
class _Claim:
    """A claim on a number, or on how much of ``over`` it is: then what is asked is its direction.

    Parameters
    ----------
    reported : float, optional
        None where the study says the direction alone.
    """

    text: str
    of: _Cell
    over: _Cell | None = None
    reported: float | None = None

    def row(self, inputs: Inputs) -> dict[str, object]:
        """The claim judged."""
        here = self.of.read(inputs)
        if self.over is not None:
            below = self.over.read(inputs)
            here = here / below if here is not None and below else None
        return {
            "claim": self.text,
            "reported": self.reported,
            "here": here,
            "rule": "above 1" if self.over else f"within {WITHIN:.0%}",
            "verdict": UNKNOWN if here is None else HOLDS if self._met(here) else FAILS,
        }

    def _met(self, here: float) -> bool:
        if self.over is not None:
            return here > 1.0
        return self.reported is not None and abs(here - self.reported) <= WITHIN * self.reported


def _group(name: str, column: str) -> _Cell:
    return _Cell(query=_COHORTS, where=(("cohort", name),), column=column)


def _level(level: str, resource: str, column: str) -> _Cell:
    return _Cell(query=_LEVELS, where=(("level", level), ("resource", resource)), column=column)


CLAIMS = (
    _Claim(
        text="nodes with a mean CPU of 70 % or more, for one below 30 %",
        of=_group("HIGH", "nodes"),
        over=_group("LOW", "nodes"),
        reported=2387 / 371,
    ),
    _Claim(
        text="containers on a node of 70 % or more, for one on a node below 30 %",
        of=_group("HIGH", "containers_per_node"),
        over=_group("LOW", "containers_per_node"),
    ),
    _Claim(
        text="CPU of containers on nodes of 70 % or more, over that on nodes below 30 %",
        of=_group("HIGH", "container_cpu_mean"),
        over=_group("LOW", "container_cpu_mean"),
    ),
    _Claim(
        text="mean CPU of containers on memory-skewed nodes",
        of=_group("MEMSKEW", "container_cpu_mean"),
        reported=0.2922,
    ),
    _Claim(
        text="standard deviation of CPU of containers on memory-skewed nodes",
        of=_group("MEMSKEW", "container_cpu_std"),
        reported=0.0625,
    ),
    _Claim(text="mean memory of nodes", of=_level("node", "memory", "mean"), reported=0.7),
    _Claim(text="mean CPU of nodes", of=_level("node", "cpu", "mean"), reported=0.6),
    _Claim(
        text="highest CPU of a container, mean over containers",
        of=_level("container", "cpu", "peak"),
        reported=0.3,
    ),
    _Claim(
        text="standard deviation of the CPU of nodes, over that of their memory",
        of=_level("node", "cpu", "std"),
        over=_level("node", "memory", "std"),
    ),
)


def published_claims(inputs: Inputs) -> pl.DataFrame:
    """One row per claim of the study on nodes and containers.

    Columns: claim; reported and here (fractions of capacity or limit, or the ratio of two numbers;
    reported is null where the study says a direction alone); rule ("above 1": of a ratio the
    direction has to be so; "within 25%": here is no further from reported than a quarter of it);
    verdict (holds, does not hold, cannot be told: the store has no such nodes).
    """
    return pl.DataFrame([claim.row(inputs) for claim in CLAIMS], schema=_SCHEMA)


RESULT = Result(
    title="What the study of the trace reports, and whether it is so here",
    queries=(_COHORTS, _LEVELS),
    function=published_claims,
)
