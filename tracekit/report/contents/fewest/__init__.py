"""What the page on the fewest nodes says beside its figure."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.answer.amounts import interval_text, mean_text, value_text
from tracekit.answer.fewest.study import NAME
from tracekit.answer.fewest.words import costs, drains_told, margin, waits
from tracekit.answer.fewest.words import next as shrink_next
from tracekit.answer.fewest.words import told as shrink_told
from tracekit.answer.fewest.words.broken import why_none
from tracekit.answer.fewest.words.cautions import named
from tracekit.answer.fewest.words.nodes import added, gone, restarted
from tracekit.answer.fewest.words.over_orders import OverOrders, over_orders
from tracekit.answer.fewest.words.production import production
from tracekit.answer.fewest.words.sure import sure
from tracekit.answer.fewest.words.told import span
from tracekit.replay.measures import FULLEST, OVERLOAD, Measure, find_measure
from tracekit.replay.measures.p99_fraction import is_the_fullest
from tracekit.replay.runs.lost_nodes import counts_as_needed
from tracekit.report import fewest_known as known
from tracekit.report.cells import Table, table
from tracekit.report.contents import quantities
from tracekit.report.contents.fewest.listed import hottest, removed, to_add
from tracekit.report.contents.first_screen import SENTENCES, Answer, Change
from tracekit.report.data import Data
from tracekit.store.manifest import MADE_UP
from tracekit.study import Study
from tracekit.words import MINUS, count, counted, spaced

__all__ = ["answer", "hottest", "policies", "removed", "to_add"]

#: One of these is shown; the others appear when a reader chooses them.
_GOING = ("nodes_that_can_go", "nodes_to_add")
_LATER = ("lower_bound", "which_go_first")


def answer(data: Data) -> Answer:
    """What was asked, how many nodes are enough, how sure, and what to do next."""
    study, first = known.leading(data), known.ahead(data)
    found = shrink_told.told(study)
    asked = shrink_told.question(study)
    if found is None:
        none = "Under no policy do the limits hold, not even on all nodes."
        return Answer(asked=spaced(asked), sentence=none, warnings=_without(study))
    told = (drains_told.goes, drains_told.barred, margin.margin)
    said = [spaced(one(found)) for one in told]
    said.append(spaced(shrink_told.bound(found, known.rows(data))))
    said[1:1] = [spaced(margin.unexplained(study))]
    rows = _changes(found)
    said += map(spaced, waits.who(study))
    growth = study.about["workload"].get("growth")
    said += [f"{growth}."] if growth else []
    said += _lost(study)
    said.append(is_the_fullest(found.best["nodes"], [asked, *(row.title for row in rows)]))
    return Answer(
        asked=spaced(asked),
        sentence=_led(first, spaced(shrink_told.answer(found)), data),
        stands_in=study.about["workload"].get("stands_in", ""),
        warnings=[*_made_up(study), *_unjudged(study), *_breaks(study)],
        told=[one for one in said if one],
        changes=rows,
        before="production" if study.about["observed"] else "all nodes",
        after=str(found.best["policy"]),
        change=f"What it would change, on {count(found.best['nodes'], 'node')}{_worst(study)}",
        interval="",
        sure=" ".join([sure(found), *_without(study)]),
        rests=quantities.rests(
            quantities.known_of(study.about["workload"]),
            made_up=study.about["workload"]["made_up"],
        ),
        next=shrink_next.following(
            found,
            store=data.paths.store,
            to=data.paths.study,
            files=data.paths.files,
            there=data.asked_already,
        ),
    )


def _lost(study: Study) -> list[str]:
    """Which nodes are lost: the answer holds for the loss of these."""
    said = counts_as_needed(study.about["workload"].get("lost", ()))
    return [f"{spaced(said)}."] if said else []


def _led(first: known.Ahead | None, said: str, data: Data) -> str:
    """The answer; where another study leads, after its first sentence what the run's own says."""
    if first is None:
        return said
    lead, *more = SENTENCES.split(said)
    own = spaced(shrink_told.short(data.studies[NAME]))
    return " ".join([lead, first.beside, *more, f"For {first.own}: {own}"])


