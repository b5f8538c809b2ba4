"""The policy of the descheduler for the rebalancer of a run."""

from pathlib import Path
from typing import Any

from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.opened import read_bytes
from tracekit.base.units import MS_PER_S
from tracekit.live.export._format import Format, Written, left_out, not_carried
from tracekit.live.export._left import Left
from tracekit.live.export._text import yaml_text
from tracekit.policy.entrant import halves
from tracekit.policy.rebalance import RebalancePolicy, all_rebalancers
from tracekit.policy.rebalance._descheduler_plugins import BALANCING, PLUGINS
from tracekit.policy.rebalance._turn import Plugin

#: Parameters that stand beside the plugins, or are said when the descheduler is started.
_AROUND = ("interval_ms", "move_downtime_ms", "node_fit", "evictor_limit_node")


def _write(left: Left) -> Written:
    _, rebalance = halves(left.entrant())
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
        known = (one for one, kind in all_rebalancers().items() if kind.__name__ in PLUGINS)
        raise TracekitError(
            f"{rebalance.name()} is no plugin of the descheduler",
            hint=f"these are: {', '.join(known)}",
        )
    args = PLUGINS[name].written(rebalance)
    text = yaml_text(_document(rebalance, name, args))
    facts += not_carried(rebalance, name, args, _AROUND)
    return Written(files={"": text.encode()}, facts=tuple(facts))


def _document(rebalance: RebalancePolicy, name: str, args: dict[str, Any]) -> dict[str, Any]:
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


FORMAT = Format(
    name="descheduler",
    title="the DeschedulerPolicy of a run's rebalancer",
    write=_write,
)
