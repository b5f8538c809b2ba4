"""Where the numbers of a workload come from, and facts that a reader must know of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tracekit.analysis.metrics import NORMAL_95
from tracekit.base.arrays import BoolArray, Float32Array, FloatArray, IntArray
from tracekit.base.facts import Fact, remark
from tracekit.base.words import counted
from tracekit.cluster.resources import short_names
from tracekit.store.folder import Store
from tracekit.store.quantities import ABSENT, INFERRED, RECORDED, quantities

#: Containers that are in no step, and their part of the containers' time, in percent.
BETWEEN, BETWEEN_PERCENT = "containers_between_samples", "container_time_between_samples_percent"
#: Nodes that are lost on the way, by assumption.
LOST = "nodes_lost"


ASSUMED = "assumed"
#: Of a file of the user's own, or by ``tracekit requests``.
CHOSEN = "chosen"
#: Recorded, and not replayed, for an assumption says so: this and the assumption.
SET_ASIDE = "recorded, but set aside by"


def set_aside(by: str) -> str:
    """Return the origin of a quantity that is recorded, but ignored for an assumption.

    ``by`` is the assumption, such as ``departures=none``.
    """
    return f"{SET_ASIDE} {by}"


def origins_of(store: Store, *needed: str) -> dict[str, str]:
    """Return the origin of each quantity of a store: recorded, inferred, assumed or absent.

    A quantity in ``needed`` is assumed if the store does not have it.
    """
    return {
        name: ASSUMED if kind == ABSENT and name in needed else kind
        for name, kind in quantities(store).items()
    }


def requests_rest_on(rests: Mapping[str, str]) -> dict[str, str]:
    """Return the origin of requests, such as recorded or assumed, with a key for each resource.

    The key ``requests`` has the least certain of these origins.
    """
    return _each("requests", rests)


def nodes_rest_on(rests: Mapping[str, str]) -> dict[str, str]:
    """Return the origin of nodes' sizes, such as recorded or assumed, with a key for each resource.

    The key ``node sizes`` has the least certain of these origins.
    """
    return _each("node sizes", rests)


def reserved_rests_on(reserved: IntArray | None) -> dict[str, str]:
    """Return an entry saying that reserved amounts are inferred; empty if nothing is reserved."""
    return (
        {}
        if reserved is None
        else {"what is kept free for use that no container explains": INFERRED}
    )


def use_rests_on(unknown: BoolArray) -> dict[str, str]:
    """Return texts on containers without recorded use, each with the origin ``assumed``.

    An example is ``use of 3 of 10 containers``, or ``use of containers`` if none is recorded.
    ``unknown``, shape (2, containers), says of which containers CPU, and memory, is not recorded.
    """
    silent, containers = unknown.all(axis=0), unknown.shape[1]
    if silent.all():
        return {"use of containers": ASSUMED}
    counts = {
        "use": int(silent.sum()),
        "CPU use": int((unknown[0] & ~silent).sum()),
        "memory use": int((unknown[1] & ~silent).sum()),
    }
    return {
        f"{what} of {count:,} of {counted(containers, 'container')}": ASSUMED
        for what, count in counts.items()
        if count
    }


def in_words(resources: Sequence[str]) -> str:
    """Return names of resources as they stand in a sentence: disk and network."""
    names = [name.removesuffix("_milli").replace("_", " ") for name in short_names(resources)]
    return ", ".join(names[:-1]) + (" and " if len(names) > 1 else "") + names[-1]


def further_remark(used: Sequence[str]) -> tuple[Fact, ...]:
    """Return a fact of the further resources, beyond CPU and memory, with recorded use.

    The result is empty if there is no such resource.
    """
    return (remark("further_use", resources=in_words(used)),) if used else ()


def unpriced_remark(prices: FloatArray | None) -> tuple[Fact, ...]:
    """Return a fact if some nodes have a price and others have none (NaN), else no fact."""
    lacking = 0 if prices is None else int(np.isnan(prices).sum())
    if prices is None or not lacking:
        return ()
    return (remark("unpriced", lacking, "nodes", of=len(prices)),)


def further_rests_on(
    used: Sequence[str], lacking: Sequence[int], containers: int
) -> dict[str, str]:
    """Return the origin of the use of the resources in ``used``, which are not CPU or memory.

    The use that is recorded and the use that is assumed are entries of their own.

    Parameters
    ----------
    lacking : for each resource, the number of containers without a record, whose use is assumed
    """
    return {
        **{f"use of {in_words([name])}": RECORDED for name in used},
        **{
            f"use of {in_words([name])} of {count:,} of {counted(containers, 'container')}": ASSUMED
            for name, count in zip(used, lacking, strict=True)
            if count
        },
    }


def _each(quantity: str, rests: Mapping[str, str]) -> dict[str, str]:
    order = (ASSUMED, CHOSEN, INFERRED, RECORDED)
    whole = min(rests.values(), key=order.index)
    return {quantity: whole, **{f"{quantity}: {name}": kind for name, kind in rests.items()}}


# How far inferred sizes may be off, and sizes drawn from that.

#: No size is below this part of what is estimated: a container takes something.
LEAST_PART = 0.1


@dataclass(frozen=True, kw_only=True)
class SizeDoubt:
    """Inferred sizes with their intervals, by group of containers.

    All containers of a group have one size.

    Parameters
    ----------
    group : int64, shape (containers,)
        The group of each container: its service, as a rule.
    size : float64, shape (groups, 2)
        Millicores and bytes of a container at a use of 1.0; NaN where nothing is inferred.
    low, high : float64, shape (groups, 2)
        95 % interval of the group's own size; NaN if it cannot be estimated.
    estimated : bool, shape (groups, 2)
        Whether the group's own size is estimated; else it has the common one.
    common, common_low, common_high : float64, shape (2,)
        The common size of all groups, and its 95 % interval; NaN if it cannot be estimated.
    spread : float64, shape (2,)
        Standard deviation of the logarithms of the estimated sizes.
    limit_factor : float
        Limit over request.
    of_use : bool
        Whether recorded use is a fraction of these sizes, so that it is scaled with them.
    node_use : float32, shape (2, steps, nodes), optional
        Use of whole nodes, from which the background is made; None without background.
    """

    group: IntArray
    size: FloatArray
    low: FloatArray
    high: FloatArray
    estimated: BoolArray
    common: FloatArray
    common_low: FloatArray
    common_high: FloatArray
    spread: FloatArray
    limit_factor: float
    of_use: bool
    node_use: Float32Array | None = None

    def on(self, nodes: IntArray) -> SizeDoubt:
        """Return a copy whose ``node_use`` has the nodes at these positions alone."""
        use = None if self.node_use is None else self.node_use[:, :, nodes]
        return replace(self, node_use=use)

    def drawn(self, rng: np.random.Generator) -> FloatArray:
        """Return other sizes that agree with the data, drawn at random, shape (groups, 2).

        An estimated size is drawn from the normal distribution of its interval. Any other size is
        drawn around a common size with the spread of the estimated sizes, and is then moved into
        the group's own interval. The common size is itself drawn from its interval.
        """
        noise = rng.standard_normal(self.size.shape)
        own = self.size + noise * (self.high - self.low) / (2 * NORMAL_95)
        common = self.common + rng.standard_normal(2) * (self.common_high - self.common_low) / (
            2 * NORMAL_95
        )
        other = self._allowed(np.maximum(common, LEAST_PART * self.common) * self._away(noise))
        sizes = np.where(self.estimated, own, other)
        return np.asarray(np.maximum(sizes, LEAST_PART * self.size))

    def _away(self, noise: FloatArray) -> FloatArray:
        return np.asarray(np.exp(self.spread * noise))

    def _allowed(self, sizes: FloatArray) -> FloatArray:
        return allowed(sizes, self.low, self.high)


def allowed(sizes: FloatArray, low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the sizes clipped to ``[low, high]`` where the interval is known and high above 0."""
    has_interval = (high > 0) & ~np.isnan(low)
    return np.asarray(
        np.where(has_interval, np.clip(sizes, low, np.where(has_interval, high, sizes)), sizes)
    )
