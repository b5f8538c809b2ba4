"""The effect of each changed assumption on the decision and on the ranks of policies."""

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from tracekit.answer.admissible import waits_too_much
from tracekit.answer.decide import Choice
from tracekit.answer.repeat import LARGEST, row_of
from tracekit.answer.standings import Standing, Standings, difference, standings
from tracekit.base.arrays import order_seed
from tracekit.base.crew import OnProgress
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, Verdict
from tracekit.base.study import Study
from tracekit.cluster.source import WorkloadSource
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Sent
from tracekit.replay.chance import FEWEST
from tracekit.replay.measures import OVERLOAD
from tracekit.replay.runs.one import ALIKE, digest_of, in_order, replay_one, shares, varying
from tracekit.replay.runs.replayer import Planned, replays_alike
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.waiting import MAY_WAIT, most_waiting

#: What a change does to the recommended policy.
Stands = Literal["same", "barred", "another policy", "undecided", "nothing changes"]
#: The values of ``Stands`` by which the recommended policy is another one.
TURNED: tuple[Stands, ...] = ("barred", "another policy")


def stands(usual: Choice, here: Choice) -> Stands:
    """Return what a change of an assumption does to the recommendation of a policy.

    Parameters
    ----------
    usual, here : Choice
        The policy that is recommended without the change, and the one that is with it.

    Returns
    -------
    Stands
        ``same``; ``barred`` if the usual policy may not be recommended here; ``another policy``; or
        ``undecided`` if there are too few orders of arrival or no policy is recommended.
    """
    if "few_orders" in (usual.because, here.because) or not (usual.policy and here.policy):
        return "undecided"
    if usual.policy in {one.policy for one in here.barred}:
        return "barred"
    return "same" if usual.policy == here.policy else "another policy"


BASE = "as assumed"

_RANKS = {
    "change": pl.String,
    "policy": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "rank": pl.Float64,
    "best": pl.Boolean,
    OVERLOAD: pl.Float64,
    "pending": pl.Float64,
    "waited": pl.Boolean,
    "barred": pl.String,
}
_MOVES = {
    "change": pl.String,
    "stands": pl.String,
    "policy": pl.String,
    "because": pl.String,
    "decided_by": pl.String,
    "agreement": pl.Float64,
    "first": pl.String,
    "most_moved": pl.String,
    "places": pl.Float64,
    "problem": pl.String,
}


def ranked(
    results: Mapping[str, Results], measure: str, choices: Mapping[str, Choice]
) -> pl.DataFrame:
    """Rank the policies by a measure under each change, a row for each change and policy.

    A change under which the measure is unknown has rows without a rank. Raises TracekitError if the
    workload without changes lacks the measure.
    """
    rows: list[dict[str, Any]] = []
    for change, one in results.items():
        ours = [policy for policy in one.policies if one.has_value(policy, measure)]
        if change == BASE and not set(ours) - {OBSERVED}:
            raise TracekitError(f"the workload has no measure '{measure}'")
        ranks = _ranks(one, measure) if ours else {}
        rows += [
            {
                "change": change,
                "policy": policy,
                **ranks.get(policy, {"best": False}),
                OVERLOAD: _mean(one, policy, OVERLOAD),
                "pending": _mean(one, policy, "pending"),
                "waited": waits_too_much(one, policy),
                "barred": _barred(choices[change]).get(policy),
            }
            for policy in [*ranks, *(name for name in one.policies if name not in ranks)]
        ]
    return pl.DataFrame(rows, schema=_RANKS)


def _barred(choice: Choice) -> dict[str, str]:
    return {one.policy: one.because for one in choice.barred}


def _ranks(results: Results, measure: str) -> dict[str, dict[str, Any]]:
    """Mean, interval and rank of each policy, the best first."""
    stand = standings(results, measure)
    return {
        policy: {
            "value": row.mean,
            "low": row.low,
            "high": row.high,
            "rank": _rank(results, stand, row),
            "best": row in stand.best,
        }
        for row in stand.rows
        for policy in row.names
    }


