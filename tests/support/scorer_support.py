"""The scorers once more, one node and one number at a time, straight from recorded documents.

Slow and obvious: what the vectorised policies are compared with. Exact rationals where Go would
round, so that no trick with floats is shared with what is tested.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from scipy import stats

Document = Mapping[str, Any]
NAMES = ("cpu_milli", "memory_bytes")
DEFAULT = {"cpu_milli": 100, "memory_bytes": 200 * 1024 * 1024}


def go_round(value: float) -> int:
    """Nearest integer, halves away from zero."""
    exact = Fraction(value)
    nearest = math.floor(abs(exact) + Fraction(1, 2))
    return nearest if exact >= 0 else -nearest


def go_div(top: int, bottom: int) -> int:
    """Quotient toward zero."""
    return abs(top) // abs(bottom) * (1 if (top < 0) == (bottom < 0) else -1)


def pod_amount(pod: Document, name: str, *, nonzero: bool) -> int:
    """Request of a pod of plain containers, each missing one counted when ``nonzero``."""
    missing = DEFAULT.get(name, 0) if nonzero else 0
    return sum(one["requests"].get(name, missing) for one in pod["containers"])


def node_amount(node: Document, pod: Document, name: str, *, nonzero: bool) -> int:
    """What is requested on the node with the pod."""
    pods = [*node["pods"], pod]
    return sum(pod_amount(one, name, nonzero=nonzero) for one in pods)


def mean_by_weight(parts: Sequence[tuple[int, int]]) -> int:
    """Integer mean of (score, weight)."""
    weight = sum(weight for _, weight in parts)
    return go_div(sum(score * weight for score, weight in parts), weight) if weight else 0


def _considered(node: Document, pod: Document, args: Document) -> list[tuple[int, int, int]]:
    """(allocatable, requested, weight) of each resource that counts, by non-zero requests."""
    found = []
    for short, weight in args["resources"]:
        name = {"cpu": NAMES[0], "memory": NAMES[1]}.get(short, short)
        room = node["allocatable"].get(name, 0)
        if room == 0 or (name not in NAMES and pod_amount(pod, name, nonzero=True) == 0):
            continue
        found.append((room, node_amount(node, pod, name, nonzero=True), weight))
    return found


def least_allocated(node: Document, pod: Document, args: Document) -> int:
    """Free percentages."""
    return mean_by_weight(
        [
            (0 if taken > room else go_div((room - taken) * 100, room), weight)
            for room, taken, weight in _considered(node, pod, args)
        ]
    )


def most_allocated(node: Document, pod: Document, args: Document) -> int:
    """Requested percentages."""
    return mean_by_weight(
        [
            (go_div(min(taken, room) * 100, room), weight)
            for room, taken, weight in _considered(node, pod, args)
        ]
    )


def line(points: Sequence[Sequence[int]], at: int) -> int:
    """The broken line, walked from the left."""
    for index, (x, y) in enumerate(points):
        if at <= x:
            if index == 0:
                return y
            x0, y0 = points[index - 1]
            return y0 + go_div((y - y0) * (at - x0), x - x0)
    return int(points[-1][1])


def requested_to_capacity_ratio(node: Document, pod: Document, args: Document) -> int:
    """Broken line of the requested percentage; what scores 0 is left out."""
    points = [(x, y * 10) for x, y in args["shape"]]
    parts = [
        (line(points, 100 if taken > room else go_div(taken * 100, room)), weight)
        for room, taken, weight in _considered(node, pod, args)
    ]
    kept = [(score, weight) for score, weight in parts if score > 0]
    total = sum(weight for _, weight in kept)
    return go_round(sum(score * weight for score, weight in kept) / total) if kept else 0


def least_requested(node: Document, pod: Document, args: Document) -> int:
    """Old integer form."""
    return _requested(node, pod, lambda room, taken: (room - taken) * args["max_score"])


def most_requested(node: Document, pod: Document, args: Document) -> int:
    """Old integer form."""
    return _requested(node, pod, lambda _, taken: taken * args["max_score"])


def _requested(node: Document, pod: Document, part: Callable[[int, int], int]) -> int:
    scores = []
    for name in NAMES:
        room = node["allocatable"].get(name, 0)
        taken = node_amount(node, pod, name, nonzero=True)
        scores.append(0 if room == 0 or taken > room else go_div(part(room, taken), room))
    return go_div(sum(scores), 2)


def balanced_allocation_legacy(node: Document, pod: Document, args: Document) -> int:
    """One less the distance of the fractions."""
    shares = []
    for name in NAMES:
        room = node["allocatable"].get(name, 0)
        shares.append(node_amount(node, pod, name, nonzero=True) / room if room else 1.0)
    if max(shares) >= 1:
        return 0
    return int((1 - abs(shares[0] - shares[1])) * args["max_score"])


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
        found = load(metrics, node["name"], kind)
        if found is None:
            continue
        room = node["allocatable"][name]
        if room <= 0:
            scores.append(0.0)
            continue
        used, spread = (clamp(one * room / 100, 0, room) for one in found)
        mu = clamp((used + pod_amount(pod, name, nonzero=False)) / room, 0, 1)
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
