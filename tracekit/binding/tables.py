"""The tables of a replay on vCPUs, and the cost of recorded neighbours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.facts import Fact, remark
from tracekit.base.units import MILLI_PER_CORE
from tracekit.binding import RecordedUse
from tracekit.binding.choosers import RECORDED, Bindings, on_one_socket, recorded_chooser
from tracekit.binding.loop import VcpuOutcome
from tracekit.binding.occupancy import InterferenceModel
from tracekit.cluster.workload import Workload
from tracekit.interference.linear import fit_linear
from tracekit.interference.options import How
from tracekit.interference.room import Bound, VcpuPlaces, pressure
from tracekit.replay.chance import compare
from tracekit.replay.engine.steps import SETTLED, step_schema, summarize

DIFFERENCE = {
    "policy": pl.String,
    "against": pl.String,
    "measure": pl.String,
    "repeats": pl.Int64,
    "difference_mean": pl.Float64,
    "difference_low": pl.Float64,
    "difference_high": pl.Float64,
    "share_mean": pl.Float64,
    "separated": pl.Boolean,
}
#: The measures of comparisons. They are about vCPUs, so that ``tracekit.replay.measures`` does not
#: have them; the first is the main one.
MEASURES = ("inflation_vcpus", "inflation_mean_fraction", "cpu_spread_mean_fraction")


def _schema() -> dict[str, type[pl.DataType]]:
    """The columns of steps: the measures of any replay, then inflation and bound vCPUs."""
    return {
        "policy": pl.String,
        **step_schema(),
        "inflation_mean_fraction": pl.Float64,
        "inflation_vcpus": pl.Float64,
        "bound": pl.Int64,
        "bound_vcpus": pl.Int64,
    }


def summary_of(outcome: VcpuOutcome) -> dict[str, Any]:
    """Return a replay's counts of containers, and means of its measures over settled steps.

    A step is settled once the cluster is filled. If no step is, all steps count.
    """
    steps = pl.DataFrame([{"policy": "", **row} for row in outcome.steps], schema=_schema())
    settled = steps.filter(SETTLED)
    return {
        "placed": int((outcome.node >= 0).sum()),
        "bound": int((outcome.socket >= 0).sum()),
        "bound_vcpus": settled["bound_vcpus"].mean(),
        "inflation_vcpus": settled["inflation_vcpus"].mean(),
        "inflation_mean_fraction": settled["inflation_mean_fraction"].mean(),
        **summarize(steps),
    }


def means_of(repeated: pl.DataFrame) -> pl.DataFrame:
    """Return one row for each policy, with the means of all measures over the repeats."""
    numbers = [name for name in repeated.columns if name not in {"repeat", "policy"}]
    return repeated.group_by("policy", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("repeats"),
        *(pl.col(n).cast(pl.Float64).mean() for n in numbers),
    )


def differences_of(repeated: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return the first policy's difference from each other policy in each measure, a row for each.

    A difference is the first policy's value minus the other's. ``names`` are the policies in order.
    ``separated`` is true if a difference is beyond chance, tested over all rows together by
    ``replay.chance.compare``. With one repeat the limits of the interval are null.
    """
    many = repeated["repeat"].n_unique()
    pairs = [(other, measure) for other in names[1:] for measure in MEASURES]
    if not pairs:
        return pl.DataFrame(schema=DIFFERENCE)
    of = {name: _values(repeated.filter(pl.col("policy") == name)) for name in names}
    apart = [of[names[0]][measure] - of[other][measure] for other, measure in pairs]
    answers = np.array([measure == MEASURES[0] for _, measure in pairs])
    judged = compare(np.stack(apart, axis=1), first=answers)
    base = [float(of[other][measure].mean()) for other, measure in pairs]
    frame = pl.DataFrame(
        {
            "policy": [names[0]] * len(pairs),
            "against": [other for other, _ in pairs],
            "measure": [measure for _, measure in pairs],
            "repeats": [many] * len(pairs),
            "difference_mean": judged.mean,
            "difference_low": judged.low,
            "difference_high": judged.high,
            "share_mean": [
                float(mean) / one if one > 0 else None
                for mean, one in zip(judged.mean, base, strict=True)
            ],
            "separated": judged.separated,
        },
        schema=DIFFERENCE,
    )
    return frame.with_columns(pl.col("difference_low", "difference_high").fill_nan(None))


def _values(repeated: pl.DataFrame) -> dict[str, FloatArray]:
    """Each measure of a policy in the order of repeats, shape (repeats,)."""
    rows = repeated.sort("repeat")
    return {name: rows[name].cast(pl.Float64).fill_null(np.nan).to_numpy() for name in MEASURES}


def steps_of(outcomes: Sequence[tuple[str, VcpuOutcome]]) -> pl.DataFrame:
    """Return one row for each policy and sampling step, with the measures of that step."""
    rows = [{"policy": name, **row} for name, outcome in outcomes for row in outcome.steps]
    return pl.DataFrame(rows, schema=_schema())


