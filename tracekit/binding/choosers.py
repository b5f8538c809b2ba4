"""Choosers of host, socket and vCPUs: the patent's policy, its rivals, and what was recorded."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, Protocol, get_args

import numpy as np
import polars as pl

from tracekit.base import parameters
from tracekit.base.arrays import IntArray
from tracekit.base.errors import TracekitError, nearest
from tracekit.base.files.parquet import read_frame
from tracekit.base.parameters import About
from tracekit.binding.vcpu_state import CANDIDATES, STEP, VcpuState
from tracekit.cluster.workload import Workload
from tracekit.interference.room import Room
from tracekit.interference.topology import parse_cpu_list
from tracekit.policy.entrant import Entrant, parse_entrant
from tracekit.store.folder import Store
from tracekit.store.query.run import open_database

# Ways to take vCPUs of a host that is chosen already. ``whole_cores`` is the habit of kubelet's
# static CPU manager policy (kubernetes, pkg/kubelet/cm/cpumanager/cpu_assignment.go): cores of
# which no thread is taken come first, single threads only for what does not fill a core, and then
# threads of cores that are shared already.

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
    """A socket of the host and free places on it; None where no socket has so many.

    Parameters
    ----------
    which : {'first', 'emptiest'}
        Which of the sockets with room; of sockets as empty the first. ``whole_cores`` prefers those
        with enough whole cores, ``random_free`` takes any, ``least_interference`` asks the model.
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
    """``size`` of the free places of a socket, whole cores first; ascending.

    Parameters
    ----------
    free : int64, shape (free places,), ascending
    """
    mates = state.room.mates[free]
    whole = _whole(state, free)
    core = np.min(np.column_stack([free, np.where(mates >= 0, mates, free[:, None])]), axis=1)
    # the lowest cores, as many as are not too much
    cores = np.sort(core[whole])
    ends = np.concatenate([[0], np.flatnonzero(np.diff(cores)) + 1, [len(cores)]])
    filled = ends[np.searchsorted(ends, size, side="right") - 1]
    full = whole & (np.searchsorted(cores, core) < filled)
    rest = np.flatnonzero(~full)
    # what is left goes to cores that are shared already, before it breaks a whole one
    rest = rest[np.lexsort((free[rest], whole[rest]))][: size - int(full.sum())]
    return np.sort(np.concatenate([free[full], free[rest]]))


def _whole(state: VcpuState, free: IntArray) -> np.ndarray:
    """Which free places lie on cores with no thread in use."""
    mates = state.room.mates[free]
    taken = (mates >= 0) & (state.occupancy.owner[np.maximum(mates, 0)] >= 0)
    return np.asarray(~taken.any(axis=1))


def _with_most_cores(state: VcpuState, sockets: IntArray, size: int) -> IntArray:
    """The sockets on which most of so many vCPUs would fill whole cores."""
    threads = state.room.mates.shape[1] + 1
    wanted = size - size % threads
    room = [int(_whole(state, state.free_places(int(one))).sum()) for one in sockets]
    enough = np.minimum(room, wanted)
    return np.asarray(sockets[enough == enough.max()])


OnePerHost = Annotated[bool, About("Whether a host may run one container of a service only.")]


class Chooser(Protocol):
    """Decides where a container goes."""

    def choose(
        self, state: VcpuState, instance: int, size: int, rng: np.random.Generator
    ) -> tuple[int, int, IntArray] | None:
        """Host, socket and places; socket -1 without places; None if there is no room now."""


