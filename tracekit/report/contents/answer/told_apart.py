"""What tells the policies of a run apart, and whether all of them leave containers waiting."""

from collections.abc import Sequence

from tracekit.answer.all_wait import fewest_waiting
from tracekit.answer.left_waiting import PENDING
from tracekit.replay.measures import NODES, find_measure
from tracekit.replay.runs.run import OBSERVED
from tracekit.report.data import Data
from tracekit.words import count, listed

#: More measures than this are counted, not named.
_FEW = 3


def standing_sentence(data: Data) -> str:
    """How many ways to place there are, and what tells them apart."""
    found = data.results
    if found is None:
        return ""
    ways = len([names for names in found.groups if names != (OBSERVED,)])
    policies = len([name for name in found.policies if name != OBSERVED])
    answering = [one for one in found.measures.values() if one.group == "answer"]
    told = [one.title for one in answering if data.standings(one.name).tells]
    placed = f"{count(policies, 'policy')} placed the containers"
    alike = "" if policies == 1 else ", all in the same way"
    ways_ = f"{placed} in {ways:,} different ways" if ways > 1 else f"{placed}{alike}"
    if not told:
        return f"{ways_}. No measure that may answer tells them apart."
    if len(told) > _FEW:
        many = count(len(answering), "measure")
        return f"{ways_}. {len(told)} of the {many} that may answer tell them apart."
    return f"{ways_}. {_apart(data, told)}"


def _apart(data: Data, told: Sequence[str]) -> str:
    """The measures that tell policies apart; of who waits also which are not, a sentence."""
    tell = f"{listed(told)} tell{'s' if len(told) == 1 else ''}"
    found, pending = data.results, find_measure(PENDING)
    if found is None or pending is None or [pending.title] != list(told):
        return f"{tell} them apart."
    alike, worse = fewest_waiting(found, PENDING)
    if len(alike) < 2 or not worse:
        return f"{tell} them apart."
    near = f"{listed(alike[1:])} {'is' if len(alike) == 2 else 'are'} within chance of {alike[0]}"
    return f"{tell} some of them apart: {near}, {listed(worse)} worse beyond chance."


def wait_everywhere(data: Data) -> bool:
    """Whether at most one way to place carries the whole load, and others never place some."""
    if data.results is None or not {NODES, PENDING} <= data.results.measures.keys():
        return False
    rows = data.standings(NODES).rows
    never = any(row.mean for row in data.standings(PENDING).rows)
    return never and len(rows) > 1 and sum(not row.waited for row in rows) < 2
