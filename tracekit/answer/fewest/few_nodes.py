"""One replay on some of the nodes: done here, by another process, or known from before."""

import functools
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tracekit.base.arrays import FloatArray, IntArray
from tracekit.base.crew import Crew, OnProgress
from tracekit.base.files.replacing import replaced_file
from tracekit.base.opened import read_bytes, read_text
from tracekit.base.seeds import order_seed
from tracekit.cluster.changed.on_nodes import on_nodes
from tracekit.cluster.losses import losing_zone
from tracekit.cluster.source import Source
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant, Sent
from tracekit.replay.runs.one import in_order, replay_nodes
from tracekit.replay.runs.replayer import fingerprint


@dataclass(frozen=True)
class Came:
    """What a replay came to.

    Parameters
    ----------
    row : dict
        Its row of a summary.
    asked, cpu_p99 : float64, shape (kept,)
        What containers requested of each node over time, of the resource with the largest share,
        and the 99th percentile of its CPU use over time; shares of capacity.
    highest : float64, shape (2, kept)
        The highest use of CPU and of memory.
    """

    row: dict[str, Any]
    asked: FloatArray
    cpu_p99: FloatArray
    highest: FloatArray


#: The fields of ``Came`` that are arrays, in order.
_ARRAYS = ("asked", "cpu_p99", "highest")
#: How many replays a search takes, about.
USUAL_REPLAYS = 20

#: Replays in an order of arrival on nodes at these positions, all of them where None is given; of
#: these the zone of this name is lost, none where it is empty.
Ask = Callable[[int, IntArray | None, str], Came]


class Here:
    """Replays in this process; it keeps the order of arrival that was asked for last."""

    def __init__(self, load: Workload, policy: Entrant, seed: int) -> None:
        self._load, self._policy, self._seed = load, policy, seed
        self._ordered = (0, load)

    def __call__(self, order: int, kept: IntArray | None, lost: str) -> Came:
        """Replay."""
        if order and self._ordered[0] != order:
            self._ordered = order, in_order(self._load, order_seed(self._seed, order))
        load = self._ordered[1] if order else self._load
        return _came(_on(load, kept, lost), self._policy, self._seed, order)


@dataclass(frozen=True)
class ByCrew:
    """Replays by a crew, which reads the workload where it is shared."""

    crew: Crew
    source: Source
    policy: Sent
    seed: int

    def __call__(self, order: int, kept: IntArray | None, lost: str) -> Came:
        """Replay, and wait for it."""
        nodes = None if kept is None else tuple(kept.tolist())
        task = FewNodesTask(self.source, self.policy, self.seed, order, nodes, lost)
        return self.crew.submit(task).result()


@dataclass(frozen=True)
class FewNodesTask:
    """A replay on some of the nodes that can be sent to another process."""

    source: Source
    policy: Sent
    seed: int
    order: int
    kept: tuple[int, ...] | None
    lost: str

    def run(self, _: OnProgress) -> Came:
        """Read the workload, unless a task before had the same, and replay."""
        load = _ordered(self.source, order_seed(self.seed, self.order) if self.order else None)
        kept = None if self.kept is None else np.array(self.kept, dtype=np.int64)
        return _came(_on(load, kept, self.lost), self.policy.entrant, self.seed, self.order)


@functools.lru_cache(maxsize=1)
def _loaded(source: Source) -> Workload:
    return source.load()


def forget() -> None:
    """Forget the workloads of an earlier study: the store may hold others now."""
    _loaded.cache_clear()
    _ordered.cache_clear()


# as many as are searched by default, for the tasks of one process are of all orders
@functools.lru_cache(maxsize=6)
def _ordered(source: Source, seed: int | None) -> Workload:
    load = _loaded(source)
    return load if seed is None else in_order(load, seed)


def _on(load: Workload, kept: IntArray | None, lost: str) -> Workload:
    load = load if kept is None else on_nodes(load, kept)
    return losing_zone(load, lost) if lost else load


def _came(load: Workload, policy: Entrant, seed: int, order: int) -> Came:
    found, use = replay_nodes(load, policy, order_seed(seed, order), replays=USUAL_REPLAYS)
    placed = found.placements["node"].fill_null(-1).to_numpy().astype(np.int64)
    return Came(found.row, asked_over_time(load, placed), use.cpu_p99, use.highest)


def asked_over_time(load: Workload, node: IntArray) -> FloatArray:
    """What placed containers asked of each node over time, of its fullest resource, (nodes,).

    Daemons are not counted: they go with their node.

    Parameters
    ----------
    node : int64, shape (containers,)
        Where each container was placed last, -1 for never.
    """
    counted = node >= 0
    if load.rules.daemon is not None:
        counted &= ~load.rules.daemon
    who = np.flatnonzero(counted)
    end = int(load.use.times_ms[-1]) + load.use.step_ms
    there = np.minimum(load.containers.departure_ms[who], end) - np.minimum(
        load.containers.arrival_ms[who], end
    )
    asked = np.zeros(load.nodes.capacity.shape)
    np.add.at(asked, node[who], load.containers.request[who] * there[:, None].astype(np.float64))
    span = max(end - int(load.use.times_ms[0]), 1)
    share = asked / np.maximum(load.nodes.capacity, 1) / span
    return np.asarray(share.max(axis=1))


def told_of(ask: Ask, done: Callable[[], None]) -> Ask:
    """An ``Ask`` that calls ``done`` after each replay."""

    def asked(order: int, kept: IntArray | None, lost: str) -> Came:
        came = ask(order, kept, lost)
        done()
        return came

    return asked


class Remembered:
    """Replays that are kept in a folder, each under everything that its result depends on.

    A damaged file does not count. The folder is removed once the study is written.
    """

    def __init__(
        self, ask: Ask, folder: Path, *, load: Workload, policy: Entrant, seed: int
    ) -> None:
        self._ask, self._folder = ask, folder
        # a user's own policy is what its file says
        own = b"".join(read_bytes(Path(file)) for file in policy.written_in())
        self._about = f"{fingerprint(load)}\n{policy}\n{seed}\n".encode() + own

    def __call__(self, order: int, kept: IntArray | None, lost: str) -> Came:
        """Replay, or remember."""
        which = b"all" if kept is None else kept.tobytes()
        name = hashlib.sha256(self._about + f"\n{order}\n{lost}\n".encode() + which).hexdigest()[
            :24
        ]
        path = self._folder / f"{name}.json"
        known = _read(path)
        if known is None:
            known = self._ask(order, kept, lost)
            _write(path, known)
        return known


def _read(path: Path) -> Came | None:
    try:
        digest, _, text = read_text(path).partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    if digest != hashlib.sha256(text.encode()).hexdigest():
        return None
    found = json.loads(text)
    return Came(found["row"], *(np.array(found[name]) for name in _ARRAYS))


def _write(path: Path, came: Came) -> None:
    """A file is there whole or not at all."""
    arrays = {name: getattr(came, name).tolist() for name in _ARRAYS}
    text = json.dumps({"row": came.row, **arrays}, default=lambda value: value.item())
    text = f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}"
    with replaced_file(path, follow=False, durable=False) as made:
        made.write_text(text, encoding="utf-8")
