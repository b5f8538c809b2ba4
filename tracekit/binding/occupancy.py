"""The instance on each vCPU, and the loss of each instance by the others; and models of loss."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, Int32Array, IntArray
from tracekit.base.errors import TracekitError
from tracekit.base.files.result_folder import read_frame
from tracekit.base.jit import compiled
from tracekit.base.opened import NoFileError
from tracekit.interference.linear import USABLE
from tracekit.interference.options import AGGREGATION, Aggregation
from tracekit.interference.room import NOTHING
from tracekit.interference.run import FIT_FOLDER

MEAN, OCCUPANCY, SUM = 0, 1, 2
_NOBODY = 0.5


class Occupancy(NamedTuple):
    """The binding of all instances and their losses, as arrays for compiled code.

    An instance is a container by its position, and a place is a vCPU of ``VcpuPlaces``. ``most`` is
    the number of vCPUs of the largest socket, ``widest`` that of the largest instance.

    Parameters
    ----------
    mates : int64, shape (places, threads - 1)
        The other places of the core.
    first, ids : int64
        The places of socket s, ascending, are ``ids[first[s] : first[s + 1]]``.
    host : int64, shape (sockets,)
    owner : int64, shape (places,)
        The instance on each place, -1 for none.
    free, instances : int64, shape (sockets,)
        The numbers of free vCPUs and of instances.
    bound : int64, shape (sockets, most)
        The instances of a socket.
    slot, size, service : int64, shape (instances,)
        The position of an instance in ``bound``, the number of its vCPUs, and its service.
    places : int64, shape (instances, widest)
        The places of an instance.
    core, core_weight, inflation : float64, shape (instances,)
        The summed CPU of the neighbours on an instance's cores, the number of vCPUs to divide it by
        for a mean, and the instance's loss.
    total, weight, now : float64, shape (sockets,)
        The sum over instances of vCPUs times ``cpu``, the sum of vCPUs, and the mean loss of a
        vCPU.
    touched : int64, shape (sockets,)
        The running number of the last bind or unbind on a socket.
    on_host : int32, shape (hosts, services)
        The number of instances of a service on a host.
    cpu, k1, k2 : float64, shape (services,)
        See ``InterferenceModel``.
    mark, met, hits, apart, together
        Work arrays.
    """

    mates: IntArray
    first: IntArray
    ids: IntArray
    host: IntArray
    owner: IntArray
    free: IntArray
    instances: IntArray
    bound: IntArray
    slot: IntArray
    size: IntArray
    service: IntArray
    places: IntArray
    core: FloatArray
    core_weight: FloatArray
    inflation: FloatArray
    total: FloatArray
    weight: FloatArray
    now: FloatArray
    touched: IntArray
    on_host: Int32Array
    cpu: FloatArray
    k1: FloatArray
    k2: FloatArray
    mark: IntArray
    met: IntArray
    hits: IntArray
    apart: FloatArray
    together: FloatArray


@compiled
def inflation_of(
    agg: int,
    k1: float,
    k2: float,
    core: float,
    core_weight: float,
    total: float,
    weight: float,
    size: float,
    cpu: float,
    vcpus: float,
) -> float:
    """Return the CPU that an instance loses to its neighbours, as a fraction of its own vCPUs.

    It is ``k1`` times the CPU use of neighbours on the instance's own cores (``core``), plus ``k2``
    times that on the rest of its socket (``total`` less the instance and ``core``). Unless ``agg``
    is SUM, each use is first divided by its number of vCPUs. ``Occupancy`` describes the sums and
    weights. ``size`` and ``cpu`` are the instance's vCPUs and mean CPU. ``vcpus`` is the size of
    the socket.
    """
    rest = total - size * cpu - core
    if abs(rest) < NOTHING:
        rest = 0.0
    left = (vcpus if agg == OCCUPANCY else weight) - size - core_weight
    if left < _NOBODY:
        rest = 0.0
    elif agg != SUM:
        rest /= left
    if agg != SUM:
        core = core / core_weight if core_weight > _NOBODY else 0.0
    return k1 * core + k2 * rest


@compiled
def _beside(taken: Occupancy, agg: int, instance: int) -> None:
    """Write the pressure on an instance from its own cores."""
    core, weight = 0.0, 0.0
    taken.hits[:] = 0
    for at in range(taken.size[instance]):
        place = taken.places[instance, at]
        for thread in range(taken.mates.shape[1]):
            mate = taken.mates[place, thread]
            if mate < 0 or taken.owner[mate] == instance or taken.met[mate] == -1:
                continue
            taken.met[mate] = -1
            other = taken.owner[mate]
            if agg == OCCUPANCY:
                weight += 1
                if other >= 0:
                    core += taken.cpu[taken.service[other]]
            elif other >= 0 and taken.hits[taken.slot[other]] == 0:
                taken.hits[taken.slot[other]] = 1
                core += taken.size[other] * taken.cpu[taken.service[other]]
                weight += taken.size[other]
    for at in range(taken.size[instance]):
        place = taken.places[instance, at]
        for thread in range(taken.mates.shape[1]):
            if taken.mates[place, thread] >= 0:
                taken.met[taken.mates[place, thread]] = 0
    taken.core[instance], taken.core_weight[instance] = core, weight


@compiled
def refresh(taken: Occupancy, agg: int, socket: int) -> None:
    """Recompute ``total``, ``weight`` and ``now`` of a socket, and the losses of its instances."""
    total, weight = 0.0, 0.0
    for at in range(taken.instances[socket]):
        instance = taken.bound[socket, at]
        total += taken.size[instance] * taken.cpu[taken.service[instance]]
        weight += taken.size[instance]
        _beside(taken, agg, instance)
    vcpus = taken.first[socket + 1] - taken.first[socket]
    now = 0.0
    for at in range(taken.instances[socket]):
        instance = taken.bound[socket, at]
        service = taken.service[instance]
        taken.inflation[instance] = inflation_of(
            agg,
            taken.k1[service],
            taken.k2[service],
            taken.core[instance],
            taken.core_weight[instance],
            total,
            weight,
            taken.size[instance],
            taken.cpu[service],
            vcpus,
        )
        now += taken.size[instance] * taken.inflation[instance] / vcpus
    taken.total[socket], taken.weight[socket], taken.now[socket] = total, weight, now


@compiled
def bind(
    taken: Occupancy, agg: int, instance: int, socket: int, places: IntArray, change: int
) -> None:
    """Bind an instance to places (vCPUs) of a socket. ``change`` numbers all binds and unbinds."""
    taken.size[instance] = len(places)
    for at in range(len(places)):
        taken.places[instance, at] = places[at]
        taken.owner[places[at]] = instance
    taken.free[socket] -= len(places)
    taken.slot[instance] = taken.instances[socket]
    taken.bound[socket, taken.instances[socket]] = instance
    taken.instances[socket] += 1
    taken.on_host[taken.host[socket], taken.service[instance]] += 1
    taken.touched[socket] = change
    refresh(taken, agg, socket)


@compiled
def unbind(taken: Occupancy, agg: int, instance: int, socket: int, change: int) -> None:
    """Unbind an instance from its socket. ``change`` numbers all binds and unbinds."""
    for at in range(taken.size[instance]):
        taken.owner[taken.places[instance, at]] = -1
    taken.free[socket] += taken.size[instance]
    last = taken.instances[socket] - 1
    for at in range(taken.slot[instance], last):
        other = taken.bound[socket, at + 1]
        taken.bound[socket, at] = other
        taken.slot[other] = at
    taken.instances[socket] = last
    taken.on_host[taken.host[socket], taken.service[instance]] -= 1
    taken.inflation[instance] = 0.0
    taken.touched[socket] = change
    refresh(taken, agg, socket)


# The cost of neighbours to each service: the coefficients of a fit by position of the service.


@dataclass(frozen=True, kw_only=True)
class InterferenceModel:
    """A model of the CPU that a container loses to neighbours, as a fraction of its own vCPUs.

    The loss is ``k1 * cpu_sc + k2 * cpu_ss``. cpu_sc is the CPU use of neighbours on the
    container's cores, and cpu_ss is that on the rest of its socket: see ``room.pressure``.

    Parameters
    ----------
    cpu : float64, shape (services,)
        The mean CPU of a service's containers as a fraction of their own vCPUs.
    k1, k2 : float64, shape (services,)
    agg : {'mean', 'occupancy', 'sum'}
        How the use of neighbours adds up: see ``room.pressure``.
    mode : {'bound', 'proxy', 'given'}
        A fit by vCPUs, a fit by nodes alone (which has a k1 of 0), or a model without a fit.
    unknown : int
        The number of services that the fit lacks. They have the mean CPU and pooled coefficients.
    verdict, reason : str
        The verdict on the pooled model if no part of the fit is usable; else empty.
    """

    cpu: FloatArray
    k1: FloatArray
    k2: FloatArray
    agg: Aggregation = AGGREGATION
    mode: str = "given"
    unknown: int = 0
    verdict: str = ""
    reason: str = ""


def model_of_fit(folder: Path, services: Sequence[str]) -> InterferenceModel:
    """Return the model of ``services``, in their order, from a folder of ``tracekit fit --out``.

    Raises
    ------
    TracekitError
        For a folder without a fit, or a fit without a coefficient.
    """
    try:
        manifest = FIT_FOLDER.sound(folder)
        coefficients = read_frame(folder / "coefficients.parquet")
        pooled = read_frame(folder / "pooled.parquet").row(0, named=True)
    except NoFileError:
        raise
    except (OSError, ValueError, pl.exceptions.PolarsError):
        raise TracekitError(
            f"{folder} holds no fit", hint=f"make one: tracekit fit STORE --out {folder.name}"
        ) from None
    model = model_of_frames(
        coefficients, pooled, services, agg=manifest["options"]["agg"], mode=manifest["mode"]
    )
    if USABLE in manifest["verdicts"] or pooled["verdict"] == USABLE:
        return model
    return replace(model, verdict=pooled["verdict"], reason=pooled["reason"])


def model_of_frames(
    coefficients: pl.DataFrame,
    pooled: dict[str, object],
    services: Sequence[str],
    *,
    agg: Aggregation = AGGREGATION,
    mode: str = "bound",
) -> InterferenceModel:
    """Return the model of ``services``, in their order, from the tables of a fit.

    ``coefficients`` has the columns service, cpu_mean, k1 and k2. A service that it lacks gets the
    k1 and k2 of ``pooled``. Raises TracekitError if no k1 or k2 is known.
    """
    if all(pooled.get(name) is None for name in ("k1", "k2")) and not (
        coefficients["k2"].is_not_null().any() or coefficients["k1"].is_not_null().any()
    ):
        raise TracekitError(
            "the fit identified no coefficient, so that nothing can be placed by it",
            hint="fit with --binding and --topology, or with more containers",
        )
    wanted = pl.DataFrame({"service": list(services)}, schema={"service": pl.String})
    columns = ["service", "cpu_mean", "k1", "k2"]
    joined = wanted.join(
        coefficients.select(columns), on="service", how="left", maintain_order="left"
    )
    mean = float(coefficients["cpu_mean"].mean() or 0.0)  # type: ignore[arg-type]
    usual = {"cpu_mean": mean, "k1": pooled.get("k1") or 0.0, "k2": pooled.get("k2") or 0.0}
    arrays = {name: joined[name].fill_null(usual[name]).to_numpy() for name in columns[1:]}
    return InterferenceModel(
        cpu=arrays["cpu_mean"].astype(np.float64),
        k1=arrays["k1"].astype(np.float64),
        k2=arrays["k2"].astype(np.float64),
        agg=agg,
        mode=mode,
        unknown=int(joined["cpu_mean"].null_count()),
    )


def model_of_truth(file: Path, services: Sequence[str]) -> InterferenceModel:
    """Return the true model of a synthetic trace, from its file ``truth/binding.parquet``.

    Raises
    ------
    TracekitError
        For another file, or a file of other services.
    """
    names = ["service_id", "cpu_profile", "k1", "k2"]
    try:
        table = read_frame(file).select(names).unique("service_id")
    except (OSError, pl.exceptions.PolarsError):
        raise TracekitError(
            f"{file} holds no planted interference",
            hint="give truth/binding.parquet of a made-up trace",
        ) from None
    table = table.rename({"service_id": "service", "cpu_profile": "cpu_mean"})
    if not set(table["service"]) & set(services):
        raise TracekitError(f"{file} has no service of the workload")
    means = table.select(pl.col("k1", "k2").mean()).row(0, named=True)
    return model_of_frames(table, means, services, mode="given")
