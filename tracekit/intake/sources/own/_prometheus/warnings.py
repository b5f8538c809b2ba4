"""What a server says beside an answer: an error, or that stores behind the server are missing.

Thanos and Mimir say so in ``warnings``, a cluster of VictoriaMetrics in ``isPartial``.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.store.broken_rows import PARTIAL_ANSWER

#: Remarks on a query, which Prometheus 2 puts among its warnings and Prometheus 3 beside them.
_REMARK = "PromQL info:"
#: What is wrong with samples that are there; any other warning is of what is not.
_OF_SAMPLES = "PromQL warning:"
#: What the word of VictoriaMetrics means.
_PARTIAL = "isPartial: some storage nodes did not answer, data may be missing"


def is_empty_answer(value: Any, file: str) -> bool:
    """Whether it is an answer without series; raises TracekitError for one that is an error."""
    status = value.get("status") if isinstance(value, dict) else None
    if status == "error":
        raise TracekitError(
            f"{file}: Prometheus answered with an error: {value.get('error')}",
            hint="ask again, and keep the answer to a query that works",
        )
    return bool(status == "success")


def warnings_of(beside: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The warnings of answers, each once and in one line; ``beside`` is what has no series."""
    found = []
    for members in beside:
        said = members.get("warnings")
        listed = said if isinstance(said, list) else [said] if said else []
        for one in [*listed, *([_PARTIAL] if members.get("isPartial") is True else [])]:
            text = " ".join(str(one).split())
            if text and not text.startswith(_REMARK):
                found.append(text)
    return tuple(dict.fromkeys(found))


def of_missing_data(warning: str) -> bool:
    """Whether a warning is that the answer is not whole."""
    return not warning.startswith(_OF_SAMPLES)


def warned(beside: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Why an answer in a file is not to be trusted, and the warning itself."""
    for warning in warnings_of(beside):
        yield f"{PARTIAL_ANSWER}: {warning}", warning
