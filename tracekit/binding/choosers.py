"""Choosers of host, socket and vCPUs: the patent's policy, its rivals, the recorded binding."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Protocol, get_args

import numpy as np
import polars as pl

from tracekit.base import parameters
from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.result_folder import read_frame
from tracekit.base.parameters import About
from tracekit.binding.vcpu_state import CANDIDATES, STEP, VcpuState
from tracekit.cluster.workload import Workload
from tracekit.interference.room import VcpuPlaces
from tracekit.interference.topology import parse_cpu_list
from tracekit.policy.entrant import Entrant, parse_entrant
from tracekit.store.folder import Store
from tracekit.store.query.run import open_database

# The choice of vCPUs on a chosen host. ``whole_cores`` follows kubelet's static CPU manager policy
# (kubernetes, pkg/kubelet/cm/cpumanager/cpu_assignment.go): free cores come first, and single
# threads only for a rest that does not fill a core, first on cores that are shared already.

Bind = Literal["lowest_free", "random_free", "whole_cores", "least_interference"]
Which = Literal["first", "emptiest"]


def bind_on(
    state: VcpuState,
    instance: int,
    size: int,
    host: int,
    bind: Bind,
    rng: np.random.Generator,
    which: Which = "first",
) -> tuple[int, IntArray] | None:
    """Return a socket of a host and ``size`` free places (vCPUs) on it; None if none has enough.

    Parameters
    ----------
    bind : see the field of ``HostThenBind``; 'least_interference' ignores ``which``
    which : {'first', 'emptiest'}
        Which of the sockets with enough free vCPUs is taken. For ``bind`` 'whole_cores' only those
        with the most free cores count. For 'random_free', 'first' means a random socket.
    """
    if bind == "least_interference":
        return state.best_on(instance, host)
    sockets = state.sockets_of(host)
    sockets = sockets[state.occupancy.free[sockets] >= size]
    if not len(sockets):
        return None
    if bind == "random_free" and which == "first":
        socket = int(sockets[rng.integers(len(sockets))])
    else:
        if bind == "whole_cores":
            sockets = _with_most_cores(state, sockets, size)
        best = np.argmax(state.occupancy.free[sockets]) if which == "emptiest" else 0
        socket = int(sockets[best])
    free = state.free_places(socket)
    if bind == "random_free":
        return socket, np.sort(rng.permutation(free)[:size])
    return socket, whole_cores(state, free, size) if bind == "whole_cores" else free[:size]


def whole_cores(state: VcpuState, free: IntArray, size: int) -> IntArray:
    """Return ``size`` of a socket's free places (vCPUs), ascending. Wholly free cores come first.

    Parameters
    ----------
    free : int64, shape (free places,), ascending
    """
    mates = state.room.mates[free]
    whole = _whole(state, free)
    core = np.min(np.column_stack([free, np.where(mates >= 0, mates, free[:, None])]), axis=1)
    # the lowest free cores, as many as the size holds
    cores = np.sort(core[whole])
    ends = np.concatenate([[0], np.flatnonzero(np.diff(cores)) + 1, [len(cores)]])
    filled = ends[np.searchsorted(ends, size, side="right") - 1]
    full = whole & (np.searchsorted(cores, core) < filled)
    rest = np.flatnonzero(~full)
    # the rest goes to shared cores, before it takes threads of a free core
    rest = rest[np.lexsort((free[rest], whole[rest]))][: size - int(full.sum())]
    return np.sort(np.concatenate([free[full], free[rest]]))


def _whole(state: VcpuState, free: IntArray) -> np.ndarray:
    """Whether each free place is on a core without a thread in use."""
    mates = state.room.mates[free]
    taken = (mates >= 0) & (state.occupancy.owner[np.maximum(mates, 0)] >= 0)
    return np.asarray(~taken.any(axis=1))


def _with_most_cores(state: VcpuState, sockets: IntArray, size: int) -> IntArray:
    """The sockets with the most vCPUs on free cores, up to the size."""
    threads = state.room.mates.shape[1] + 1
    wanted = size - size % threads
    room = [int(_whole(state, state.free_places(int(one))).sum()) for one in sockets]
    enough = np.minimum(room, wanted)
    return np.asarray(sockets[enough == enough.max()])


OnePerHost = Annotated[bool, About("Whether a host may run only one container of a service.")]


class Chooser(Protocol):
    """A rule that chooses the host, the socket and the vCPUs of each container."""

    def choose(
        self, state: VcpuState, instance: int, size: int, rng: np.random.Generator
    ) -> tuple[int, int, IntArray] | None:
        """Return the host, socket and places (vCPUs) of a container, or None if it must wait.

        A socket of -1 means that the container runs on the host without vCPUs of its own.
        """


@dataclass(frozen=True, kw_only=True)
class Interference:
    """A chooser of the vCPUs of least predicted interference on any host (patent CN116795487A)."""

    name: ClassVar[str] = "interference"

    choice: Annotated[
        Literal["score", "delta"],
        About(
            "delta: the rise of the socket's interference; score: its interference after placing,"
            " as printed."
        ),
    ] = "delta"
    step: Annotated[int, About("Windows of free vCPUs start at every step-th.", minimum=1)] = STEP
    candidates: Annotated[
        Literal["ids", "cores", "both"],
        About(
            "ids: windows of free vCPUs by id, as printed, seldom with both threads of a core;"
            " cores: windows by core; both: the cheaper of these."
        ),
    ] = "both"
    anti_affinity: OnePerHost = True

    def __post_init__(self) -> None:
        parameters.check_ranges(self)

    def choose(
        self,
        state: VcpuState,
        instance: int,
        size: int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[int, int, IntArray] | None:
        """Return host, socket and vCPUs with the lowest predicted interference; None to wait."""
        if size == 0:
            return _unbound(state, instance, anti_affinity=self.anti_affinity)
        best = state.least_interference(
            instance,
            delta=self.choice == "delta",
            step=self.step,
            candidates=CANDIDATES[self.candidates],
            apart=self.anti_affinity,
        )
        if best is None:
            return None
        socket, places = best
        return int(state.occupancy.host[socket]), socket, places


@dataclass(frozen=True, kw_only=True)
class HostThenBind:
    """A chooser that takes a host by its free vCPUs, and then vCPUs on one of its sockets."""

    name: ClassVar[str] = "host_then_bind"

    host: Annotated[
        Literal["least_allocated", "first_fit"],
        About(
            "least_allocated: the host with the most free vCPUs; first_fit: the first with room."
        ),
    ] = "least_allocated"
    bind: Annotated[
        Bind,
        About(
            "lowest_free: the lowest ids; whole_cores: free cores, as kubelet's static policy;"
            " random_free: random ids of a random socket; least_interference: the best window of"
            " the host."
        ),
    ] = "lowest_free"
    socket: Annotated[Which, About("The socket among those with room: first, or emptiest.")] = (
        "first"
    )
    anti_affinity: OnePerHost = True

    def choose(
        self, state: VcpuState, instance: int, size: int, rng: np.random.Generator
    ) -> tuple[int, int, IntArray] | None:
        """Return the preferred host with room, a socket and vCPUs; None if no host has room."""
        if size == 0:
            return _unbound(state, instance, anti_affinity=self.anti_affinity)
        room = state.hosts_with_room(size)
        if self.anti_affinity:
            room &= state.hosts_without(instance)
        if not room.any():
            return None
        free = np.where(room, state.free_vcpus(), -1) if self.host == "least_allocated" else room
        host = int(np.argmax(free))
        bound = bind_on(state, instance, size, host, self.bind, rng, self.socket)
        return None if bound is None else (host, *bound)


@dataclass(frozen=True, kw_only=True)
class Following:
    """A chooser that takes each container's host from another replay, and vCPUs by ``bind``."""

    label: str
    host: IntArray
    bind: Bind

    def choose(
        self, state: VcpuState, instance: int, size: int, rng: np.random.Generator
    ) -> tuple[int, int, IntArray] | None:
        """Return the other replay's host, and a socket with room or -1; None if it has no host."""
        host = int(self.host[instance])
        if host < 0:
            return None
        bound = bind_on(state, instance, size, host, self.bind, rng) if size else None
        return (host, *bound) if bound else (host, -1, np.empty(0, dtype=np.int64))


