"""Profile of a service: the mean CPU of its instances (patent CN116795487A [0063])."""

from __future__ import annotations

import numpy as np

from tracekit.arrays import FloatArray, IntArray


def service_profile(service: IntArray, cpu: FloatArray, services: int) -> FloatArray:
    """Mean over the instances of each service, shape (services,); NaN for one without any.

    Parameters
    ----------
    service : int64, shape (instances,)
    cpu : float64, shape (instances,)
        CPU of each instance, averaged over time, fraction of its own vCPUs.
    """
    many = np.bincount(service, minlength=services)
    total = np.bincount(service, cpu, services)
    mean = np.divide(total, many, out=np.full(services, np.nan), where=many > 0)
    return np.asarray(mean)