def containers_of(
    load: Workload, room: VcpuPlaces, name: str, outcome: VcpuOutcome
) -> pl.DataFrame:
    """Return one row for each container: node, socket, vCPUs, and CPU share lost to neighbours."""
    nodes = np.array([*load.nodes.ids, None], dtype=object)[outcome.node]
    start = np.concatenate([[0], np.cumsum(np.bincount(room.socket_host))])
    local = np.where(
        outcome.socket >= 0, outcome.socket - start[room.socket_host[outcome.socket]], -1
    )
    return pl.DataFrame(
        {
            "policy": [name] * load.containers.count,
            "container": load.containers.ids,
            "service": load.containers.services,
            "node": pl.Series(nodes.tolist(), dtype=pl.String),
            "socket": [int(at) if at >= 0 else None for at in local],
            "vcpus": outcome.vcpus,
            "inflation_fraction": pl.Series(outcome.inflation).fill_nan(None),
        },
        schema_overrides={"socket": pl.Int64, "vcpus": pl.List(pl.Int64)},
    )


def services_of(load: Workload, name: str, outcome: VcpuOutcome) -> pl.DataFrame:
    """Return one row for each service: mean CPU share lost to neighbours, and total lost vCPUs."""
    frame = pl.DataFrame(
        {
            "service": load.containers.services,
            "inflation_fraction": pl.Series(outcome.inflation).fill_nan(None),
            "vcpus": [len(vcpus) for vcpus in outcome.vcpus],
        }
    )
    return (
        frame.group_by("service")
        .agg(
            pl.len().cast(pl.Int64).alias("containers"),
            pl.col("inflation_fraction").mean().alias("inflation_mean_fraction"),
            (pl.col("inflation_fraction") * pl.col("vcpus")).sum().alias("inflation_vcpus"),
        )
        .sort("service")
        .select(pl.lit(name).alias("policy"), pl.all())
    )


def timing_of(outcomes: Sequence[tuple[str, VcpuOutcome]]) -> pl.DataFrame:
    """Return one row for each policy, with the number and the wall-clock time of its decisions."""
    return pl.DataFrame(
        [
            {
                "policy": name,
                "decisions": outcome.decisions,
                "total_ms": 1000 * outcome.decision_s,
                "decisions_per_s": outcome.decisions / max(outcome.decision_s, 1e-9),
            }
            for name, outcome in outcomes
        ]
    )


# The cost of recorded neighbours in recorded CPU.
#
# The recorded CPU of a container contains the cost of its neighbours at that time. If the recorded
# binding is known, the cost of those neighbours by the model is subtracted before the cost of new
# neighbours is added; otherwise interference would count twice. A test first decides whether
# recorded CPU contains the cost: a made-up trace may plant interference in monitoring rows alone.

#: The number of times at which use and cost are compared.
_LOOKED_AT = 48
_FEWEST = 8
#: If the interval of the slope ends below this, recorded use does not contain the cost.
_HALF = 0.5


@dataclass(frozen=True, kw_only=True)
class RecordedUseDecision:
    """The decision whether recorded CPU contains what recorded neighbours cost, with evidence.

    Parameters
    ----------
    taken_off : bool
        Whether the loss to neighbours that the model predicts is subtracted from recorded CPU.
    containers : int
        The number of containers with a known recorded binding.
    share, low, high : float, optional
        The slope of a regression of containers' recorded CPU on their predicted loss, with its 95 %
        interval: near 1 if CPU contains the loss, near 0 if not. None without a regression.
    """

    taken_off: bool
    containers: int
    share: float | None = None
    low: float | None = None
    high: float | None = None

    def facts(self) -> Iterator[Fact]:
        """Yield a fact about the decision, unless no recorded binding is known."""
        if self.containers:
            because = "neighbours_taken_off" if self.taken_off else "neighbours_not_in_use"
            yield remark(
                because,
                self.containers,
                "containers",
                slope=self.share,
                slope_low=self.low,
                slope_high=self.high,
            )

    def document(self) -> dict[str, Any]:
        """Return the decision as the manifest's entry ``recorded_use``."""
        return asdict(self)