def _mean(results: Results, policy: str, name: str) -> float | None:
    return float(results.of(policy, name).mean()) if results.has_value(policy, name) else None


def _rank(results: Results, stand: Standings, row: Standing) -> float:
    """The rank of a policy: 1, and one more for each policy that is better beyond chance.

    A policy that chance does not tell from the best has rank 1. Policies with waiting containers
    come last.
    """
    if row in stand.best:
        return 1.0
    ours = [other for other in stand.rows if not other.waited]
    if row.waited:
        return 1.0 + sum(len(other.names) for other in ours)
    sign = 1 if results.measures[stand.measure].first == "low" else -1
    better = 0
    for other in ours if stand.tells else ():
        apart = difference(results, row.names[0], other.names[0], stand.measure)
        if apart is not None and apart.apart and sign * apart.mean > 0:
            better += len(other.names)
    return 1.0 + better


def moved_by(
    ranks: pl.DataFrame,
    choices: Mapping[str, Choice],
    problems: Mapping[str, str],
    unchanged: Sequence[str] = (),
) -> pl.DataFrame:
    """Return a row for each change: its effect on recommendation and ranks, the largest first.

    Parameters
    ----------
    ranks : DataFrame
        The frame that ``ranked`` returns.
    choices : mapping of str to Choice
        The recommendation under each change, and without a change.
    problems : mapping of str to str
        The error of each change that could not be replayed.
    unchanged : sequence of str
        Changes that leave the workload as it is.
    """
    usual = choices[BASE]
    base = dict(ranks.filter(change=BASE).select("policy", "rank").drop_nulls().rows())
    rows: list[dict[str, Any]] = []
    for (change,), part in ranks.group_by("change", maintain_order=True):
        if change == BASE:
            continue
        here = choices[str(change)]
        rows.append(
            {
                "change": change,
                "stands": stands(usual, here),
                "policy": here.policy or None,
                "because": here.because,
                "decided_by": here.measure or None,
                **_moved(base, dict(part.select("policy", "rank").drop_nulls().rows())),
                "first": ", ".join(part.filter("best")["policy"]) or None,
                "problem": None,
            }
        )
    rows += [{"change": change, "stands": "nothing changes"} for change in unchanged]
    rows += [{"change": change, "problem": what} for change, what in problems.items()]
    order_of = {one: at for at, one in enumerate((*TURNED, "undecided", "same", "nothing changes"))}
    order = pl.col("stands").replace_strict(order_of, default=len(order_of), return_dtype=pl.Int64)
    return pl.DataFrame(rows, schema=_MOVES).sort(order, "agreement", "change", nulls_last=True)


def _moved(base: Mapping[str, float], here: Mapping[str, float]) -> dict[str, Any]:
    """The agreement of two rankings, and the policy that moved most."""
    both = [name for name in here if name in base]
    if len(both) < 2:
        return {}
    old, new = [base[name] for name in both], [here[name] for name in both]
    from scipy import stats  # noqa: PLC0415 - slow to import

    tau = stats.kendalltau(old, new).statistic
    moved = max(both, key=lambda name: abs(here[name] - base[name]))
    return {
        # the agreement is undefined where one side ranks all policies alike
        "agreement": float(old == new) if tau != tau else float(tau),  # noqa: PLR0124
        "most_moved": moved,
        "places": float(abs(here[moved] - base[moved])),
    }


_VERDICTS: Mapping[str, Verdict] = {
    "same": "same",
    "nothing changes": "same",
    "undecided": "cannot_tell",
    "barred": "worse",
    "another policy": "worse",
}


def facts_of_changes(study: Study) -> Iterator[Fact]:
    """Yield a fact for each change: whether the recommended policy is another one."""
    usual = study.about["policy"]
    for row in study.frames["changes"].to_dicts():
        name, _, value = row["change"].partition("=")
        if row["problem"] is not None:
            yield Fact(
                kind="assumption_matters", subject=name, value=value, because="failed", rank=2
            )
            continue
        verdict = _VERDICTS[row["stands"]]
        yield Fact(
            kind="assumption_matters",
            subject=name,
            value=value,
            against=usual,
            verdict=verdict,
            because="barred" if row["stands"] == "barred" else "",
            rank=1 if verdict == "worse" else 2,
            about={"policy": row["policy"], "agreement": row["agreement"]},
        )


