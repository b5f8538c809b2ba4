"""The page printer: what templates of pages call.

A template names kinds of facts, tables and figures; this prints those that there are, in the forms
of ``reports/_blocks.html``. It notes what it printed: a page on which nothing stands is left out,
and a page can print the facts that stand nowhere on it yet.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jinja2
import polars as pl
from markupsafe import Markup

from tracekit.answer.caveats import facts_of_ledger, facts_of_tables
from tracekit.answer.claims.every import by_experiment, claim_facts
from tracekit.answer.claims.table import TRACE, Claim
from tracekit.answer.production import facts_of_binding
from tracekit.base.facts import Answer, Fact, Followup, answer_of, kinds
from tracekit.base.words import RESOURCES
from tracekit.policy.placement import all_policies, title_of_policy
from tracekit.replay.measures import all_measures, resources_in
from tracekit.replay.runs.one import moves_by_class
from tracekit.report import again, sentences, tables
from tracekit.report.blocks import block
from tracekit.report.data import Data
from tracekit.report.figures import get_figure
from tracekit.report.notebook import conclusion_of
from tracekit.report.tables import CASES, NONE

#: The zones of nodes with a correlation.
_ZONES = ("A", "B", "C")


def facts_of_store(data: Data) -> Iterator[Fact]:
    """Yield the facts on a store: its tables, use of nodes, correlation zones, and defects."""
    if not data.has_store:
        return
    yield from facts_of_tables((data.info or {}).get("tables", {}))
    for row in data.query("usage/node_vs_container").iter_rows(named=True):
        if row["level"] == "node" and row["mean"] is not None:
            yield Fact(
                kind="utilization",
                subject="nodes",
                value=row["mean"],
                high=row["peak"],
                unit="fraction",
                about={"resource": {"cpu": "CPU"}.get(row["resource"], row["resource"])},
            )
    for row in data.query("usage/zone_summary").iter_rows(named=True):
        if row["zone"] in _ZONES:
            yield Fact(kind="zone", subject=row["zone"], value=row["node_share"], unit="fraction")
    yield from facts_of_ledger(data.query("quality/ledger").iter_rows(named=True))


def answer_shown(data: Data) -> Answer:
    """Return the answer of the run or study, with store facts of the kinds that it lacks.

    A report without run and study has an answer of store facts only.
    """
    own = [*facts_of_store(data), *_bound(data), *claim_facts(data.frame)]
    given = data.answer or _answer_of_study(data)
    if given is None:
        return answer_of(own, _next_of_store(data))
    stated = {one.kind for one in given.facts}
    # what others concluded is for their pages, and no part of the decision
    more = (replace(one, rank=max(2, one.weight)) for one in own if one.kind not in stated)
    return Answer(facts=(*given.facts, *more), next=given.next)


def _bound(data: Data) -> Iterator[Fact]:
    """The savings of ways to bind to vCPUs."""
    differences, summary = data.result("bind/differences"), data.result("bind/summary")
    if not differences.is_empty() and not summary.is_empty():
        facts = facts_of_binding(differences, summary)
        yield from (one for one in facts if one.kind == "binding")


def _answer_of_study(data: Data) -> Answer | None:
    if data.run is not None or data.has_store:
        return None
    answers = (conclusion_of(one) for one in data.studies.values())
    return next((one for one in answers if one is not None), None)


def _next_of_store(data: Data) -> Iterator[Followup]:
    """The next commands for a store, or for a replay, without a decision."""
    if data.has_store:
        yield Followup(
            question="run", command="run", arguments={"SRC": data.paths.store, "out": "out"}
        )


_BETTER = {"low": "lower", "high": "higher", None: ""}
#: The most commands on the first page.
COMMANDS = 3


class Printer:
    """Prints facts, tables, figures and commands of one report.

    Parameters
    ----------
    data : Data
    environment : jinja2.Environment
        Has the macros that make HTML of them.
    """

    def __init__(self, data: Data, environment: jinja2.Environment) -> None:
        self.data = data
        self.answer = answer_shown(data)
        self.shown = 0
        self._forms: Any = environment.get_template("_blocks.html").module
        self._printed: set[int] = set()
        self._drawn: set[str] = set()

    def begin_page(self) -> None:
        """Begin a new page: forget which facts are printed, and how many parts the page shows."""
        self.shown = 0
        self._printed = set()

    def headline(self) -> str:
        """Return the verdict in one line."""
        self._printed |= {id(one) for one in self.answer.facts[:1]}
        return sentences.headline(self.answer)

    def facts(self, *names: str, rank: int = 9) -> list[Fact]:
        """Return the facts of these kinds, in this order of kinds, with at most this rank."""
        return [fact for kind in names for fact in self.answer.of(kind) if fact.weight <= rank]

    def say(self, *names: str, rank: int = 9) -> str:
        """Return facts of kinds in their short forms, one sentence after another."""
        return " ".join(self._each(self.facts(*names, rank=rank), long=False))

    def points(self, *names: str, rank: int = 2) -> Markup:
        """Return facts of kinds in their long forms, a point each."""
        return self._list(self._each(self.facts(*names, rank=rank), long=True))

    def rest(self, rank: int = 1) -> str:
        """Return the facts up to a rank that are not on the page yet, in their short forms."""
        ours = [one for one in self.answer.facts if 0 < one.weight <= rank]
        return " ".join(self._each([one for one in ours if id(one) not in self._printed], False))

    def _each(self, facts: Sequence[Fact], long: bool) -> Iterator[str]:
        for fact in facts:
            text = sentences.long(fact) if long else sentences.short(fact)
            self._printed.add(id(fact))
            if text:
                self.shown += 1
                yield text

    def _list(self, texts: Iterator[str]) -> Markup:
        points = list(texts)
        return Markup(self._forms.points(points)) if points else Markup()  # noqa: S704

    def cases(self) -> Markup:
        """Return the table of the answer's cases; empty where the answer has none."""
        rows = cases(self.answer)
        self._printed |= {id(fact) for row in rows for fact in row.facts}
        if not rows:
            return Markup()
        self.shown += 1
        made = self._forms.cases(rows, heads(rows), self.say("ceiling"))
        return Markup(made)  # noqa: S704 - escaped by the macro

    def table(
        self, name: str, caption: str, columns: str = "", *, sort: str = "", without: str = ""
    ) -> Markup:
        """Return the frame of a name as a table, with ``columns``, blanks between, or with all.

        ``sort`` is a column, largest value first; ``-column`` sorts smallest first. ``without``
        drops columns. If ``columns`` lacks ``policy``, a study of one policy shows only its rows.
        """
        frame = self._of_subject(name, columns)
        column = sort.removeprefix("-")
        if column in frame.columns:
            largest = sort == column
            frame = frame.sort(column, descending=largest, nulls_last=True, maintain_order=True)
        frame = frame.drop(without.split(), strict=False)
        return self.frame(frame, caption, columns, query=name)

    def _of_subject(self, name: str, columns: str) -> pl.DataFrame:
        frame, study = self.data.frame(name), self.data.study(name.partition("/")[0])
        subject = None if study is None else study.about.get("subject")
        if not subject or not columns or "policy" in columns or "policy" not in frame.columns:
            return frame
        return frame.filter(policy=subject)

    def frame(
        self, frame: pl.DataFrame, caption: str, columns: str = "", query: str = ""
    ) -> Markup:
        """Return a frame as a table; nothing where it has no rows."""
        if frame.is_empty():
            return Markup()
        return self._table(tables.table(frame, caption, query=query, only=columns.split()))

    def facts_table(self, caption: str, *names: str) -> Markup:
        """Return facts of kinds, a row each."""
        return self._table(tables.facts_table(self.facts(*names), caption))

    def claims(self) -> Markup:
        """Claims of sources: a table of each experiment, and the command of its numbers."""
        claims = self.facts("claim")
        if all(one.value is None for one in claims):
            return Markup()
        return Markup().join(
            part
            for claim, origin, those in by_experiment(claims)
            for part in self._experiment(claim, origin, those)
        )

    def _experiment(self, claim: Claim, origin: Fact, those: list[Fact]) -> Iterator[Markup]:
        beside = "" if origin.because == "recorded" else self.data.paths.store
        followup = claim.of_store(beside)
        yield self._table(
            tables.records(tables.claim_rows(those), f"{claim.title}: {claim.source}")
        )
        yield Markup(self._forms.points([sentences.short(origin)]))  # noqa: S704 - escaped by the macro
        if claim.experiment != TRACE:
            yield Markup(self._forms.commands([sentences.command(followup)]))  # noqa: S704 - as above

    def waiting(self, caption: str) -> Markup:
        """Return the table of containers never placed: a row for each policy and service."""
        return self._table(tables.waiting(self.facts("waiting"), caption))

    def moves(self, caption: str) -> Markup:
        """Return the table of moves by rebalancers, and of containers not moved, by reason."""
        moves, staying = self.data.replay("moves"), self.data.replay("stays")
        if not staying.columns or (moves.is_empty() and staying.is_empty()):
            return Markup()
        rows = moves_by_class(moves, staying)
        words = pl.col("outcome").replace_strict(tables.MOVED)
        return self.frame(rows.with_columns(words), caption)

    def pivot(self, caption: str, kind: str, beside: str) -> Markup:
        """Return a table of subjects by measures; ``beside`` is the kind of the comparisons."""
        return self._table(tables.pivot(self.facts(kind), self.facts(beside), caption))

    def _table(self, shown: tables.Table) -> Markup:
        if not shown.rows:
            return Markup()
        self.shown += 1
        return Markup(self._forms.table(shown))  # noqa: S704 - escaped by the macro

    def figure(self, name: str) -> Markup:
        """Return a figure by its name; nothing if the report has it already, or it has no data."""
        if name in self._drawn:
            return Markup()
        shown = block(name, get_figure(name), self.data)
        if not shown.json:
            return Markup()
        self.shown += 1
        self._drawn.add(name)
        return Markup(self._forms.figure(shown))  # noqa: S704 - as above

    def following(self) -> Markup:
        """Return the next questions, at most three, each with the command that answers it."""
        steps = [(sentences.question(one), sentences.command(one)) for one in self.answer.next]
        self.shown += len(steps)
        return Markup(self._forms.following(steps[:COMMANDS])) if steps else Markup()  # noqa: S704

    def again(self) -> Markup:
        """Return the commands that reproduce the report."""
        return Markup(self._forms.commands(again.commands(self.data)))  # noqa: S704 - as above

    def glossary(self) -> list[tuple[str, str]]:
        """Return label and meaning of each kind of fact in the answer."""
        used = dict.fromkeys(one.kind for one in self.answer.facts)
        return [(kinds()[name].label, kinds()[name].meaning) for name in used]

    def policies(self) -> Markup:
        """Return the policies of the run with their parameters."""
        declared, run = all_policies(), self.data.run or {}
        names = dict.fromkeys(one["policy"].partition("[")[0] for one in run.get("policies", ()))
        rows = [
            {
                "policy": title_of_policy(name),
                "meaning": (declared[name].__doc__ or "").partition("\n")[0],
                "used by": declared[name].used_by,
            }
            for name in names
            if name in declared
        ]
        return self._table(tables.records(rows, "Policies")) if rows else Markup()

    def measures(self) -> Markup:
        """Return the measures of the run, with formula, unit and better end."""
        columns = self.data.replay("summary").columns
        resources = tuple(dict.fromkeys([*RESOURCES, *resources_in(columns)]))
        rows = [
            {
                "measure": one.title,
                "meaning": one.meaning,
                "formula": one.formula,
                "unit": one.unit,
                "better": _BETTER[one.better],
                "column": name,
            }
            for name, one in all_measures(resources).items()
            if name in columns
        ]
        return self._table(tables.records(rows, "Measures of a replay")) if rows else Markup()