def _worst(study: Study) -> str:
    """Whether the values that the answer promises are of the worst order."""
    orders = study.about["repeats"]
    return f": the worst of {counted(orders, 'order')} of arrival" if orders > 1 else ""


def _made_up(study: Study) -> list[str]:
    return [MADE_UP] if study.about["workload"]["made_up"] else []


def _unjudged(study: Study) -> list[str]:
    """That production's peak lies in the time that is not judged."""
    said = study.about["workload"].get("unjudged", "")
    return [spaced(said)] if said else []


def _breaks(study: Study) -> list[str]:
    observed = study.about["observed"]
    return [production(study)] if observed and observed["breaks"] else []


def _without(study: Study) -> list[str]:
    """Policies without an answer, and why."""
    rows = study.frames["policies"].filter(pl.col("problem").is_not_null())
    return [f"{row['policy']} has no answer: {why_none(row)}." for row in rows.to_dicts()]


def _changes(found: shrink_told.AnswerTold) -> list[Change]:
    """Production, or all nodes, beside the nodes that are left."""
    observed, best = found.about["observed"], found.best
    before = observed["measures"] if observed else _on_all(found)
    few = best["of"] - best["nodes"]
    nodes = Change(
        title="Nodes kept" if few >= 0 else "Nodes",
        meaning="how many nodes there are to keep, used or not",
        before=f"{best['of']:,}",
        after=f"{best['nodes']:,}",
        difference=_less(few, f"{abs(few):,}"),
        way="better" if few > 0 else "worse" if few else "",
    )
    names = list(dict.fromkeys([*FULLEST, *found.about["measures"]]))
    sure = over_orders(found.study, str(best["policy"]), best["nodes"])
    rows = [_change(name, before, best, sure.get(name)) for name in names]
    return [nodes, *_price(found), *_restarted(found), *rows]


def _restarted(found: shrink_told.AnswerTold) -> list[Change]:
    """How many containers run on the nodes that go; no row where that is not known."""
    count_ = restarted(found.nodes)
    if count_ is None:
        return []
    more = Change(
        title="Containers restarted by the drain",
        meaning="how many production runs at the end on the nodes that go, without daemons",
        before="0",
        after=f"{count_:,}",
        difference=_less(-count_, f"{count_:,}"),
        way="",
    )
    return [more]


def _less(by: float, text: str) -> str:
    """How much less there is, or more."""
    return f"{MINUS if by > 0 else '+'}{text}" if by else "none"


def _on_all(found: shrink_told.AnswerTold) -> Mapping[str, Any]:
    """What the policy comes to on all nodes; empty where the search had no need to ask."""
    sizes = found.study.frames["sizes"]
    whole = sizes.filter(policy=found.best["policy"], nodes=found.best["of"], repeat=0)
    return next(whole.iter_rows(named=True), {})


def _price(found: shrink_told.AnswerTold) -> list[Change]:
    prices = costs.of_all(found.nodes)
    if prices is None:
        return []
    before, after = float(prices.sum()), float(found.nodes.filter("kept")["price_per_hour"].sum())
    return [
        Change(
            title="Cost of nodes kept per hour",
            meaning="prices of the nodes, in the currency of the source; no chance is in it",
            before=f"{before:,.2f}",
            after=f"{after:,.2f}",
            difference=_less(before - after, f"{abs(before - after):,.2f}"),
            way="better" if after < before else "worse" if after > before else "",
        )
    ]


