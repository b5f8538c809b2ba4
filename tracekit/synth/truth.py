"""The planted truth as tables; no column has a name of the trace, so that no reader confuses them.

The planted interference is in the monitoring rows alone. The usage tables have the same bytes with
and without it, because CTM21 does not record interference. The planted model is ``cpu = b0 +
k1*cpu_sc + k2*cpu_ss + N(0, 0.01)``, with b0, k1 and k2 of the service; a fit can be checked
against it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import BoolArray, FloatArray, IntArray
from tracekit.base.constants import STEP_MS
from tracekit.base.units import BYTES_PER_GIB
from tracekit.interference.options import SOCKETS
from tracekit.interference.room import Bound, VcpuPlaces, make_room, pressure, service_profile
from tracekit.interference.topology import Topology, linux_numbering, spell_cpu_list
from tracekit.synth.container_usage import UsageHour
from tracekit.synth.node_usage import NodeBlock, NodePlan
from tracekit.synth.services import CPU, MEMORY
from tracekit.synth.table_file import Defect
from tracekit.synth.world import World


@dataclass(frozen=True, kw_only=True)
class HourSums:
    """Sums over one hour of printed container usage, as fractions.

    Attributes
    ----------
    first_step : the step of the trace at which the hour starts
    sums : float64, shape (3, containers): samples, CPU, memory
    peaks : float64, shape (2, containers): CPU, memory
    node_cpu_fraction : float64, shape (nodes, steps of the hour)
    node_memory_peak_fraction : float64, shape (nodes,)
    """

    first_step: int
    sums: FloatArray
    peaks: FloatArray
    node_cpu_fraction: FloatArray
    node_memory_peak_fraction: FloatArray


def hour_sums(world: World, hour: UsageHour) -> HourSums:
    """Sum up one hour."""
    present, nodes = hour.present, world.preset.nodes
    cpu = np.where(present, hour.cpu_fraction, 0.0)
    cpu_sums, cpu_peaks = cpu.sum(axis=1), cpu.max(axis=1)
    cpu *= world.node_share(CPU)[:, None]
    node_cpu = _by_node(world.containers.node, nodes, cpu)
    del cpu
    memory = np.where(present, hour.memory_fraction, 0.0)
    memory_sums, memory_peaks = memory.sum(axis=1), memory.max(axis=1)
    memory *= world.node_share(MEMORY)[:, None]
    return HourSums(
        first_step=hour.first_step,
        sums=np.stack([present.sum(axis=1), cpu_sums, memory_sums]),
        peaks=np.stack([cpu_peaks, memory_peaks]),
        node_cpu_fraction=node_cpu,
        node_memory_peak_fraction=_by_node(world.containers.node, nodes, memory).max(axis=1),
    )


def _by_node(node: IntArray, nodes: int, usage: FloatArray) -> FloatArray:
    total = np.zeros((nodes, usage.shape[1]))
    np.add.at(total, node, usage)
    return total


class ContainerSums:
    """Sums over time of the printed container usage, by container and by node.

    Attributes
    ----------
    node_cpu_fraction : float64, shape (nodes, steps)
        CPU of a node's containers, as a fraction of the node.
    node_memory_peak_fraction : float64, shape (nodes,)
        The largest memory of a node's containers at any time, as a fraction of the node.
    """

    def __init__(self, world: World) -> None:
        preset = world.preset
        self._sums = np.zeros((3, preset.containers))
        self._peaks = np.zeros((2, preset.containers))
        self.node_cpu_fraction = np.zeros((preset.nodes, preset.steps))
        self.node_memory_peak_fraction = np.zeros(preset.nodes)

    def add(self, hour: HourSums) -> None:
        """Add one hour; hours must come in order, because sums of floats depend on the order."""
        self._sums += hour.sums
        np.maximum(self._peaks, hour.peaks, out=self._peaks)
        steps = slice(hour.first_step, hour.first_step + hour.node_cpu_fraction.shape[1])
        self.node_cpu_fraction[:, steps] = hour.node_cpu_fraction
        self.node_memory_peak_fraction = np.maximum(
            self.node_memory_peak_fraction, hour.node_memory_peak_fraction
        )

    def table(self, world: World) -> pl.DataFrame:
        """Return one row per container."""
        samples, cpu, memory = self._sums
        containers = world.containers
        return pl.DataFrame(
            {
                "container_id": containers.ids,
                "service_id": world.services.ids.gather(containers.service),
                "node_id": world.nodes.ids.gather(containers.node),
                "samples": samples.astype(np.int64),
                "first_ms": containers.first_step * STEP_MS,
                "cpu_mean_fraction": cpu / samples,
                "memory_mean_fraction": memory / samples,
                "cpu_max_fraction": self._peaks[0],
                "memory_max_fraction": self._peaks[1],
                "rate_share": containers.rate_share,
            }
        )


def service_table(world: World) -> pl.DataFrame:
    """Return one row per service: the properties of its containers, and the cost of a call."""
    services = world.services
    return pl.DataFrame(
        {
            "service_id": services.ids,
            "containers": services.sizes,
            "rate_kind": services.kind_names,
            "cpu_level_fraction": services.cpu_fraction,
            "memory_level_fraction": services.memory_fraction,
            "rate_mean_per_s": services.rate_per_s,
            "cpu_fraction_per_call_s": world.cpu_per_call_s,
            "fit_share": services.fit_share,
            "busiest_minute_factor": world.activity.max(axis=1),
            "mirrored": services.mirrored,
            "cpu_limit_cores": world.service_sizes.limit[:, CPU] / 1000,
            "memory_limit_gib": world.service_sizes.limit[:, MEMORY] / BYTES_PER_GIB,
            "cpu_request_cores": world.service_sizes.request[:, CPU] / 1000,
            "memory_request_gib": world.service_sizes.request[:, MEMORY] / BYTES_PER_GIB,
        }
    )


@dataclass(frozen=True)
class _Series:
    """One resource of a group of nodes, shape (nodes, steps)."""

    name: str
    values: FloatArray

    def columns(self) -> dict[str, FloatArray]:
        return {
            f"{self.name}_mean": self.values.mean(axis=1),
            f"{self.name}_median": np.median(self.values, axis=1),
            f"{self.name}_std": self.values.std(axis=1),
            f"{self.name}_max": self.values.max(axis=1),
        }


def node_rows(world: World, plan: NodePlan, block: NodeBlock) -> pl.DataFrame:
    """Return one row per node of a group, with statistics over the printed values of its good rows.

    Standard deviations are of the population; ``util_diff`` is the mean of |CPU - memory|.
    """
    members = block.members
    counts = np.bincount(world.containers.node, minlength=world.preset.nodes)
    r = pl.Series(plan.pearson_r[members]).fill_nan(None)
    return pl.DataFrame(
        {
            "node_id": world.nodes.ids.gather(members),
            "zone": [plan.zones[member] for member in members],
            "pearson_r": r,
            "samples": np.full(len(members), block.cpu_fraction.shape[1]),
            "containers": counts[members],
            **_Series("cpu", block.cpu_fraction).columns(),
            **_Series("memory", block.memory_fraction).columns(),
            "util_diff": np.abs(block.cpu_fraction - block.memory_fraction).mean(axis=1),
            "above_one": _positive(plan.above_one_step[members]),
            "cpu_cores": world.node_sizes.capacity[members, CPU] / 1000,
            "memory_gib": world.node_sizes.capacity[members, MEMORY] / BYTES_PER_GIB,
        }
    )


def _positive(steps: IntArray) -> BoolArray:
    return np.asarray(steps >= 0)


def defect_table(defects: Iterable[Defect]) -> pl.DataFrame:
    """Return one row per planted defect, in file and line order."""
    rows = sorted(defects, key=lambda defect: (defect.source_file, defect.line))
    return pl.DataFrame(
        {
            "source_file": [row.source_file for row in rows],
            "line": [row.line for row in rows],
            "table": [row.table for row in rows],
            "defect": [row.name for row in rows],
            "action": [row.action for row in rows],
            "entity_id": [row.entity_id for row in rows],
        },
        schema_overrides={"line": pl.Int64, "entity_id": pl.String},
    )


#: Most vCPUs that a container is bound to, give or take one.
MOST_VCPUS = 4
#: Neighbours on a core press more than on its socket (Hestia, arXiv 2602.23758: |k1| >> |k2|).
K1, K2 = (0.15, 0.40), (0.03, 0.12)
NOISE_SD = 0.01
_ROUNDS = 200


@dataclass(frozen=True, kw_only=True)
class Planted:
    """The planted vCPUs of containers, and the cost of neighbours; arrays of shape (containers,).

    ``cpu_util`` is b0 + k1 * ``cpu_sc`` + k2 * ``cpu_ss`` with noise: CPU of neighbours on the same
    cores, and on the same socket.

    Parameters
    ----------
    cpu_list : tuple of str
        Empty for a container that found no free vCPUs.
    k1, k2, b0, profile : float64, shape (services,)
        ``profile`` is the mean CPU of the service's containers, which affects their neighbours.
    """

    room: VcpuPlaces
    bound: Bound
    cpu_list: tuple[str, ...]
    k1: FloatArray
    k2: FloatArray
    b0: FloatArray
    profile: FloatArray
    cpu_sc: FloatArray
    cpu_ss: FloatArray
    cpu_util: FloatArray


def plant(world: World) -> Planted:
    """Draw the vCPUs of each container, and its CPU use with the cost of its neighbours."""
    rng = world.seeds.stream("interference")
    lists = _bindings(world, rng)
    names = tuple(world.nodes.ids)
    room = make_room(names, dict(zip(names, _topologies(world), strict=True)))
    sizes = np.array([len(vcpus) for vcpus in lists])
    owner = np.repeat(np.arange(len(lists)), sizes)
    place = np.concatenate(lists).astype(np.int64) + room.offset[world.containers.node][owner]
    bound = Bound(owner, place, len(lists))
    service, many = world.containers.service, world.preset.services
    k1, k2 = rng.uniform(*K1, many), rng.uniform(*K2, many)
    b0 = np.clip(world.services.cpu_fraction, 0.05, 0.6)
    profile, core, socket = _settled(room, bound, service, b0, k1, k2)
    util = b0[service] + k1[service] * core + k2[service] * socket
    util += rng.normal(0, NOISE_SD, len(util))
    return Planted(
        room=room,
        bound=bound,
        cpu_list=tuple(spell_cpu_list(vcpus.tolist()) for vcpus in lists),
        k1=k1,
        k2=k2,
        b0=b0,
        profile=profile,
        cpu_sc=core,
        cpu_ss=socket,
        cpu_util=np.maximum(util, 0.001),
    )


def _vcpus(world: World) -> list[int]:
    """The number of vCPUs of each node."""
    counts: list[int] = (world.node_sizes.capacity[:, CPU] // 1000).tolist()
    return counts


def _topologies(world: World) -> list[Topology]:
    """The topology of each node."""
    kinds = {vcpus: linux_numbering(vcpus, SOCKETS) for vcpus in set(_vcpus(world))}
    return [kinds[vcpus] for vcpus in _vcpus(world)]


def _bindings(world: World, rng: np.random.Generator) -> list[IntArray]:
    """The vCPUs of each container: scattered free ones of one socket, so that all mixes occur."""
    topologies = _topologies(world)
    node = world.containers.node
    count = np.bincount(node, minlength=world.preset.nodes)
    lists: list[IntArray] = [np.empty(0, dtype=np.int64)] * len(node)
    order = np.argsort(node, kind="stable")
    starts = np.searchsorted(node[order], np.arange(world.preset.nodes + 1))
    for at in range(world.preset.nodes):
        topology = topologies[at]
        free = [rng.permutation(topology.vcpus_of(socket)) for socket in range(SOCKETS)]
        fair = int(0.9 * len(topology.ids) / max(count[at], 1))
        for container in order[starts[at] : starts[at + 1]].tolist():
            size = int(np.clip(fair, 1, MOST_VCPUS)) + int(rng.integers(-1, 2))
            socket = int(rng.integers(SOCKETS))
            if len(free[socket]) < size:
                socket = int(np.argmax([len(ids) for ids in free]))
            size = min(max(size, 1), len(free[socket]))
            lists[container] = np.sort(free[socket][:size])
            free[socket] = free[socket][size:]
    return lists


def _settled(  # noqa: PLR0917 - the model, in its order
    room: VcpuPlaces,
    bound: Bound,
    service: IntArray,
    b0: FloatArray,
    k1: FloatArray,
    k2: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The fixed point of profiles and of the pressure that they cause; it exists as k1 + k2 < 1."""
    profile = b0.copy()
    core = socket = np.zeros(bound.instances)
    for _ in range(_ROUNDS):
        core, socket = pressure(room, bound, profile[service])
        util = b0[service] + k1[service] * core + k2[service] * socket
        again = np.asarray(service_profile(service, util, len(b0)))
        if np.abs(again - profile).max() < 1e-13:
            break
        profile = again
    return profile, core, socket


