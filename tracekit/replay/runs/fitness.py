"""Which policies of a run may be chosen at all: those that hold the load as production does."""

from __future__ import annotations

from dataclasses import dataclass

from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.standings import difference

OVERLOAD = "overloaded_node_steps"
#: Overload of less than this share of all node-steps ends no policy's chances by itself.
SLIGHT = 1e-4
#: What may differ from production by chance alone, but not by this much.
_FAR = 2.0

RULE = (
    "A policy may be chosen that leaves nothing waiting and overloads nodes no more than production"
    f" does (where that is not known: not at all), or in less than {SLIGHT:.2%} of node-steps"
    " while the 99th of 100 nodes stays within what it has."
)


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Policies that are not chosen whatever they are good at, and why, a clause."""

    names: tuple[str, ...]
    why: str


def left_out(found: Results) -> tuple[LeftOut, ...]:
    """The policies that break the rule; production is among them only where it left some out."""
    reasons = ((names, _why(found, names[0])) for names in found.groups)
    return tuple(LeftOut(names=names, why=why) for names, why in reasons if why)


def _why(found: Results, policy: str) -> str:
    """Why a policy may not be chosen; empty if it may."""
    if found.waited(policy):
        return "left containers waiting"
    for name, one in found.measures.items():
        full = name.endswith("_p99_fraction") and _worse(found, policy, name, least=1.0)
        if full:
            return f"{one.title} is {_mean(found, policy, name):.1%}"
    if _worse(found, policy, OVERLOAD, least=SLIGHT * _node_steps(found)):
        beside = f", production {_times(found, OBSERVED)}" if _known(found) else ""
        return f"nodes needed more than they have in {_times(found, policy)} node-steps{beside}"
    return ""


def _worse(found: Results, policy: str, name: str, *, least: float) -> bool:
    """Whether a measure is above a limit, and above production's beyond chance or by far."""
    if not found.known(policy, name) or not _mean(found, policy, name) > least:
        return False
    if policy == OBSERVED or not found.known(OBSERVED, name):
        return policy != OBSERVED
    mean, usual = _mean(found, policy, name), _mean(found, OBSERVED, name)
    apart = difference(found, policy, OBSERVED, name)
    return mean > usual and (mean > _FAR * usual or (apart is not None and apart.apart))


def _node_steps(found: Results) -> float:
    """How many node-steps a replay has; 0 where that is not known: any overload counts then."""
    load = found.manifest.get("workload", {})
    return float((load.get("nodes") or 0) * (load.get("steps") or 0)) if _known(found) else 0.0


def _known(found: Results) -> bool:
    return OBSERVED in found.policies


def _mean(found: Results, policy: str, name: str) -> float:
    return float(found.of(policy, name).mean())


def _times(found: Results, policy: str) -> str:
    mean = _mean(found, policy, OVERLOAD)
    return f"{mean:,.0f}" if mean >= 10 or mean == round(mean) else f"{mean:.1f}"
