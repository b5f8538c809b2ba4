"""How many nodes are enough for what a run recommends: on the first screen, below the policy."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from tracekit.answer.decision import Decision
from tracekit.answer.fewest.after_run import unasked
from tracekit.answer.fewest.asked_already import load_of
from tracekit.answer.fewest.found import COST, NODES
from tracekit.answer.fewest.study import NAME
from tracekit.answer.fewest.words import told as shrink_told
from tracekit.answer.fewest.words.cautions import EVICTING
from tracekit.answer.fewest.words.costs import NOT_CHEAPER
from tracekit.answer.fewest.words.next import (
    AT_MORE,
    CHEAP,
    CHEAPEST,
    MORE,
    called,
    may_be_cheaper,
)
from tracekit.answer.fewest.words.there import with_all
from tracekit.answer.may_answer import may_be_chosen
from tracekit.answer.overload import WITHOUT
from tracekit.answer.preferred import rules_out_overload
from tracekit.answer.standings import standings
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.measures import RESOURCES
from tracekit.replay.runs.stands_in import stands_in
from tracekit.report import fewest_known as known
from tracekit.report.contents import commands
from tracekit.report.contents.first_screen import SENTENCES
from tracekit.report.data import Data
from tracekit.report.studies import assumed_otherwise, of_another
from tracekit.store.quantities import RECORDED
from tracekit.study import Study
from tracekit.words import listed, percent, spaced

#: Below this use of a node nobody has to relieve it.
_RELIEF = 0.8
#: So many sentences of the count stand beside the answer; what begins the others.
_FIRST, _ALSO = 3, "On the number of nodes"


def said(data: Data, told: Decision) -> str:
    """How many nodes are enough and how full they get then, or why it was not asked."""
    if NAME in data.studies and not of_another(data.studies[NAME], _load(data)):
        if cure := _cure(data):
            return " ".join(SENTENCES.split(_answer(data, cure[1]))[:_FIRST])
        whom = "" if known.ahead(data) else _of_whom(told, data.studies[NAME])
        return whom + " ".join(_first(data))
    why = _unasked(data, told)
    return spaced(f"How many nodes are enough was not asked: {why}.") if why else ""


def lead(data: Data, told: Decision) -> tuple[str, str]:
    """How many nodes are enough, and that none needs relief, where nodes can be saved.

    Both are empty where production's nodes are well used, or hardly any can go.
    """
    study = data.studies.get(NAME)
    found = None if study is None or of_another(study, _load(data)) else shrink_told.told(study)
    first = next(iter(told.chosen), "")
    if study is None or found is None or found.about.get("kept_placement"):
        return "", ""
    if found.best["policy"] != first:
        return "", ""
    usual = (found.about["observed"] or {}).get("measures", {})
    best = (shrink_told.told(known.leading(data)) or found).best
    peaks = {words: usual.get(f"{name}_max_fraction") for name, words in RESOURCES.items()}
    told_of = {words: peak for words, peak in peaks.items() if peak is not None}
    recorded = _load(data).get("quantities", {}).get("use of containers") == RECORDED
    idle = told_of and max(told_of.values()) < _RELIEF
    idle = (
        idle and recorded and not stands_in(_load(data).get("facts", {}), _load(data)["containers"])
    )
    if not idle or best["of"] - best["nodes"] < known.SAVES * best["of"]:
        return "", ""
    used = listed([f"{percent(peak)} of its {words}" for words, peak in told_of.items()])
    none = f"No node needs relief, though: the fullest uses {used} in production."
    return " ".join(_first(data)), none


def _cure(data: Data) -> tuple[str, Study] | None:
    """The study of how many nodes carry the load, where the present ones do not; or None."""
    found = shrink_told.told(data.studies[NAME])
    if found is None or not with_all(found.study, found.best):
        return None
    policy = found.best["policy"]
    for folder, study in data.other_studies:
        about = study.about
        asks = study.name == NAME and about["limits"] == [WITHOUT] and about["scale"] == 1
        if asks and policy in about["policies"] and load_of(about) == load_of(found.about):
            return folder, dataclasses.replace(study, about={**about, "subject": policy})
    return None


def asked(data: Data) -> bool:
    """Whether a study has asked how many nodes are enough for this load."""
    study = data.studies.get(NAME)
    return study is not None and not of_another(study, _load(data))


def whole(data: Data) -> str:
    """All that is said of how many nodes are enough; empty where it was not asked."""
    study = data.studies.get(NAME)
    if study is None or of_another(study, _load(data)):
        return ""
    cure = _cure(data)
    return _whole(data) if cure is None else _answer(data, cure[1])


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
    first, cure = known.ahead(data), _cure(data)
    led = {first and first.folder, cure and cure[0]}
    others = [
        (folder, one)
        for folder, one in data.other_studies
        if one.name == NAME and folder not in led
    ]
    more = " ".join(_more(data) if cure is None else [_answer(data, found)])
    whom = f" for {first.policy}" if first else ""
    return [
        *([f"{_ALSO}{whom}: {more[:1].lower()}{more[1:]}"] if more else []),
        spaced(shrink_told.short_within(known.leading(data))),
        *([f"{_ALSO} for {first.own}: {_answer(data, found)}"] if first else []),
        *(_another(data, at, one) for at, one in others),
    ]


def _another(data: Data, folder: str, study: Study) -> str:
    """What a further study says that the leading one does not."""
    known_ = _said(data)
    said = SENTENCES.split(_answer(data, study))
    named = f"Another study ({data.paths.study(folder)})"
    if said[0] != known_[0]:
        return f"{named}: {' '.join(said)}"
    more = " ".join(one for one in said if one not in known_)
    return f"{named} comes to the same count.{f' {more}' if more else ''}"


def _whole(data: Data) -> str:
    """All sentences, those of the run's own study last where another one leads."""
    first, own = _first(data), [] if known.ahead(data) is None else _first(data)[-1:]
    return " ".join([*first[: len(first) - len(own)], *_more(data), *own])


