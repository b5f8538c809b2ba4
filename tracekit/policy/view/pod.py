"""Requests of a Kubernetes pod: containers, sidecars, init containers, overhead.

Source: resource helpers of kubernetes v1.34 (PodRequests). A pod is what is placed; a workload's
container is a pod with one container.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tracekit.cluster.resources import NONZERO_DEFAULT

Amounts = Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class PodContainer:
    """One container of a pod; a resource absent from ``requests`` was not stated, 0 was."""

    requests: Amounts = field(default_factory=dict)
    limits: Amounts = field(default_factory=dict)
    restartable: bool = False


@dataclass(frozen=True, kw_only=True)
class Pod:
    """A pod; init containers run one after the other before ``containers`` start.

    A restartable init container is a sidecar: it keeps running beside all that follow.
    """

    containers: tuple[PodContainer, ...] = ()
    init_containers: tuple[PodContainer, ...] = ()
    overhead: Amounts = field(default_factory=dict)

    def request(self) -> dict[str, int]:
        """The filter's request: ``max(containers + sidecars, init peak) + overhead``."""
        return self._total({})

    def nonzero_request(self) -> dict[str, int]:
        """The request as scoring counts it: missing cpu and memory are replaced by a default.

        An explicit 0 stays 0; a pod without containers counts as nothing.
        """
        return self._total(NONZERO_DEFAULT)

    def limit(self) -> dict[str, int]:
        """The limits, added up like requests; a resource without a limit is absent."""
        sidecars = [c.limits for c in self.init_containers if c.restartable]
        running = add([c.limits for c in self.containers] + sidecars)
        peak = _peak([(c.limits, c.restartable) for c in self.init_containers])
        return add([maximum(running, peak), self.overhead]) if running or peak else {}

    def _total(self, default: Amounts) -> dict[str, int]:
        inits = [({**default, **c.requests}, c.restartable) for c in self.init_containers]
        main = [{**default, **c.requests} for c in self.containers]
        running = add(main + [requests for requests, restartable in inits if restartable])
        return add([maximum(running, _peak(inits)), self.overhead])


def _peak(inits: Iterable[tuple[Amounts, bool]]) -> dict[str, int]:
    """The most that start-up needs at once: each init container beside the sidecars before it."""
    peak: dict[str, int] = {}
    sidecars: dict[str, int] = {}
    for requests, restartable in inits:
        together = add([sidecars, requests])
        peak = maximum(peak, together)
        sidecars = together if restartable else sidecars
    return peak


def add(maps: Iterable[Amounts]) -> dict[str, int]:
    """Resource maps added up."""
    total: dict[str, int] = {}
    for amounts in maps:
        for name, amount in amounts.items():
            total[name] = total.get(name, 0) + amount
    return total


def maximum(first: Amounts, second: Amounts) -> dict[str, int]:
    """The larger amount of each resource of either map."""
    return {name: max(first.get(name, 0), second.get(name, 0)) for name in {**first, **second}}
