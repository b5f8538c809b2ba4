"""Readings from experiments: placement, functions, extender, sizing, binding.

Rows of two policies are paired by drawn set, order of arrival or seed.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from tracekit.answer.claims.reading import Reading, mean_of, share_of
from tracekit.base.arrays import FloatArray
from tracekit.sizing.measures import SAME, is_agent

#: Gives a frame by its name; empty where absent.
Frame = Callable[[str], pl.DataFrame]
Readings = Iterator[tuple[str, Reading]]

_OWN = "tbesk"
#: Few containers are the first quarter of the numbers of containers, many the last half.
FIRST, LAST = 0.25, 0.5
_WHOLE = {"tbesk_lra": "lra", "tbesk_bra": "bra", "tbesk_exact": "tbesk_exact"}
_PARTS = {"tbesk_bes": "bes", "tbesk_cwt": "cwt"}
_SCORERS = ("lra", "bra")


def placement(frame: Frame) -> Readings:
    """Yield the measured number for each claim on placement in the TBESK paper.

    The paper gives changes "on the whole" (section 5.3.1): these are means over all numbers of
    containers.
    """
    sets, ends = frame("search_placement/sets"), frame("search_placement/ends")
    if sets.is_empty() or ends.is_empty():
        return
    curves = {
        str(name): part.sort("set", "containers")["imbalance"]
        .to_numpy()
        .reshape(part["set"].n_unique(), -1)
        for (name,), part in sets.group_by("policy", maintain_order=True)
    }
    if _OWN not in curves:
        return
    own = curves[_OWN]
    count = own.shape[1]
    few, many = max(round(FIRST * count), 1), count - max(round(LAST * count), 1)
    for name, other in _WHOLE.items():
        if other in curves:
            yield name, _change(own, curves[other])
    for name, other in _PARTS.items():
        if other in curves:
            yield f"{name}_few", _change(own[:, :few], curves[other][:, :few])
            yield f"{name}_many", _change(own[:, many:], curves[other][:, many:])
    if few > 1:
        yield "tbesk_falls", mean_of(own[:, few - 1] / own[:, 0] - 1)
    yield from _ends(ends)


def _change(own: FloatArray, other: FloatArray) -> Reading:
    """The relative change of mean imbalance from another policy to TBESK, set by set."""
    return mean_of(own.mean(axis=1) / other.mean(axis=1) - 1)


def _ends(ends: pl.DataFrame) -> Readings:
    wide = ends.with_columns((pl.col("high_fraction") - pl.col("low_fraction")).alias("range"))
    policies = set(ends["policy"])

    def of(policy: str, resource: str, column: str) -> FloatArray:
        return wide.filter(policy=policy, resource=resource).sort("set")[column].to_numpy()

    for resource in ("net", "disk"):
        for end in ("low", "high"):
            yield f"tbesk_{resource}_{end}", mean_of(of(_OWN, resource, f"{end}_fraction"))
        for policy in policies.intersection(_SCORERS):
            yield f"{policy}_{resource}_range", mean_of(of(policy, resource, "range"))
    for policy in policies.intersection((_OWN, *_SCORERS)):
        each = wide.filter(policy=policy).group_by("set").agg(pl.col("overfull_nodes").max())
        yield f"{policy}_overfull", mean_of(each["overfull_nodes"])
    if policies.issuperset(_SCORERS):
        for resource in ("cpu", "memory"):
            ranges = np.stack([of(name, resource, "range") for name in (_OWN, *_SCORERS)])
            yield f"{resource}_alike", mean_of(np.ptp(ranges, axis=0))


#: By claim: the frame of the study of functions, and whether the optimum is the origin.
_FUNCTIONS = {
    "functions_iterations": ("summary", True),
    "functions_evaluations": ("equal_evaluations", True),
    "functions_moved": ("equal_evaluations", False),
}


def functions(frame: Frame) -> Readings:
    """Yield, for each claim on test functions, in what share of tests TBESK beats its rivals.

    The field ``worse`` of a reading is the share of tests in which TBESK loses.
    """
    for name, (which, at_origin) in _FUNCTIONS.items():
        rows = frame(f"search_functions/{which}")
        if rows.columns:
            original = pl.col("variant") == "original"
            rivals = rows.filter(pl.col("search").str.split("[").list.first() != _OWN)
            outcome = rivals.filter(original if at_origin else ~original)["tbesk_is"].drop_nulls()
            many = len(outcome)
            won, lost = (int((outcome == word).sum()) for word in ("better", "worse"))
            # without any tested comparison nothing is judged
            yield name, replace(share_of(won, many), worse=lost / many) if many else Reading()


_DEFAULT, _BNP, _CMDN = "default_scheduler", "bnp", "cmdn[balanced=true]"


def extender(frame: Frame) -> Readings:
    """Yield the load of nodes and the time of a decision, with and without Liang's extender."""
    loads = frame("extender/loads")
    if loads.columns:
        last = loads.filter(pl.col("containers") == pl.col("containers").max())
        for name, policy, resource, measure in (
            ("bnp_network_spread", _BNP, "net", "spread"),
            ("bnp_network_highest", _BNP, "net", "highest"),
            ("cmdn_cpu_spread", _CMDN, "cpu", "spread"),
        ):
            own, other = (_by_order(last, one, resource, measure) for one in (policy, _DEFAULT))
            yield name, mean_of(own - other)
    times = frame("extender/decisions")
    if times.columns:
        took = {str(mode): part.sort("decision")["took_ms"].to_numpy()
                for (mode,), part in times.group_by("mode")}  # fmt: skip
        yield "extender_slower", _times_as_long(took["cached"], took["default"])
        yield "fetching_slower", _times_as_long(took["refetched"], took["cached"])


