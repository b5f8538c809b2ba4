"""One replay on some of the nodes: in this process, in another one, or read from a folder."""

import functools
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray, order_seed
from tracekit.base.crew import Crew, OnProgress
from tracekit.base.files.replacing import replaced_file
from tracekit.base.opened import read_bytes, read_text
from tracekit.cluster.losses import losing_zone
from tracekit.cluster.on_nodes import on_nodes
from tracekit.cluster.source import Source
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant, Sent
from tracekit.replay.runs.one import in_order, replay_nodes
from tracekit.replay.runs.replayer import fingerprint


@dataclass(frozen=True)
class Replayed:
    """The measures of one replay, and the use of each node that stays.

    Parameters
    ----------
    row : dict
        The row of a summary.
    requested : float64, shape (staying,)
        The requests on each node over time as a share of its capacity, of the resource with the
        largest share.
    cpu_p99 : float64, shape (staying,)
        The 99th percentile of each node's CPU use over time, as a share of its capacity.
    highest : float64, shape (2, staying)
        The highest use of CPU and of memory of each node, as a share of its capacity.
    """

    row: dict[str, Any]
    requested: FloatArray
    cpu_p99: FloatArray
    highest: FloatArray


#: The fields of ``Replayed`` that are arrays, in order.
_ARRAYS = ("requested", "cpu_p99", "highest")
#: The usual number of replays of a search.
USUAL_REPLAYS = 20

#: A function that replays: it takes an order of arrival, positions of nodes (None: all nodes), and
#: the name of a zone that is lost (empty: none).
ReplayOn = Callable[[int, IntArray | None, str], Replayed]


class LocalReplays:
    """A function that replays one policy on some nodes in this process; see ``ReplayOn``."""

    def __init__(self, load: Workload, policy: Entrant, seed: int) -> None:
        self._load, self._policy, self._seed = load, policy, seed
        self._ordered = (0, load)

    def __call__(self, order: int, staying: IntArray | None, lost: str) -> Replayed:
        """Replay in this process and return the result; see ``ReplayOn``."""
        if order and self._ordered[0] != order:
            self._ordered = order, in_order(self._load, order_seed(self._seed, order))
        load = self._ordered[1] if order else self._load
        return _replayed(_on(load, staying, lost), self._policy, self._seed, order)


@dataclass(frozen=True)
class CrewReplays:
    """A function that has a worker process replay one policy on some nodes; see ``ReplayOn``.

    The workers read the workload from files that they share.
    """

    crew: Crew
    source: Source
    policy: Sent
    seed: int

    def __call__(self, order: int, staying: IntArray | None, lost: str) -> Replayed:
        """Replay on a process of the crew and return the result; see ``ReplayOn``."""
        nodes = None if staying is None else tuple(staying.tolist())
        task = ReplayTask(self.source, self.policy, self.seed, order, nodes, lost)
        return self.crew.submit(task).result()


@dataclass(frozen=True)
class ReplayTask:
    """A worker's task: one replay on some of the nodes."""

    source: Source
    policy: Sent
    seed: int
    order: int
    staying: tuple[int, ...] | None
    lost: str

    def run(self, _: OnProgress) -> Replayed:
        """Read the workload, unless this process still has it, and replay."""
        load = _ordered(self.source, order_seed(self.seed, self.order) if self.order else None)
        staying = None if self.staying is None else np.array(self.staying, dtype=np.int64)
        return _replayed(_on(load, staying, self.lost), self.policy.entrant, self.seed, self.order)


@functools.lru_cache(maxsize=1)
def _loaded(source: Source) -> Workload:
    return source.load()


def forget() -> None:
    """Clear the workloads cached in this process, as the store may have changed."""
    _loaded.cache_clear()
    _ordered.cache_clear()


# as many as are searched by default, for the tasks of one process are of all orders
@functools.lru_cache(maxsize=6)
def _ordered(source: Source, seed: int | None) -> Workload:
    load = _loaded(source)
    return load if seed is None else in_order(load, seed)


