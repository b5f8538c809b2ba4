"""Which nodes to add where all are too few: a mix of the kinds there are, or of one kind alone.

The mix is spread evenly over the sizes that there are, so that the cluster keeps its make-up. The
most frequent kinds are also tried alone. The least of these choices is the answer, and the others
stand beside it.
"""

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracekit.answer.fewest.search.bisection import fewest_from
from tracekit.answer.fewest.search.few_nodes import Ask
from tracekit.answer.fewest.search.found import MIXED, Fewest, Option, found_on
from tracekit.answer.fewest.search.least_nodes import least_cost, least_nodes
from tracekit.answer.fewest.search.limits import Limits
from tracekit.answer.fewest.search.staying import fixed_nodes
from tracekit.answer.fewest.search.too_few import TooFewError
from tracekit.answer.fewest.search.trials import COST, LESS, ONE_BY_ONE, Trials
from tracekit.arrays import FloatArray, IntArray
from tracekit.errors import TracekitError
from tracekit.replay.policy.entrant import Entrant
from tracekit.replay.workload.changed.more_nodes import (
    kinds_among,
    kinds_of,
    sizes_of,
    spread_over,
    with_more,
)
from tracekit.replay.workload.workload import Workload

#: So many kinds of nodes are asked about by themselves; of so many more a few nodes, which may be
#: what those lack that wait.
_KINDS, _RARE = 3, 9
#: So many nodes are a few.
_FEW = 4
#: Of so many choices it is asked which nodes that are there can go then; of the first alone where
#: there are many nodes.
_OPTIONS = 4
#: With more nodes than these no bound is worked out.
_MOST_NODES = 20_000


@dataclass(frozen=True, eq=False)
class _Enough:
    """Nodes to add that are enough, each like one that is there, and of which kind they are."""

    like: IntArray
    kind: int


def _alike(one: _Enough, mixed: IntArray, kinds: Sequence[IntArray]) -> bool:
    """Whether a mix is as many nodes of one kind, and of that one."""
    own = next(kind for kind in kinds if one.kind in kind)
    return len(one.like) == len(mixed) and bool(np.isin(mixed, own).all())


