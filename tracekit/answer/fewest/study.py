"""The study of the fewest nodes for each policy within limits on use.

See ``search`` for the search, ``limits`` for the limits, ``cluster`` for nodes that stay in any
case, and ``tracekit.cluster.enlarged`` for more load.
"""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer.admissible import placed_all
from tracekit.answer.fewest.cluster import CLASSES, ZONE, Cluster
from tracekit.answer.fewest.frames import frames_of, given_again, of_production, orders_of
from tracekit.answer.fewest.limits import CPU, MEMORY, Limits, check_limits, limits_at
from tracekit.answer.fewest.outcome import COST, NODES, Goal
from tracekit.answer.fewest.searches import Rivals, Survey, Terms, Today, begun, ended, forget
from tracekit.answer.fewest.trials import TODAY, LostZone, frame_of
from tracekit.base.crew import Alone, Crew
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.progress import SILENT, Progress, Task
from tracekit.base.study import Study
from tracekit.cluster.enlarged import scale_of
from tracekit.cluster.source import WorkloadSource
from tracekit.policy.entrant import USUAL, Entrant, Entrants, Sent
from tracekit.policy.entrant import files_entry as files_noted
from tracekit.replay.measures import COST_PER_HOUR
from tracekit.replay.runs.thresholds import Threshold

NAME = "fewest_nodes"
#: The policy whose nodes are counted where none is named.
POLICIES = (USUAL,)


#: The end of names of frames on counts as in production.
AS_PRODUCTION = "production"


@dataclass(frozen=True, kw_only=True)
class Counts:
    """The results of all searches of a study of the fewest nodes.

    Parameters
    ----------
    cluster : Cluster
        The nodes.
    facts : mapping
        The study's entries on the workload.
    observed : mapping, optional
        Production's measures; None where its placement is not recorded.
    limits : Limits
        The limits of the searches ``at_ceiling``.
    at_ceiling : Goal
        The counts with all nodes below the ceiling, the use from which on a node is full.
    as_production : Goal
        The counts with nodes above the ceiling no more often than in production. Empty unless
        production itself is above the ceiling, and no limit on use is given.
    today : (str, tuple of LostZone), optional
        A policy, and the loss of each zone of the whole cluster under it. None where the loss of a
        zone need not be survived, or the load is multiplied.
    """

    cluster: Cluster
    facts: dict[str, Any]
    observed: dict[str, Any] | None
    limits: Limits
    at_ceiling: Goal
    as_production: Goal
    repeats: int
    by: str
    today: tuple[str, tuple[LostZone, ...]] | None = None

    @property
    def policies(self) -> set[str]:
        """All policies for which nodes were searched."""
        goals = (self.at_ceiling, self.as_production)
        return {name for goal in goals for name in (*goal.outcomes, *goal.problems)}


def count_nodes(
    source: WorkloadSource,
    entrants: Mapping[str, Entrant],
    *,
    limits: Sequence[Threshold] = (),
    scale: float = 1.0,
    repeats: int | None = None,
    least: str = "",
    may_remove: Sequence[str] = (),
    seed: int = 0,
    crew: Crew | None = None,
    replays_folder: Path | None = None,
    subject: str = "",
    survive: bool = False,
    rivals: Mapping[str, Entrant] = MappingProxyType({}),
    progress: Progress = SILENT,
) -> Counts:
    """Search the fewest nodes of each policy; see ``shrink_cluster`` for the parameters."""
    _check(scale, repeats, may_remove)
    check_limits(limits, list(entrants))
    crew = crew or Alone()
    forget()
    with progress.task("fewest nodes", len(entrants) + 1, "searches") as task:
        # one search reads the workload here, and goes on with it
        reader = crew if replays_folder is None and len(entrants) > 1 else Alone()
        survey = Survey(
            source, scale, seed, tuple(may_remove), tuple(limits), tuple(entrants), survive
        )
        cluster, facts, observed = reader.submit(survey).result()
        task.advance(1, "production" if observed else "the workload")
        within = limits_at(cluster.ceiling, limits, observed)
        orders = orders_of(facts, repeats)
        by = what_is_least(least, within, cluster)
        # where production placed all containers, nodes are enough and the policy lets some wait
        may_wait = placed_all(observed) and scale == 1
        removable = tuple(may_remove)
        terms = Terms(
            source, scale, within, seed, orders, by, may_wait, removable, subject, survive
        )
        today = None
        if survive and scale == 1:
            usual = entrants.get(subject) or next(iter(entrants.values()))
            lost = reader.submit(Today(terms, Sent(usual))).result()
            today = str(usual), lost
        search = functools.partial(
            _goal, entrants, rivals, crew=crew, replays_folder=replays_folder, task=task
        )
        again = _as_production(terms, entrants)
        return Counts(
            cluster=cluster,
            facts=facts,
            observed=observed,
            limits=within,
            at_ceiling=search(terms),
            as_production=Goal() if again is None else search(again),
            repeats=orders,
            by=by,
            today=today,
        )


