"""What a study of the fewest nodes says of production."""

from collections.abc import Mapping
from typing import Any

from tracekit.answer.fewest.words.broken import number
from tracekit.answer.left_waiting import WAITING
from tracekit.replay.measures import COST_PER_HOUR, FULLEST, find_measure, small
from tracekit.study import Study
from tracekit.words import counted


def unscaled(about: Mapping[str, Any]) -> str:
    """That production has less or more load than was asked about, a clause; empty where not."""
    return ", with the load as recorded" if about["scale"] != 1 else ""


def production(study: Study) -> str:
    """What production came to; empty where that is not recorded."""
    observed = study.about["observed"]
    if not observed:
        return ""
    came = [
        f"{small(known.title)} {number(name, observed['measures'][name])}"
        for name in FULLEST
        if (known := find_measure(name)) is not None and observed["measures"].get(name) is not None
    ]
    cost = observed["measures"].get(COST_PER_HOUR)
    paid = "" if cost is None else f" for {cost:,.2f} per hour"
    used = f"{counted(observed['nodes'], 'node')}{paid}{unscaled(study.about)}"
    said = f"Production used {used}: {', '.join(came)}."
    left = observed["measures"].get(WAITING[0])
    if left:
        said += f" It left {counted(round(left), 'container')} without a node."
    if observed["breaks"]:
        broken = " and ".join(observed["breaks"])
        said += f" Production itself does not hold {broken}."
    return said
