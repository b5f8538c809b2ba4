"""What the page on requests to change says beside its figure."""

import shlex
from collections.abc import Mapping
from typing import Any

import polars as pl

from tracekit.answer.facts import questions
from tracekit.answer.requests import answer_of_requests
from tracekit.replay.workload.requests.given import NOW, SUBJECT
from tracekit.report.cells import Table, table
from tracekit.report.contents import commands
from tracekit.report.contents.first_screen import Answer, Change, Studied
from tracekit.report.contents.requests_to_change import sized_replay
from tracekit.report.data import Data
from tracekit.report.heads import capital
from tracekit.report.sentences import command, long, question
from tracekit.sizing.requests import rows as words
from tracekit.sizing.requests.study import NAME
from tracekit.study import Study
from tracekit.words import MINUS, count, percent, spaced

QUESTION = "Which requests should I change, and what does that free?"
#: So many services are listed; the study's services.parquet has all.
_MOST = 40


#: Columns of the services at risk and what they are called.
_RISKY = {
    "request_now": "now",
    "recommended": "then",
    "use_p95": "used, 95 % at most",
    "use_max": "used, highest",
    "excess_mean": "above by, on average",
}


def answer(data: Data) -> Answer:
    """What follows from the study, what it would change, and what to do next."""
    study = data.studies[NAME]
    subject = str(study.about[SUBJECT])
    alone = not data.has_store and not data.has_run
    facts = answer_of_requests(study).facts
    return Answer(
        asked=QUESTION,
        sentence=spaced(long(facts[0])),
        warnings=beyond_capacity(data),
        told=[
            *filter(None, [sized_replay.told(data)]),
            *(spaced(said) for said in map(long, facts[1:]) if said),
        ],
        changes=_changes(study, subject),
        before="Now",
        after="As recommended",
        change=f"What it would change, by {subject}",
        interval="",
        rests=[("Recorded", "use, requests and lives of containers")],
        next=[
            (why, asked)
            for why, asked in _next(data, study, data.paths.source if alone else "SIZED")
            if not commands.there(asked)
        ],
    )


def _next(data: Data, study: Study, otherwise: str) -> list[tuple[str, str]]:
    """What to do next; ``otherwise`` is where the study lies if no folder of it is known."""
    folder = data.folder(NAME)
    store = data.paths.store if data.has_store else ""
    if _of_run(data):
        # as the run was replayed, so that both can be set beside each other
        return [
            (questions()["replay_recommended"], sized_replay.asked(data, folder)),
            (questions()["nodes_recommended"], sized_replay.asked_of_nodes(data, folder)),
        ]
    lies = shlex.split(folder or otherwise)[0]
    steps = answer_of_requests(study, store, lies).next
    return [(question(one), command(one)) for one in reversed(steps[1:])]


def _of_run(data: Data) -> bool:
    """Whether there is a run of the store, whose replay can be asked for with other requests."""
    return data.has_run and data.paths.replayed == data.paths.store and bool(data.folder(NAME))


def beyond_capacity(data: Data) -> list[str]:
    """That more is recommended than all nodes have, a sentence for each resource; or none."""
    study, capacity = data.studies[NAME], data.query("usage/requested_capacity")
    if capacity.is_empty():
        return []
    has = dict(capacity.select("resource", "capacity").iter_rows())
    asked = words.row(study, str(study.about[SUBJECT])).of
    said = []
    for name in words.measured(study):
        most, unit = has.get(name), words.UNITS[name][1]
        if most and asked[name]["requested"] > most:
            said.append(
                spaced(
                    f"All nodes together have {words.amount(most, name)} {unit} of"
                    f" {words.UNITS[name][0]}, fewer than the"
                    f" {words.amount(asked[name]['requested'], name)} that are recommended: not all"
                    " containers have room with these requests."
                )
            )
    return said


def studied(data: Data) -> list[Studied]:
    """What the study found, for the first page of a run; none where nobody asked."""
    study = data.studies.get(NAME)
    if study is None:
        return []
    first = spaced(long(answer_of_requests(study).facts[0]))
    said = " ".join(filter(None, [first, *beyond_capacity(data), sized_replay.told(data)]))
    return [Studied(said=said, page="requests_to_change", title="Requests to change")]


def following(data: Data) -> list[tuple[str, str]]:
    """What the recommended requests do to the nodes, where they were not replayed; the command."""
    study, load = data.studies.get(NAME), (data.run or {}).get("workload", {})
    given = str(load.get("assumptions", {}).get("requests", ""))
    folder = data.folder(NAME)
    if study is None or not (folder and data.has_store) or given.startswith("sized"):
        return []
    _, asked = _next(data, study, folder)[0]
    return [("What the requests that were recommended do to the nodes:", asked)]