def _change(
    name: str, before: Mapping[str, Any], after: Mapping[str, Any], sure: OverOrders | None
) -> Change:
    measure = find_measure(name)
    assert measure is not None  # noqa: S101 - limits speak of measures alone
    one, other = before.get(name), after.get(name)
    apart = None if one is None or other is None else other - one
    sign = "" if not apart else "+" if apart > 0 else MINUS
    shown = "\u2013" if apart is None else f"{sign}{value_text(measure, abs(apart))}"
    return Change(
        title=measure.title,
        meaning=measure.meaning,
        before=value_text(measure, one),
        after=f"{value_text(measure, other)}{_mean(measure, sure)}",
        difference=shown.replace("%", "pp") if apart else "none",
        way="",
    )


def _mean(measure: Measure, sure: OverOrders | None) -> str:
    """A note that the value is of the worst order, and the mean of the orders."""
    if sure is None:
        return ""
    # without its interval: that of a run, for all its policies, is wider and stands on other pages
    return f" (mean {mean_text(measure, sure.mean, sure.high)})"


def policies(data: Data) -> Table:
    """Each policy: nodes, and what breaks with one fewer; means over orders if asked for."""
    # rows of several studies, each of which knows its own orders of arrival
    of = {name: one for _, one in reversed(known.shown(data)) for name in one.about["policies"]}
    frame = known.rows(data)
    rows = [_row(row, of.get(row["policy"])) for row in frame.iter_rows(named=True)]
    means = {f"{name}_over_orders": pl.String for name in FULLEST}
    schema = {
        "policy": pl.String,
        "nodes": pl.Int64,
        "over_orders": pl.String,
        "lower_bound": pl.Int64,
        "nodes_that_can_go": pl.Int64,
        "nodes_to_add": pl.Int64,
        "highest_cpu_fraction": pl.Float64,
        "highest_memory_fraction": pl.Float64,
        OVERLOAD: pl.Int64,
        "with_one_node_fewer": pl.String,
        "which_go_first": pl.String,
        **means,
    }
    shown = pl.DataFrame(rows, schema=schema)
    too_few = (shown["nodes_to_add"] > 0).any()
    made = table(
        shown.drop(_GOING[0] if too_few else _GOING[1]),
        "Fewest nodes by policy",
        later=(*_LATER, *means),
    )
    columns = [
        dataclasses.replace(one, label=f"{found.title}, mean of the orders")
        if (found := find_measure(one.name.removesuffix("_over_orders"))) and one.name in means
        else one
        for one in made.columns
    ]
    return dataclasses.replace(made, columns=columns)


def _row(row: dict[str, Any], study: Study | None) -> dict[str, Any]:
    known = row["nodes"] is not None
    going = {
        "least_requested": "least requested of",
        "by_kind": "by how many of each kind stay",
        "added": "none goes",
    }
    return {
        "policy": named({} if study is None else study.about, row["policy"]),
        "nodes": row["nodes"],
        "over_orders": span(row["nodes_low"], row["nodes_high"]) if known else "\u2013",
        "lower_bound": row["bound"],
        "nodes_that_can_go": gone(row) if known else None,
        "nodes_to_add": added(row) if known else None,
        "highest_cpu_fraction": row["cpu_max_fraction"],
        "highest_memory_fraction": row["memory_max_fraction"],
        OVERLOAD: None if not known else int(row[OVERLOAD]),
        "with_one_node_fewer": why_none(row) if row["problem"] else spaced(margin.breaks(row)),
        "which_go_first": going.get(row["going"], row["going"] or "\u2013"),
        **_means(study, row),
    }


def _means(study: Study | None, row: dict[str, Any]) -> dict[str, str]:
    """CPU, memory and overload at the mean of the orders, each with its interval."""
    sure = {} if study is None else over_orders(study, row["policy"], row["nodes"])
    said = {name: _over_orders(name, sure.get(name)) for name in FULLEST}
    return {f"{name}_over_orders": text for name, text in said.items()}


def _over_orders(name: str, sure: OverOrders | None) -> str:
    measure = find_measure(name)
    if sure is None or measure is None:
        return "\u2013"
    return interval_text(measure, sure.mean, sure.low, sure.high)
