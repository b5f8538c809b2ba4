"""What the first screen says: what was asked, the answer, how sure it is, and what to do next."""

from collections.abc import Mapping

from tracekit.answer.fewest import study as shrink
from tracekit.answer.sensitivity import study as vary_study
from tracekit.report.contents import (
    comparison,
    fewest,
    nodes_needed,
    quantities,
    requests_to_change,
    search,
    sizing,
    vary,
)
from tracekit.report.contents.answer import told_apart as told_apart
from tracekit.report.contents.answer.next_steps import ORDERS
from tracekit.report.contents.answer.next_steps import varied as varied
from tracekit.report.contents.answer.of_run import of_run
from tracekit.report.contents.first_screen import Answer
from tracekit.report.data import Data
from tracekit.sizing.requests import study as requests
from tracekit.store.manifest import MADE_UP
from tracekit.words import count, listed


def answer(data: Data) -> Answer:
    """What the data answer: a run before a study, a study before a store."""
    if data.decision is not None:
        return of_run(data, data.decision)
    answers = {shrink.NAME: fewest.answer, requests.NAME: requests_to_change.answer}
    for name, of_study in answers.items():
        if name in data.studies:
            return of_study(data)
    if data.sizing is not None:
        return sizing.answer(data)
    if vary_study.NAME in data.studies:
        return vary.answer(data)
    if data.studies:
        return _of_studies(data)
    return _of_store(data)


def told(data: Data) -> tuple[str, ...]:
    """The answer, and how many nodes are enough where that was asked; what leads comes first.

    Where no use is recorded, a sentence before both says what counts as use.
    """
    found = answer(data)
    return (*filter(None, [found.stands_in]), *_answers(data, found))


def _answers(data: Data, found: Answer) -> tuple[str, ...]:
    nodes = nodes_needed.whole(data) if data.decision is not None else ""
    if nodes and nodes.startswith(found.lead):
        return nodes, found.also
    return (found.sentence, nodes) if nodes else (found.sentence,)


def _of_studies(data: Data) -> Answer:
    if set(data.studies) == {comparison.STUDY}:
        return comparison.answer(data)
    if search.has_placement(data) or search.has_functions(data):
        return search.answer(data)
    names = [name.replace("_", " ") for name in data.studies]
    return Answer(
        asked="", sentence=f"This report shows {listed(names)}; its pages have the answers."
    )


def _of_store(data: Data) -> Answer:
    rows = sum(one["rows"] for one in (data.info or {"tables": {}})["tables"].values())
    known = (data.info or {}).get("quantities", {})
    rests = [
        (
            quantities.word(data, kind).capitalize(),
            ", ".join(name for name, how in known.items() if how == kind),
        )
        for kind in ("recorded", "inferred", "absent")
        if kind in known.values()
    ]
    made_up = [MADE_UP] if data.made_up else []
    if not rows:
        return Answer(
            asked="",
            sentence="The store holds no rows yet, so there is nothing to say.",
            next=[("Take trace files in:", f"tracekit ingest SRC {data.paths.store}")],
        )
    return Answer(
        asked="What does this trace show? No policy has been replayed on it yet.",
        sentence=f"The store holds {count(rows, 'row')}; what stands out in them is below.",
        warnings=made_up,
        rests=rests,
        next=_next_of_store(data, known),
    )


def _next_of_store(data: Data, known: Mapping[str, str]) -> list[tuple[str, str]]:
    """What a store can be asked next: a replay takes use or requests."""
    if all(known.get(name) == "absent" for name in ("use of containers", "requests")):
        calls = known.get("calls") == "recorded"
        return [("Rebuild its calls:", f"tracekit callgraph {data.paths.store}")] if calls else []
    command = (
        f"tracekit replay {data.paths.store} --policy common --repeat {ORDERS}"
        f" --out {data.paths.beside('replay')}"
    )
    return [("Place its containers anew, to see what a policy would change:", command)]
