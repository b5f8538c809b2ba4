"""What became of the nodes when the recommended requests were replayed."""

import shlex
from pathlib import Path

from tracekit.answer.amounts import value_text
from tracekit.answer.left_waiting import PENDING, waits_too_much
from tracekit.answer.preferred import USUAL
from tracekit.answer.prices import nodes_told
from tracekit.replay.measures import NODES, OVERLOAD, RESOURCES, small
from tracekit.replay.runs.results import Results, results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.run_folder import RUN_FOLDER
from tracekit.report.contents import commands
from tracekit.report.data import Data
from tracekit.sizing.requests.declared import REPLAYED, SHRUNK
from tracekit.sizing.requests.study import NAME
from tracekit.units import duration
from tracekit.words import count, spaced

#: What is told of a replay in which all have room, beside the nodes.
_SHOWN = (OVERLOAD, *(f"{name}_max_fraction" for name in RESOURCES))


def asked(data: Data, folder: str) -> str:
    """The command that replays what a study in a folder recommends, as the run was replayed."""
    return f"{_asked(data, 'replay', folder)} --out {folder}{REPLAYED}"


def asked_of_nodes(data: Data, folder: str) -> str:
    """The command that asks how many nodes are enough then, as the run was replayed."""
    return f"{_asked(data, 'nodes', folder)} --out {data.paths.study(SHRUNK)}"


def _asked(data: Data, verb: str, folder: str) -> str:
    given = f"--policy {USUAL} --assume requests=sized:{folder}"
    return f"{commands.asked(data, verb, without=('requests',))} {given}"


def told(data: Data) -> str:
    """What the replay of the recommended requests found, sentences; empty where there is none."""
    found = _found(data)
    if found is None:
        return ""
    policy = USUAL if USUAL in found.policies else _first(found)
    if not policy:
        return ""
    if waits_too_much(found, policy):
        return spaced(f"{_waits(found, policy)} Do not set these requests on the nodes there are.")
    return spaced(_comes_to(data, found, policy))


def _found(data: Data) -> Results | None:
    """The run beside the study, where it is of the same workload with these requests."""
    folder = data.folder(NAME)
    at = Path(f"{shlex.split(folder)[0]}{REPLAYED}") if folder else None
    if at is None or not RUN_FOLDER.holds(at):
        return None
    found = results(at)
    load, ours = found.manifest["workload"], (data.run or {}).get("workload", {})
    sized = str(load.get("assumptions", {}).get("requests", "")).startswith("sized")
    same = all(load.get(name) == ours.get(name, load.get(name)) for name in ("name", "nodes"))
    return found if sized and same else None


def _first(found: Results) -> str:
    return next((name for name in found.policies if name != OBSERVED), "")


def _waits(found: Results, policy: str) -> str:
    """Who finds no node with what is recommended."""
    never, of = found.of(policy, PENDING), found.manifest["workload"]["containers"]
    given = f"Replayed with these requests, {policy}"
    if not never.any():
        steps = found.of(policy, "pending_container_steps").mean()
        waited = duration(round(steps * found.manifest["workload"]["step_ms"]))
        return f"{given} lets containers wait for {waited} together before they get a node."
    mean = value_text(found.measures[PENDING], float(never.mean()))
    average = " on average" if len(never) > 1 else ""
    return f"{given} leaves {mean} of {count(of, 'container')} without a node{average}."


def _comes_to(data: Data, found: Results, policy: str) -> str:
    """Nodes used, overload and the fullest node, each beside what it is with requests as now."""
    now = _as_now(data, found, policy)
    parts: list[str] = []
    # who waits is told where somebody does, now or then
    waits = [PENDING] if _somebody_waits(data, found) else []
    for name in (*waits, nodes_told(found) or NODES, *_SHOWN):
        if not found.known(policy, name):
            continue
        measure = found.measures[name]
        then = value_text(measure, float(found.of(policy, name).mean()))
        beside = ""
        if now is not None and now.known(policy, name):
            with_now = "" if parts else "with the requests of now "
            beside = f" ({with_now}{value_text(measure, float(now.of(policy, name).mean()))})"
        parts.append(f"{small(measure.title)} {then}{beside}")
    return f"Replayed with these requests, {policy} comes to {', '.join(parts)}."


def _somebody_waits(data: Data, found: Results) -> bool:
    """Whether a policy leaves containers waiting, with these requests or with those of now."""
    return any(
        one.waited(policy) for one in (found, data.results) if one for policy in one.policies
    )


def _as_now(data: Data, found: Results, policy: str) -> Results | None:
    """The run that is shown, where the same policy met the same beginning in it."""
    shown = data.results
    if shown is None or policy not in shown.policies:
        return None
    starts = [
        one.manifest["workload"].get("assumptions", {}).get("start") for one in (shown, found)
    ]
    return shown if starts[0] == starts[1] else None
