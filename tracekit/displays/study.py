"""A study: its facts, and its first frame."""

from collections.abc import Callable, Mapping

from tracekit.answer.comparison.facts import answer_of_comparison
from tracekit.answer.comparison.run_compare import NAME as COMPARISON
from tracekit.answer.facts import Answer
from tracekit.answer.fewest.study import NAME as FEWEST_STUDY
from tracekit.answer.nodes import answer_of_nodes
from tracekit.answer.requests import answer_of_requests
from tracekit.answer.sensitivity import study as sensitivity
from tracekit.replay.workload.requests.given import REQUESTS_STUDY
from tracekit.report.sentences import long
from tracekit.shown import Page, frames_in, table
from tracekit.study import Study

#: What a study is called, its frame to show, and what concludes from it.
_KINDS: Mapping[str, tuple[str, str, Callable[[Study], Answer]]] = {
    COMPARISON: ("Comparison of two runs", "changes", answer_of_comparison),
    FEWEST_STUDY: ("Fewest nodes that are enough", "policies", answer_of_nodes),
    REQUESTS_STUDY: ("Which requests to change", "policies", answer_of_requests),
    sensitivity.NAME: (
        "Policies under changed assumptions",
        "changes",
        sensitivity.answer_of_sensitivity,
    ),
}


def page(study: Study) -> Page:
    """The page of a study."""
    known = _KINDS.get(study.name)
    title = study.name.replace("_", " ").capitalize() if known is None else known[0]
    frame = study.frames.get("" if known is None else known[1], next(iter(study.frames.values())))
    lines = (
        [f"{key}: {value}" for key, value in study.about.items() if value]
        if known is None
        else [long(one) for one in known[2](study).facts if one.weight < 2]
    )
    columns, rows = table(frame)
    rest = frames_in(".frames", study.frames)
    return Page(title=title, lines=lines, columns=columns, rows=rows, rest=rest)
