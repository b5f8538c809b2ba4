"""Recorded use and requests of the containers of services, from which requests are recommended.

A container is one row of the store's containers, which is a pod for a Kubernetes cluster.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tracekit.base.arrays import Float32Array, FloatArray, IntArray
from tracekit.cluster.request_table import Fixed

#: The resources in the order of every last axis, and their units.
RESOURCES = (("cpu", "cores"), ("memory", "bytes"))


@dataclass(frozen=True, kw_only=True)
class RecordedUse:
    """Recorded use of containers at regular steps, with their requests and lifetimes.

    Parameters
    ----------
    services : tuple of str
        A container without a service counts as a service of its own.
    service : int64, shape (containers,)
    request, limit : float64, shape (containers, 2)
        Requests and limits in cores and bytes; NaN for none. Those of a pod are of its containers,
        without init containers and overhead.
    reserved : float64, shape (containers, 2)
        The amounts that the scheduler reserves now.
    fixed : Fixed
        The amounts that stay reserved under any recommendation, in cores and bytes.
    arrival_ms, departure_ms : int64, shape (containers,)
    times_ms : int64, shape (steps,)
    values : float32, shape (2, steps, measured containers)
        Cores and bytes in use; NaN without a sample.
    measured : int64, shape (measured containers,)
        Positions of the containers with samples, in the order of ``values``.
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
        """Return the same containers with their use at some steps only."""
        return dataclasses.replace(
            self, times_ms=self.times_ms[steps], values=self.values[:, steps]
        )

    def samples(self) -> Iterator[tuple[int, int, Float32Array]]:
        """Yield position of resource, position of service, and the service's samples, 1-D.

        A service without samples of a resource is left out.
        """
        of = self.service[self.measured]
        order = np.argsort(of, kind="stable")
        begins = np.searchsorted(of[order], np.arange(len(self.services) + 1))
        for service in np.unique(of).tolist():
            columns = order[begins[service] : begins[service + 1]]
            for resource in range(len(RESOURCES)):
                block = self.values[resource][:, columns]
                samples = block[~np.isnan(block)]
                if len(samples):
                    yield resource, service, samples

    def quantiles(self, *shares: float) -> FloatArray:
        """Return quantiles of the samples of each service, shape (services, 2, shares).

        All samples have the same weight; NaN for a service without a sample.
        """
        quantiles = np.full((len(self.services), len(RESOURCES), len(shares)), np.nan)
        for resource, service, samples in self.samples():
            quantiles[service, resource] = np.quantile(samples.astype(np.float64), shares)
        return quantiles

    def alive_ms(self, begin_ms: int, end_ms: int) -> IntArray:
        """Return how long each container lived within an interval, in ms, shape (containers,)."""
        first = np.maximum(self.arrival_ms, begin_ms)
        return np.asarray(np.maximum(np.minimum(self.departure_ms, end_ms) - first, 0))

    def requested(self) -> FloatArray:
        """Return the mean request of each service's containers, shape (services, 2).

        Containers without a request do not count; NaN if no container of the service has one.
        """
        mean = np.full((len(self.services), len(RESOURCES)), np.nan)
        for resource in range(len(RESOURCES)):
            stated = ~np.isnan(self.request[:, resource])
            of, count = self.service[stated], len(self.services)
            many = np.bincount(of, minlength=count)
            total = np.bincount(of, self.request[stated, resource], count)
            np.divide(total, many, out=mean[:, resource], where=many > 0)
        return mean
