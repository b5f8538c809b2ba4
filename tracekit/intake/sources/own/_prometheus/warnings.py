"""Reads the errors and warnings of an answer of Prometheus.

Thanos and Mimir warn of missing data in ``warnings``, VictoriaMetrics in ``isPartial``.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.store.broken_rows import PARTIAL_ANSWER

#: The beginning of a remark on a query; Prometheus 2 puts remarks among its warnings.
_REMARK = "PromQL info:"
#: The beginning of a warning of wrong samples; any other warning is of missing data.
_OF_SAMPLES = "PromQL warning:"
#: The meaning of ``isPartial``.
_PARTIAL = "isPartial: some storage nodes did not answer, data may be missing"


def is_empty_answer(value: Any, file: str) -> bool:
    """Whether a value is an answer without series; raises TracekitError for an error."""
    status = value.get("status") if isinstance(value, dict) else None
    if status == "error":
        raise TracekitError(
            f"{file}: Prometheus answered with an error: {value.get('error')}",
            hint="ask again, and keep the answer to a query that works",
        )
    return bool(status == "success")


def warnings_of(beside: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """The warnings of answers, each once and in one line.

    ``beside`` has the members of each answer beside its series.
    """
    texts = []
    for members in beside:
        stated = members.get("warnings")
        listed = stated if isinstance(stated, list) else [stated] if stated else []
        for one in [*listed, *([_PARTIAL] if members.get("isPartial") is True else [])]:
            text = " ".join(str(one).split())
            if text and not text.startswith(_REMARK):
                texts.append(text)
    return tuple(dict.fromkeys(texts))


def of_missing_data(warning: str) -> bool:
    """Whether a warning is of missing data."""
    return not warning.startswith(_OF_SAMPLES)


def warned(beside: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, str]]:
    """Yield, for each warning of answers in a file, the reason of a reject and the warning."""
    for warning in warnings_of(beside):
        yield f"{PARTIAL_ANSWER}: {warning}", warning
