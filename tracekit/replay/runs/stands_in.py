"""Where requests stand in for use that nobody recorded: what comes before an answer about use."""

from collections.abc import Mapping

from tracekit.replay.workload.facts_told import ASSUMED
from tracekit.store.quantities import RECORDED

#: From this share of containers on: below it the sentence would be longer than what it says.
_FEW = 0.01
_INSTEAD = "what they request counts instead"
#: Without use of containers it is not known what of it is theirs.
_NODES = "what nodes are recorded to use is not counted"
_OF = {"CPU": "cpu", "memory": "memory"}


def stands_in(
    facts: Mapping[str, int], containers: int, quantities: Mapping[str, str] | None = None
) -> str:
    """A sentence where what is called use is requested, in part at least; empty elsewhere.

    Parameters
    ----------
    facts : mapping
        Those of a workload, as the document of a run has them, too.
    containers : int
        How many it has.
    quantities : mapping, optional
        How what it knows is known: a source whose use is assumed need not count whose.
    """
    if not containers:
        return ""
    neither = facts.get("containers_with_request_as_use", 0)
    if (quantities or {}).get("use of containers") == ASSUMED:
        neither = containers
    counts = {
        words: neither + facts.get(f"containers_with_request_as_{name}_use", 0)
        for words, name in _OF.items()
    }
    some = {words: count for words, count in counts.items() if count >= _FEW * containers}
    if not some:
        return ""
    what = f"{next(iter(some))} use" if len(some) == 1 else "use"
    if min(some.values()) == containers:
        if (quantities or {}).get("use of nodes") == RECORDED:
            return f"No {what} of containers is recorded: {_INSTEAD}, and {_NODES}."
        return f"No {what} is recorded: where {what} is spoken of, it is what is requested."
    each = [f"{count:,} have no recorded {words} use" for words, count in some.items()]
    same = set(some.values()) == {neither} and len(some) > 1
    told = f"{neither:,} have no recorded use" if same else " and ".join(each)
    return f"Of {containers:,} containers {told}: {_INSTEAD}."