def _changes(study: Study, subject: str) -> list[Change]:
    """Cores, bytes and container-steps above, now and then."""
    before, after = words.row(study, NOW).of, words.row(study, subject).of
    known = words.measured(study)
    amounts = [_amount(name, after[name]) for name in known]
    shares = [
        Change(
            title=f"{capital(words.UNITS[name][0])} above the request",
            meaning="container-steps of the judged time with more in use than requested",
            before=_share(before[name]["above_share"]),
            after=_share(after[name]["above_share"]),
            difference=_points(before[name]["above_share"], after[name]["above_share"]),
            way="",
        )
        for name in known
    ]
    return [*amounts, *shares]


def _amount(name: str, found: Mapping[str, Any]) -> Change:
    what, unit, _ = words.UNITS[name]
    freed = found["freed"]
    sign = MINUS if freed > 0 else "+"
    return Change(
        title=f"{capital(what)} requested [{unit}]",
        meaning="of all containers together, mean over the judged time",
        before=words.amount(found["requested_now"], name),
        after=words.amount(found["requested"], name),
        difference=f"{sign}{words.amount(abs(freed), name)}" if freed else "none",
        way="better" if freed > 0 else "",
    )


def _share(value: float | None) -> str:
    return "\u2013" if value is None else percent(value, 1)


def _points(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return "\u2013"
    shown = f"{100 * (after - before):+.1f}".replace("-", MINUS)
    return f"{shown} pp" if float(shown.replace(MINUS, "-")) else "none"


def policies(data: Data) -> Table:
    """Each policy over all services, by resource, with the interval of what it frees."""
    study = data.studies[NAME]
    names = study.frames["policies"]["policy"].unique(maintain_order=True).to_list()
    shown = pl.DataFrame([_row(study, name) for name in names])
    return table(shown, "All services together, by policy")


def _row(study: Study, policy: str) -> dict[str, Any]:
    row: dict[str, Any] = {"policy": policy}
    for name, found in words.row(study, policy).of.items():
        what, unit, scale = words.UNITS[name]
        row[f"{what} requested [{unit}]"] = found["requested"] / scale
        row[f"{what} freed [{unit}]"] = found["freed"] / scale
        row[f"{what} freed, 95 % interval"] = _interval(found, name)
        row[f"{what}_above_request_share"] = found["above_share"]
    row["services_at_risk"] = words.at_risk(study, policy)["service"].n_unique()
    return row


def _between(one: Mapping[str, Any], resource: str) -> str:
    """The interval of the freed amount; none where windows do not differ, which is no certainty."""
    low, high = (words.amount(one[end], resource) for end in ("freed_low", "freed_high"))
    return "\u2013" if low == high else f"{low} to {high} {words.UNITS[resource][1]}"


def _interval(found: Mapping[str, Any], name: str) -> str:
    if found["freed_low"] is None or found["policy"] == NOW:
        return "\u2013"
    return _between(found, name).replace("-", MINUS)


def most(data: Data) -> Table:
    """The services that free CPU or memory and need more of neither."""
    study = data.studies[NAME]
    order = "what frees most of both together first, as a share of all requests"
    return _services(words.freeing_most(study), "Services that free and need no more", order)


def more(data: Data) -> Table:
    """The services that need more than they request."""
    study = data.studies[NAME]
    order = "what needs most of both together first; below 0 is added"
    return _services(words.needing_more(study), "Services that need more", order)


def _services(rows: pl.DataFrame, heading: str, order: str) -> Table:
    columns = [pl.col("service"), pl.col("containers").round(1)]
    if rows["at_risk"].any():
        marks = pl.when("at_risk").then(pl.lit("yes")).otherwise(pl.lit(""))
        columns.append(marks.alias("at_risk"))
    for name, (what, unit, scale) in words.UNITS.items():
        columns += [
            (pl.col(f"{name}_{column}") / scale).alias(f"{what} {told} [{unit}]")
            for column, told in (
                ("now", "now"), ("recommended", "then"), ("p95", "used, 95 % at most"),
                ("freed", "freed by all"),
            )
        ]  # fmt: skip
        columns.append(pl.col(f"{name}_above_share").alias(f"{what}_above_request_share"))
    shown = rows.head(_MOST).select(columns)
    cut = f", the first {_MOST}" if rows.height > _MOST else ""
    return table(shown, f"{heading}{cut}; {order}")


def _of_risky(one: Mapping[str, Any], name: str) -> str:
    if name == "recommended":
        return words.then(one, one["resource"], now="request_now", recommended=name)
    return words.amount(one[name], one["resource"])


def risky(data: Data) -> Table:
    """The services that use more than recommended too often."""
    study = data.studies[NAME]
    rows = words.at_risk(study)
    shown = [
        {
            "service": one["service"],
            "resource": f"{words.UNITS[one['resource']][0]} [{words.UNITS[one['resource']][1]}]",
            "above_share": one["above_share"],
            **{told: _of_risky(one, name) for name, told in _RISKY.items()},
        }
        for one in rows.head(_MOST).to_dicts()
    ]
    services = count(rows["service"].n_unique(), "service")
    return table(pl.DataFrame(shown), f"{services} at risk, the worst first")