def _unbound(
    state: VcpuState, instance: int, *, anti_affinity: bool
) -> tuple[int, int, IntArray] | None:
    """The first allowed host for a container without a vCPU, which is bound to none."""
    room = state.hosts_without(instance) if anti_affinity else np.ones(1, dtype=np.bool_)
    if not room.any():
        return None
    return int(np.argmax(room)), -1, np.empty(0, dtype=np.int64)


#: Short names of common ways to bind.
NAMED = {
    "lowest_free": HostThenBind(host="first_fit", bind="lowest_free"),
    "least_allocated": HostThenBind(host="least_allocated", bind="lowest_free"),
    "random_free": HostThenBind(host="least_allocated", bind="random_free"),
    "emptiest_socket": HostThenBind(bind="lowest_free", socket="emptiest"),
    "whole_cores": HostThenBind(bind="whole_cores"),
    "whole_cores_emptiest": HostThenBind(bind="whole_cores", socket="emptiest"),
}


#: The name of the way that repeats the recorded binding.
RECORDED = "recorded"


@dataclass(frozen=True, kw_only=True)
class Follow:
    """A way to bind: a placement policy chooses the host, and ``bind`` chooses its vCPUs."""

    policy: Entrant
    bind: Bind


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to bind containers: ``of``, parsed from ``text``, or None for the recorded binding."""

    text: str
    of: Interference | HostThenBind | Follow | None = None


def parse_ways(texts: Iterable[str]) -> tuple[Way, ...]:
    """Return the ways to bind that these texts name, without duplicates.

    A text is ``recorded``, ``interference[...]``, ``host_then_bind[...]``, a name of ``NAMED``, or
    ``POLICY+BIND``, in which POLICY is any placement policy and BIND a value of ``Bind``. Raises
    TracekitError for an unknown name or parameter.
    """
    return tuple(_parse_way(text) for text in dict.fromkeys(text.strip() for text in texts))


def _parse_way(text: str) -> Way:
    if text == RECORDED:
        return Way(text=text)
    policy, _, bind = text.rpartition("+")
    binds = {one: one for one in get_args(Bind)}
    if policy and bind in binds:
        return Way(text=text, of=Follow(policy=parse_entrant(policy), bind=binds[bind]))
    name, given = parameters.split(text)
    kinds = {kind.name: kind for kind in (Interference, HostThenBind)}
    if name in NAMED and not given:
        return Way(text=text, of=NAMED[name])
    if name not in kinds:
        names = [*NAMED, *kinds]
        close = nearest(name, names)
        raise TracekitError(
            f"no way to bind named '{name}'; known: {', '.join(names)}",
            hint=f"did you mean '{close}'?"
            if close
            else "or POLICY+whole_cores, POLICY+lowest_free, POLICY+random_free",
        )
    return Way(text=text, of=parameters.build(kinds[name], name, given))


#: The node and the vCPUs, in Linux's spelling, of each container.
Bindings = Mapping[str, tuple[str, str]]
_NOWHERE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A chooser that repeats the recorded hosts and vCPUs of containers.

    A container gets its recorded number of vCPUs, whatever it requests. If one of these vCPUs is in
    use, or they are on several sockets, it runs on its recorded host without vCPUs of its own.

    Parameters
    ----------
    host : int64, shape (containers,)
        -1 for an unknown host.
    places : sequence of int64 arrays
        The places of each container's vCPUs; empty if unknown.
    """

    host: IntArray
    places: Sequence[IntArray]

    def size(self, wanted: IntArray) -> IntArray:
        """Return each container's number of recorded vCPUs, or its ``wanted`` number if unknown."""
        had = np.array([len(places) for places in self.places], dtype=np.int64)
        return np.where(had > 0, had, wanted)

    def choose(
        self,
        state: VcpuState,
        instance: int,
        size: int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[int, int, IntArray] | None:
        """Return the recorded host, with the recorded vCPUs if they are free and on one socket."""
        host, places = int(self.host[instance]), self.places[instance]
        if host < 0:
            return None
        sockets = state.room.socket[places]
        free = len(places) == size > 0 and bool((state.occupancy.owner[places] < 0).all())
        if not free or not on_one_socket(state.room, places):
            return host, -1, _NOWHERE
        return host, int(sockets[0]), places


def on_one_socket(room: VcpuPlaces, places: IntArray) -> bool:
    """Return whether there is at least one place, and all are on one socket."""
    return len(np.unique(room.socket[places])) == 1


def recorded_bindings(store: Store) -> dict[str, tuple[str, str]]:
    """Return node and vCPUs, as ``("n1", "0-3,8")``, of each container with both in the store."""
    if not store.manifest.parts("container"):
        return {}
    with open_database(store) as database:
        rows = database.frame(
            "SELECT container, node, vcpus FROM container"
            " WHERE vcpus IS NOT NULL AND node IS NOT NULL ORDER BY container",
            {},
        )
    return {container: (node, vcpus) for container, node, vcpus in rows.iter_rows()}


def bindings_of_fit(folder: Path) -> dict[str, tuple[str, str]]:
    """Return node and vCPUs of containers from a fit's folder; empty if it does not have them."""
    try:
        rows = read_frame(folder / "bindings.parquet").select("container", "node", "vcpus")
    except (OSError, pl.exceptions.PolarsError):
        return {}
    return {container: (node, vcpus) for container, node, vcpus in rows.iter_rows()}


def recorded_chooser(load: Workload, room: VcpuPlaces, bindings: Bindings) -> Recorded:
    """Return a chooser that repeats these bindings for the containers of a workload."""
    at = {name: number for number, name in enumerate(room.hosts)}
    hosts, places = [], []
    for container in load.containers.ids:
        node, vcpus = bindings.get(container, ("", ""))
        host = at.get(node, -1)
        hosts.append(host)
        places.append(_places(room, host, vcpus))
    return Recorded(host=np.array(hosts, dtype=np.int64), places=places)


def _places(room: VcpuPlaces, host: int, vcpus: str) -> IntArray:
    """The places of vCPUs on a host; none unless the host has all of them."""
    try:
        ids = np.array(sorted(parse_cpu_list(vcpus)), dtype=np.int64)
    except ValueError:
        return _NOWHERE
    if host < 0 or ids[-1] >= room.offset[host + 1] - room.offset[host]:
        return _NOWHERE
    places = room.offset[host] + ids
    return places if (room.socket[places] >= 0).all() else _NOWHERE
