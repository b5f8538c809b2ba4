"""Configurations of kube-scheduler and of the descheduler for the recommended policy.

A policy that is a plugin of kube-scheduler is enabled as one. Any other policy is an extender that
``tracekit serve`` answers. Filters keep their defaults.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact, Followup
from tracekit.base.opened import read_bytes
from tracekit.base.units import MS_PER_S
from tracekit.live.export._format import ExportSource, Format, Written, left_out, not_carried
from tracekit.live.export._spelling import yaml_text
from tracekit.live.extender import check_served
from tracekit.policy.entrant import address
from tracekit.policy.kubernetes.scorers import PLUGIN_OF, SCORERS
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.placement._extender import ExtenderPolicy
from tracekit.policy.placement.default_scheduler import DefaultScheduler, plugins
from tracekit.policy.profile import Part, Profile
from tracekit.policy.rebalance import RebalancePolicy, all_rebalancers
from tracekit.policy.rebalance._descheduler_plugins import BALANCING, PLUGINS
from tracekit.policy.rebalance._turn import Plugin

_URL = "http://127.0.0.1:8080/v1"
_DEFAULT = [PLUGIN_OF[name] for name in ("least_allocated", "balanced_allocation")]
#: The largest denominator of fractions of weights, which are written as whole numbers.
_FINEST = 1000


def _kube_scheduler(left: ExportSource) -> Written:
    entrant = left.entrant()
    policy, rebalance = entrant.placement, entrant.rebalance
    facts = [Fact(kind="exported", subject=str(policy), because="kube_scheduler")]
    if rebalance is not None:
        facts.append(left_out("rebalancer", name=rebalance.name()))
    if isinstance(policy, Profile) and policy.document is not None:
        return Written(files={"": read_bytes(Path(policy.document))}, facts=tuple(facts))
    parts = _parts(policy)
    weights = _whole([part.weight for part in parts])
    served = [part.policy for part in parts if part.policy.name() not in PLUGIN_OF]
    for one in served:
        check_served(one)
        facts.append(Fact(kind="left_out", subject=one.name(), because="tenths"))
    plugged: list[dict[str, Any]] = []
    extenders: list[dict[str, Any]] = []
    for part, weight in zip(parts, weights, strict=True):
        if part.policy in served:
            extenders.append(_extender(part.policy, weight))
            continue
        name = PLUGIN_OF[part.policy.name()]
        args = SCORERS[name].written(part.policy)
        plugged.append({"name": name, "weight": weight, "args": args})
        facts += not_carried(part.policy, name, args, ("tie",))
    _refuse_twice([one["name"] for one in plugged])
    facts += _of_ties(policy)
    text = yaml_text(_kube_scheduler_document(policy, plugged, extenders))
    steps = [
        Followup(question="serve", command="serve", arguments={"policy": address(one)})
        for one in served
    ]
    return Written(files={"": text.encode()}, facts=tuple(facts), next=tuple(steps[:1]))


def _parts(policy: PlacementPolicy) -> Sequence[Part]:
    if isinstance(policy, Profile):
        return policy.parts
    if isinstance(policy, DefaultScheduler):
        weights = (policy.least_allocated_weight, policy.balanced_allocation_weight)
        scored = zip(weights, plugins(policy.balanced_allocation_form), strict=True)
        return [Part(float(weight), one) for weight, one in scored if weight]
    if isinstance(policy, ExtenderPolicy):
        own = Part(float(policy.weight), replace(policy, builtin="none", weight=1))
        around = plugins("v1_22") if policy.builtin == "default" else ()
        return [*(Part(1.0, one) for one in around), own]
    return [Part(1.0, policy)]


def _whole(weights: Sequence[float]) -> list[int]:
    """Whole numbers in the same proportion."""
    parts = [Fraction(one).limit_denominator(_FINEST) or Fraction(1, _FINEST) for one in weights]
    common = math.lcm(*(one.denominator for one in parts))
    whole = [int(one * common) for one in parts]
    return [one // math.gcd(*whole) for one in whole]


def _extender(policy: PlacementPolicy, weight: int) -> dict[str, Any]:
    return {
        "urlPrefix": _URL,
        "prioritizeVerb": policy.name(),
        "weight": weight,
        "nodeCacheCapable": True,
        "ignorable": True,
        "httpTimeout": "1s",
    }


def _refuse_twice(names: Sequence[str]) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TracekitError(
            f"two parts of the policy are the plugin {twice[0]}, and a profile has it once",
            hint="write two profiles, or serve the policy: tracekit serve",
        )


def _of_ties(policy: PlacementPolicy) -> Iterator[Fact]:
    """Facts on ties, among which kube-scheduler draws, and on defaults."""
    if policy.tie != "reservoir":
        yield left_out("tie", tie=policy.tie)
    if isinstance(policy, DefaultScheduler):
        yield left_out("defaults")


def _kube_scheduler_document(
    policy: PlacementPolicy, plugged: Sequence[dict[str, Any]], extenders: Sequence[dict[str, Any]]
) -> dict[str, Any]:
    """The configuration; for the default scheduler only what differs from its defaults."""
    configured = [{"name": one["name"], "args": one["args"]} for one in plugged]
    enabled = [{"name": one["name"], "weight": one["weight"]} for one in plugged]
    off, percentage = [{"name": "*"}], 100  # any other policy scores all nodes
    if isinstance(policy, DefaultScheduler):
        listed = {one["name"] for one in plugged}
        off = [{"name": name} for name in _DEFAULT if name not in listed]
        enabled = [one for one in enabled if one["weight"] != 1]
        configured, percentage = [], policy.percentage_of_nodes_to_score
    scored = {name: some for name, some in (("enabled", enabled), ("disabled", off)) if some}
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        **({"percentageOfNodesToScore": percentage} if percentage else {}),
        "profiles": [
            {
                "schedulerName": "default-scheduler",
                **({"plugins": {"score": scored}} if scored else {}),
                **({"pluginConfig": configured} if configured else {}),
            }
        ],
        **({"extenders": list(extenders)} if extenders else {}),
    }


kube_scheduler = Format(
    name="kube-scheduler",
    title="the KubeSchedulerConfiguration of the policy that won",
    write=_kube_scheduler,
)


#: Parameters beside the plugins, or of the start of the descheduler.
_AROUND = ("interval_ms", "move_downtime_ms", "node_fit", "evictor_limit_node")


def _descheduler(left: ExportSource) -> Written:
    rebalance = left.entrant().rebalance
    if rebalance is None:
        raise TracekitError(
            "the policy has no rebalancer, and the descheduler is one",
            hint="name one of the run: --policy default_scheduler+low_node_utilization",
        )
    wrote = Fact(kind="exported", subject=str(rebalance), because="descheduler")
    facts = [wrote, left_out("interval", every=f"{rebalance.interval_ms // MS_PER_S}s")]
    if rebalance.written_in():
        return Written(files={"": read_bytes(Path(rebalance.written_in()[0]))}, facts=tuple(facts))
    name = type(rebalance).__name__
    if name not in PLUGINS or not isinstance(rebalance, Plugin):
        plugins = (one for one, kind in all_rebalancers().items() if kind.__name__ in PLUGINS)
        raise TracekitError(
            f"{rebalance.name()} is no plugin of the descheduler",
            hint=f"these are: {', '.join(plugins)}",
        )
    args = PLUGINS[name].written(rebalance)
    text = yaml_text(_descheduler_document(rebalance, name, args))
    facts += not_carried(rebalance, name, args, _AROUND)
    return Written(files={"": text.encode()}, facts=tuple(facts))


def _descheduler_document(
    rebalance: RebalancePolicy, name: str, args: dict[str, Any]
) -> dict[str, Any]:
    limit = getattr(rebalance, "evictor_limit_node", None)
    point = "balance" if name in BALANCING else "deschedule"
    evictor = {"nodeFit": bool(getattr(rebalance, "node_fit", False))}
    return {
        "apiVersion": "descheduler/v1alpha2",
        "kind": "DeschedulerPolicy",
        **({} if limit is None else {"maxNoOfPodsToEvictPerNode": limit}),
        "profiles": [
            {
                "name": "default",
                "pluginConfig": [
                    {"name": "DefaultEvictor", "args": evictor},
                    {"name": name, "args": args},
                ],
                "plugins": {point: {"enabled": [name]}},
            }
        ],
    }


descheduler = Format(
    name="descheduler",
    title="the DeschedulerPolicy of a run's rebalancer",
    write=_descheduler,
)