def _goal(
    entrants: Mapping[str, Entrant],
    rivals: Mapping[str, Entrant],
    terms: Terms,
    *,
    crew: Crew,
    replays_folder: Path | None,
    task: Task,
) -> Goal:
    """The counts of one goal; of rivals, those that may need fewer nodes than the first policy."""
    outcomes, problems = ended(begun(terms, entrants, crew, replays_folder, task), task)
    if not rivals:
        return Goal(outcomes, problems)
    usual = outcomes.get(next(iter(entrants)))
    contest = Rivals(terms, crew, replays_folder, task)
    more, none = ended(begun(terms, contest.fewer(rivals, usual), crew, replays_folder, task), task)
    as_random = {} if usual is None else contest.as_random(more)
    return Goal({**outcomes, **more}, {**problems, **none}, as_random)


def _as_production(terms: Terms, entrants: Mapping[str, Entrant]) -> Terms | None:
    """The terms of counts as in production, where production is above the ceiling; else None."""
    limits = terms.limits
    above = any(
        limits.observed.get(name, 0) > limits.most(policy, name)
        for name in (CPU, MEMORY)
        for policy in entrants
    )
    whole = all(
        len(limits.of(policy)) == len(limits.waiting) + len(limits.ceiling) for policy in entrants
    )
    if not (above and whole) or terms.scale != 1:
        return None
    return replace(terms, limits=limits.as_production())


def _check(scale: float, repeats: int | None, may_remove: Sequence[str]) -> None:
    scale_of(scale)
    if repeats is not None and repeats < 1:
        raise TracekitError(f"{repeats} repeats, expected at least 1")
    for one in may_remove:
        if one not in CLASSES:
            close = nearest(one, CLASSES)
            raise TracekitError(
                f"--may-remove '{one}' is no class of special nodes",
                hint=f"did you mean {close}?" if close else f"one of {', '.join(CLASSES)}",
            )


def what_is_least(least: str, limits: Limits, cluster: Cluster) -> str:
    """Return what a search makes least: ``nodes`` or ``cost``.

    It is the word ``least``. If this is empty, it is the cost where all nodes have a price or a
    limit is on the cost, and the number of nodes elsewhere.

    Raises
    ------
    TracekitError
        For another word, and for the cost of nodes without a price.
    """
    price = cluster.price_per_hour
    priced = price is not None and not bool(np.isnan(price).any())
    limited = any(one.measure == COST_PER_HOUR for one in limits.given)
    by = least or (COST if limited or priced else NODES)
    if by not in {NODES, COST}:
        raise TracekitError(
            f"--least '{by}' is not known",
            hint=f"'{NODES}' for as few nodes as possible, '{COST}' for as cheap ones",
        )
    price, nodes = cluster.price_per_hour, len(cluster.node_ids)
    unpriced = nodes if price is None else int(np.isnan(price).sum())
    if by == COST and unpriced:
        raise TracekitError(
            f"--least {COST} asks what nodes cost, and {unpriced:,} of {nodes:,} have no price",
            hint="column price_per_hour of the table node says what one costs",
        )
    return by


