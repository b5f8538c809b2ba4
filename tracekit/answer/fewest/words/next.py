"""What to ask after a study of the fewest nodes, and the commands for it."""

import shlex
from collections.abc import Mapping
from functools import partial
from typing import Any

from tracekit.answer.fewest.asked_already import AskedAlready
from tracekit.answer.fewest.found import COST, NODES
from tracekit.answer.fewest.words import costs
from tracekit.answer.fewest.words.nodes import added
from tracekit.answer.fewest.words.there import with_all
from tracekit.answer.fewest.words.told import AnswerTold
from tracekit.answer.overload import WITHOUT
from tracekit.replay.chance.student import FEWEST
from tracekit.replay.policy.own_files import FILES, as_given, by_name
from tracekit.study import Where, beside

#: The store in a command, where a study does not say where it lies.
STORE = "STORE"
#: More load that is asked about next, and what a study of it is called.
MORE = 1.3
AT_MORE = "fewest-{0:g}-times"
CHEAPEST, CHEAP = f"--least {COST}", "cheapest"


def following(
    found: AnswerTold,
    *,
    store: str | None = None,
    to: Where | None = None,
    files: Mapping[str, str] | None = None,
    there: AskedAlready | None = None,
) -> list[tuple[str, str]]:
    """What to do next, and the command for it.

    Parameters
    ----------
    store : str, optional
        Where the store lies, quoted for a shell, for a study that does not say.
    to : callable, optional
        Where a study goes, by its name; without it beside the store.
    files : mapping, optional
        Where the files of one's own policies lie, if not where the study found them.
    there : AskedAlready, optional
        What other studies have asked, which is not proposed again.
    """
    own = {**by_name(found.about.get(FILES, ())), **(files or {})}
    steps = _following(
        found, to or beside(found.about["workload"]["store"]), own, there or AskedAlready()
    )
    if store is None or found.about["workload"]["store"] != STORE:
        return steps
    return [(why, asked.replace(f" {STORE} ", f" {store} ", 1)) for why, asked in steps]


def _following(
    found: AnswerTold, to: Where, own: Mapping[str, str], there: AskedAlready
) -> list[tuple[str, str]]:
    about, policy = found.about, found.best["policy"]
    asked_of = as_given(policy, own)
    said = []
    if with_all(found.study, found.best):
        return _without_overload(found, to, asked_of, there)
    if may_be_cheaper(found) and not there.shrunk(policy, about, least=COST):
        said.append(("See the cheapest nodes that are enough:", CHEAPEST, CHEAP))
    few = about["repeats"] == 1 and about["repeats_cover"]
    if few and not there.shrunk(policy, about, repeats=FEWEST):
        why = "See how far the count moves over orders of arrival:"
        said.append((why, f"--repeat {FEWEST}", f"fewest-{FEWEST}-orders"))
    scale = round(about["scale"] * MORE, 6)
    if not added(found.best) and not there.shrunk(policy, about, scale=scale):
        why = f"See how many it takes for {scale:g} times the load:"
        said.append((why, f"--scale {scale:g}", AT_MORE.format(scale)))
    again = partial(command, about, [asked_of])
    steps = [
        (
            why,
            (
                f"{again(keep_scale='--scale' not in more)} {more}"
                f" --out {to(called(name, policy, about))}"
            ),
        )
        for why, more, name in said
    ]
    load = about["workload"]
    hangs = "assumed" in load["quantities"].values() and not there.varied(policy, about)
    if hangs and load["store"] and not load.get("gangs"):
        rival = next(
            name
            for name in (*about["policies"], "least_allocated", "most_allocated")
            if name != policy
        )
        store, one, other = map(shlex.quote, (load["store"], asked_of, as_given(rival, own)))
        given = "".join(f" --assume {shlex.quote(text)}" for text in load["assume"])
        asked = f"tracekit sensitivity {store} --policy {one} --policy {other}{given}"
        asked += f" --out {to(f'assumptions-{policy}')}"
        steps.append(("See whether it hangs on what was assumed:", asked))
    return steps


def _without_overload(
    found: AnswerTold, to: Where, asked_of: str, there: AskedAlready
) -> list[tuple[str, str]]:
    """How many more nodes it takes; with too few, more load or fewer nodes are not asked about."""
    about, policy = found.about, found.best["policy"]
    if there.shrunk(policy, {**about, "limits": [WITHOUT], "limits_given": True}):
        return []
    asked = f"{command(about, [asked_of])} --limit {shlex.quote(WITHOUT)}"
    out = to(called("without-overload", policy, about))
    return [("See how many nodes carry this load without overload:", f"{asked} --out {out}")]


def called(name: str, policy: str, about: Mapping[str, Any]) -> str:
    """The folder of a further study: its question and policy, so that none replaces another."""
    least = f"-{CHEAP}" * (about.get("least") == COST and name != CHEAP)
    scale = about.get("scale", 1)
    more = f"-{scale:g}-times" * (scale != 1 and not name.endswith("-times"))
    return f"{name}{least}{more}-{policy}"


def may_be_cheaper(found: AnswerTold) -> bool:
    """Whether fewer nodes were searched for, and others of them may cost less."""
    fewest = found.about.get("least", NODES) == NODES
    return fewest and costs.unlike(found.nodes) and _fewer(found)


def _fewer(found: AnswerTold) -> bool:
    """Whether nodes can go."""
    return bool(found.best["nodes"] < found.best["of"]) and not added(found.best)


def command(about: Mapping[str, Any], policies: list[str], *, keep_scale: bool = True) -> str:
    """The command that asks the same of these policies."""
    load = about["workload"]
    words = ["tracekit", "nodes", *([load["store"]] if load["store"] else [])]
    words += ["--workload", load["loader"]] if load["loader"] else []
    for name in policies:
        words += ["--policy", name]
    for text in about["limits"] if about["limits_given"] else ():
        words += ["--limit", text]
    for text in load["assume"]:
        words += ["--assume", text]
    words += ["--gang"] if load.get("gangs") else []
    words += ["--seed", str(about["seed"])] if about["seed"] else []
    words += ["--least", about["least"]] if about.get("least", NODES) != NODES else []
    words += ["--scale", f"{about['scale']:g}"] if keep_scale and about["scale"] != 1 else []
    return " ".join(map(shlex.quote, words))