# The replays of a study of assumptions.


@dataclass(frozen=True)
class PolicyReplays:
    """The replays of one policy under one change of an assumption; a task ``Orders`` returns it.

    Parameters
    ----------
    rows : list of dict
        The measures in each order of arrival.
    digest : str
        A hash of the placements.
    about : dict
        The entries of a run's manifest that a decision reads.
    used_by : str
        Who uses the policy: ``scheduler``, ``paper`` or ``yardstick``.
    """

    rows: list[dict[str, Any]]
    digest: str
    about: dict[str, Any]
    used_by: str


@dataclass(frozen=True)
class Unchanged:
    """The mark that a change leaves the workload as it is, so that ``Orders`` replays nothing."""


@dataclass(frozen=True)
class Known:
    """A worker's task: compute a workload's hash; workloads with equal hashes replay alike."""

    source: WorkloadSource

    def run(self, _: OnProgress) -> str:
        """Load the workload and compute its hash."""
        return _loaded(self.source)[1]


@dataclass(frozen=True)
class Orders:
    """A worker's task: replay one policy under one change, in several orders of arrival.

    Parameters
    ----------
    usual : str
        The hash of the workload without the change; empty to replay in any case.
    """

    source: WorkloadSource
    policy: Sent
    seed: int
    repeats: int | None
    usual: str = ""

    def run(self, _: OnProgress) -> PolicyReplays | Unchanged | None:
        """Replay. Return None for production if its placement is not recorded."""
        load, load_digest = _loaded(self.source)
        if load_digest == self.usual:
            return Unchanged()
        entrant = self.policy.entrant
        varies, repeats = varying(load), self.repeats
        if "recorded" in entrant.reads and not load.containers.recorded:
            return None
        if repeats is None:
            repeats = FEWEST if load.containers.count * load.nodes.count <= LARGEST else 1
        rows: list[dict[str, Any]] = []
        digests = []
        repeats = repeats if varies else 1
        for number in range(repeats):
            seed = order_seed(self.seed, number)
            met = in_order(load, seed) if number else load
            one = replay_one(met, entrant, seed, replays=repeats)
            rows.append(row_of(Planned(entrant, seed, number), one))
            digests.append(one.digest.encode())
        return PolicyReplays(rows, digest_of(digests), _about(load, varies), entrant.used_by)


def forget() -> None:
    """Clear the workload cached in this process, as the store may have changed."""
    _loaded.cache_clear()


@functools.lru_cache(maxsize=1)
def _loaded(source: WorkloadSource) -> tuple[Workload, str]:
    load = source.load()
    return load, replays_alike(load)


def _about(load: Workload, varies: list[str]) -> dict[str, Any]:
    return {
        "repeats_cover": varies,
        "repeats_none": "" if varies else ALIKE,
        "workload": {
            "name": load.name,
            "nodes": load.nodes.count,
            "containers": load.containers.count,
            "steps": len(load.use.times_ms),
            "step_ms": load.use.step_ms,
            MAY_WAIT: most_waiting(load),
            "assumptions": dict(load.provenance.assumptions),
            "quantities": dict(load.provenance.quantities),
            **shares(load),
        },
    }


def results_of(met: Mapping[str, PolicyReplays]) -> Results:
    """Return one change's replays, given by policy, in the form of a run's results."""
    rows = [{**row, "policy": name} for name, one in met.items() for row in one.rows]
    frame = pl.DataFrame(rows, infer_schema_length=None)
    document = {
        **next(iter(met.values())).about,
        "policies": [
            {"policy": name, "placements": one.digest, "used_by": one.used_by}
            for name, one in met.items()
        ],
    }
    first = frame.filter(repeat=0)
    return Results(document, first, frame if frame.height > first.height else None)
