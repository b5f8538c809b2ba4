"""The glossary: what words mean, and every measure's formula and direction from its registry."""

import polars as pl

from tracekit.replay.measures import RESOURCES, all_measures, resources_in
from tracekit.report.cells import Table, table
from tracekit.report.data import Data

_BETTER = {"low": "lower", "high": "higher", None: "neither"}
_GROUPS = {"answer": "yes", "resource": "per resource", "detail": ""}

_WORDS = (
    (
        "Best, within chance, worse",
        (
            "The policy with the best mean over all orders of arrival is the best. Another is worse"
            " where the 95 % interval of its difference from the best excludes zero, corrected for"
            " the number of comparisons; else it is within chance of the best."
        ),
    ),
    (
        "95 % interval",
        (
            "The range that holds the true mean in 95 of 100 such studies. It covers the order in"
            " which containers arrive, and the draws of what was inferred; it does not cover"
            " what is"
            " assumed."
        ),
    ),
    (
        "Bound",
        "A value that no placement can beat. It is proven, and it need not be reachable.",
    ),
    (
        "Difference in points",
        "A difference of two percentages, in percentage points (pp): from 40 % to 50 % are 10 pp.",
    ),
    (
        "Movable share",
        (
            "The part of the load that a policy can move at all. The rest runs on its node whatever"
            " the policy does, and no policy can change it."
        ),
    ),
    (
        "Node-step",
        "One node at one sampling step: 100 nodes over 60 steps are 6,000 node-steps.",
    ),
    (
        "Observed",
        "Where production ran the containers, as recorded. It is replayed like any policy.",
    ),
    (
        "Recorded, inferred, assumed, absent",
        (
            "Recorded: it stands in the trace. Inferred: worked out from what stands there."
            " Assumed:"
            " nobody knows; a value was chosen. Absent: not known and not needed."
        ),
    ),
    (
        "Request, limit, use",
        "What a container reserves, what it may use at most, and what it uses.",
    ),
    (
        "Correlation r",
        (
            "Pearson's correlation of a node's CPU and memory use over its samples: 1 when they"
            " rise"
            " and fall together, \u22121 when one rises as the other falls, 0 when they are"
            " unrelated."
            " (Yao et al., C.S.A. 2023 32(4), equation 1.)"
        ),
    ),
    (
        "Utilization difference G",
        (
            "Mean over time of | CPU \u2212 memory |, both as shares of capacity. (Yao et al.,"
            " equation 3.)"
        ),
    ),
)


def glossary() -> list[tuple[str, str]]:
    """Words and their meanings."""
    return list(_WORDS)


def _resources(data: Data) -> tuple[str, ...]:
    """CPU and memory, and of what else the run has measures."""
    return tuple(dict.fromkeys([*RESOURCES, *resources_in(data.replay("summary").columns)]))


def measures(data: Data) -> Table:
    """Every measure of every resource of the run: its column in files, formula and better end."""
    rows = [
        {
            "measure": one.title,
            "column": name,
            "better": _BETTER[one.better],
            "formula": one.formula,
            "unit": one.unit,
            "meaning": one.meaning,
            "why": one.because,
            "may_answer": _GROUPS[one.group],
        }
        for name, one in all_measures(_resources(data)).items()
    ]
    later = ("unit", "why", "may_answer")
    return table(pl.DataFrame(rows), "Every measure, its formula and its direction", later=later)