@dataclass(frozen=True, kw_only=True)
class Interference:
    """Host, socket and vCPUs where the predicted interference is lowest (CN116795487A)."""

    name: ClassVar[str] = "interference"

    choice: Annotated[
        Literal["score", "delta"],
        About(
            "delta: by how much the socket's interference rises; score: what it is after, as"
            " printed."
        ),
    ] = "delta"
    step: Annotated[int, About("Windows of free vCPUs start at every step-th.", minimum=1)] = STEP
    candidates: Annotated[
        Literal["ids", "cores", "both"],
        About(
            "ids: windows of free vCPUs by id, as printed, in which both threads of a core seldom"
            " lie; cores: by core; both: whichever costs less."
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
        """The lowest score; ties by host, socket and first vCPU."""
        if size == 0:
            return _unbound(state, instance, anti_affinity=self.anti_affinity)
        found = state.least_interference(
            instance,
            delta=self.choice == "delta",
            step=self.step,
            candidates=CANDIDATES[self.candidates],
            apart=self.anti_affinity,
        )
        if found is None:
            return None
        socket, places = found
        return int(state.occupancy.host[socket]), socket, places


@dataclass(frozen=True, kw_only=True)
class HostThenBind:
    """A host that a scheduler chooses by its vCPUs alone, and then vCPUs of one of its sockets."""

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
            "lowest_free: the lowest ids; whole_cores: cores that nobody has a thread of, as"
            " kubelet's static policy; random_free: any ids of any socket; least_interference: the"
            " best window of the host."
        ),
    ] = "lowest_free"
    socket: Annotated[Which, About("Which socket with room: first, or emptiest.")] = "first"
    anti_affinity: OnePerHost = True

    def choose(
        self, state: VcpuState, instance: int, size: int, rng: np.random.Generator
    ) -> tuple[int, int, IntArray] | None:
        """The first of the best hosts."""
        if size == 0:
            return _unbound(state, instance, anti_affinity=self.anti_affinity)
        room = state.hosts_with_room(size)
        if self.anti_affinity:
            room &= state.hosts_without(instance)
        if not room.any():
            return None
        free = np.where(room, state.free_vcpus(), -1) if self.host == "least_allocated" else room
        host = int(np.argmax(free))
        found = bind_on(state, instance, size, host, self.bind, rng, self.socket)
        return None if found is None else (host, *found)


@dataclass(frozen=True, kw_only=True)
class Following:
    """Hosts that another replay chose, with vCPUs found on them; ``host`` is by instance."""

    label: str
    host: IntArray
    bind: Bind

    def choose(
        self, state: VcpuState, instance: int, size: int, rng: np.random.Generator
    ) -> tuple[int, int, IntArray] | None:
        """The host of the replay; where no socket of it has room, the container stays unbound."""
        host = int(self.host[instance])
        if host < 0:
            return None
        found = bind_on(state, instance, size, host, self.bind, rng) if size else None
        return (host, *found) if found else (host, -1, np.empty(0, dtype=np.int64))


def _unbound(
    state: VcpuState, instance: int, *, anti_affinity: bool
) -> tuple[int, int, IntArray] | None:
    """A request of no vCPU is bound to none: the first host that may have it."""
    room = state.hosts_without(instance) if anti_affinity else np.ones(1, dtype=np.bool_)
    if not room.any():
        return None
    return int(np.argmax(room)), -1, np.empty(0, dtype=np.int64)


#: Short names of what is usually compared.
NAMED = {
    "lowest_free": HostThenBind(host="first_fit", bind="lowest_free"),
    "least_allocated": HostThenBind(host="least_allocated", bind="lowest_free"),
    "random_free": HostThenBind(host="least_allocated", bind="random_free"),
    "emptiest_socket": HostThenBind(bind="lowest_free", socket="emptiest"),
    "whole_cores": HostThenBind(bind="whole_cores"),
    "whole_cores_emptiest": HostThenBind(bind="whole_cores", socket="emptiest"),
}


#: The way to bind that repeats what was recorded.
RECORDED = "recorded"


