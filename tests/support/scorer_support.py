"""The scorers by measured use once more, one node and one number at a time, from documents.

Slow and obvious: what the vectorised policies are compared with. Exact rationals where Go would
round, so that no trick with floats is shared with what is tested.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from scipy import stats

Document = Mapping[str, Any]
NAMES = ("cpu_milli", "memory_bytes")


def go_round(value: float) -> int:
    """Nearest integer, halves away from zero."""
    exact = Fraction(value)
    nearest = math.floor(abs(exact) + Fraction(1, 2))
    return nearest if exact >= 0 else -nearest


def target_load_packing(
    node: Document, pod: Document, args: Document, metrics: Document, recent: Sequence[Document]
) -> int:
    """Rises to 100 at the target, then falls from the target."""
    given = (metrics["nodes"] or {}).get(node["name"]) or []
    levels = [
        m["value"] for m in given if m["type"] == "CPU" and m["operator"] in ("AVG", "Latest")
    ]
    if not levels:
        return 0
    room, target = node["capacity"]["cpu_milli"], args["target_utilization"]
    late = [one["pod"] for one in recent if one["timestamp"] > metrics["window_end"] - 60]
    expected = sum(_expected_cpu(one, args) for one in [pod, *late])
    percent = 100 * (levels[-1] / 100 * room + expected) / room if room else 0.0
    if percent > 100:
        return 0
    if percent > target:
        return go_round(target * (100 - percent) / (100 - target))
    return go_round((100 - target) * percent / target + target)


def _expected_cpu(pod: Document, args: Document) -> int:
    total = 0
    for one in pod["containers"]:
        if "cpu_milli" in one["limits"]:
            total += one["limits"]["cpu_milli"]
        elif "cpu_milli" in one["requests"]:
            total += go_round(one["requests"]["cpu_milli"] * args["requests_multiplier"])
        else:
            total += args["default_requests_cpu_milli"]
    return total


def load(metrics: Document, node: str, kind: str) -> tuple[float, float] | None:
    """Average and deviation as risk scorers read them; None where the kind is not measured."""
    average, deviation, seen, valid = 0.0, 0.0, False, False
    for one in (metrics["nodes"] or {}).get(node) or []:
        if one["type"] != kind:
            continue
        valid = True
        if one["operator"] == "AVG":
            average, seen = one["value"], True
        elif one["operator"] == "STD":
            deviation = one["value"]
        elif one["operator"] in ("", "Latest") and not seen:
            average = one["value"]
    return (average, deviation) if valid else None


def clamp(value: float, low: float, high: float) -> float:
    """The value, at least ``low`` and at most ``high``."""
    return max(min(value, high), low)


def load_variation(node: Document, pod: Document, args: Document, metrics: Document) -> int:
    """The worse of the measured resources."""
    scores = []
    for name, kind in zip(NAMES, ("CPU", "Memory"), strict=True):
        document = load(metrics, node["name"], kind)
        if document is None:
            continue
        room = node["allocatable"][name]
        if room <= 0:
            scores.append(0.0)
            continue
        used, spread = (clamp(one * room / 100, 0, room) for one in document)
        mu = clamp((used + claims(pod, name)[0]) / room, 0, 1)
        sigma = clamp(spread / room, 0, 1)
        root = args["safe_variance_sensitivity"]
        power = sigma ** (1 / root) if root else float(sigma == 1)
        scores.append((1 - (mu + clamp(args["safe_variance_margin"] * power, 0, 1)) / 2) * 100)
    return go_round(min(scores)) if scores else 0


def claims(pod: Document, name: str) -> tuple[int, int]:
    """Request and limit of a pod, the limit never below."""
    request = sum(one["requests"].get(name, 0) for one in pod["containers"])
    limit = sum(one["limits"].get(name, 0) for one in pod["containers"])
    return request, max(request, limit)


def low_risk(node: Document, pod: Document, args: Document, metrics: Document) -> int:
    """One less the larger risk."""
    if not any(amount for name in NAMES for amount in claims(pod, name)):
        return 0
    if node["name"] not in (metrics["nodes"] or {}):
        return 0
    risk = max(
        _risk(node, pod, args, column, load(metrics, node["name"], kind))
        for column, kind in enumerate(("CPU", "Memory"))
    )
    return go_round((1 - risk) * 100)


def _risk(
    node: Document,
    pod: Document,
    args: Document,
    column: int,
    measured: tuple[float, float] | None,
) -> float:
    name, short = NAMES[column], ("cpu", "memory")[column]
    room = node["allocatable"][name]
    request0 = sum(claims(one, name)[0] for one in node["pods"])
    limit0 = sum(claims(one, name)[1] for one in node["pods"])
    request = min(request0 + claims(pod, name)[0], room)
    limit = limit0 + claims(pod, name)[1]
    by_limit = (limit - room) / (limit - request) if limit > room else 0.0
    by_load = 0.0
    if measured is not None and room > 0:
        before = min(request0, room)
        by_load = 1 - _enough(measured, room, before, limit0, args["smoothing_window_size"])
    weight = args["risk_limit_weights"].get(short, 0.5)
    return clamp(weight * by_limit + (1 - weight) * by_load, 0, 1)


def _enough(
    measured: tuple[float, float], room: int, request: int, limit: int, window: int
) -> float:
    """Probability that load stays under what is requested, given that it does under limits."""
    mu, sigma = (clamp(one * room / 100 / room, 0, 1) for one in measured)
    most = mu * (1 - mu) if 0 < mu < 1 else 0.0
    sigma = min(sigma * window**0.5, (most * 0.99) ** 0.5)
    threshold = clamp(request / room, 0, 1)
    fitted = None
    if mu == 0 or (sigma == 0 and mu <= threshold):
        probability = 1.0
    elif sigma == 0:
        probability = 0.0
    else:
        variance = (sigma * sigma + mu * mu) - mu * mu
        if variance < 0 or variance >= mu * (1 - mu):
            probability = 0.0
        else:
            factor = mu * (1 - mu) / variance - 1 if variance else math.inf
            fitted = (mu * factor, (1 - mu) * factor)
            probability = _cdf(*fitted, threshold)
    if limit < room and request <= limit:
        if limit == 0:
            return 1.0
        if fitted and _cdf(*fitted, limit / room) > 0:
            return clamp(probability / _cdf(*fitted, limit / room), 0, 1)
    return probability


def _cdf(alpha: float, beta: float, at: float) -> float:
    if math.isinf(alpha) or math.isinf(beta):
        return 0.0 if 0 < at < 1 else float(at)
    return float(stats.beta.cdf(at, alpha, beta))