def _by_order(loads: pl.DataFrame, policy: str, resource: str, measure: str) -> FloatArray:
    """A measure of the load of nodes under a policy, by order of arrival."""
    load = pl.col("load_fraction")
    taken = load.max() - load.min() if measure == "spread" else load.max()
    rows = loads.filter(policy=policy, resource=resource).group_by("order").agg(taken).sort("order")
    return rows["load_fraction"].to_numpy()


def _times_as_long(one: FloatArray, other: FloatArray) -> Reading:
    """The geometric mean of paired ratios, in which no slow decision outweighs all others."""
    read = mean_of(np.log(one / other))
    value, low, high = (
        None if limit is None else float(np.exp(limit))
        for limit in (read.value, read.low, read.high)
    )
    return Reading(value=value, low=low, high=high, samples=read.samples)


_MINIMUM, _RANDOM = "minimum_selection", "random_selection"
#: The reward is stable while its moving mean stays within this share of its last value.
_STANDS = 0.05


def sizing(frame: Frame) -> Readings:
    """Yield the measured number for each claim on sizing for call chains.

    Differences are between runs with the same seed. Claims on the use of reserved resources are
    judged only if the agent's QoS is at most half a percentage point below that of the policy
    ``minimum_selection``.
    """
    table, training = frame("size/table"), frame("size/training")
    names = [] if table.is_empty() else table["policy"].to_list()
    agent = next(filter(is_agent, names), None)
    if agent is None:
        return

    def of(policy: str, measure: str) -> FloatArray:
        return table.filter(policy=policy).sort("seed")[measure].to_numpy()

    yield "agent_qos", mean_of(of(agent, "qos"))
    if {_MINIMUM, _RANDOM} <= set(names):
        yield from _beside(agent, of)
    if training.columns:
        curves = [
            part.sort("epoch")["reward_mean"].to_numpy()
            for _, part in training.filter(policy=agent, phase="training").group_by(
                "seed", maintain_order=True
            )
        ]
        yield "agent_rounds", mean_of([stands_from(curve) for curve in curves])
        yield "agent_reward", mean_of([float(curve[-1]) for curve in curves if len(curve)])


def _beside(agent: str, of: Callable[[str, str], FloatArray]) -> Readings:
    qos = of(agent, "qos")
    served = bool((qos - of(_MINIMUM, "qos")).mean() >= -SAME)
    for name, measure in {
        "agent_container_cpu": "container_cpu_fraction",
        "agent_node_cpu": "node_cpu_fraction",
        "agent_container_memory": "container_memory_fraction",
    }.items():
        yield name, mean_of(of(agent, measure) - of(_MINIMUM, measure), met=served)
    yield "agent_node_g", replace(mean_of(of(agent, "node_g")), met=served)
    for name, measure in {"agent_qos_best": "qos", "agent_changes": "change_share"}.items():
        rivals = np.maximum(of(_MINIMUM, measure), of(_RANDOM, measure))
        yield name, mean_of(of(agent, measure) - rivals)


def stands_from(curve: FloatArray) -> float:
    """Return the round from which on a curve stays within 5 % of its last value; NaN if empty."""
    if not len(curve):
        return float("nan")
    off = np.abs(curve - curve[-1]) > _STANDS * abs(curve[-1])
    return float(np.flatnonzero(off)[-1] + 2) if off.any() else 1.0


_BINDING, _LOST = "interference", "inflation_vcpus"
_AGAINST = {"binding_first_free": "least_allocated", "binding_whole_cores": "whole_cores_emptiest"}


def binding(frame: Frame) -> Readings:
    """Yield how many fewer vCPUs are lost to neighbours with the patent's way of binding vCPUs.

    There is a reading against each of two other ways. It is the relative change from the other way
    to the patent's, so below 0 the patent's way loses less.
    """
    repeats = frame("bind/repeats")
    if repeats.is_empty():
        return
    lost = {
        str(name): part.sort("repeat")[_LOST].cast(pl.Float64).to_numpy()
        for (name,), part in repeats.group_by("policy", maintain_order=True)
    }
    for name, other in _AGAINST.items():
        if {_BINDING, other} <= set(lost) and (lost[other] > 0).all():
            yield name, mean_of(lost[_BINDING] / lost[other] - 1)
