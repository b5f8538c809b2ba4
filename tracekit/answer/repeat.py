"""Replays of one workload in several orders of arrival, and the policies that meet them."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.admissible import barred_for_good
from tracekit.answer.decide import choose
from tracekit.answer.intervals import COMPARED, decisive, differences_of, interval_of
from tracekit.answer.standings import standings
from tracekit.base.arrays import FloatArray, order_seed
from tracekit.base.errors import TracekitError
from tracekit.base.progress import SILENT, Progress
from tracekit.base.words import counted
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.policy.placement.interference import Interference
from tracekit.replay.chance import FEWEST, Compared
from tracekit.replay.measures import CONFLICTS, NODES, compared, part_column
from tracekit.replay.runs.one import SEED, Replayed, digest_of, varying
from tracekit.replay.runs.replayer import Planned, Replayer
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import Run, assembled

# Whether further orders of arrival could decide which policy is best. With eight policies and six
# orders, a best policy that is ahead by ten standard deviations of one order is found in 94 of 100
# runs, and one ahead by four in none. With a second look after twelve orders, and half of the
# permitted error for each look, the latter is found in 96 of 100 runs (docs/benchmarks/chance.txt).
# All policies of the first orders meet the further ones, so all comparisons have the same orders.


def undecided(run: Results | Run) -> bool:
    """Return whether several policies may be the best: chance may explain their differences.

    Only policies that may be recommended are compared.
    """
    replays = results(run)
    choice = choose(replays, named=replays.policies)
    if len(choice.may) < 2 or not choice.measure:
        return False
    groups = [names for names in replays.groups if set(names) & set(choice.may)]
    rows = standings(replays, choice.measure, among=groups).rows
    return sum(not row.apart_from_best and row.orders >= FEWEST for row in rows) > 1


def added(met: int, up_to: int) -> str:
    """Return the progress message that orders of arrival are added to the first ``met``."""
    return (
        f"{met} orders of arrival leave open which policy is best: {up_to - met} more, so that it"
        " is looked twice, each time at half of what may go wrong"
    )


_NO_OTHERS = "no orders are added: every order is the same"


def repeat_replay(
    workload: Workload,
    policies: Sequence[Entrant],
    *,
    seed: int,
    repeats: int,
    repeated: Sequence[Entrant] | None = None,
    follow: Sequence[str] = (),
    up_to: int | None = None,
    replayer: Replayer | None = None,
    progress: Progress = SILENT,
) -> Run:
    """Replay the workload in ``repeats`` orders of arrival, each under its own seed.

    Repeat 0 is the workload as given, under ``seed``; further repeats reorder it, see
    ``base.arrays.order_seed``. If its order cannot differ (``runs.one.varying``), only the seed
    does. All policies meet the same orders, so their differences are paired.

    Parameters
    ----------
    repeated : sequence of Entrant, optional
        The ``policies`` that meet all orders; all of them if not given. Other policies are replayed
        once and have no intervals.
    follow : sequence of str
        The policies that a recommended policy has to beat. If there are any, policies that are not
        ``repeated`` meet further orders as long as they may be recommended; see ``followed``.
    up_to : int, optional
        The number of orders if ``repeats`` orders leave open which policy is best; see
        ``undecided``. If given, the results are tested twice, each time at half of the permitted
        error.

    Returns
    -------
    Run
        The replay in the workload's own order. Its summary has intervals over all repeats.
        ``repeats`` has one row per repeat and repeated policy: repeat, seed, policy and the
        compared measures. ``differences`` is that of the function ``differences``.

    Raises
    ------
    TracekitError
        For fewer than one repeat.
    """
    if repeats < 1:
        raise TracekitError(f"{repeats} repeats, expected at least 1")
    among = None if repeated is None else {str(one) for one in repeated}
    again = [one for one in policies if among is None or str(one) in among]
    differs = varying(workload)
    if not differs:
        differs = [SEED]
        if up_to:
            progress.say(_NO_OTHERS)
            up_to = None
    replayer = replayer or Replayer()
    planned = [Planned(policy, seed) for policy in policies] + _orders(again, seed, repeats)
    done = replayer.replay(workload, planned, progress)
    first = dataclasses.replace(
        assembled(workload, policies, done[: len(policies)], seed=seed),
        covers=tuple(differs),
        looks=(repeats, up_to) if up_to else (),
    )
    met = _Met(first, again, list(zip(planned, done, strict=True)))
    if follow and repeats > 1:
        how: Any = {"repeats": repeats, "replayer": replayer, "progress": progress}
        again = [*again, *_follow(met, policies, follow, **how)]
    if up_to and undecided(met.run()):
        progress.say(added(repeats, up_to))
        met.add(_orders(again, seed, up_to, since=repeats), replayer, progress)
    run = met.run()
    replays = results(run)
    return dataclasses.replace(
        run, summary=with_intervals(replays), differences=differences(replays)
    )


@dataclasses.dataclass
class _Met:
    """The results of the first order, and of further orders for the policies that met them."""

    first: Run
    again: list[Entrant]
    pairs: list[tuple[Planned, Replayed]]

    def add(self, plans: Sequence[Planned], replayer: Replayer, progress: Progress) -> None:
        """Replay in more orders."""
        done = replayer.replay(self.first.workload, plans, progress)
        self.pairs += zip(plans, done, strict=True)

    def run(self) -> Run:
        """Return the results as a run, without intervals and differences."""
        names = {str(one) for one in self.again}
        rows = [row_of(plan, one) for plan, one in self.pairs if str(plan.policy) in names]
        return dataclasses.replace(
            self.first,
            repeats=_measures(rows, self.first.summary.columns),
            digests=_digests(self.pairs),
        )


def _follow(
    met: _Met,
    policies: Sequence[Entrant],
    rivals: Sequence[str],
    *,
    repeats: int,
    replayer: Replayer,
    progress: Progress,
) -> list[Entrant]:
    """Replay further orders of the policies that may be recommended; return those that met all."""
    others = [one for one in policies if one not in met.again]
    looks, going = [one for one in LOOKS if one < repeats], others
    for since, until in itertools.pairwise([*looks, repeats]):
        going = followed(met.run(), going, rivals)
        progress.say(_progress_line(going, len(others), since))
        met.again += [one for one in going if one not in met.again]
        met.add(_orders(going, met.first.seed, until, since), replayer, progress)
    left = tuple(str(one) for one in others if one not in going)
    met.first = dataclasses.replace(met.first, left_out=left)
    return going


def _orders(policies: Sequence[Entrant], seed: int, repeats: int, since: int = 1) -> list[Planned]:
    """The orders from ``since`` on, for each policy."""
    seeds = {number: order_seed(seed, number) for number in range(since, repeats)}
    return [Planned(one, its, number) for number, its in seeds.items() for one in policies]


def _progress_line(going: Sequence[Entrant], others: int, orders: int) -> str:
    names = f": {', '.join(map(str, going))}" if going else ""
    met = counted(orders, "order")
    return f"{len(going)} of {others} may still be recommended after {met} of arrival{names}"


def _digests(done: Sequence[tuple[Planned, Replayed]]) -> dict[str, str]:
    """One hash per policy over all its orders."""
    parts: dict[str, list[bytes]] = {}
    for plan, one in done:
        parts.setdefault(str(plan.policy), []).append(one.digest.encode())
    return {policy: digest_of(replays) for policy, replays in parts.items()}


def row_of(plan: Planned, one: Replayed) -> dict[str, Any]:
    """Return the row of a replay in the frame ``repeats``."""
    return {**one.row, "repeat": plan.repeat, "seed": plan.seed, "policy": one.row["policy"]}


def _measures(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> pl.DataFrame:
    """One row per repeat and policy: the compared measures, and conflicts."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    columns = [name for name in (*compared(names), CONFLICTS) if name in frame.columns]
    whole = [pl.col(name).cast(pl.Int64) for name in ("repeat", "seed")]
    return frame.sort("repeat", maintain_order=True).select(*whole, "policy", *columns)


