"""What the policy of an answer comes to on the nodes that a study leaves it, beside production."""

import dataclasses
from collections.abc import Mapping, Sequence

from tracekit.answer.advice import keeps_production
from tracekit.answer.amounts import value_text
from tracekit.answer.decision import Decision
from tracekit.answer.fewest.study import NAME
from tracekit.answer.fewest.words import told as shrink_told
from tracekit.answer.fewest.words.nodes import added
from tracekit.answer.fewest.words.over_orders import OverOrders, over_orders
from tracekit.replay.chance.material import too_near
from tracekit.replay.measures import COST_PER_HOUR, NODES, NODES_AT_END, Measure, small
from tracekit.replay.runs.run import OBSERVED
from tracekit.report import fewest_known as known
from tracekit.report.contents.first_screen import Change
from tracekit.report.data import Data
from tracekit.report.studies import assumed_otherwise, of_another
from tracekit.words import count, listed

#: Less of these is better for a reader who pays for nodes that can go.
_PAID = (NODES, NODES_AT_END, COST_PER_HOUR)


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnFewer:
    """A policy on the nodes that a study found to be enough.

    Parameters
    ----------
    means : mapping of str
        By measure, its mean over the orders of arrival and the interval of that.
    """

    policy: str
    nodes: int
    means: Mapping[str, OverOrders]

    @property
    def head(self) -> str:
        """What a column of it is called."""
        return f"{self.policy} on {count(self.nodes, 'node')}"

    def text(self, measure: Measure) -> str:
        """What a measure comes to, with half of its interval."""
        one = self.means.get(measure.name)
        return (
            value_text(measure, None)
            if one is None
            else value_text(measure, one.mean, one.high - one.mean)
        )


def on_fewer(data: Data, policy: str, measures: Sequence[Measure]) -> OnFewer | None:
    """What the leading study of this very load knows of the policy on fewer nodes; or None."""
    load = (data.run or {})["workload"]
    if NAME not in data.studies or of_another(data.studies[NAME], load):
        return None
    study = known.leading(data)
    found = shrink_told.told(study)
    if found is None or found.best["policy"] != policy or assumed_otherwise(study, load):
        return None
    row = found.best
    if study.about["scale"] != 1 or added(row) or row["nodes"] == row["of"]:
        return None
    means = over_orders(study, policy, row["nodes"], [one.name for one in measures])
    return OnFewer(policy=policy, nodes=row["nodes"], means=means) if means else None


def column(rows: Sequence[Change], measures: Sequence[Measure], few: OnFewer) -> list[Change]:
    """The rows of what an answer would change, with what they come to on fewer nodes."""
    texts = {one.title: few.text(one) for one in measures}
    return [dataclasses.replace(row, fewer=texts[row.title]) for row in rows]


def nothing_worse(
    data: Data, told: Decision, measures: Sequence[Measure], few: OnFewer | None
) -> bool:
    """Whether on fewer nodes nothing of the table is worse than in production, on average.

    Then the price is gone for which production was to be kept. Where production was not to be kept,
    more than a few nodes have to go.
    """
    found = data.results
    if found is None or few is None or not told.chosen:
        return False
    of = (data.run or {})["workload"]["nodes"]
    if not keeps_production(found, told) and of - few.nodes < known.SAVES * of:
        return False
    return all(_no_worse(found.of(OBSERVED, one.name).mean(), one, few) for one in measures)


def worse_there(data: Data, measures: Sequence[Measure], few: OnFewer | None) -> str:
    """What of the table is worse on fewer nodes than in production, a sentence; or nothing."""
    found = data.results
    if found is None or few is None:
        return ""
    said = []
    for one in measures:
        usual = float(found.of(OBSERVED, one.name).mean())
        if one.name in few.means and not _no_worse(usual, one, few):
            mean, beside = few.means[one.name], value_text(one, usual)
            chance = ", which chance may explain" if mean.low <= usual <= mean.high else ""
            said.append(f"{small(one.title)} ({few.text(one)}, beside {beside}{chance})")
    are = "is" if len(said) == 1 else "are"
    on = f"On {'that one' if few.nodes == 1 else f'those {few.nodes:,}'}"
    return f"{on} {listed(said)} {are} worse than in production." if said else ""


def _no_worse(usual: float, measure: Measure, few: OnFewer) -> bool:
    better = measure.better or ("low" if measure.name in _PAID else None)
    mean = few.means.get(measure.name)
    if better is None:
        return True
    if mean is None:
        return False
    by_little = measure.name not in _PAID and bool(too_near(measure, [usual, mean.mean]))
    return by_little or (mean.mean <= usual if better == "low" else mean.mean >= usual)
