"""How near the fewest nodes are to too few, in words: the closest limit, the hottest node."""

from collections.abc import Mapping
from typing import Any

from tracekit.answer.fewest.words.broken import comes_to
from tracekit.answer.fewest.words.told import AnswerTold
from tracekit.answer.left_waiting import WAITING
from tracekit.replay.measures import RESOURCES
from tracekit.replay.runs import kept_back
from tracekit.study import Study
from tracekit.units import percent
from tracekit.words import short_id


def breaks(row: Mapping[str, Any]) -> str:
    """How far a limit breaks with one node fewer, or why none does."""
    if row["fails"] is None:
        if row["bound"] == row["nodes"]:
            return "the lower bound is reached"
        return "not tried" if row["fewer"] else "none left"
    return comes_to(row)


def unexplained(study: Study) -> str:
    """What becomes of use that no container explains; empty where there is little."""
    return kept_back.spread(study.about["workload"].get("background") or {})


def margin(found: AnswerTold) -> str:
    """Which limit comes closest to breaking afterwards, and which node is hottest."""
    row, said = found.best, []
    room = row["tightest_room"]
    waits = row["fails"] is not None and row["fails_measure"] in WAITING
    if waits:
        said.append(f"without {found.next_to_go} {breaks(row)}")
    # a measure of nothing is not near its limit
    if room is not None and room < 1:
        left = f"{percent(room)} of what it allows is left" if room > 0 else "nothing is left of it"
        which = "of the limits on use, the nearest" if waits else "the tightest limit afterwards"
        said.append(f"{which} is {row['tightest']}: {left}")
    if row["fails"] is not None and not waits:
        said.append(f"without {found.next_to_go} {breaks(row)}")
    hot = hottest(found)
    if hot is not None:
        name, resource, share = hot
        said.append(
            f"the hottest node is {short_id(name)}, whose {resource} reaches"
            f" {_reached(found, resource, share)}"
        )
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _reached(found: AnswerTold, words: str, share: float) -> str:
    """A node's highest use in the order as given, and the highest of any order if that is more."""
    resource = next(name for name, called in RESOURCES.items() if called == words)
    known = {name: found.best[f"{name}_max_fraction"] or 0.0 for name in RESOURCES}
    highest = max(known, key=lambda name: known[name])
    if found.about["repeats"] == 1 or known[highest] <= share:
        return percent(share)
    of = "" if highest == resource else f" {RESOURCES[highest]}"
    worst = f"in the worst order some node reaches {percent(known[highest])}{of}"
    return f"{percent(share)} in the first order of arrival ({worst})"


def hottest(found: AnswerTold) -> tuple[str, str, float] | None:
    """The node that is used most afterwards, of what, and how far; in the order as given."""
    kept = found.nodes.filter("kept")
    peaks = [
        (kept[column][at], str(kept["node"][at]), words)
        for column, words in (("cpu_max_fraction", "CPU"), ("memory_max_fraction", "memory"))
        if (at := kept[column].arg_max()) is not None
    ]
    if not peaks:
        return None
    share, name, words = max(peaks)
    return name, words, float(share)