# The table of the first page: each case of the decision beside the others.

#: The columns of the table of cases, and their heads.
HEADS = {
    "nodes": "Nodes",
    "cpu": "Fullest CPU",
    "memory": "Fullest memory",
    "cost": "Cost an hour",
    "restarted": "Pods restarted",
}
MOST = 6
_CPU, _MEMORY = "cpu_p99_over_time_fraction", "memory_max_fraction"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A row of the first page's table: one case of the decision, such as today's cluster.

    Parameters
    ----------
    cells : mapping of str to str
        The text by column; no entries where no number of nodes is enough.
    instead : str
        The sentence shown where ``cells`` has no entries.
    facts : sequence of Fact
        The facts that the row shows.
    """

    name: str
    label: str
    cells: Mapping[str, str]
    instead: str
    facts: Sequence[Fact]


def cases(answer: Answer) -> list[Case]:
    """Return the rows of the cases that have facts, at most six."""
    rows = [_row(answer, name) for name in CASES]
    return [row for row in rows if row.facts][:MOST]


def heads(rows: Sequence[Case]) -> dict[str, str]:
    """Return the heads of the columns with any value; that of costs names the currency."""
    filled = {name for row in rows for name, text in row.cells.items() if text != NONE}
    cost = next((one for row in rows for one in row.facts if one.kind == "cost"), None)
    named = HEADS if cost is None else {**HEADS, "cost": _per_hour(cost)}
    return {name: text for name, text in named.items() if name in filled}


def _per_hour(cost: Fact) -> str:
    currency = cost.about_it("currency")
    return f"{currency} an hour" if currency else HEADS["cost"]


def _row(answer: Answer, case: str) -> Case:
    count = answer.first("lower_bound" if case == "bound" else "nodes_needed", case=case)
    fullest = {one.measure: one for one in answer.of("fullest_node", case=case)}
    cost = answer.first("cost", case=case)
    shown = {
        "nodes": count,
        "cpu": fullest.get(_CPU),
        "memory": fullest.get(_MEMORY),
        "cost": cost,
        "restarted": answer.first("pods_restarted", case=case),
    }
    facts = [one for one in shown.values() if one is not None]
    cells = {name: NONE if one is None else sentences.value(one) for name, one in shown.items()}
    if cost is not None:
        cells["cost"] = f"{cost.value:,.2f}"
    if case == "today" and facts:
        cells["nodes"] = _of(answer)
    none = count is not None and count.value is None
    return Case(
        name=case,
        label=CASES[case],
        cells={} if none else cells,
        instead=sentences.short(count) if none and count is not None else "",
        facts=facts,
    )


def _of(answer: Answer) -> str:
    """The number of nodes of the cluster."""
    of = next((one.about["of"] for one in answer.facts if one.about.get("of")), None)
    return sentences.amount(of, "nodes") or NONE