def _first(data: Data) -> list[str]:
    """The sentences beside the answer; where another study leads, also those of the run's own."""
    said, first = _said(data), known.ahead(data)
    if first is None:
        # how sure the count is stands with what else is known of it
        return [one for one in said[:_FIRST] if not one.startswith(shrink_told.EACH_ORDER)]
    own = SENTENCES.split(_answer(data, data.studies[NAME]))
    return [said[0], *(one for one in said if EVICTING in one), first.beside, own[0]]


def _more(data: Data) -> list[str]:
    """The other sentences of the study that leads."""
    first = _first(data)
    return [one for one in _said(data) if one not in first]


def _said(data: Data) -> list[str]:
    return SENTENCES.split(_answer(data, known.leading(data)))


def _load(data: Data) -> Mapping[str, Any]:
    return dict((data.run or {})["workload"])


def _answer(data: Data, study: Study) -> str:
    """The answer of a study, after what it assumes and the run does not."""
    otherwise = assumed_otherwise(study, _load(data))
    given = f"With {listed(otherwise)}, which this run does not assume: " if otherwise else ""
    said = shrink_told.short(study)
    policy = study.about.get("subject") or next(iter(study.about["policies"]), "")
    if data.asked_already.shrunk(policy, study.about, least=COST):
        # a reader who has asked for the cheapest nodes is not told how to ask
        said = said.replace(NOT_CHEAPER, "")
    return spaced(f"{given}{said}")


def following(data: Data, told: Decision, policy: str) -> list[tuple[str, str]]:
    """The next question about nodes, and its command."""
    if not policy:
        return []
    asked = f"{commands.asked(data, 'nodes')} --policy {data.paths.policy(policy)}"
    if not _asked_of(data, policy):
        once = " --repeat 1" if told.subject and _unasked(data, told) else ""
        to = data.paths.study("fewest" if NAME not in data.studies else f"fewest-{policy}")
        return [(f"How many nodes {policy} needs, and which can go:", f"{asked}{once} --out {to}")]
    more = _more_load_or_cheaper(data, policy, asked)
    safer = _safer(data, told)
    if not safer or _asked_of(data, safer):
        return more
    less = commands.fewest(data, safer, data.studies.get(NAME))
    return [(f"How many nodes {safer} needs, which surely keeps to the limits:", less), *more]


def _more_load_or_cheaper(data: Data, policy: str, asked: str) -> list[tuple[str, str]]:
    """Which nodes cost least, else how many more load takes: what no study has asked yet."""
    study = data.studies[NAME]
    found, ours = shrink_told.told(study), {**study.about, "limits_given": False}
    there = data.asked_already
    cheaper = found is not None and may_be_cheaper(found)
    if cheaper and not there.shrunk(policy, ours, scale=1, least=COST):
        to = data.paths.study(called(CHEAP, policy, {}))
        return [
            ("Which of the nodes that are enough cost least:", f"{asked} {CHEAPEST} --out {to}")
        ]
    if there.shrunk(policy, ours, scale=MORE, least=NODES):
        return []
    to = data.paths.study(called(AT_MORE.format(MORE), policy, {}))
    scaled = f"{asked} --scale {MORE:g} --out {to}"
    return [(f"How many nodes it takes for {MORE:g} times the load:", scaled)]


def _asked_of(data: Data, policy: str) -> bool:
    """Whether a study has asked how many nodes a policy needs, as the one that is shown asks."""
    ours = data.studies.get(NAME)
    if ours is None:
        return False
    others = [study for _, study in data.other_studies if known.asks_the_same(ours, study)]
    return any(policy in study.about["policies"] for study in (ours, *others))


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
