"""How many nodes the policy needs that a run names: ``tracekit run`` asks it after its replays."""

import shutil
from collections.abc import Collection, Sequence
from pathlib import Path

from tracekit.answer.decision import Decision, decision
from tracekit.answer.fewest.study import chosen, shrink_cluster
from tracekit.answer.fewest.words.next import STORE
from tracekit.answer.followed import LARGEST, how_large
from tracekit.crew.crew import Crew
from tracekit.progress import SILENT, Progress
from tracekit.replay.placement import all_policies
from tracekit.replay.policy.entrant import USUAL, parse_entrant, with_fit
from tracekit.replay.runs.kept import kept_folder
from tracekit.replay.runs.results import Results, results
from tracekit.replay.workload.source import WorkloadSource
from tracekit.study import Study, write_study

#: How often a search replays the policy, about, where it meets one order of arrival.
_REPLAYS = 15
#: Containers times nodes up to which a policy that decides one by one is searched for in minutes,
#: in one order of arrival: a minute for 130,000 containers on 13,000 nodes.
LARGEST_ONCE = 2_000_000_000


def subject_of(told: Decision, policies: Collection[str]) -> str:
    """The policy that nodes are counted for: what the run names, else what clusters run already.

    Empty where none is recommended and the run has not what clusters run.
    """
    return told.subject or (USUAL if USUAL in policies else "")


def unasked(told: Decision, policies: Collection[str], *, containers: int, nodes: int) -> str:
    """Why ``tracekit run`` does not ask how many nodes are enough, a clause; else empty."""
    subject = subject_of(told, policies)
    if not subject:
        return "it hangs on the policy, and none can be recommended"
    if containers * nodes > (LARGEST if _searches(subject) else LARGEST_ONCE):
        return (
            f"a search replays {subject} about {_REPLAYS} times, and {how_large(containers, nodes)}"
        )
    return ""


def _searches(name: str) -> bool:
    """Whether a policy decides by a search over a batch, which takes minutes an order."""
    found = all_policies().get(name.partition("[")[0])
    return found is not None and found.batched


def asked_of(found: Results, told: Decision) -> list[str]:
    """The policies to count nodes for: that which the run names, and that which clusters run now.

    Also the best simple rule, where the run names another policy. A very large run asks of the
    first alone: its search takes minutes in one order of arrival.
    """
    load, subject = found.manifest["workload"], subject_of(told, found.policies)
    if load["containers"] * load["nodes"] > LARGEST:
        return [subject]
    usual = [USUAL] if USUAL in found.policies else []
    simple = [told.simple] if told.simple else []
    return list(dict.fromkeys([subject, *usual, *simple]))


def nodes_after(
    run: Path,
    source: WorkloadSource,
    out: Path,
    *,
    policies: Sequence[str],
    fit: Path | None = None,
    seed: int,
    crew: Crew,
    progress: Progress = SILENT,
) -> tuple[Study | None, str]:
    """Search for the fewest nodes of the policy that a run names, and write the study.

    Where production is kept, the policy that comes nearest to it is searched for. Where none can be
    recommended, it is the policy that clusters run already. That one is searched for in any case,
    so that the study shows what a change of policy is worth in nodes.

    A study that an earlier run left there is removed. Where the search is interrupted, its replays
    are kept, and the next call goes on from them.

    Parameters
    ----------
    run : path
        The run folder.
    source : WorkloadSource
        Where its workload is read.
    policies : sequence of str
        As they were given to the run.
    fit : path, optional
        The fit that policy ``interference`` placed by.

    Returns
    -------
    Study, str
        The study; None where it was not asked, and why, a clause.
    """
    shutil.rmtree(out, ignore_errors=True)
    found = results(run)
    told = decision(found)
    load = found.manifest["workload"]
    why = unasked(told, found.policies, containers=load["containers"], nodes=load["nodes"])
    if why:
        progress.told(f"how many nodes are enough is not asked: {why}")
        return None, why
    kept = kept_folder(out)
    study = shrink_cluster(
        source,
        policies=[_address(name, policies, fit) for name in asked_of(found, told)],
        subject=subject_of(told, found.policies),
        kept_placement=not told.chosen and bool(told.nearest),
        seed=seed,
        crew=crew,
        kept=kept,
        anyway=True,
        called=STORE,
        progress=progress,
    )
    out.parent.mkdir(exist_ok=True)
    write_study(study, out)
    shutil.rmtree(kept, ignore_errors=True)
    return study, ""


def _address(name: str, policies: Sequence[str], fit: Path | None) -> str:
    """The policy of a run by its name, as another process finds it: with its file and its fit."""
    one = chosen(policies).get(name) or parse_entrant(name)
    return one.address() if fit is None else with_fit(one, fit, unasked=True).address()