def _on(load: Workload, staying: IntArray | None, lost: str) -> Workload:
    load = load if staying is None else on_nodes(load, staying)
    return losing_zone(load, lost) if lost else load


def _replayed(load: Workload, policy: Entrant, seed: int, order: int) -> Replayed:
    replayed, use = replay_nodes(load, policy, order_seed(seed, order), replays=USUAL_REPLAYS)
    placed = replayed.placements["node"].fill_null(-1).to_numpy().astype(np.int64)
    return Replayed(replayed.row, requested_over_time(load, placed), use.cpu_p99, use.highest)


def requested_over_time(load: Workload, node: IntArray) -> FloatArray:
    """Return the mean requests on each node over time, shape (nodes,).

    They are shares of capacity, of the resource with the largest share. Daemons are not counted, as
    they go with their node.

    Parameters
    ----------
    node : int64, shape (containers,)
        The last node of each container, -1 for none.
    """
    counted = node >= 0
    if load.rules.daemon is not None:
        counted &= ~load.rules.daemon
    rows = np.flatnonzero(counted)
    end = int(load.use.times_ms[-1]) + load.use.step_ms
    time_ms = np.minimum(load.containers.departure_ms[rows], end) - np.minimum(
        load.containers.arrival_ms[rows], end
    )
    requested = np.zeros(load.nodes.capacity.shape)
    np.add.at(
        requested, node[rows], load.containers.request[rows] * time_ms[:, None].astype(np.float64)
    )
    span = max(end - int(load.use.times_ms[0]), 1)
    share = requested / np.maximum(load.nodes.capacity, 1) / span
    return np.asarray(share.max(axis=1))


def counting(replays: ReplayOn, done: Callable[[], None]) -> ReplayOn:
    """Return a ``ReplayOn`` that calls ``done`` after each replay."""

    def counted(order: int, staying: IntArray | None, lost: str) -> Replayed:
        came = replays(order, staying, lost)
        done()
        return came

    return counted


class CachedReplays:
    """A ``ReplayOn`` that keeps each result in a file, and returns it when the same is asked again.

    A file is named by a hash of all that its result depends on. A damaged file is replayed again.
    The caller removes the folder once the study is written.
    """

    def __init__(
        self, replays: ReplayOn, folder: Path, *, load: Workload, policy: Entrant, seed: int
    ) -> None:
        self._replay_on, self._folder = replays, folder
        # a user's own policy is what its file says
        own = b"".join(read_bytes(Path(file)) for file in policy.written_in())
        self._about = f"{fingerprint(load)}\n{policy}\n{seed}\n".encode() + own

    def __call__(self, order: int, staying: IntArray | None, lost: str) -> Replayed:
        """Return the stored result; where there is none, replay and store the result."""
        which = b"all" if staying is None else staying.tobytes()
        name = hashlib.sha256(self._about + f"\n{order}\n{lost}\n".encode() + which).hexdigest()[
            :24
        ]
        path = self._folder / f"{name}.json"
        replayed = _read(path)
        if replayed is None:
            replayed = self._replay_on(order, staying, lost)
            _write(path, replayed)
        return replayed


def _read(path: Path) -> Replayed | None:
    try:
        digest, _, text = read_text(path).partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    if digest != hashlib.sha256(text.encode()).hexdigest():
        return None
    document = json.loads(text)
    return Replayed(document["row"], *(np.array(document[name]) for name in _ARRAYS))


def _write(path: Path, came: Replayed) -> None:
    """Write a result; an interrupted write leaves no file."""
    arrays = {name: getattr(came, name).tolist() for name in _ARRAYS}
    text = json.dumps({"row": came.row, **arrays}, default=lambda value: value.item())
    text = f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"
    with replaced_file(path, follow=False, durable=False) as made:
        made.write_text(text, encoding="utf-8")
