"""Cases about Beta distributions, moments and broken lines, as the load-aware plugins use them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray
from tracekit.base.documents import shape as s
from tracekit.cluster.resources import BASE, full_name
from tracekit.policy.placement._parts.beta import cumulative, density, fit, max_variance, moments
from tracekit.policy.placement._parts.load import TYPES, average_and_deviation
from tracekit.policy.placement._parts.trimaran import mu_sigma
from tracekit.policy.placement.requested_to_capacity_ratio import broken_linear
from tracekit.policy.view.recorded import decode_metrics
from tracekit.replay.cases.case import Answer, Question, kind
from tracekit.replay.cases.kinds import _shapes

Document = Mapping[str, Any]


#: Amounts of cpu and memory per unit of the statistics.
_UNITS = (1, 2**20)


@dataclass(frozen=True, kw_only=True)
class Stats:
    """Capacity, request, mean and deviation of use, in one unit."""

    capacity: float
    req: float
    used_avg: float
    used_stdev: float

    def arrays(self) -> tuple[FloatArray, float, FloatArray, FloatArray]:
        """Capacity, request, mean and deviation as the policies take them, of one node."""
        capacity, used, deviation = (
            np.array([one]) for one in (self.capacity, self.used_avg, self.used_stdev)
        )
        return capacity, self.req, used, deviation


def decode_stats(document: Document) -> Stats:
    """The ``stats`` of a case."""
    names = ("capacity", "req", "used_avg", "used_stdev")
    return Stats(**{name: float(document[name]) for name in names})


def measured_stats(
    node: Document, metrics: list[Document], request: Document, resource: str
) -> Stats | None:
    """Statistics of ``resource`` ('cpu' or 'memory') from a node's metrics, None without any."""
    column = BASE.index(full_name(resource))
    average, deviation = average_and_deviation(decode_metrics(metrics), TYPES[column])
    if np.isnan(average):
        return None
    capacity = node["allocatable"].get(BASE[column], 0) / _UNITS[column]
    return Stats(
        capacity=capacity,
        req=request.get(BASE[column], 0) / _UNITS[column],
        used_avg=average * capacity / 100,
        used_stdev=deviation * capacity / 100,
    )


@kind("a Beta distribution's raw moments", dict.fromkeys(("alpha", "beta"), _shapes.NUMBER))
def beta_new(question: Question) -> Answer:
    """Whether a Beta distribution exists, and its raw moments.

    ``{"valid": bool}``, with ``m1``, ``m2``, ``m3`` where it is.
    """
    alpha, beta = float(question.inputs["alpha"]), float(question.inputs["beta"])
    if alpha <= 0 or beta <= 0:
        return Answer(values={"valid": False})
    found = dict(zip(("m1", "m2", "m3"), moments(alpha, beta), strict=True))
    return Answer(values={"valid": True, **found})


@kind(
    "a Beta distribution's density at a place",
    dict.fromkeys(("alpha", "beta", "x"), _shapes.NUMBER),
)
def beta_pdf(question: Question) -> Answer:
    """The density of a Beta distribution at a place.

    ``{"value": float}``.
    """
    alpha, beta, at = (float(question.inputs[name]) for name in ("alpha", "beta", "x"))
    return Answer(values={"value": float(density(alpha, beta, at))})


@kind(
    "a Beta distribution's probability up to a place",
    dict.fromkeys(("alpha", "beta", "x"), _shapes.NUMBER),
)
def beta_cdf(question: Question) -> Answer:
    """A Beta distribution's probability up to a place.

    ``{"value": float}``.
    """
    alpha, beta, at = (float(question.inputs[name]) for name in ("alpha", "beta", "x"))
    return Answer(values={"value": float(cumulative(alpha, beta, at))})


@kind("a Beta distribution's mean and variance", dict.fromkeys(("alpha", "beta"), _shapes.NUMBER))
def beta_summary(question: Question) -> Answer:
    """Mean, variance and raw moments of a Beta distribution.

    ``{"mean", "variance", "m1", "m2", "m3"}``.
    """
    m1, m2, m3 = moments(float(question.inputs["alpha"]), float(question.inputs["beta"]))
    return Answer(values={"mean": m1, "variance": m2 - m1 * m1, "m1": m1, "m2": m2, "m3": m3})


@kind("a Beta distribution from its moments", dict.fromkeys(("m1", "m2"), _shapes.NUMBER))
def beta_match_moments(question: Question) -> Answer:
    """The Beta distribution with two given raw moments.

    ``{"ok": bool}``, with ``alpha`` and ``beta`` where there is one.
    """
    alpha, beta = fit(float(question.inputs["m1"]), float(question.inputs["m2"]))
    if np.isnan(alpha):
        return Answer(values={"ok": False})
    return Answer(values={"ok": True, "alpha": float(alpha), "beta": float(beta)})


@kind("the largest variance for a mean", {"m1": _shapes.NUMBER})
def max_variance_(question: Question) -> Answer:
    """The largest variance in 0..1 for a mean.

    ``{"value": float}``.
    """
    return Answer(values={"value": float(max_variance(float(question.inputs["m1"])))})


@kind("mean and deviation as fractions", {"stats": _shapes.STATS})
def mu_sigma_(question: Question) -> Answer:
    """Mean and deviation of use as fractions of capacity.

    ``{"mu", "sigma"}``, both in 0..1.
    """
    mu, sigma = mu_sigma(*decode_stats(question.inputs["stats"]).arrays())
    return Answer(values={"mu": float(mu[0]), "sigma": float(sigma[0])})


@kind(
    "a broken line at given places",
    {
        "p": s.list_of(_shapes.WHOLE),
        "points": _shapes.POINTS,
    },
)
def broken_linear_(question: Question) -> Answer:
    """The integer interpolation between points of a shape.

    ``{"values": [int, ...]}`` at the places ``p``.
    """
    at = np.array(question.inputs["p"], dtype=np.int64)
    return Answer(values={"values": broken_linear(question.inputs["points"], at).tolist()})
