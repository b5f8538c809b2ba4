"""Recorded use of the containers of services, beside what they request: what requests are told by.

A container is what the store calls so: of a Kubernetes cluster a pod.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.cluster.requests.reserved import Fixed

#: The resources, in the order of every last axis, and what each is counted in.
RESOURCES = (("cpu", "cores"), ("memory", "bytes"))


@dataclass(frozen=True, kw_only=True)
class RecordedUse:
    """Samples on a regular axis; a step without a sample stays empty.

    Parameters
    ----------
    services : tuple of str
        A container without a service is one of its own.
    service : int64, shape (containers,)
    request, limit : float64, shape (containers, 2)
        What containers ask for and may use, in cores and bytes; NaN for none. Of a pod it is that
        of its containers, without init containers and overhead.
    reserved : float64, likewise
        What the scheduler reserves for it now.
    fixed : Fixed
        What stays reserved whatever is recommended, in cores and bytes.
    arrival_ms, departure_ms : int64, shape (containers,)
    times_ms : int64, shape (steps,)
    values : float32, shape (2, steps, measured containers)
        Cores and bytes in use; NaN where there is no sample.
    measured : int64, shape (measured containers,)
        Which container each column is of.
    """

    services: tuple[str, ...]
    service: IntArray
    request: FloatArray
    limit: FloatArray
    reserved: FloatArray
    fixed: Fixed
    arrival_ms: IntArray
    departure_ms: IntArray
    times_ms: IntArray
    step_ms: int
    values: Float32Array
    measured: IntArray

    def part(self, steps: slice) -> RecordedUse:
        """The same containers over some steps alone."""
        return dataclasses.replace(
            self, times_ms=self.times_ms[steps], values=self.values[:, steps]
        )

    def samples(self) -> Iterator[tuple[int, int, Float32Array]]:
        """Resource, service and all samples of its containers, where there is any."""
        of = self.service[self.measured]
        order = np.argsort(of, kind="stable")
        begins = np.searchsorted(of[order], np.arange(len(self.services) + 1))
        for service in np.unique(of).tolist():
            columns = order[begins[service] : begins[service + 1]]
            for resource in range(len(RESOURCES)):
                block = self.values[resource][:, columns]
                found = block[~np.isnan(block)]
                if len(found):
                    yield resource, service, found

    def quantiles(self, *shares: float) -> FloatArray:
        """Quantiles of the samples of each service, each of which weighs a step.

        Shape (services, 2, shares); NaN for a service without a sample.
        """
        found = np.full((len(self.services), len(RESOURCES), len(shares)), np.nan)
        for resource, service, samples in self.samples():
            found[service, resource] = np.quantile(samples.astype(np.float64), shares)
        return found

    def alive_ms(self, begin_ms: int, end_ms: int) -> IntArray:
        """How long each container lived within a time, shape (containers,)."""
        first = np.maximum(self.arrival_ms, begin_ms)
        return np.asarray(np.maximum(np.minimum(self.departure_ms, end_ms) - first, 0))

    def requested(self) -> FloatArray:
        """The mean request of each service's containers that have one, shape (services, 2)."""
        found = np.full((len(self.services), len(RESOURCES)), np.nan)
        for resource in range(len(RESOURCES)):
            asked = ~np.isnan(self.request[:, resource])
            of, count = self.service[asked], len(self.services)
            many = np.bincount(of, minlength=count)
            total = np.bincount(of, self.request[asked, resource], count)
            np.divide(total, many, out=found[:, resource], where=many > 0)
        return found
