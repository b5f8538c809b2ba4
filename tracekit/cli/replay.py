"""tracekit replay: put a workload through placement policies."""

from pathlib import Path
from typing import Any

from tracekit.cli._asked import Asked, JsonOption
from tracekit.cli._command import Panel
from tracekit.cli._output import print_json, print_paragraph, print_sentence, print_table
from tracekit.words import counted

PANEL = Panel.replay


def command(asked: Asked, out: Path, json: JsonOption = False) -> None:
    """Replay a workload under placement policies, beside production and a lower bound.

    Without --policy every policy is replayed with its defaults. Policies that are named meet six
    orders of arrival, and of all policies the ten that are compared first (common): one is called
    better only where an interval says so. --repeat 20 asks for more, --repeat 1 for one.
    Every policy also takes near_weight=W: it prefers nodes that keep calls between services on
    the node, with weight W.
    Interrupted, the same command goes on with the policies that are not done yet.

    Example: tracekit replay mystore --policy first_fit --policy least_allocated --out run
    """
    from tracekit.answer.decision import decision
    from tracekit.answer.filled import filled
    from tracekit.answer.left_waiting import few_wait
    from tracekit.answer.moved import bought
    from tracekit.answer.overview import overview
    from tracekit.replay.measures.p99_fraction import is_the_fullest
    from tracekit.replay.runs.results import results
    from tracekit.replay.runs.run_folder import manifest_of
    from tracekit.words import MINUS, NBSP

    run = asked()
    if json:
        frames = {} if run.differences is None else {"differences": run.differences.to_dicts()}
        print_json({**manifest_of(run), "summary": run.summary.to_dicts(), **frames})
        return
    load, found = run.workload, results(run)
    decided = decision(found)
    answered = _answered(load, found, decided)
    for sentence in answered:
        print_paragraph(sentence.replace(NBSP, " ").replace(MINUS, "-"))
    if nodes := filled(found):
        print_paragraph(nodes)
    for sentence in bought(found):
        print_paragraph(f"{sentence.replace(NBSP, ' ').replace(MINUS, '-')}.")
    waiting = filter(None, [few_wait(found)])
    for sentence in [*waiting, *_movable(run), *_background(load)]:
        print_sentence(sentence)
    seen = overview(found)
    print_table(
        f"{load.name}: {counted(load.containers, 'container')}, {counted(load.nodes, 'node')}",
        list(seen.heads),
        [list(row) for row in seen.rows],
        note="\n".join([*counted_from(load), *seen.note, str(out)]),
    )
    rule = decided.rule if decided.left_out else ""
    told = _notes(run, found, out)
    told += filter(None, [is_the_fullest(load.nodes, [*answered, rule, *seen.note, *told])])
    for sentence in told:
        print_sentence(sentence)


def _answered(load: Any, found: Any, decided: Any) -> list[str]:
    """What counts as use where none is recorded, the answer, and who holds the load."""
    from tracekit.answer.advice import sentence as advice
    from tracekit.answer.who_holds import who_holds
    from tracekit.replay.runs.stands_in import stands_in

    said = (
        stands_in(load.facts, load.containers, load.quantities),
        advice(found, decided),
        who_holds(found, decided),
    )
    return [*filter(None, said)]


def _notes(run: Any, found: Any, out: Path) -> list[str]:
    """What else to know of a run, sentences."""
    from tracekit.answer.left_waiting import waits_in_others
    from tracekit.answer.moved import moved
    from tracekit.replay.runs.run import OBSERVED
    from tracekit.replay.runs.run_folder import notes_of
    from tracekit.replay.runs.waiting_in_short import waiting_in_short

    where = f"{out / 'manifest.json'}, and the page Policies of its report"
    return [
        *notes_of(found.manifest["policies"]),
        *_lost(run, found.most_orders),
        *waiting_in_short(found.manifest["policies"], where),
        *waits_in_others(found, [name for name in found.policies if name != OBSERVED]),
        *_told(run.workload),
        *_blind(run),
        *_unseen(run),
        *_left_out(run),
        *moved(run.summary, orders=found.most_orders),
        *_compared(run, found),
    ]


