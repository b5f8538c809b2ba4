"""How many nodes are enough: per policy the fewest, and which, within limits on use.

See ``fewest`` for the search, ``enough`` for where all nodes are too few, ``limits`` for what has
to hold, ``tracekit.replay.workload.changed.multiplied`` for more load, and ``told`` for the answer
in words.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tracekit.answer.fewest.facts import given_again, of_production, orders_of
from tracekit.answer.fewest.frames import frames_of
from tracekit.answer.fewest.no_answer import no_answer
from tracekit.answer.fewest.search.found import Fewest
from tracekit.answer.fewest.search.limits import Limits, parse_limits
from tracekit.answer.fewest.search.trials import COST
from tracekit.answer.fewest.searches import Asked, Known, begun, ended, forget
from tracekit.answer.fewest.words.costs import what_is_least
from tracekit.answer.left_waiting import placed_all
from tracekit.answer.overload import node_steps
from tracekit.crew.crew import Alone, Crew
from tracekit.errors import TracekitError
from tracekit.progress import SILENT, Progress
from tracekit.replay.policy.entrant import Entrant, parse_entrant
from tracekit.replay.policy.own_files import noted as files_noted
from tracekit.replay.policy.parse import policies_of
from tracekit.replay.workload.changed.multiplied import scale_of
from tracekit.replay.workload.source import WorkloadSource
from tracekit.study import Study

NAME = "fewest_nodes"
#: Kubernetes' default, which spreads, the same plugin set to pack, and one that looks at use.
POLICIES = ("least_allocated", "most_allocated", "cwt")


def _check(scale: float, repeats: int | None) -> None:
    scale_of(scale)
    if repeats is not None and repeats < 1:
        raise TracekitError(f"{repeats} repeats, expected at least 1")


def shrink_cluster(
    source: WorkloadSource,
    *,
    policies: Sequence[str] = (),
    limits: Sequence[str] = (),
    scale: float = 1.0,
    repeats: int | None = None,
    least: str = "",
    seed: int = 0,
    crew: Crew | None = None,
    kept: Path | None = None,
    anyway: bool = False,
    called: str | None = None,
    subject: str = "",
    kept_placement: bool = False,
    progress: Progress = SILENT,
) -> Study:
    """The fewest nodes for each policy.

    Several processes search for a policy each; for one policy, or where replays are kept, they
    replay side by side.

    Parameters
    ----------
    limits : sequence of str
        Expressions over measures of the summary, as ``compare --fail-if`` reads them; all hold.
        ``base`` is the same policy on all nodes, ``observed`` what production did. Without any,
        those of ``tracekit.answer.overload``, by which ``decision`` chooses policies.
        Every container is placed, and none waits, unless a limit speaks of ``pending`` or
        ``pending_container_steps``; where production placed all, as many may as
        ``tracekit.answer.left_waiting`` allows, and no more than with all nodes.
    scale : float
        So many times as many containers.
    repeats : int, optional
        Orders of arrival in each of which the limits hold. Without it six, as ``replay`` has; one
        where all orders are the same, or the workload is very large.
    least : {'', 'nodes', 'cost'}
        What is to be least: the number of nodes, or what those that stay cost per hour. Without it
        the number, or the cost where a limit is on it.
    kept : path, optional
        A folder for the replays that are done; called again, it goes on from there.
    anyway : bool
        Whether the study is made, too, where no policy keeps the limits on all nodes.
    called : str, optional
        What the store is called in commands, if not by its path.
    subject : str, optional
        The policy that the answer is about, others beside it; that with the fewest if not given.
        Of others it is not asked how many more nodes are enough where all are too few.
    kept_placement : bool
        Whether a run before says to keep production's placement, so that fewer nodes are an "if".

    Returns
    -------
    Study
        ``policies``: one row each, the fewest nodes first. ``of`` how many there are, ``bound``
        below which no placement gets (null: nothing is proven), ``nodes_low`` and ``nodes_high``
        the fewest over single orders of arrival, ``going`` which nodes went first or at last (see
        ``search.trials``); highest use, overload and the measures that limits speak of, the worst
        over the orders, from replays on exactly these nodes; ``tightest`` the limit that comes
        closest to breaking there, and ``tightest_room`` how far it is from that, as a share of what
        it allows; with ``fewer`` nodes, one less, ``fails`` is the first limit that breaks (null
        where the bound is reached). Where all there are are too few, ``added_nodes`` of the
        ``nodes`` are further ones, and others that are there may go then; where prices are known,
        ``cost_kept_per_hour`` is what the nodes that are kept cost, and ``cost_bound_per_hour``
        what no placement gets below. A policy under which sixteen times as many are too few, or
        that cannot run here, has its problem there.
        ``kinds``: where nodes are to be added, how many ``more`` of one kind alone are enough, by a
        node that they are like, or evenly over the sizes there are (null); ``chosen``: the answer.
        ``orders``: policy, repeat, and the fewest nodes of that order of arrival by itself.
        ``sizes``: every replay in that order of nodes, with all measures.
        ``nodes``: policy, node, place (1 stays longest), like_node (for one to add, the node that
        it is like; null for those that are there), requested_fraction (on all nodes), kept,
        the highest use on the nodes that stay, capacity, price_per_hour where it is known, and
        ``barred_by`` where there are budgets of disruption: those that allow no eviction from it;
        ``cordoned`` where some nodes take nothing new, which go before all others;
        ``running_containers`` where production's placement is recorded: how many it runs there at
        the end, without daemons.

    Raises
    ------
    TracekitError
        For unknown names or values, and where no policy keeps the limits on all nodes.
    """
    _check(scale, repeats)
    entrants = chosen(policies)
    parse_limits(limits, list(entrants), observed={})
    crew = crew or Alone()
    forget()
    with progress.task("fewest nodes", len(entrants) + 1, "searches") as task:
        # one search reads the workload here, and goes on with it
        reader = crew if kept is None and len(entrants) > 1 else Alone()
        known = Known(source, scale, seed)
        cluster, facts, observed = reader.submit(known, lambda *_: None).result()
        task.advance(1, "production" if observed else "the workload")
        within = parse_limits(
            limits, list(entrants), observed=observed, node_steps=node_steps(facts)
        )
        orders, alone = orders_of(facts, repeats)
        by = what_is_least(least, within, cluster)
        # where production placed all, it is the policy that lets some wait, not the nodes
        may_wait = placed_all(observed) and scale == 1
        asked = Asked(source, scale, within, seed, orders, by, may_wait, not limits, subject)
        found, problems = ended(begun(asked, entrants, crew, kept, task), task)
    if not found and not anyway:
        stays = facts["assumptions"].get("start") == "observed"
        raise no_answer(problems, observed or {}, facts["nodes"], stays=stays)
    return Study(
        name=NAME,
        about={
            "policies": list(entrants),
            **files_noted(entrants.values()),
            **({"subject": subject} if subject else {}),
            **({"kept_placement": True} if kept_placement else {}),
            **_limits_told(within, given=bool(limits)),
            "measures": within.measures,
            "scale": scale,
            "least": by,
            "repeats": orders,
            "repeats_cover": facts.pop("varying"),
            "repeats_none": alone,
            "seed": seed,
            "nodes": facts["nodes"],
            "workload": {**facts, **given_again(source, called)},
            "observed": of_production(observed, within),
            **_of_policies(entrants, found),
        },
        frames=frames_of(found, problems, within, cluster, by_cost=by == COST),
    )


def _limits_told(within: Limits, *, given: bool) -> dict[str, Any]:
    """The limits, whether somebody gave them, and which hold at the mean of the orders."""
    at_mean = {"limits_at_mean": sorted(within.at_mean)} if within.at_mean else {}
    return {"limits": [one.text for one in within.given], "limits_given": given, **at_mean}


def _of_policies(
    entrants: Mapping[str, Entrant], found: Mapping[str, Fewest]
) -> dict[str, list[Any]]:
    """Which of them no scheduler runs, and whom each lets wait on all nodes, and why."""
    waits = ((name, one.waiting) for name, one in found.items() if one.waiting)
    return {
        "yardsticks": [name for name, one in entrants.items() if one.used_by == "yardstick"],
        "waiting": [{"policy": name, "waiting": some} for name, some in waits],
    }


def chosen(policies: Sequence[str]) -> dict[str, Entrant]:
    """The policies that texts spell, each once; two where none is given."""
    texts = [text for name in policies or POLICIES for text in policies_of(name)]
    return {str(one): one for one in map(parse_entrant, texts)}