# Frames of a run on the differences between policies.

_SCHEMA = {
    "policy_a": pl.String,
    "policy_b": pl.String,
    "measure": pl.String,
    "repeats": pl.Int64,
    "difference_mean": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "p_corrected": pl.Float64,
    "separated": pl.Boolean,
    "family": pl.String,
    "all_placed": pl.Boolean,
}


def differences(results: Results) -> pl.DataFrame:
    """Return the difference of each pair of policies by each measure: policy a less policy b.

    Only policies that met all orders of arrival are compared.

    Returns
    -------
    DataFrame
        policy_a, policy_b, measure, repeats, difference_mean; low and high, the interval corrected
        for all comparisons; p, and p_corrected after Holm; ``separated``, whether the difference is
        beyond chance; family, ``decision`` or ``others`` (p_corrected is comparable only within a
        family); ``all_placed``, whether no container waited under either policy.
    """
    most = results.most_orders
    names = [name for name in results.policies if results.orders(name) == most]
    first = {name: group[0] for group in results.groups for name in group}
    waited = {
        name: results.has_value(name, "pending") and bool(results.of(name, "pending").any())
        for name in names
    }
    columns: dict[str, list[Any]] = {name: [] for name in _SCHEMA}
    for one, other in itertools.combinations(names, 2):
        columns["measure"] += results.measures
        for name, value in (
            ("policy_a", one),
            ("policy_b", other),
            ("repeats", most),
            ("all_placed", not (waited[one] or waited[other])),
        ):
            columns[name] += [value] * len(results.measures)
        part = _part(results, first[one], first[other])
        columns["family"] += _families(results, first[one], first[other])
        columns["difference_mean"] += part.mean.tolist()
        for name in ("low", "high", "p", "p_corrected", "separated"):
            columns[name] += getattr(part, name).tolist()
    if most < FEWEST:
        columns["low"] = columns["high"] = [None] * len(columns["low"])
    made = pl.DataFrame(columns, schema=_SCHEMA, strict=False)
    return made.with_columns(pl.col("low", "high", "p", "p_corrected").fill_nan(None))


