"""Planted interference: who is bound to which vCPUs, what that costs them, and what monitors say.

The usage tables of the trace do not know of it, as CTM21 does not: they are the same bytes with
and without. What is planted is in the monitoring rows alone, so that a fit can be checked:
``cpu = b0 + k1*cpu_sc + k2*cpu_ss + N(0, 0.01)``, b0, k1 and k2 being the service's.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.interference.vcpu.declared import SOCKETS
from tracekit.interference.vcpu.pressure import Bound, pressure, service_profile
from tracekit.interference.vcpu.room import Room, make_room
from tracekit.interference.vcpu.topology import Topology, linux_numbering, spell_cpu_list
from tracekit.synth.sizes import CPU
from tracekit.synth.world import World

#: Most vCPUs that a container is bound to, give or take one.
MOST_VCPUS = 4
#: Those on the same core press more than those beside (Hestia, arXiv 2602.23758: |k1| >> |k2|).
K1, K2 = (0.15, 0.40), (0.03, 0.12)
NOISE_SD = 0.01
_ROUNDS = 200


@dataclass(frozen=True, kw_only=True)
class Planted:
    """What is planted; arrays of shape (containers,) unless said.

    Parameters
    ----------
    cpu_list : tuple of str
        Empty for a container that found no free vCPUs.
    k1, k2, b0, profile : float64, shape (services,)
        ``profile`` is the mean CPU of the service's containers, what presses on others.
    """

    room: Room
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
    """Bind the containers of a world and let their neighbours cost them."""
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
    """How many vCPUs each node has."""
    found: list[int] = (world.node_sizes.capacity[:, CPU] // 1000).tolist()
    return found


def _topologies(world: World) -> list[Topology]:
    """How each node is built."""
    kinds = {vcpus: linux_numbering(vcpus, SOCKETS) for vcpus in set(_vcpus(world))}
    return [kinds[vcpus] for vcpus in _vcpus(world)]


def _bindings(world: World, rng: np.random.Generator) -> list[IntArray]:
    """The vCPUs of each container: free ones of one socket, scattered, so that all mixes occur."""
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
    room: Room, bound: Bound, service: IntArray, b0: FloatArray, k1: FloatArray, k2: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Profiles that agree with the pressure they make: the fixed point, as k1 + k2 < 1."""
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
    """The truth about binding: one row per container."""
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
    """The rows of a monitor, as ``tracekit fit --binding`` takes them."""
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
    """How the nodes are built: the rows that ``tracekit fit --topology`` takes."""
    return pl.DataFrame(
        {
            "node_ip": world.nodes.ids,
            "cpu_num_total": _vcpus(world),
            "socket_num": [SOCKETS] * world.preset.nodes,
        }
    )
