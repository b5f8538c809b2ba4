"""A study of the fewest nodes in words: the answer, how sure it is, and what to do next.

The command line and the report say these sentences; neither makes its own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tracekit.answer.fewest.found import COST
from tracekit.answer.fewest.frames import LIKE, WAITS_WITH_ALL
from tracekit.answer.fewest.words import costs, waits
from tracekit.answer.fewest.words.beside import others
from tracekit.answer.fewest.words.broken import breaks_with_all, comes_to
from tracekit.answer.fewest.words.cautions import (
    left_waiting,
    named,
    nobody_leaves,
    nodes_aside,
    not_counted,
)
from tracekit.answer.fewest.words.nodes import added, gone, of_added, restarts_told
from tracekit.answer.fewest.words.production import unscaled
from tracekit.answer.fewest.words.there import overloaded, use_there, with_all
from tracekit.answer.overload import WITHOUT
from tracekit.study import Study
from tracekit.words import count, counted, plural, short_id

#: The beginning of the sentence on how the count differs between orders of arrival.
EACH_ORDER = "Each order taken alone needs"


@dataclass(frozen=True)
class AnswerTold:
    """A study of the fewest nodes, and the row of the policy it is about, or of the fewest."""

    study: Study
    best: Mapping[str, Any]

    @property
    def about(self) -> Mapping[str, Any]:
        """What was studied."""
        return self.study.about

    @property
    def nodes(self) -> pl.DataFrame:
        """The nodes under the best policy, those that stay longest first."""
        nodes = self.study.frames["nodes"].filter(policy=self.best["policy"])
        # a study of an earlier version adds none
        none = pl.lit(None, pl.String).alias(LIKE)
        return nodes if LIKE in nodes.columns else nodes.with_columns(none)

    @property
    def next_to_go(self) -> str:
        """The name of the node that would go next."""
        last = self.nodes.filter(place=self.best["nodes"])["node"]
        return short_id(str(last.item())) if len(last) else "one more node"


def told(study: Study) -> AnswerTold | None:
    """The study with the policy it is about, else the best; None where no policy has an answer."""
    found = study.frames["policies"].filter(pl.col("nodes").is_not_null())
    ours = found.filter(policy=study.about.get("subject", ""))
    run = found.filter(~pl.col("policy").is_in(study.about.get("yardsticks", ())))
    best = next((some for some in (ours, run) if not some.is_empty()), found)
    return None if found.is_empty() else AnswerTold(study, best.row(0, named=True))


def question(study: Study) -> str:
    """What was asked."""
    load, scale = study.about["workload"], study.about["scale"]
    more = f", {scale:g} times those recorded," if scale != 1 else ""
    given = load["assume"]
    assumed = f", where {' and '.join(given)} is assumed" if given else ""
    return (
        f"How many of {load['nodes']:,} nodes are enough for {load['containers']:,}"
        f" containers{more} {within(study.about)}{assumed}, and which can go?"
    )


def within(about: Mapping[str, Any]) -> str:
    """The limits, as a sentence goes on with them."""
    given = list(about["limits"])
    return f"at the {plural(len(given), 'limit')} {' and '.join(given)}"


def answer(found: AnswerTold) -> str:
    """The answer, its range over orders of arrival and its bound, as every page says it."""
    return short(found.study)


def short(study: Study) -> str:
    """The answer, its range and its bound, and how many the others need where one is asked about.

    In sentences, beside another answer.
    """
    found, subject = told(study), study.about.get("subject", "")
    if found is None or subject not in {"", found.best["policy"]}:
        rows = study.frames["policies"]
        ours = rows.filter(policy=subject) if subject else rows
        one = ours.row(0, named=True)
        none = f"Not even all {one['of']:,} nodes are enough for {one['policy']}: {one['problem']}."
        return none + (others(study, subject) if subject else "")
    return _enough(found) + (others(study, subject) if subject else "")


def _enough(found: AnswerTold) -> str:
    """How many nodes are enough for the policy, in sentences of one thing each."""
    row, about = found.best, found.about
    load, aside = _scaled(about), nodes_aside(about)
    cheap = about.get("least") == COST
    cost = costs.kept(row, found.nodes, about)
    beside = nobody_leaves(about["workload"]) + _known(row, about, cost, cheap=cheap)
    orders = about["repeats"]
    every = f" in all {counted(orders, 'order')} of arrival"
    every = every if orders > 1 else " in one order of arrival"
    over = overloaded(row, about)
    if added(row):
        too_few = f"{_too_few(found, load, every)}{waits.by_choice_of_nodes(row, about)}"
        over = f" Nodes are then {over}." if over else ""
        return f"{too_few}{over}{use_there(row, about)}{beside}"
    if row["nodes"] == row["of"]:
        which = f"{named(about, row['policy'])}{load}{every if orders == 1 else ''}"
        stay = f"{_every(row)} {which}{over and f': nodes are {over}'}."
        if with_all(found.study, row):
            stay = _none_can_go(row, which, over)
        return f"{stay}{waits.either(row, about)}{beside}"
    given = "If nodes are to be saved: " if about.get("kept_placement") else ""
    are = "is" if row["nodes"] == 1 else "are"
    then = f", though nodes are then {over}" if over else ""
    return (
        f"{given}{row['nodes']:,} of {counted(row['of'], 'node')} {are} enough for"
        f" {named(about, row['policy'])}{load}{waits.but_for(row, about)}{every}:"
        f" {gone(row):,} can go{restarts_told(found.nodes)}{then}."
        f"{breaks_with_all(row)}{waits.either(row, about)}"
        f"{use_there(row, about)}{'' if cheap or not cost else f' {cost}'}"
        f"{aside}{not_counted(about['workload'])}{left_waiting(about['workload'])}"
        f"{beside}"
    )


def _known(row: Mapping[str, Any], about: Mapping[str, Any], cost: str, *, cheap: bool) -> str:
    """What else is known of the count, sentences that each begin with a space."""
    usual = (about["observed"] or {}).get("nodes", row["of"])
    bound = row["bound"]
    said = [
        cost if cheap or added(row) else "",
        f"Production's containers are on {usual:,}{unscaled(about)}." if usual < row["of"] else "",
        f"{EACH_ORDER} {span(row['nodes_low'], row['nodes_high'])}{_not_all(row, cheap=cheap)}."
        if about["repeats"] > 1
        else "",
        ""
        if bound is None or cheap
        else f"{waits.no_policy(row)} can do with fewer than {bound:,}{_like_these(row)}.",
    ]
    return "".join(f" {one}" for one in said if one)


def _none_can_go(row: Mapping[str, Any], which: str, over: str) -> str:
    """That not even all nodes carry the load, and what says how many would, sentences."""
    return (
        f"No node can go under {which}: all {row['of']:,} of them are not enough to be without"
        f" overload. They are {over}; --limit '{WITHOUT}' asks how many more it takes."
    )


def _scaled(about: Mapping[str, Any]) -> str:
    """How much load there is, a clause; empty where it is as recorded."""
    scale, load = about["scale"], about["workload"]
    if scale == 1:
        return ""
    if load["containers"] == load.get("containers_recorded"):
        return (
            f" for the same {count(load['containers'], 'container')} ({scale:g} times is as many)"
        )
    return f" for {scale:g} times the containers"


def _too_few(found: AnswerTold, load: str, every: str) -> str:
    """That there are too few nodes, and how many more are enough, a sentence."""
    row = found.best
    more, goes = added(row), gone(row)
    then = ""
    if goes:
        some = f"{goes:,} of the {row['of']:,} can go, so that"
        then = f" With {'it' if more == 1 else 'them'} {some} {row['nodes']:,} are enough."
    kept = ""
    if found.about.get("kept_placement") and found.about["scale"] == 1:
        kept = "Production ran on its nodes, and its placement is kept. Were all placed anew: the"
    return (
        f"{kept or 'The'} {count(row['of'], 'node')} {'is' if row['of'] == 1 else 'are'} too few"
        f" for {named(found.about, row['policy'])}{load}:"
        f" {count(more, 'more node')}{of_added(found.nodes)} {'is' if more == 1 else 'are'}"
        f" enough{every}, which makes"
        f" {row['of'] + more:,}.{then}"
    )


def _like_these(row: Mapping[str, Any]) -> str:
    """A clause on the nodes of the bound where some are added: larger ones could be fewer."""
    return " like these" if added(row) else ""


def _not_all(row: Mapping[str, Any], *, cheap: bool) -> str:
    """Why all orders together need more than any of them, a clause; empty where they do not.

    Where ``cheap`` nodes are searched for, more of them may cost less.
    """
    low, nodes = row["nodes_high"], row["nodes"]
    if low == nodes:
        return ""
    if cheap:
        return f", and all together these {nodes:,}"
    return f", but on {nodes - 1:,} a limit breaks in one of them"


def _every(row: Mapping[str, Any]) -> str:
    """That all nodes stay, up to the policy's name; only the bound proves that they must."""
    if row["bound"] == row["of"]:
        return f"All {row['of']:,} nodes are needed for"
    return f"All {counted(row['of'], 'node')} stay, as no fewer were found to be enough for"


