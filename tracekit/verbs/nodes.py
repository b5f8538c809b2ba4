"""How many nodes are enough for a workload, under a policy and within limits on use."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

from tracekit.base.progress import SILENT, Progress
from tracekit.cluster.declared import START, Start
from tracekit.verbs._options import (
    Assumed,
    Currency,
    Gangs,
    Option,
    OtherWorkload,
    Policies,
    Prices,
    PriceTable,
    Repeats,
    ReplayedStore,
    Seed,
    SideBySide,
    StudyFolder,
    priced,
    starting,
)

if TYPE_CHECKING:
    from tracekit.base.study import Study


def nodes(
    store: ReplayedStore = None,
    policies: Annotated[Policies, Option("A policy, or POLICY+REBALANCER; repeatable.")] = (),
    *,
    limits: Annotated[
        Sequence[str],
        Option(
            "A limit that must hold in each order of arrival, such as 'cpu_max_fraction <= 0.8';"
            " repeatable. It may name 'observed' (production) and 'base' (the policy on all nodes)."
            " Without one on CPU or on memory the ceiling holds: 80 % CPU at the 99th percentile"
            " over time, 90 % memory. Every container must be placed at once; where production"
            " placed all, as many may wait as with all nodes, but no more than 0.5 % of the"
            " containers and of what they request of each resource.",
            names="--limit",
            completes="measures",
            metavar="[POLICY:] EXPRESSION",
        ),
    ] = (),
    least: Annotated[
        Literal["nodes", "cost"] | None,
        Option(
            "What is to be least: the number of nodes, or what they cost per hour. Without it the"
            " cost where the price of every node is known, else the number.",
            metavar="nodes|cost",
        ),
    ] = None,
    may_remove: Annotated[
        Sequence[str],
        Option(
            "Special nodes of this class may go: the only ones with a resource (gpu), with a taint"
            " or label of their own (tainted), with pods that may not be evicted (pinned);"
            " repeatable.",
            metavar="gpu|tainted|pinned",
        ),
    ] = (),
    survive: Annotated[
        Literal["zone"] | None,
        Option(
            "The nodes must be enough, too, when any one zone is lost: what ran there is placed"
            " anew on the nodes that stay, and all limits hold then.",
            metavar="zone",
        ),
    ] = None,
    scale: Annotated[float, Option("So many times as many containers.")] = 1.0,
    repeats: Annotated[
        Repeats,
        Option("Orders of arrival, in each of which it must hold; without it six, as replay has."),
    ] = None,
    workload: Annotated[OtherWorkload, Option("Another workload than a store.")] = None,
    assume: Assumed = (),
    gangs: Gangs = False,
    start: Start = START,
    prices: Prices = (),
    price_table: PriceTable = None,
    currency: Currency = None,
    out: StudyFolder = None,
    jobs: SideBySide = 1,
    seed: Seed = 0,
    progress: Progress = SILENT,
) -> Study:
    """The fewest nodes for each policy; see ``tracekit.answer.fewest.study``.

    ``jobs`` policies are searched for side by side, each in a process that reads the workload.
    """
    from tracekit.answer.fewest.study import shrink_cluster
    from tracekit.cluster.source import source_of
    from tracekit.policy.entrant import check_spelled
    from tracekit.policy.nearness import PARAMETER
    from tracekit.replay.runs.thresholds import LIMIT, parse_threshold
    from tracekit.verbs._study import made

    check_spelled(policies)
    source = source_of(
        store,
        workload,
        assume=priced(starting(assume, start), prices, price_table, currency),
        seed=seed,
        gangs=gangs,
        calls=any(PARAMETER in text for text in policies),
    )
    return made(
        lambda crew: shrink_cluster(
            source,
            policies=policies,
            limits=[parse_threshold(one, LIMIT) for one in limits],
            may_remove=may_remove,
            scale=scale,
            least=least or "",
            repeats=repeats,
            survive=survive is not None,
            seed=seed,
            crew=crew,
            progress=progress,
        ),
        out,
        jobs=jobs,
    )
