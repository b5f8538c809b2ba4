"""What to ask after a run, each question with the command that answers it."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tracekit.answer.advice import keeps_production, overloads, sentence
from tracekit.answer.all_wait import fewest_waiting
from tracekit.answer.decision import Decision, decision
from tracekit.answer.fitness import above_on_average
from tracekit.answer.followed import MORE_ORDERS
from tracekit.answer.left_waiting import PENDING, waits_too_much
from tracekit.answer.may_answer import CONDITIONS, may_be_chosen
from tracekit.answer.overload import WITHOUT
from tracekit.answer.preferred import USUAL
from tracekit.answer.standings import standings
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.policy.own_files import FILES
from tracekit.replay.runs.kept_back import background
from tracekit.replay.runs.results import results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.run_folder import RUN_FOLDER
from tracekit.replay.workload.requests.given import REQUESTS_STUDY
from tracekit.report.contents import commands, nodes_needed, requests_to_change, vary
from tracekit.report.contents.first_screen import SENTENCES
from tracekit.report.data import Data
from tracekit.report.policies import replayed
from tracekit.store.quantities import RECORDED
from tracekit.words import spaced

#: Enough orders of arrival to tell small differences.
ORDERS = 20


#: The assumption by which no container leaves.
_NONE_LEAVES = "departures=none"
#: Containers times nodes up to which a search for more nodes ends in minutes: one of 12 million
#: had not after seven.
_MINUTES = 1_000_000
#: Where a smaller share of the load can move, the load that stays decides.
_MOVES = 0.5
#: So many sentences of another replay's answer are told.
_TOLD = 2
#: The most policies that a command names; with more it names ``common``.
_NAMED = 12

#: One of these is set beside a policy that was replayed alone.
_RIVALS = ("least_allocated", "most_allocated")


def following(data: Data, told: Decision) -> list[tuple[str, str]]:
    """The next questions, each with the command that answers it; none whose answer is there."""
    return [(why, asked) for why, asked in _following(data, told) if not commands.there(asked)]


def followed(data: Data, told: Decision) -> list[str]:
    """What the replays came to that were proposed here and are there; sentences."""
    said = []
    for why, asked in _following(data, told):
        words = shlex.split(asked)
        folder = Path(words[words.index("--out") + 1]) if "--out" in words else None
        # what is proposed of requests is told beside the requests
        if folder is None or not RUN_FOLDER.holds(folder) or "requests=sized" in asked:
            continue
        found = results(folder)
        answer = " ".join(SENTENCES.split(spaced(sentence(found, decision(found))))[:_TOLD])
        shown = f"tracekit report {shlex.quote(str(folder))}"
        said.append(f'"{why.removesuffix(":")}" was followed ({shown} has all of it): {answer}')
    return said


def _following(data: Data, told: Decision) -> list[tuple[str, str]]:
    # where every order is the recorded one, more of them tell nothing
    alone = bool((data.run or {}).get("repeats_none"))
    if told.orders < FEWEST and not alone:
        return [_more_orders(data)]
    varied = [_varied(data, told)] if _may_hang(data, told) else []
    varied += [_sized(data)] if _may_size(data) else requests_to_change.following(data)
    if _all_wait(data, told):
        return [*_alike(data, alone=alone), *_departing(data), *_more_nodes(data), *varied]
    if not told.chosen:
        needed = nodes_needed.following(data, told, told.subject or next(iter(in_turn(data)), ""))
        if data.results is not None and overloads(data.results, told.subject):
            needed = _without_overload(data, told)
        others = _stays(data, told) or ([] if alone else _rebalanced(data))
        return [*others, *needed, *varied]
    needed = nodes_needed.following(data, told, told.chosen[0])
    if data.results is not None and overloads(data.results, told.subject):
        # a policy that does not carry its load is not asked for more load, nor which nodes can go
        needed = _without_overload(data, told)
    if data.results is not None and keeps_production(data.results, told):
        # whether the trade holds is asked before what it would need
        return [*_stays(data, told), *varied, *needed]
    return [*_stays(data, told), *needed, *varied]


def _all_wait(data: Data, told: Decision) -> bool:
    """Whether every policy leaves containers waiting, and production's placement is not known.

    Then not even all nodes are enough.
    """
    found = data.results
    if found is None or told.subject or OBSERVED in found.policies:
        return False
    return all(waits_too_much(found, name) for name in found.policies)


def _alike(data: Data, *, alone: bool) -> list[tuple[str, str]]:
    """More orders of arrival, for policies that are not told from the best so far."""
    found = data.results
    best = [] if found is None or alone else fewest_waiting(found, PENDING)[0]
    if len(best) < 2 or (data.run or {}).get("repeats", 1) >= ORDERS:
        return []
    names = " ".join(f"--policy {data.paths.policy(name)}" for name in best)
    out = data.paths.beside("more-orders")
    command = f"{commands.asked(data, 'replay')} {names} --repeat {ORDERS} --out {out}"
    return [("Which of those that are alike leaves fewest waiting, over more orders:", command)]


def _departing(data: Data) -> list[tuple[str, str]]:
    """A smaller load: containers leave as recorded, where it was assumed that none does."""
    load = (data.run or {})["workload"]
    kept = f"--assume {_NONE_LEAVES} "
    asked = f"{commands.asked(data, 'replay')} "
    if load.get("quantities", {}).get("departures") != RECORDED or kept not in asked:
        return []
    names = " ".join(f"--policy {data.paths.policy(name)}" for name in in_turn(data))
    out = data.paths.beside("departing")
    command = f"{asked.replace(kept, '')}{names} --out {out}"
    return [("A smaller load: let containers leave when they did, as recorded:", command)]


def _more_nodes(data: Data) -> list[tuple[str, str]]:
    """More nodes for the policy that leaves fewest waiting, where that is searched in minutes."""
    found, load = data.results, (data.run or {})["workload"]
    if found is None or load["containers"] * load["nodes"] > _MINUTES:
        return []
    best = min(found.policies, key=lambda name: float(found.of(name, PENDING).mean()))
    command = (
        f"{commands.asked(data, 'nodes')} --policy {data.paths.policy(best)} --repeat 1"
        f" --out {data.paths.study('fewest')}"
    )
    return [(f"How many more nodes it takes until {best} leaves nobody waiting:", command)]


def _without_overload(data: Data, told: Decision) -> list[tuple[str, str]]:
    """How many more nodes it takes, where nodes are overloaded under the answer, too.

    Where little can move, whether placing all anew is enough: more nodes relieve none of those
    whose containers stay.
    """
    found, load, policy = data.results, (data.run or {})["workload"], told.subject
    if load.get("assumptions", {}).get("start") == OBSERVED and _stuck(load):
        return [_anew(data, policy)]
    few = load["containers"] * load["nodes"] <= _MINUTES
    if found is None or not few or not overloads(found, policy):
        return []
    about = {"workload": load, "limits": [WITHOUT], "limits_given": True}
    if data.asked_already.shrunk(policy, about):
        return []
    command = (
        f"{commands.asked(data, 'nodes')} --policy {data.paths.policy(policy)}"
        f" --limit '{WITHOUT}' --out {data.paths.study(f'without-overload-{policy}')}"
    )
    return [("How many nodes carry this load without overload:", command)]


def _stuck(load: Mapping[str, Any]) -> bool:
    """Whether most of the load stays where it ran, by every resource that is known."""
    shares = [share for share in (load.get("movable") or {}).values() if share is not None]
    return bool(shares) and max(shares) < _MOVES


def _anew(data: Data, policy: str) -> tuple[str, str]:
    names = " ".join(f"--policy {data.paths.policy(name)}" for name in _several(data, policy))
    command = f"{commands.asked(data, 'replay', without=('start',))} {names}"
    out = data.paths.beside("placed-anew")
    why = "Whether nodes are overloaded, too, when all containers are placed anew:"
    return why, f"{command} --repeat {FEWEST} --out {out}"


def _several(data: Data, first: str) -> list[str]:
    """The policies of the run, or those that are common where they are many; the first leads."""
    names = in_turn(data)
    if len(names) > _NAMED:
        return ["common"]
    return [one for one in (first, *(name for name in names if name != first)) if one]


def _may_hang(data: Data, told: Decision) -> bool:
    """Whether the answer may hang on what was assumed, and that was not asked yet."""
    load = (data.run or {})["workload"]
    # what is kept for use that no container explains is a choice, though all else be recorded
    assumed = "assumed" in load.get("quantities", {}).values() or bool(background(load))
    ranked = bool(told.subject) and told.criterion not in CONDITIONS
    open_ = not vary.of_the_run(data) or bool(vary.untried(data, told))
    return assumed and ranked and open_ and commands.may_vary(data)


def _may_size(data: Data) -> bool:
    """Whether requests and use are recorded, and nobody asked yet what to request."""
    known = (data.run or {})["workload"].get("quantities", {})
    recorded = all(known.get(name) == RECORDED for name in ("requests", "use of containers"))
    return (
        recorded and data.paths.replayed == data.paths.store and REQUESTS_STUDY not in data.studies
    )


def _sized(data: Data) -> tuple[str, str]:
    # of a store with calls, too: what to set once, not limits cycle by cycle
    command = f"tracekit requests {data.paths.store} --out {data.paths.study('requests')}"
    return "Which requests to change, and what that frees:", command


def _more_orders(data: Data) -> tuple[str, str]:
    names = " ".join(f"--policy {data.paths.policy(name)}" for name in in_turn(data))
    out = data.paths.beside("more-orders")
    # as many as the answer says are needed
    command = f"{commands.asked(data, 'replay')} {names} --repeat {FEWEST} --out {out}"
    return MORE_ORDERS, command


def _stays(data: Data, told: Decision) -> list[tuple[str, str]]:
    """To leave what runs where it is, where containers wait that production placed.

    They wait because everything is placed anew.
    """
    found, asked = data.results, [told.subject] if told.subject else in_turn(data)
    start = (data.run or {})["workload"].get("assumptions", {}).get("start")
    waits = found is not None and any(map(found.waited, asked))
    if not waits or start != "empty" or OBSERVED not in replayed(data):
        return []
    command = (
        f"{commands.asked(data, 'replay')} --policy {data.paths.policy(told.subject or USUAL)}"
        f" --start observed --out {data.paths.beside('observed-start')}"
    )
    return [("Leave what ran where it was, and place only what arrives:", command)]


def _rebalanced(data: Data) -> list[tuple[str, str]]:
    if any("+" in name for name in in_turn(data)):
        return []
    # a policy that moves containers already cannot be told to do so twice
    names = [name for name in in_turn(data) if "+" not in name]
    # the author of a policy asks about it, whatever else is common
    own = [one["policy"] for one in (data.run or {}).get("policies", ()) if one.get(FILES)]
    ours = names if 0 < len(names) <= _NAMED else ["common", *own]
    policies = " ".join(f"--policy {data.paths.policy(name)}" for name in ours)
    words = f"{policies} --rebalance load_spread --repeat {ORDERS}"
    command = f"{commands.asked(data, 'replay')} {words} --out {data.paths.beside('rebalanced')}"
    return [("Replay policies that move containers later, too:", command)]


def _varied(data: Data, told: Decision) -> tuple[str, str]:
    return "Whether the answer hangs on what was assumed:", varied(data, told)


def varied(data: Data, told: Decision) -> str:
    """The command that changes assumptions, of the policy that the run names and of its rival.

    Where it names none, of the policies of the run.
    """
    ours = in_turn(data)
    first = told.subject or next(iter(ours), USUAL)
    known = (*told.chosen[1:], *_runners_up(data, told), told.simple, *ours, *_RIVALS)
    rival = next(name for name in known if name and name != first)
    names = [first, rival] if told.subject or not 1 < len(ours) <= _NAMED else ours
    policies = " ".join(f"--policy {data.paths.policy(name)}" for name in names)
    judged = bool(told.subject) and told.criterion not in {"", *CONDITIONS}
    measure = f" --measure {told.criterion}" if judged else ""
    # a study of others that is there is not written over
    out = data.paths.study(f"assumptions-{first}" if vary.of_the_run(data) else "assumptions")
    return f"{commands.asked(data, 'sensitivity')} {policies}{measure} --out {out}"


def _runners_up(data: Data, told: Decision) -> list[str]:
    """Those that may be chosen too, the best first: who else could be the answer.

    Those that chance alone may keep from being barred come last.
    """
    found = data.results
    if found is None or not told.criterion:
        return []
    rows = standings(found, told.criterion, among=may_be_chosen(found)).rows
    names = [name for row in rows if row.orders >= FEWEST for name in row.names]
    return sorted(names, key=lambda name: above_on_average(found, name))


def in_turn(data: Data) -> list[str]:
    """The policies, the usual one first."""
    names = [name for name in replayed(data) if name != OBSERVED]
    return sorted(names, key=lambda name: name != "default_scheduler")