def short_within(study: Study) -> str:
    """What held for the count, and what breaks with one node fewer; in a sentence."""
    found, orders = told(study), study.about["repeats"]
    in_each = f" in each of {orders} orders of arrival" if orders > 1 else ""
    some = found is not None and found.best.get(WAITS_WITH_ALL) is not None
    nothing = "no more containers wait than with all" if some else "nothing waits"
    many = "that many nodes" if found is None else counted(found.best["nodes"], "node")
    said = f"On {many} {nothing}{in_each}, {within(study.about)}"
    if found is None or found.best["fails"] is None:
        return f"{said}."
    what = comes_to(found.best)
    return f"{said}. With one node fewer, without {found.next_to_go}, {what}."


def span(low: int, high: int) -> str:
    """A count, or the two ends of what it may be."""
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def bound(found: AnswerTold, known: pl.DataFrame | None = None) -> str:
    """The bound that no policy gets below, and the policy that needs the fewest nodes known."""
    row = found.best
    if row["bound"] is None:
        return "No lower bound is proven."
    fewer = f"fewer than {count(row['bound'], 'node')}{_like_these(row)}"
    said = f"No placement{waits.that_leaves(row)} gets by with {fewer} (proven)."
    if row["bound"] == row["nodes"] or found.about.get("least") == COST:
        return said
    every = found.study.frames["policies"] if known is None else known
    rows = every.drop_nulls("nodes").sort("nodes", "policy").to_dicts()
    # with other nodes added, or with none, it is another cluster
    same = (one for one in rows if bool(added(one)) == bool(added(row)))
    name, fewest = next((one["policy"], one["nodes"]) for one in same)
    if fewest < row["nodes"]:
        open_ = (
            "" if fewest == row["bound"] else f" Whether one needs fewer than {fewest:,} is open."
        )
        return f"{said} {name} gets by with {fewest:,}.{open_}"
    return f"{said} Whether another policy gets by with fewer than {row['nodes']:,} is open."
