"""Kubernetes quantities (100m, 1.5, 123Mi, 2e3) as numbers; resources by the store's names."""

from __future__ import annotations

import functools
import math

from tracekit.errors import TracekitError

#: What a quantity may end in.
_ENDS = frozenset("0123456789.numkMGTPEi")
#: Resources that the store calls otherwise than Kubernetes; kube-state-metrics writes ``_``.
_NAMES = {
    "ephemeral-storage": "disk",
    "ephemeral_storage": "disk",
    "nvidia.com/gpu": "gpu",
    "nvidia_com_gpu": "gpu",
}
_UNITS = {"cpu": "cores", "memory": "bytes", "disk": "bytes"}


class QuantityError(ValueError):
    """Not a quantity."""


def resource(name: str) -> str:
    """The store's name of a resource; extended ones keep theirs."""
    return _NAMES.get(name, name)


def unit(name: str) -> str:
    """The unit of a resource, by the store's name of it."""
    return _UNITS.get(name, "bytes" if name.startswith("hugepages") else "count")


@functools.lru_cache(maxsize=1 << 16)
def amount(quantity: str) -> float:
    """A quantity in cores, bytes or pieces; raises QuantityError for another text.

    The suffixes are those of Kubernetes: n, u, m, k, M, G, T, P, E, and Ki to Ei.
    """
    try:
        from quantiphy import InvalidNumber, Quantity  # noqa: PLC0415 - may not be installed
    except ModuleNotFoundError:
        raise TracekitError(
            "quantities of Kubernetes need the package quantiphy",
            hint="pip install quantiphy",
        ) from None
    text = quantity.strip()
    try:
        read = Quantity(text, binary=True)
    except InvalidNumber:
        raise QuantityError(f"is '{text[:60]}', expected a quantity such as 100m or 2Gi") from None
    value = float(read)
    if read.units or not math.isfinite(value) or text[-1] not in _ENDS or "_" in text:
        raise QuantityError(f"is '{text[:60]}', expected a quantity such as 100m or 2Gi")
    return value
