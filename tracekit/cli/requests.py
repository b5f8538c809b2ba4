"""tracekit requests: which requests to change, or limits set cycle by cycle on call chains."""

from __future__ import annotations

from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from tracekit.cli import _output
from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.units import percent
from tracekit.words import NBSP, counted

if TYPE_CHECKING:
    import polars as pl

    from tracekit.study import Study as Requests

PANEL = Panel.replay


def command(asked: Asked, out: Path | None = None, as_json: JsonOption = False) -> None:
    """Recommend what containers should request, from what they used.

    Each policy recommends one request for each service. It learns from the first half of the
    recorded time. The rest judges it: how often a service uses more than its request.

    With --by calls, call chains are simulated instead. The double-DQN agent and policies of
    practice set limits in each cycle. The training needs the extra rl. An interrupted training
    goes on from its last checkpoint, one every 50 epochs.

    Example: tracekit requests mystore
    """
    from tracekit.sizing.inputs import left_out
    from tracekit.sizing.run_folder import manifest_of
    from tracekit.sizing.verdict import sentences
    from tracekit.study import Study as Requests

    study = asked()
    if isinstance(study, Requests):
        _requests(study, out, as_json=as_json)
        return
    assert out is not None  # noqa: S101 - the simulation needs a folder
    if as_json:
        _output.print_json({**manifest_of(study), "summary": study.summary.to_dicts()})
        return
    facts = study.facts
    for sentence in sentences(study.summary, study.differences):
        _output.print_sentence(sentence)
    _output.print_table(
        f"{facts['test_containers']:,} test containers on {facts['test_nodes']:,} nodes",
        list(COLUMNS),
        _rows(study.summary.to_dicts()),
        note=_note(len(study.seeds), out),
    )
    if missing := left_out(study.policies):
        _output.print_sentence(missing)


#: Columns of the printed table; summary.parquet has every measure.
COLUMNS = {
    "policy": "",
    "QoS": "qos",
    "cpu": "container_cpu_fraction",
    "mem": "container_memory_fraction",
    "node G": "node_g",
    "node D": "node_d",
    "changed": "change_share",
}


def _note(seeds: int, out: Path) -> str:
    if seeds == 1:
        return f"one seed, so no interval (--seeds 3 draws more); more measures: {out}"
    return f"means over {seeds} seeds; intervals and more measures: {out}"


def _rows(summary: list[dict[str, Any]]) -> list[list[object]]:
    means = {(row["policy"], row["measure"]): row["mean"] for row in summary}
    policies = list(dict.fromkeys(row["policy"] for row in summary))
    measures = list(COLUMNS.values())[1:]
    return [[name, *(percent(means[name, one]) for one in measures)] for name in policies]


def _requests(study: Requests, out: Path | None, *, as_json: bool) -> None:
    """Prints a study of requests."""
    from tracekit.sizing.requests import told as words

    if as_json:
        frames = {name: frame.to_dicts() for name, frame in study.frames.items()}
        _output.print_json({"schema": "tracekit/size-by-use/1", **study.about, **frames})
        return
    _output.print_paragraph(words.answer(study))
    said = (
        *(words.both_ways, words.stays, words.grown, words.spared_told),
        *(words.risk, words.within, words.sure),
    )
    first = [say(study) for say in said]
    for sentence in filter(None, (*first, *words.warnings(study))):
        _output.print_sentence(sentence)
    _output.print_table(
        "All services together",
        ["policy", "cores", "freed", "above", "GiB", "freed", "above", "at risk"],
        [
            _policy(study, name)
            for name in study.frames["policies"]["policy"].unique(maintain_order=True)
        ],
        note="above: container-steps with more in use than requested; at risk: services with more"
        f" than {percent(study.about['risk_share'], 0)} of them; oracle: the largest use to come",
    )
    _services(study)
    for sentence in (words.beyond_limit(study), *words.notes(study)):
        if sentence:
            _output.print_sentence(sentence)
    if out is None:
        _output.print_sentence(
            "--out FOLDER keeps every service, and lets nodes go by these requests"
        )
        return
    _output.print_paragraph(
        f"Every service under every policy: {out / 'services.parquet'}. The page:"
    )
    _output.print_command(f"tracekit report {quote(str(out))} --out {quote(f'{out}.html')}")
    _output.print_following(words.following(study, quote(str(out))))


def _policy(study: Requests, name: str) -> list[object]:
    from tracekit.sizing.requests.told import amount, at_risk, row

    shown: list[object] = [name]
    for resource, found in row(study, name).of.items():
        above = found["above_share"]
        shown += [
            amount(found["requested"], resource),
            amount(found["freed"], resource),
            None if above is None else percent(above),
        ]
    return [*shown, at_risk(study, name)["service"].n_unique()]


def _changed(rows: pl.DataFrame, what: str) -> None:
    """Services with the request of one now and then, and what all of them free."""
    from tracekit.sizing.requests import told as words
    from tracekit.words import short_hash

    cut = f"; the first{NBSP}{words.TOLD}" if rows.height > words.TOLD else ""
    _output.print_table(
        f"{what}{cut}",
        ["service", "count", "cores now", "then", "freed", "GiB now", "then", "freed"],
        [
            [
                short_hash(one["service"]) + (" !" if one["at_risk"] else ""),
                f"{one['containers']:,.0f}",
                *(
                    text
                    for name in words.UNITS
                    for text in (
                        words.amount(one[f"{name}_now"], name),
                        words.then(one, name, now=f"{name}_now", recommended=f"{name}_recommended"),
                        words.amount(one[f"{name}_freed"], name),
                    )
                ),
            ]
            for one in rows.head(words.TOLD).to_dicts()
        ],
        note="the largest change of both resources together comes first; count: containers at the"
        " mean; now: reserved for one; then: what it is to request; freed: of all of them, below 0"
        " what is added"
        f"{'; !: at risk' if rows['at_risk'].head(words.TOLD).any() else ''}",
    )


def _services(study: Requests) -> None:
    """The services that need more, those that free most, and those at risk."""
    from tracekit.sizing.requests import told as words
    from tracekit.words import short_hash

    for rows, what in (
        (words.needing_more(study), words.needing_told(study)),
        (words.freeing_most(study), words.freeing_told(study)),
    ):
        if rows.height:
            _changed(rows, what)
    if same := words.unchanged_told(study):
        _output.print_sentence(same)
    risky = words.at_risk(study)
    if not risky.height:
        return
    _output.print_table(
        f"At risk: {counted(risky['service'].n_unique(), 'service')}, the worst first",
        ["service", "of", "now", "then", "p95", "max", "above", "by"],
        [
            [
                short_hash(one["service"]),
                words.UNITS[one["resource"]][1],
                words.amount(one["request_now"], one["resource"]),
                words.then(one, one["resource"], now="request_now", recommended="recommended"),
                *(words.amount(one[name], one["resource"]) for name in ("use_p95", "use_max")),
                percent(one["above_share"]),
                words.amount(one["excess_mean"], one["resource"]),
            ]
            for one in risky.head(words.TOLD).to_dicts()
        ],
        note="p95, max: use of one over all the time; by: how much above when above, on average",
    )