def shrink_cluster(
    source: WorkloadSource,
    *,
    policies: Sequence[Entrant] = (),
    limits: Sequence[Threshold] = (),
    scale: float = 1.0,
    repeats: int | None = None,
    least: str = "",
    may_remove: Sequence[str] = (),
    seed: int = 0,
    crew: Crew | None = None,
    replays_folder: Path | None = None,
    called: str | None = None,
    subject: str = "",
    survive: bool = False,
    rivals: Sequence[Entrant] = (),
    progress: Progress = SILENT,
) -> Study:
    """Search the fewest nodes of a cluster on which each policy keeps all limits.

    Parameters
    ----------
    limits : sequence of Threshold
        Limits on measures of the summary; they all hold in each order of arrival. ``base`` is the
        same policy on all nodes, ``observed`` is production. A resource without a given limit has
        the workload's ceiling as its limit. Without a limit on ``pending`` or
        ``pending_container_steps`` no container may wait. There is one exception: where production
        placed all containers, a few that wait on all nodes may wait on fewer nodes, too.
    scale : float
        The factor by which containers are multiplied.
    repeats : int, optional
        The number of orders of arrival. By default six, as in ``replay``; one where all orders are
        the same, or the workload is very large.
    least : {'', 'nodes', 'cost'}
        What a search makes least: the number of nodes, or the hourly cost of the nodes that stay.
        See ``what_is_least`` for the default.
    may_remove : sequence of {'gpu', 'tainted', 'pinned'}
        Classes of special nodes that may be removed; see ``tracekit.answer.fewest.cluster``.
    replays_folder : path, optional
        A folder that keeps replays, from which a later call goes on.
    called : str, optional
        The name of the store in commands, if not its path.
    subject : str, optional
        The policy that the answer is about; by default that with the fewest nodes. Nodes are added
        for no other policy.
    survive : bool
        Whether all limits also have to hold when any one zone is lost. It is lost at the first
        step that measures count, and its containers are placed anew. The part of its nodes' use
        that belongs to no container continues on the nodes that stay.
    rivals : sequence of Entrant, optional
        Policies that get rows only if they may need fewer nodes than the first of ``policies``; see
        ``tracekit.answer.fewest.searches``.

    Returns
    -------
    Study
        ``policies`` has a row for each policy, the fewest nodes first. ``nodes`` of ``of`` nodes
        are enough in all orders, ``nodes_low`` and ``nodes_high`` in the best and the worst order
        alone. ``joint_apart`` says whether all orders together need over 5 % more than the worst
        order. ``bound`` is a lower bound (null: none is proven), and ``going`` the rule by which
        nodes are removed. Measures are the worst over the orders on exactly these nodes. A limit
        has columns for its text, measure, value, allowed value and room: ``tightest_...`` is the
        limit with the least room, ``fails_...`` the one that breaks with ``fewer`` nodes (null
        where none was tried), ``breaks_...`` the one that breaks on all nodes. ``fullest_node`` has
        the highest CPU over time, ``special_nodes`` is how many nodes must stay, and ``restarted``
        how many containers now run on nodes to be removed. ``added_nodes`` of the ``nodes`` are not
        in the cluster yet. With prices there are ``cost_kept_per_hour``, ``cost_all_per_hour`` and
        the lower bound ``cost_bound_per_hour``. A policy without a result has a ``problem``.

        ``orders`` has policy, repeat, and the fewest nodes of that order of arrival alone.

        ``sizes`` has a row for each replay with nodes removed by this rule, with all measures, the
        cost and the tightest limit. They include eight counts from the bound to all nodes in the
        first order.

        ``nodes`` has a row for each policy and node. ``place`` 1 stays longest; ``like_node`` is
        the node that an added node copies; ``special`` says why it must stay. Further columns have
        its requests on all nodes, whether it is kept, its use in the worst order, capacity, price,
        the budgets that bar its eviction, whether it is cordoned, and the containers that
        production runs there at the end.

        ``zones``, with ``survive``, has a row for each lost zone, of the whole cluster (case
        ``today``) and of the nodes that stay (``kept``); see ``LostZone``.

        If production is above the ceiling, ``policies_as_production`` and so on have the same
        columns, with limits by which nodes may be above it as often as in production.

    Raises
    ------
    TracekitError
        For unknown names or values.
    """
    entrants = {str(one): one for one in policies or Entrants.of(POLICIES).chosen}
    others = {str(one): one for one in rivals}
    counts = count_nodes(
        source,
        entrants,
        limits=limits,
        scale=scale,
        repeats=repeats,
        least=least,
        may_remove=may_remove,
        seed=seed,
        crew=crew,
        replays_folder=replays_folder,
        subject=subject,
        survive=survive,
        rivals=others,
        progress=progress,
    )
    within, full = counts.limits, counts.cluster.ceiling
    entrants |= {name: one for name, one in others.items() if name in counts.policies}
    return Study(
        name=NAME,
        about={
            "policies": list(entrants),
            **files_noted(entrants.values()),
            **({"subject": subject} if subject else {}),
            **({"survive": ZONE} if survive else {}),
            "limits": [one.text for one in within.on_use(entrants)],
            "limits_given": bool(limits),
            "ceiling": {"cpu": full.cpu_fraction, "memory": full.memory_fraction},
            "measures": list(dict.fromkeys(name for one in within.given for name in one.measures)),
            "scale": scale,
            "least": counts.by,
            "repeats": counts.repeats,
            "repeats_cover": counts.facts["varying"],
            "seed": seed,
            "nodes": counts.facts["nodes"],
            "may_remove": list(may_remove),
            "workload": {**counts.facts, **given_again(source, called)},
            "observed": of_production(counts.observed, within),
            **({"rivals": list(others), **_as_random(counts)} if rivals else {}),
            "yardsticks": [name for name, one in entrants.items() if one.used_by == "yardstick"],
        },
        frames=_frames(counts),
    )


def _as_random(counts: Counts) -> dict[str, Any]:
    """The counts of rivals that need as many nodes as placement at random, for both goals."""
    again = counts.as_production.as_random
    return {
        "as_random": dict(counts.at_ceiling.as_random),
        f"as_random_as_{AS_PRODUCTION}": dict(again),
    }


def _frames(counts: Counts) -> dict[str, Any]:
    """The frames of both goals."""
    of = [name for one in counts.limits.given for name in one.measures]
    by_cost = counts.by == COST
    goal, again = counts.at_ceiling, counts.as_production
    frames = frames_of(goal.outcomes, goal.problems, of, counts.cluster, by_cost=by_cost)
    if again.outcomes or again.problems:
        usual = frames_of(again.outcomes, again.problems, of, counts.cluster, by_cost=by_cost)
        frames |= {f"{name}_as_{AS_PRODUCTION}": one for name, one in usual.items()}
    if counts.today is not None:
        staying = [frames["zones"]] if "zones" in frames else []
        frames["zones"] = pl.concat([frame_of(TODAY, *counts.today), *staying])
    return frames
