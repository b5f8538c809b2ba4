"""How many nodes are enough for what a run recommends: on the first screen, below the policy."""

from collections.abc import Mapping
from typing import Any

from tracekit.replay.answer.decision import Decision
from tracekit.replay.answer.may_answer import may_be_chosen
from tracekit.replay.answer.preferred import rules_out_overload
from tracekit.replay.answer.standings import standings
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import RESOURCES
from tracekit.replay.runs.stands_in import stands_in
from tracekit.replay.studies.shrink.after_run import unasked
from tracekit.replay.studies.shrink.search.trials import COST
from tracekit.replay.studies.shrink.study import NAME
from tracekit.replay.studies.shrink.words import told as shrink_told
from tracekit.replay.studies.shrink.words.next import AT_MORE, CHEAPEST, MORE, may_be_cheaper
from tracekit.report.contents import commands
from tracekit.report.contents.first_screen import SENTENCES
from tracekit.report.data import Data
from tracekit.report.studies import assumed_otherwise, of_another
from tracekit.report.words import listed, percent, spaced
from tracekit.store.quantities import RECORDED
from tracekit.study import Study

#: Below this use of a node nobody has to relieve it.
_RELIEF = 0.8
#: So much of the nodes is worth to be saved before anything else.
_SAVES = 0.1
#: So many sentences of the count stand beside the answer; what begins the others.
_FIRST, _ALSO = 3, "On the number of nodes: "


def said(data: Data, told: Decision) -> str:
    """How many nodes are enough and how full they get then, or why it was not asked."""
    if NAME in data.studies and not of_another(data.studies[NAME], _load(data)):
        return _of_whom(told, data.studies[NAME]) + " ".join(
            _sentences(data, data.studies[NAME])[:_FIRST]
        )
    why = _unasked(data, told)
    return spaced(f"How many nodes are enough was not asked: {why}.") if why else ""


def lead(data: Data, told: Decision) -> tuple[str, str]:
    """Where the nodes are what can be saved: how many are enough, and that none needs relief.

    Both are empty where production's nodes are used far, or hardly any can go.
    """
    study = data.studies.get(NAME)
    found = None if study is None or of_another(study, _load(data)) else shrink_told.told(study)
    first = next(iter(told.chosen), "")
    if study is None or found is None or found.about.get("kept_placement"):
        return "", ""
    if found.best["policy"] != first:
        return "", ""
    usual, best = (found.about["observed"] or {}).get("measures", {}), found.best
    peaks = {words: usual.get(f"{name}_max_fraction") for name, words in RESOURCES.items()}
    known = {words: peak for words, peak in peaks.items() if peak is not None}
    recorded = _load(data).get("quantities", {}).get("use of containers") == RECORDED
    idle = known and max(known.values()) < _RELIEF
    idle = (
        idle and recorded and not stands_in(_load(data).get("facts", {}), _load(data)["containers"])
    )
    if not idle or best["of"] - best["nodes"] < _SAVES * best["of"]:
        return "", ""
    used = listed([f"{percent(peak)} of its {words}" for words, peak in known.items()])
    none = f"No node needs relief, though: the fullest uses {used} in production."
    return " ".join(_sentences(data, study)[:_FIRST]), none


def whole(data: Data) -> str:
    """All that is said of how many nodes are enough; empty where it was not asked."""
    study = data.studies.get(NAME)
    return "" if study is None or of_another(study, _load(data)) else _answer(data, study)


def _of_whom(told: Decision, study: Study) -> str:
    """That the count is of another policy than the answer; empty where it is of the same."""
    found = shrink_told.told(study)
    policy = "" if found is None else str(found.best["policy"])
    if not policy or policy in told.chosen or policy == told.subject or not told.subject:
        return ""
    return f"The count of nodes is of {policy}, and was not asked of {told.subject}. "


def held(data: Data) -> list[str]:
    """How sure the count is, what held for it, and what other studies say of it; sentences."""
    found = data.studies.get(NAME)
    if not found or of_another(found, _load(data)):
        return []
    others = [(folder, one) for folder, one in data.other_studies if one.name == NAME]
    more = " ".join(_sentences(data, found)[_FIRST:])
    return [
        *([f"{_ALSO}{more[:1].lower()}{more[1:]}"] if more else []),
        spaced(shrink_told.short_within(found)),
        *(f"Another study ({data.paths.study(at)}): {_answer(data, one)}" for at, one in others),
    ]


def _sentences(data: Data, study: Study) -> list[str]:
    return SENTENCES.split(_answer(data, study))


def _load(data: Data) -> Mapping[str, Any]:
    return dict((data.run or {})["workload"])


def _answer(data: Data, study: Study) -> str:
    """The answer of a study, after what it assumes and the run does not."""
    otherwise = assumed_otherwise(study, _load(data))
    given = f"With {listed(otherwise)}, which this run does not assume: " if otherwise else ""
    return spaced(f"{given}{shrink_told.short(study)}")


def following(data: Data, told: Decision, policy: str) -> list[tuple[str, str]]:
    """The next question about nodes, and its command."""
    if not policy:
        return []
    asked = f"{commands.asked(data, 'shrink')} --policy {data.paths.policy(policy)}"
    if NAME not in data.studies:
        once = " --repeat 1" if told.subject and _unasked(data, told) else ""
        to = data.paths.study("fewest")
        return [(f"How many nodes {policy} needs, and which can go:", f"{asked}{once} --out {to}")]
    scaled = f"{asked} --scale {MORE:g} --out {data.paths.study(AT_MORE.format(MORE))}"
    more = (f"How many nodes it takes for {MORE:g} times the load:", scaled)
    found = shrink_told.told(data.studies[NAME])
    searched = any(
        one.name == NAME and one.about.get("least") == COST for _, one in data.other_studies
    )
    if found is not None and may_be_cheaper(found) and not searched:
        cheapest = f"{asked} {CHEAPEST} --out {data.paths.study('cheapest')}"
        more = ("Which of the nodes that are enough cost least:", cheapest)
    safer = _safer(data, told)
    if not safer or _asked_of(data, safer):
        return [more]
    to = data.paths.study(f"fewest-{safer}")
    less = f"{commands.asked(data, 'shrink')} --policy {data.paths.policy(safer)} --out {to}"
    return [
        (f"How many nodes {safer} needs, which surely keeps to the limits:", less),
        more,
    ]


def _asked_of(data: Data, policy: str) -> bool:
    """Whether a further study has asked how many nodes a policy needs."""
    others = [study.about for _, study in data.other_studies if study.name == NAME]
    return any(policy in about.get("policies", ()) for about in others)


def _safer(data: Data, told: Decision) -> str:
    """Where chance does not rule out that the policy overloads nodes, the best one that does not.

    Empty where it is ruled out, or for no policy.
    """
    found = data.results
    if found is None or not told.criterion or rules_out_overload(found, told.subject):
        return ""
    rows = standings(found, told.criterion, among=may_be_chosen(found)).rows
    names = (row.names[0] for row in rows if row.orders >= FEWEST)
    return next((name for name in names if rules_out_overload(found, name)), "")


def _unasked(data: Data, told: Decision) -> str:
    load = (data.run or {})["workload"]
    policies = data.results.policies if data.results else ()
    return unasked(told, policies, containers=load["containers"], nodes=load["nodes"])