class OldNeighbours:
    """The recorded vCPUs of a workload's containers, and what recorded neighbours cost in CPU.

    Parameters
    ----------
    service : int64, shape (containers,)
        The position of each container's service in the model.
    """

    def __init__(
        self,
        load: Workload,
        room: VcpuPlaces,
        model: InterferenceModel,
        service: IntArray,
        bindings: Bindings,
    ) -> None:
        places = [
            one if on_one_socket(room, one) else one[:0]
            for one in recorded_chooser(load, room, bindings).places
        ]
        self.load, self.service = load, service
        self._room, self._model = room, model
        self.size = np.array([len(one) for one in places], dtype=np.int64)
        self._owner = np.repeat(np.arange(load.containers.count), self.size)
        self._place = np.concatenate([*places, np.empty(0, dtype=np.int64)])
        self._last: tuple[BoolArray, FloatArray] | None = None

    @property
    def bound_count(self) -> int:
        """The number of containers whose recorded binding is known."""
        return int((self.size > 0).sum())

    def cost_milli(self, now: int) -> FloatArray:
        """Return each container's millicores lost to neighbours at time ``now``, (containers,)."""
        running = (self.load.containers.arrival_ms <= now) & (
            now < self.load.containers.departure_ms
        )
        if self._last is None or not np.array_equal(running, self._last[0]):
            self._last = running, self._cost(running)
        return self._last[1]

    def _cost(self, running: BoolArray) -> FloatArray:
        """The cost without containers that share a recorded vCPU at the time."""
        count = self.load.containers.count
        held = running[self._owner]
        taken = np.bincount(self._place[held], minlength=self._room.places)
        clash = held & (taken[self._place] > 1)
        sound = running & (np.bincount(self._owner[clash], minlength=count) == 0)
        bound_places = sound[self._owner]
        bound = Bound(self._owner[bound_places], self._place[bound_places], count)
        model, service = self._model, self.service
        core, socket = pressure(self._room, bound, model.cpu[service], model.agg)
        score = model.k1[service] * core + model.k2[service] * socket
        return np.where(sound & (self.size > 0), score * self.size * MILLI_PER_CORE, 0.0)


def held_by_use(old: OldNeighbours, option: RecordedUse) -> RecordedUseDecision:
    """Return the decision whether recorded CPU contains the CPU that recorded neighbours cost.

    ``option`` decides, unless it is ``auto``. Then the recorded CPU of containers is regressed on
    the cost that the model predicts, both less the mean of their service. CPU contains the cost
    unless the slope's interval ends below 1/2.
    """
    if not old.bound_count:
        return RecordedUseDecision(taken_off=False, containers=0)
    if option != "auto":
        return RecordedUseDecision(
            taken_off=option == "with_neighbours", containers=old.bound_count
        )
    slope = _slope(old)
    if slope is None:
        return RecordedUseDecision(taken_off=True, containers=old.bound_count)
    share, low, high = slope
    return RecordedUseDecision(
        taken_off=not high < _HALF, containers=old.bound_count, share=share, low=low, high=high
    )


def _slope(old: OldNeighbours) -> tuple[float, float, float] | None:
    """The slope of recorded CPU over predicted cost, with its interval; None if it is unknown."""
    load = old.load
    at = np.unique(np.linspace(0, len(load.use.times_ms) - 1, _LOOKED_AT).astype(np.int64))
    use, cost, many = (np.zeros(load.containers.count) for _ in range(3))
    for step in at.tolist():
        own = load.use.at(step)[0].astype(np.float64)
        lost = old.cost_milli(int(load.use.times_ms[step]))
        sampled = np.isfinite(own) & (old.size > 0)
        sampled &= (load.containers.arrival_ms <= load.use.times_ms[step]) & (
            load.use.times_ms[step] < load.containers.departure_ms
        )
        use[sampled] += own[sampled]
        cost[sampled] += lost[sampled]
        many[sampled] += 1
    some = np.flatnonzero(many > 0)
    if len(some) < _FEWEST:
        return None
    columns = np.column_stack([cost[some] / many[some], old.size[some].astype(np.float64)])
    beside, services = _within(
        np.column_stack([columns, use[some] / many[some]]), old.service[some]
    )
    if len(some) - services - 2 < 1 or not beside[:, 0].any():
        return None
    fitted = fit_linear(beside[:, :2], beside[:, 2], How(), absorbed=services)
    share, low, high = (float(v[1]) for v in (fitted.coefficients, fitted.low, fitted.high))
    return (share, low, high) if np.isfinite([share, low, high]).all() else None


def _within(columns: FloatArray, service: IntArray) -> tuple[FloatArray, int]:
    """Columns minus the means of services, and the number of services."""
    names, group = np.unique(service, return_inverse=True)
    many = np.bincount(group)
    means = np.stack([np.bincount(group, column) / many for column in columns.T], axis=1)
    return columns - means[group], len(names)


def positions(load: Workload, names: Sequence[str]) -> IntArray:
    """Return the index in ``names`` of each container of a workload, shape (containers,)."""
    at = {name: number for number, name in enumerate(names)}
    return np.array([at[name] for name in load.containers.ids], dtype=np.int64)


#: The relative difference of vCPUs from which loads are different.
_SAME = 0.05


def unlike_recorded(vcpus: Mapping[str, float]) -> Iterator[Fact]:
    """Yield a fact if other ways bind at least 5 % more or fewer vCPUs than the recorded binding.

    The recorded binding has the recorded number of vCPUs, and other ways bind the requested number.
    Of these ways the one with most vCPUs is compared.

    Parameters
    ----------
    vcpus : mapping of str to float
        The mean number of bound vCPUs over time of each way.
    """
    others = [bound for name, bound in vcpus.items() if name != RECORDED]
    ours = vcpus.get(RECORDED)
    if ours and others and abs(max(others) / ours - 1) >= _SAME:
        yield remark("recorded_of_other_load", round(ours), "vCPUs", other_vcpus=round(max(others)))