@dataclass(frozen=True)
class Adding:
    """The search for nodes to add.

    Parameters
    ----------
    load : Workload
        On the nodes there are, which are too few.
    by : {'nodes', 'cost'}
        What is to be least.
    repeats : int
        In so many orders of arrival the limits hold.
    search : function(load, limits=, ask=) -> Fewest
        The fewest nodes of a cluster, or the cheapest.
    asks : callable, optional
        Who replays a workload; this process if not given.
    """

    load: Workload
    policy: Entrant
    limits: Limits
    by: str
    seed: int
    repeats: int
    search: Callable[..., Fewest]
    asks: Callable[[Workload], Ask] | None

    @property
    def orders(self) -> Sequence[int]:
        """The orders of arrival."""
        return range(self.repeats)

    def begin(self, like: IntArray) -> Trials:
        """Replays on all nodes and on ever more of these."""
        larger = with_more(self.load, like)
        ask = None if self.asks is None else self.asks(larger)
        tried = Trials(larger, self.policy, self.limits, self.seed, ask, repeats=self.repeats)
        tried.start(np.arange(larger.nodes), "added")
        return tried

    def least(self, like: IntArray, tried: Trials) -> Fewest | None:
        """The fewest nodes to add, or the cheapest, of the choices that are asked about.

        None where no choice holds in all orders of arrival.

        Parameters
        ----------
        like : int64, shape (more,)
            Nodes like these are enough: a mix, of which the first are taken.
        tried : Trials
            Of the workload with all of these.
        """
        kinds = kinds_of(self.load)
        first = self._first(tried, self.load.nodes + len(like))
        if first is None:
            return None
        nodes, by_order = first
        mixed = like[: nodes - self.load.nodes]
        if len(kinds) == 1:
            return self._found(tried, mixed, nodes, by_order)
        mixed = self._without_unneeded(mixed, kinds)
        alone = self._of_one_kind(mixed, kinds, tried)
        # a mix that is all of one kind is called by it
        same = next((one for one in alone if _alike(one, mixed, kinds)), None)
        options = [same or _Enough(mixed, MIXED), *(one for one in alone if one is not same)]
        return self._best(options, kinds)

    def of_one_kind(self, like: IntArray, tried: Trials) -> Fewest | None:
        """As ``least``, where no number of these that was tried is enough; None for no kind."""
        kinds = kinds_of(self.load)
        options = self._of_one_kind(like, kinds, tried)
        return self._best(options, kinds) if options else None

    def _best(self, options: list[_Enough], kinds: Sequence[IntArray]) -> Fewest | None:
        """The answer of those that are enough, with the others beside it; None for no answer."""
        each = self._each()
        options.sort(key=lambda one: float(each[one.like].sum()))
        answers = self._answers(options)
        if not answers:
            return None
        found, best = min(answers, key=lambda one: self._kept(one[0]))
        beside = tuple(Option(one.kind, len(one.like)) for one in options if one is not best)
        tried = self.begin(best.like)
        bound, cheapest = self._bounds(tried, kinds, self.load.nodes + len(best.like))
        return replace(found, kind=best.kind, options=beside, bound=bound, cheapest=cheapest)

    def _answers(self, options: list[_Enough]) -> list[tuple[Fewest, _Enough]]:
        """The answers of the first options; one that does not hold is taken out of ``options``.

        Raises
        ------
        TracekitError
            Where none holds because of a limit on what fewer nodes bring down.
        """
        answers: list[tuple[Fewest, _Enough]] = []
        problem: TracekitError | None = None
        for one in tuple(options):
            if len(answers) == (_OPTIONS if self.load.nodes <= ONE_BY_ONE else 1):
                break
            found = None
            try:
                found = self._with(one)
            except TracekitError as error:
                problem = problem or error
            if found is None:
                options.remove(one)
            else:
                answers.append((found, one))
        if problem is not None and not answers:
            raise problem
        return answers

    def _with(self, one: _Enough) -> Fewest | None:
        """The answer with these added, by replays with them; None where they are not enough."""
        tried = self.begin(one.like)
        first = self._first(tried, self.load.nodes + len(one.like))
        return None if first is None else self._found(tried, one.like, *first)

    def _kept(self, found: Fewest) -> float:
        """What the nodes count, or cost, that are kept."""
        each = self._each()
        return float(np.append(each, each[found.like])[found.place[: found.nodes]].sum())

    def _each(self) -> FloatArray:
        """What each node counts, or costs."""
        if self.by == COST and self.load.price_per_hour is not None:
            return np.nan_to_num(self.load.price_per_hour)
        return np.ones(self.load.nodes)

    def _bounds(
        self, tried: Trials, kinds: Sequence[IntArray], nodes: int
    ) -> tuple[int | None, float | None]:
        """Bounds on nodes and their cost, with as many of each kind as one likes."""
        if len(kinds) * nodes > _MOST_NODES:
            return None, None
        every = np.concatenate([spread_over(kind, nodes) for kind in kinds])
        load = with_more(self.load, every)
        about = load, tried.policy, tried.limits
        return least_nodes(*about), least_cost(*about)

    def _first(self, tried: Trials, every: int) -> tuple[int, list[int]] | None:
        """How many are enough in their order, and for each order of arrival by itself.

        None where all of them are too few.
        """
        holds = functools.partial(tried.hold_all, orders=self.orders)
        if not holds(every):
            return None
        by_order = [
            fewest_from(functools.partial(tried.holds, order), self.load.nodes, every) or every
            for order in self.orders
        ]
        return fewest_from(holds, max(by_order), every) or every, by_order

    def _found(self, tried: Trials, like: IntArray, nodes: int, by_order: Sequence[int]) -> Fewest:
        bound = least_nodes(tried.load, tried.policy, tried.limits)
        found = found_on(tried, nodes, bound, by_order)
        like = like[: nodes - self.load.nodes]
        every = replace(found, place=found.place[:nodes], like=like)
        fewer = None if nodes == bound and self.by != COST else self._others_go(like)
        if fewer is not None and self._kept(fewer) < self._kept(every) * LESS:
            return fewer
        tried.check_at_the_end(found.at(nodes), found.place, self.by)
        return every

    def _others_go(self, like: IntArray) -> Fewest | None:
        """The answer where nodes of other kinds may go once these are added; None for no other.

        Nobody adds a node of a kind and gives another of that kind back.
        """
        larger = with_more(self.load, like)
        stays = fixed_nodes(larger)
        for kind in kinds_among(larger, np.arange(larger.nodes), None):
            stays[kind] |= bool((kind >= self.load.nodes).any())
        if stays.all():
            return None
        larger = replace(larger, stays=stays)
        ask = None if self.asks is None else self.asks(larger)
        try:
            return replace(self.search(larger, limits=self.limits, ask=ask), like=like)
        except TooFewError:
            return None  # it speaks of nodes that nobody has

    def _without_unneeded(self, like: IntArray, kinds: Sequence[IntArray]) -> IntArray:
        """The same without the nodes of any kind of which fewer are enough."""
        for kind in kinds:
            while len(own := np.flatnonzero(np.isin(like, kind))) and len(like) > 1:
                # the last of its kind goes last, so that the others are the first
                order = np.concatenate([np.delete(np.arange(len(like)), own[-1]), own[-1:]])
                less = self.load.nodes + len(like) - 1
                if not self.begin(like[order]).hold_all(less, self.orders):
                    break
                like = like[order][:-1]
        return like

    def _of_one_kind(
        self, mixed: IntArray, kinds: Sequence[IntArray], tried: Trials
    ) -> list[_Enough]:
        """How many of each kind alone are enough: few are tried first, as more may break a limit.

        One that is not enough with twice the room that the mix takes is left out.
        """
        load, found = self.load, []
        size = sizes_of(load)
        room = float(size[mixed].sum())
        # where more than a few are needed of all kinds together, a few of a rare one are too few
        needed = self._bounds(tried, kinds, load.nodes + _FEW)[0]
        rare = _RARE if needed is not None and needed <= load.nodes + _FEW else 0
        for at, kind in enumerate(kinds[: _KINDS + rare]):
            most = 2 * max(int(np.ceil(room / max(float(size[kind[0]]), 1e-9))), 1)
            like = spread_over(kind, most if at < _KINDS else min(most, _FEW))
            alone = self.begin(like)
            bound = least_nodes(alone.load, alone.policy, alone.limits) or 0
            holds = functools.partial(alone.hold_all, orders=self.orders)
            least, every = max(load.nodes + 1, bound), load.nodes + len(like)
            enough = fewest_from(holds, least, every) if least <= every else None
            if enough is not None:
                found.append(_Enough(like[: enough - load.nodes], int(kind[0])))
        return found