def binding_table(world: World, planted: Planted) -> pl.DataFrame:
    """Return the truth about binding: one row per container."""
    service = world.containers.service
    return pl.DataFrame(
        {
            "container_id": world.containers.ids,
            "service_id": world.services.ids.gather(service),
            "node_id": world.nodes.ids.gather(world.containers.node),
            "cpu_list": planted.cpu_list,
            "b0": planted.b0[service],
            "k1": planted.k1[service],
            "k2": planted.k2[service],
            "cpu_profile": planted.profile[service],
            "cpu_sc": planted.cpu_sc,
            "cpu_ss": planted.cpu_ss,
            "cpu_util": planted.cpu_util,
        }
    )


def monitoring_table(world: World, planted: Planted) -> pl.DataFrame:
    """Return the rows of a monitor, as ``tracekit fit --binding`` takes them."""
    table = pl.DataFrame(
        {
            "instance_id": world.containers.ids,
            "node_ip": world.nodes.ids.gather(world.containers.node),
            "cpu_list": planted.cpu_list,
            "cpu_util": planted.cpu_util.round(6),
        }
    )
    return table.filter(pl.col("cpu_list") != "")


def topology_table(world: World) -> pl.DataFrame:
    """Return the topology of nodes: the rows that ``tracekit fit --topology`` takes."""
    return pl.DataFrame(
        {
            "node_ip": world.nodes.ids,
            "cpu_num_total": _vcpus(world),
            "socket_num": [SOCKETS] * world.preset.nodes,
        }
    )
