"""Requests that ``tracekit size`` chose, out of its result folder.

The simulation counts a container at full use as so many cores and GB (``NEED_AT_FULL_USE``),
however large it is; what it chose is a part of that, and the same part of the container's own size
here. A container has the largest limit that it was ever given. One that was not in the simulation
has the median of its service's, and where none of its service was, what it has otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl

from tracekit.arrays import FloatArray
from tracekit.callgraph.export import NEED_AT_FULL_USE
from tracekit.errors import TracekitError, nearest
from tracekit.files.result_folder import MANIFEST
from tracekit.opened import read_text
from tracekit.replay.workload.request_choice import Choice
from tracekit.replay.workload.requests.asked import Told
from tracekit.replay.workload.resources import BASE
from tracekit.replay.workload.rests_on import CHOSEN

_SCHEMA = "tracekit/size/"
_LIMITS = "limits.parquet"


def chosen(
    choice: Choice, container_ids: Sequence[str], services: Sequence[str], full: FloatArray
) -> Told:
    """What ``size`` chose for these containers; the limit is the request.

    Parameters
    ----------
    full : float64, shape (containers, 2)
        Each container's own size.

    Raises
    ------
    TracekitError
        For a folder that is no sizing run or one without limits, a policy that is not in it, and
        several policies of which none is named.
    """
    assert choice.place is not None  # noqa: S101 - sized has a folder
    limits = _limits(choice.place, choice.policy)
    shares = limits.group_by("container").agg(
        pl.col("limit_cores", "limit_gb").max() / NEED_AT_FULL_USE
    )
    rows = pl.DataFrame({"container": list(container_ids), "service": list(services)})
    found = rows.join(shares, on="container", how="left", maintain_order="left")
    columns = ("limit_cores", "limit_gb")
    own = int(found["limit_cores"].is_not_null().sum())
    if not own:
        raise TracekitError(
            f"requests=sized: {choice.place} sizes none of these containers",
            hint="size the same store: tracekit size STORE --out DIR",
        )
    found = found.with_columns(
        pl.coalesce(name, pl.col(name).median().over("service")) for name in columns
    )
    share = found.select(columns).to_numpy().astype(np.float64)
    amounts = share * full
    return Told(
        resources=BASE,
        request=amounts,
        limit=amounts,
        whole=False,
        rests=CHOSEN,
        facts={
            "containers_sized": own,
            "containers_sized_like_their_service": int((~np.isnan(share[:, 0])).sum()) - own,
        },
    )


def _limits(folder: Path, policy: str | None) -> pl.DataFrame:
    """The limits of the one policy that is meant."""
    try:
        schema = str(json.loads(read_text(folder / MANIFEST))["schema"])
    except (OSError, ValueError, KeyError, TypeError):
        schema = ""
    if not schema.startswith(_SCHEMA):
        raise TracekitError(
            f"requests=sized:{folder} is no result of tracekit size",
            hint="tracekit size STORE --out DIR, then requests=sized:DIR",
        )
    if not (folder / _LIMITS).is_file():
        raise TracekitError(
            f"{folder} holds no {_LIMITS}", hint="it is of an earlier tracekit: size anew"
        )
    limits = pl.read_parquet(folder / _LIMITS)
    known = limits["policy"].unique(maintain_order=True).to_list()
    if policy is None and len(known) > 1:
        raise TracekitError(
            f"requests=sized: {folder} holds {len(known)} policies: {', '.join(known)}",
            hint=f"name one: requests=sized:{folder}:{known[0]}",
        )
    if policy is not None and policy not in known:
        close = nearest(policy, known)
        raise TracekitError(
            f"policy '{policy}' is not in {folder}; it has {', '.join(known)}",
            hint=f"did you mean '{close}'?" if close else None,
        )
    return limits.filter(pl.col("policy") == (policy or known[0]))