def _families(results: Results, one: str, other: str) -> list[str | None]:
    """The family of a pair's comparison by measure; empty where the two place alike."""
    if one == other:
        return [None] * len(results.measures)
    pairs, _ = differences_of(results)
    pair = (one, other) if (one, other) in pairs else (other, one)
    return ["decision" if ours else "others" for ours in decisive(results, [pair]).tolist()]


def _part(results: Results, one: str, other: str) -> Compared:
    """The difference of two policies by each measure; empty where they place alike."""
    many = len(results.measures)
    if one == other:
        none, unknown = np.zeros(many), np.full(many, np.nan)
        return Compared(
            mean=none,
            low=none,
            high=none,
            p=unknown,
            p_corrected=unknown,
            separated=np.zeros(many, dtype=np.bool_),
        )
    pairs, tested = differences_of(results)
    turned = (one, other) not in pairs
    at = pairs[(other, one) if turned else (one, other)] * many
    return tested.part(slice(at, at + many), turned=turned)


def with_intervals(results: Results) -> pl.DataFrame:
    """Return the summary with the mean over repeats of each measure, and its interval.

    Column ``cpu_max_fraction`` gets ``cpu_max_repeats_fraction``, ``cpu_max_low_fraction`` and
    ``cpu_max_high_fraction``. All are NULL for policies that were not repeated, and for the bound.
    """
    names = [name for name in results.policies if results.orders(name) > 1]
    intervals = {name: interval_of(results, name) for name in names}
    columns: dict[str, list[object]] = {"policy": list(names)}
    for part in ("repeats", "low", "high"):
        field = "mean" if part == "repeats" else part
        for at, measure in enumerate(results.measures):
            values = [float(getattr(intervals[name], field)[at]) for name in names]
            columns[part_column(measure, part)] = [None if np.isnan(v) else v for v in values]
    kinds = {name: pl.String if name == "policy" else pl.Float64 for name in columns}
    made = pl.DataFrame(columns, schema=kinds)
    return results.summary.join(made, on="policy", how="left", maintain_order="left")


#: The numbers of orders of arrival after which policies are given up.
LOOKS = (1, 3)
#: The number of policies with the fewest used nodes that go on, as their nodes are counted.
FEWEST_USED = 2
#: Containers times nodes up to which slow policies meet further orders; an order takes minutes.
LARGEST = 200_000_000
#: Containers times nodes up to which other policies meet further orders, and nodes are counted.
LARGEST_ONCE = 2_000_000_000


def followed(run: Run, going: Sequence[Entrant], rivals: Sequence[str]) -> list[Entrant]:
    """Return the policies that may still be recommended, to be replayed in more orders.

    Other policies are given up; see ``may_win``. This is a group sequential design that stops for
    futility alone, with a non-binding bound (Jennison and Turnbull, Group Sequential Methods, 2000,
    section 4.6). Nothing is concluded before the last look, so giving up a policy can only reduce
    the conclusions. It still counts as a comparison (``chance.holm``), so the level of the other
    policies does not change.

    Parameters
    ----------
    run : Run
        The replays so far.
    going : sequence of Entrant
        The policies that met all orders so far.
    rivals : sequence of str
        The policies that a recommended policy has to beat; they meet all orders.
    """
    size = run.workload.containers.count * run.workload.nodes.count
    quick = [one for one in going if not _slow(one)]
    among = going if size <= LARGEST else quick if size <= LARGEST_ONCE else []
    replays = results(run)
    left = {str(one): one for one in among if not barred_for_good(replays, str(one))}
    by = next((one for one in COMPARED if one in replays.measures), "")
    if not by:
        return list(left.values())
    measured = {
        name: replays.of(name, by) for name in replays.policies if replays.has_value(name, by)
    }
    low = replays.measures[by].first == "low"
    beaten = [name for name in rivals if name in measured]
    keep = {*may_win(measured, list(left), beaten, low=low), *_fewest_used(replays, list(left))}
    return [one for name, one in left.items() if name in keep]


def may_win(
    values: Mapping[str, FloatArray], names: Sequence[str], rivals: Sequence[str], *, low: bool
) -> list[str]:
    """Return the names whose mean is better than each rival's, over the orders that both met.

    Parameters
    ----------
    values : mapping of str to float64, shape (orders,)
        By policy, the deciding measure in each order.
    low : bool
        Whether less is better.
    """
    sign = 1.0 if low else -1.0
    return [
        name
        for name in names
        if name in values
        and all(
            sign * float((values[name] - values[other][: len(values[name])]).mean()) < 0
            for other in rivals
        )
    ]


def _fewest_used(replays: Results, names: Sequence[str]) -> list[str]:
    measured = [name for name in names if replays.has_value(name, NODES)]
    return sorted(measured, key=lambda name: float(replays.of(name, NODES)[0]))[:FEWEST_USED]


def _slow(one: Entrant) -> bool:
    """Whether a policy's decisions take far longer than scores of nodes do."""
    policy = one.placement
    return policy.batched or isinstance(policy, Interference)
