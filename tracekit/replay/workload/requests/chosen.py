"""Requests that ``tracekit size`` chose, out of its result folder.

The simulation counts a container at full use as so many cores and GB (``NEED_AT_FULL_USE``),
however large it is; what it chose is a part of that, and the same part of the container's own size
here. A container has the largest limit that it was ever given. One that was not in the simulation
has the median of its service's, and where none of its service was, what it has otherwise.

Where ``size`` went by recorded use, it recommends cores and bytes for each service, and a container
requests what is recommended for its service; one of a service without any keeps what it has.
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
from tracekit.replay.workload.workload import UNKNOWN
from tracekit.study import STUDY_FOLDER, read_study
from tracekit.units import MILLI_PER_CORE

#: The study of ``size`` by recorded use, its frame, the policy that changes nothing there, and what
#: names the policy to follow.
REQUESTS_STUDY, SERVICES, NOW, SUBJECT = "requests_to_change", "services", "now", "subject"
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
    if STUDY_FOLDER.holds(choice.place):
        return _recommended(choice.place, choice.policy, container_ids, services)
    limits = _limits(choice.place, choice.policy)
    shares = limits.group_by("container").agg(
        pl.col("limit_cores", "limit_gb").max() / NEED_AT_FULL_USE
    )
    rows = pl.DataFrame({"container": list(container_ids), "service": list(services)})
    found = rows.join(shares, on="container", how="left", maintain_order="left")
    columns = ("limit_cores", "limit_gb")
    own = int(found["limit_cores"].is_not_null().sum())
    if not own:
        raise _sizes_none(choice.place)
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


def _recommended(
    folder: Path, policy: str | None, container_ids: Sequence[str], services: Sequence[str]
) -> Told:
    """What a study by recorded use recommends; its own choice where no policy is named."""
    study = read_study(folder)
    if study.name != REQUESTS_STUDY:
        raise _no_result(folder)
    name = policy or str(study.about[SUBJECT])
    rows = study.frames[SERVICES]
    _check_policy(name, rows["policy"].unique(maintain_order=True).to_list(), folder)
    told = rows.filter(policy=name).pivot("resource", index="service", values="recommended")
    asked = pl.DataFrame({"service": list(services), "container": list(container_ids)})
    own = pl.when(pl.col("service") == UNKNOWN).then("container").otherwise("service")
    found = asked.select(service=own).join(told, on="service", how="left", maintain_order="left")
    amounts = found.select(pl.col("cpu") * MILLI_PER_CORE, "memory").to_numpy().astype(np.float64)
    known = int((~np.isnan(amounts)).any(axis=1).sum())
    if not known:
        raise _sizes_none(folder)
    return Told(
        resources=BASE,
        request=amounts,
        limit=np.full(amounts.shape, np.nan),
        whole=False,
        rests=CHOSEN,
        facts={"containers_sized": known},
    )


def _limits(folder: Path, policy: str | None) -> pl.DataFrame:
    """The limits of the one policy that is meant."""
    try:
        schema = str(json.loads(read_text(folder / MANIFEST))["schema"])
    except (OSError, ValueError, KeyError, TypeError):
        schema = ""
    if not schema.startswith(_SCHEMA):
        raise _no_result(folder)
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
    _check_policy(policy or known[0], known, folder)
    return limits.filter(pl.col("policy") == (policy or known[0]))


def _check_policy(policy: str, known: Sequence[str], folder: Path) -> None:
    if policy not in known:
        close = nearest(policy, known)
        raise TracekitError(
            f"policy '{policy}' is not in {folder}; it has {', '.join(known)}",
            hint=f"did you mean '{close}'?" if close else None,
        )


def _no_result(folder: Path) -> TracekitError:
    return TracekitError(
        f"requests=sized:{folder} is no result of tracekit size",
        hint="tracekit size STORE --out DIR, then requests=sized:DIR",
    )


def _sizes_none(folder: Path) -> TracekitError:
    return TracekitError(
        f"requests=sized: {folder} sizes none of these containers",
        hint="size the same store: tracekit size STORE --out DIR",
    )