@dataclass(frozen=True, kw_only=True)
class Follow:
    """Hosts by a placement policy, which knows no vCPUs, and vCPUs on them by ``bind``."""

    policy: Entrant
    bind: Bind


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to bind, under the text that spells it; without ``of`` it is the recorded one."""

    text: str
    of: Interference | HostThenBind | Follow | None = None


def parse_ways(texts: Iterable[str]) -> tuple[Way, ...]:
    """The ways that texts spell, each once.

    A text is ``recorded``, ``interference[...]``, ``host_then_bind[...]``, a name of ``NAMED``, or
    ``POLICY+BIND`` with any placement policy.

    Raises
    ------
    TracekitError
        For an unknown name or parameter.
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
        known = [*NAMED, *kinds]
        close = nearest(name, known)
        raise TracekitError(
            f"no way to bind named '{name}'; known: {', '.join(known)}",
            hint=f"did you mean '{close}'?"
            if close
            else "or POLICY+whole_cores, POLICY+lowest_free, POLICY+random_free",
        )
    return Way(text=text, of=parameters.build(kinds[name], name, given))


#: For each container the node where it ran, and its vCPUs as Linux writes them.
Bindings = Mapping[str, tuple[str, str]]
_NOWHERE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Hosts and vCPUs where containers were.

    A container has as many vCPUs as it had then, whatever it asks for (``size``). It stays unbound
    on its host where somebody else has one of them, or where they lie across sockets.

    Parameters
    ----------
    host : int64, shape (containers,)
        -1 for one whose host is not known.
    places : sequence of int64 arrays
    """

    host: IntArray
    places: Sequence[IntArray]

    def size(self, wanted: IntArray) -> IntArray:
        """How many vCPUs each container had, or wants where that is not known."""
        had = np.array([len(places) for places in self.places], dtype=np.int64)
        return np.where(had > 0, had, wanted)

    def choose(
        self,
        state: VcpuState,
        instance: int,
        size: int,
        rng: np.random.Generator,  # noqa: ARG002
    ) -> tuple[int, int, IntArray] | None:
        """The recorded host, with the recorded vCPUs if they can be had."""
        host, places = int(self.host[instance]), self.places[instance]
        if host < 0:
            return None
        sockets = state.room.socket[places]
        free = len(places) == size > 0 and bool((state.occupancy.owner[places] < 0).all())
        if not free or not on_one_socket(state.room, places):
            return host, -1, _NOWHERE
        return host, int(sockets[0]), places


def on_one_socket(room: Room, places: IntArray) -> bool:
    """Whether there are places, all of one socket."""
    return len(np.unique(room.socket[places])) == 1


def recorded_bindings(store: Store) -> dict[str, tuple[str, str]]:
    """Node and vCPUs of every container of which both are recorded; empty without any."""
    if not store.manifest.parts("container"):
        return {}
    with open_database(store) as database:
        found = database.frame(
            "SELECT container, node, vcpus FROM container"
            " WHERE vcpus IS NOT NULL AND node IS NOT NULL ORDER BY container",
            {},
        )
    return {container: (node, vcpus) for container, node, vcpus in found.iter_rows()}


def bindings_of_fit(folder: Path) -> dict[str, tuple[str, str]]:
    """As ``recorded_bindings``, from the rows that a fit was made from; empty of a proxy."""
    try:
        found = read_frame(folder / "bindings.parquet").select("container", "node", "vcpus")
    except (OSError, pl.exceptions.PolarsError):
        return {}
    return {container: (node, vcpus) for container, node, vcpus in found.iter_rows()}


def recorded_chooser(load: Workload, room: Room, bindings: Bindings) -> Recorded:
    """The way to bind that repeats what was, for the containers of a workload."""
    at = {name: number for number, name in enumerate(room.hosts)}
    hosts, places = [], []
    for container in load.containers.ids:
        node, vcpus = bindings.get(container, ("", ""))
        host = at.get(node, -1)
        hosts.append(host)
        places.append(_places(room, host, vcpus))
    return Recorded(host=np.array(hosts, dtype=np.int64), places=places)


def _places(room: Room, host: int, vcpus: str) -> IntArray:
    """Places of vCPUs on a host; none where the host has not all of them."""
    try:
        ids = np.array(sorted(parse_cpu_list(vcpus)), dtype=np.int64)
    except ValueError:
        return _NOWHERE
    if host < 0 or ids[-1] >= room.offset[host + 1] - room.offset[host]:
        return _NOWHERE
    places = room.offset[host] + ids
    return places if (room.socket[places] >= 0).all() else _NOWHERE
