"""Facts that chance does not change: one recorded order, and nodes that fill until the end."""

from collections.abc import Mapping, Sequence
from typing import Any

from tracekit.answer.fitness import left_out
from tracekit.answer.left_waiting import waits_too_much
from tracekit.replay.chance.material import too_near
from tracekit.replay.measures import NODES, NODES_AT_END, NODES_MOST, find_measure
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.store.quantities import ABSENT
from tracekit.words import agreeing

#: Of times of departure that were recorded.
_SET_ASIDE = " (assumed: departures=none; with departures=recorded far fewer are busy)"
#: So many policies are named, those of the fewest nodes first.
_NAMED = 3


def filled(found: Results) -> str:
    """A sentence on nodes that fill until the end; empty otherwise.

    Where containers never leave, a mean over time is far below the nodes they need in the end.
    Where every order is the recorded one there is no interval, and the counts are exact.
    """
    load = found.manifest.get("workload", {})
    if stay(load) and _known(found, NODES_AT_END) and _each(found, NODES_AT_END):
        less = " No container leaves here, so that nodes used, a mean over the time, are fewer"
        few = fewer_at_the_mean(found, _fit(found, NODES_AT_END))
        said = f"{less}{_SET_ASIDE * _set_aside(load)}." if few else ""
        return (
            f"Nodes that hold a container at the end, of {load['nodes']:,}:"
            f" {_each(found, NODES_AT_END)}.{said}"
        )
    if (
        found.manifest.get("repeats_none")
        and _known(found, NODES_MOST)
        and _each(found, NODES_MOST)
    ):
        return (
            f"In the one order that there is, at most so many of {load['nodes']:,} nodes hold"
            f" containers in any step: {_each(found, NODES_MOST)}{_waiting(found)}."
        )
    return ""


def stay(load: Mapping[str, Any]) -> bool:
    """Whether no container ever leaves, so that nodes fill until the end."""
    return _set_aside(load) or load.get("quantities", {}).get("departures") == ABSENT


def _set_aside(load: Mapping[str, Any]) -> bool:
    return bool(load.get("assumptions", {}).get("departures") == "none")


def _known(found: Results, name: str) -> bool:
    return any(found.known(policy, name) for policy in _ours(found))


def fewer_at_the_mean(found: Results, among: Sequence[str] = ()) -> bool:
    """Whether some policy uses fewer nodes over the time than at the end, by what counts.

    Parameters
    ----------
    among : sequence of str
        The policies that are spoken of; all when empty.
    """
    measure = find_measure(NODES)
    both = [
        [float(found.of(one, name).mean()) for name in (NODES, NODES_AT_END)]
        for one in among or _ours(found)
        if found.known(one, NODES_AT_END) and found.known(one, NODES)
    ]
    return measure is not None and any(
        mean < end and not too_near(measure, [mean, end]) for mean, end in both
    )


def _ours(found: Results) -> list[str]:
    return [name for name in found.policies if name != OBSERVED]


def _fit(found: Results, name: str) -> Sequence[str]:
    """The policies to speak of: those that leave nobody waiting, where there are such.

    Empty where each overloads nodes.
    """
    out = {policy for one in left_out(found) for policy in one.names}
    known = [policy for policy in _ours(found) if found.known(policy, name)]
    known = [one for one in known if one not in out or waits_too_much(found, one)]
    return [policy for policy in known if policy not in out] or known


def _each(found: Results, name: str) -> str:
    """The nodes that each policy to speak of needs, the fewest first; empty for none."""
    fit = set(_fit(found, name))
    alike = [some for names in found.groups if (some := [one for one in names if one in fit])]
    ordered = sorted(alike, key=lambda some: float(found.of(some[0], name).mean()))
    said = [f"{_nodes(found, some[0], name)} under {_under(some)}" for some in ordered]
    if len(said) <= _NAMED:
        return ", ".join(said)
    least, most = (_nodes(found, some[0], name) for some in (ordered[0], ordered[-1]))
    if least == most:
        return f"{least} under each policy"
    return f"{', '.join(said[:_NAMED])}; the most is {said[-1]}"


def _under(alike: Sequence[str]) -> str:
    """The first of the policies that place alike, and how many others do: they are one row."""
    more = len(alike) - 1
    which = agreeing(more, "[other that places|others that place] alike")
    return f"{alike[0]} and {which}" if more else alike[0]


def _nodes(found: Results, policy: str, name: str) -> str:
    """How many, over the orders of arrival; an average in one decimal."""
    mean = float(found.of(policy, name).mean())
    return f"{mean:,.0f}" if mean == round(mean) else f"{mean:,.1f} on average"


def _waiting(found: Results) -> str:
    """A clause on the policies that leave containers without a node; or nothing."""
    left = [
        f"{policy} {found.of(policy, 'pending').mean():,.0f}"
        for policy in _ours(found)
        if found.known(policy, "pending") and found.of(policy, "pending").any()
    ]
    more = f" and {len(left) - _NAMED} more policies some" if len(left) > _NAMED else ""
    return f"; left without a node: {', '.join(left[:_NAMED])}{more}" if left else ""