def _movable(run: Any) -> list[str]:
    """How much of the load any policy could move: what all else is to be read by."""
    from tracekit.replay.measures import RESOURCES, words_of
    from tracekit.units import percent

    if not run.movable:
        return []
    if min(run.movable.values()) == 1:
        return ["movable share: 100 %, all that is in use is of containers that a policy places"]
    told = {name: f"{words_of(name)} {percent(share)}" for name, share in run.movable.items()}
    used = ", ".join(told[name] for name in told if name in RESOURCES)
    asked = ", ".join(told[name] for name in told if name not in RESOURCES)
    said = f"{used} of what is in use" + (f", {asked} of what is requested" if asked else "")
    return [
        f"movable share: {said} is of containers that a policy places; the rest stays where it is"
    ]


def _background(load: Any) -> list[str]:
    """Whether requests account for the use that no container explains."""
    from tracekit.replay.runs.kept_back import background, shares

    said = background(shares(load))
    return [said] if said else []


def _told(load: Any) -> list[str]:
    """Facts of the workload that distort its numbers."""
    from tracekit.replay.runs.grown import grown
    from tracekit.replay.runs.unjudged import unjudged
    from tracekit.replay.workload.facts_told import bending

    return [*filter(None, [unjudged(load), grown(load)]), *load.told, *bending(load.facts)]


def _blind(run: Any) -> list[str]:
    """Which policies read use before there was any, in the first order of arrival."""
    from tracekit.answer.decision_words import blind_told
    from tracekit.replay.runs.run_folder import decisions_without_use

    return blind_told({str(one): decisions_without_use(run, one) for one in run.policies})


def _lost(run: Any, orders: int) -> list[str]:
    """Nodes that were lost, and what became of containers that lost theirs or were evicted."""
    from tracekit.replay.runs.lost_nodes import displaced_told, lost_nodes, lost_told

    said = lost_told(lost_nodes(run.workload))
    production = [f"{said}; production lost none and has no row"] if said else []
    return [*production, *displaced_told(run.summary, orders=orders)]


def counted_from(load: Any) -> list[str]:
    """From when on averages count, a clause; nothing where it is from the beginning on."""
    from tracekit.units import duration

    settled_ms = int(load.settled_ms) - int(load.times_ms[0])
    return [f"averages from {duration(settled_ms)} after the beginning on"] * (settled_ms > 0)


def _unseen(run: Any) -> list[str]:
    """Which policies look at what the workload has nothing of."""
    from tracekit.replay.measures import words_of
    from tracekit.replay.workload.resources import lacking, short_names

    by_lack: dict[tuple[str, ...], list[str]] = {}
    for one in run.policies:
        if found := lacking(one.wants, run.workload.resources):
            by_lack.setdefault(tuple(found), []).append(one.name())
    return [
        f"{', '.join(dict.fromkeys(names))}: the workload has no"
        f" {', '.join(map(words_of, short_names(found)))}, so it is not looked at"
        for found, names in by_lack.items()
    ]


def _left_out(run: Any) -> list[str]:
    """Containers that no policy can place."""
    from tracekit.replay.workload.changed.pinned import too_large

    clause = too_large(run.workload)
    count = len(run.workload.too_large())
    return [f"{count:,} containers fit on no node, even an empty one: {clause}"] if clause else []


def _compared(run: Any, found: Any) -> list[str]:
    """Sentences on which policies differ over several orders of arrival."""
    from tracekit.answer.compare import sentences

    if run.differences is None:
        return []
    ours = [str(policy) for policy in run.policies if "recorded" not in policy.reads]
    return sentences(found, ours=ours)
