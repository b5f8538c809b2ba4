"""Readings from the placement experiment of the TBESK paper, paired by drawn set.

The paper's changes are "on the whole" (section 5.3.1): over all numbers of containers, not when
the last has come.
"""

from collections.abc import Callable, Iterator

import numpy as np
import polars as pl

from tracekit.answer.claims.reading import Reading, mean_of
from tracekit.base.arrays import FloatArray

OWN = "tbesk"
#: Few containers are the first quarter of the numbers of containers, many the last half.
FIRST, LAST = 0.25, 0.5
_WHOLE = {"tbesk_lra": "lra", "tbesk_bra": "bra", "tbesk_exact": "tbesk_exact"}
_PARTS = {"tbesk_bes": "bes", "tbesk_cwt": "cwt"}
_SCORERS = ("lra", "bra")


def readings(frame: Callable[[str], pl.DataFrame]) -> Iterator[tuple[str, Reading]]:
    """What each claim on placement comes to."""
    sets, ends = frame("search_placement/sets"), frame("search_placement/ends")
    if sets.is_empty() or ends.is_empty():
        return
    curves = {
        str(name): part.sort("set", "containers")["imbalance"]
        .to_numpy()
        .reshape(part["set"].n_unique(), -1)
        for (name,), part in sets.group_by("policy", maintain_order=True)
    }
    if OWN not in curves:
        return
    own = curves[OWN]
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
    """Relative change of mean imbalance from the other to TBESK, set by set."""
    return mean_of(own.mean(axis=1) / other.mean(axis=1) - 1)


def _ends(ends: pl.DataFrame) -> Iterator[tuple[str, Reading]]:
    wide = ends.with_columns((pl.col("high_fraction") - pl.col("low_fraction")).alias("range"))
    policies = set(ends["policy"])

    def of(policy: str, resource: str, column: str) -> FloatArray:
        return wide.filter(policy=policy, resource=resource).sort("set")[column].to_numpy()

    for resource in ("net", "disk"):
        for end in ("low", "high"):
            yield f"tbesk_{resource}_{end}", mean_of(of(OWN, resource, f"{end}_fraction"))
        for policy in policies.intersection(_SCORERS):
            yield f"{policy}_{resource}_range", mean_of(of(policy, resource, "range"))
    for policy in policies.intersection((OWN, *_SCORERS)):
        each = wide.filter(policy=policy).group_by("set").agg(pl.col("overfull_nodes").max())
        yield f"{policy}_overfull", mean_of(each["overfull_nodes"])
    if policies.issuperset(_SCORERS):
        for resource in ("cpu", "memory"):
            ranges = np.stack([of(name, resource, "range") for name in (OWN, *_SCORERS)])
            yield f"{resource}_alike", mean_of(np.ptp(ranges, axis=0))
