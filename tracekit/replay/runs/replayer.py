"""The replayer: replays policies in this process or by workers, and keeps finished replays."""

import dataclasses
import hashlib
import io
import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit._version import VERSION
from tracekit.base.crew import Crew, LostWorkerError, each_done
from tracekit.base.errors import TracekitError
from tracekit.base.files.places import check_no_link
from tracekit.base.files.replacing import replaced_file
from tracekit.base.opened import read_bytes
from tracekit.base.progress import SILENT, Progress
from tracekit.cluster.source import Source
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant, Sent
from tracekit.replay.engine.steps import SCHEMA as MOVES
from tracekit.replay.engine.steps import STAYS, step_schema, summed
from tracekit.replay.runs.one import Replayed, ReplayTask, in_order, replay_one

# Finished replays make a run resumable. They lie in a hidden folder beside the run folder, under a
# key of everything that they depend on: the workload's arrays, the seed, the version, the layout.
# The files hold JSON and Parquet, so that reading one runs no code. A hash of path and bytes
# detects a file that is damaged or was moved.

_FRAMES = ("steps", "placements", "moves", "stays")
_DIGEST_BYTES = 16


#: Types that ``repr`` writes in full, alone and in a list.
_WRITTEN = (str, bytes, int, float, type(None))


class DamagedReplayError(ValueError):
    """The file of a finished replay is damaged."""


class StoredReplays:
    """The files of a run's finished replays, from which an interrupted run resumes.

    Parameters
    ----------
    out : the run folder that will be written
    """

    def __init__(self, out: Path, load: Workload) -> None:
        self._folder = cache_folder(out) / fingerprint(load)
        self._layout = repr(_layout()).encode()

    def get(self, policy: Entrant, seed: int, repeat: int) -> Replayed | None:
        """Return a finished replay; None where it is not finished.

        Raises
        ------
        DamagedReplayError
            When its file is damaged.
        """
        path = self._path(policy, seed, repeat)
        try:
            data = read_bytes(path)
        except OSError:
            return None
        return _decoded(data, _place(path))

    def put(self, policy: Entrant, seed: int, repeat: int, replayed: Replayed) -> None:
        """Keep a finished replay; its file is written completely or not at all."""
        path = self._path(policy, seed, repeat)
        check_no_link((self._folder,))
        with replaced_file(path, follow=False, durable=False) as made:
            made.write_bytes(_encoded(replayed, _place(path)))

    def _path(self, policy: Entrant, seed: int, repeat: int) -> Path:
        # the bytes of a user's file identify the policy
        own = b"".join(read_bytes(Path(file)) for file in policy.written_in())
        shaped_by = f"{policy}\n{seed}\n{repeat}\n".encode() + own + self._layout
        return self._folder / f"{hashlib.sha256(shaped_by).hexdigest()[:24]}.replay"


def cache_folder(out: Path) -> Path:
    """Return the hidden folder of a run's finished replays, which lasts until the run is written.

    Raises TracekitError where a link stands in its place.
    """
    folder = out.parent / f".{out.name}.unfinished"
    check_no_link((folder,))
    return folder


def forget(out: Path) -> None:
    """Delete the finished replays of a run; they are needed until the run's results are written."""
    shutil.rmtree(cache_folder(out), ignore_errors=True)


def _place(path: Path) -> str:
    """The path of a finished replay within the hidden folder."""
    return f"{path.parent.name}/{path.name}"


def _encoded(replayed: Replayed, place: str) -> bytes:
    """The bytes of a finished replay: a hash, a line of JSON with sizes, the frames as Parquet."""
    frames = [_parquet(getattr(replayed, name)) for name in _FRAMES]
    head = {
        "row": replayed.row,
        "timing": replayed.timing,
        "digest": replayed.digest,
        "bytes": [len(one) for one in frames],
    }
    body = b"".join([json.dumps(head, default=_plain).encode(), b"\n", *frames])
    return _digest(place, body) + body


def _decoded(data: bytes, place: str) -> Replayed:
    body = data[_DIGEST_BYTES:]
    if _digest(place, body) != data[:_DIGEST_BYTES]:
        raise DamagedReplayError("its hash differs")
    line, _, frames = body.partition(b"\n")
    head = json.loads(line)
    sizes = head.pop("bytes")
    read: dict[str, Any] = {
        name: pl.read_parquet(io.BytesIO(frames[end - size : end]))
        for name, size, end in zip(_FRAMES, sizes, np.cumsum(sizes), strict=True)
    }
    return Replayed(**head, **read)


def _layout() -> tuple[object, ...]:
    """Columns and measures of a replay; a change of the code within a version changes them."""
    schema = step_schema()
    return schema, list(summed(schema)), MOVES, STAYS, [one.name for one in fields(Replayed)]


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    """A number of numpy as a number of Python, for JSON."""
    return value.item()


def _digest(place: str, body: bytes) -> bytes:
    digest = hashlib.blake2b(f"{place}\n".encode(), digest_size=_DIGEST_BYTES)
    digest.update(body)
    return digest.digest()


def fingerprint(load: Workload) -> str:
    """Return a hash of the workload and of tracekit's version."""
    digest = hashlib.blake2b(VERSION.encode(), digest_size=16)
    _feed(digest, load)
    return digest.hexdigest()


def replays_alike(load: Workload) -> str:
    """Return a hash of the parts of a workload that a replay depends on.

    The notes on the workload's origin are left out.
    """
    return fingerprint(
        dataclasses.replace(
            load,
            provenance=dataclasses.replace(
                load.provenance, assumptions={}, facts={}, quantities={}, remarks=()
            ),
        )
    )


def _feed(digest: hashlib.blake2b, value: Any) -> None:
    """Add a value to a hash: arrays by their bytes, containers by their parts, others by repr."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        # the repr of a large array leaves its middle out
        if value.dtype == object:
            _feed(digest, value.tolist())
        else:
            digest.update(np.ascontiguousarray(value).data)
    elif dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            digest.update(f"{field.name}=".encode())
            _feed(digest, getattr(value, field.name))
    elif isinstance(value, Mapping):
        _feed(digest, sorted(value.items()))
    elif isinstance(value, list | tuple) and not all(isinstance(one, _WRITTEN) for one in value):
        digest.update(f"{len(value)}:".encode())
        for one in value:
            _feed(digest, one)
    else:
        digest.update(repr(value).encode(errors="surrogatepass"))
        digest.update(b";")


@dataclass(frozen=True)
class Planned:
    """A planned replay: a policy, a seed and an order of arrival.

    Repeat 0 is the workload's own order. A replay of another order gives measures and no frames.
    """

    policy: Entrant
    seed: int
    repeat: int = 0


class Replayer:
    """Makes planned replays, in this process or by workers; the results are the same.

    Parameters
    ----------
    stored : StoredReplays, optional
        Finished replays are read from it and written to it.
    crew, source : optional
        The workers, and the source from which they read the workload. Without them this process
        replays.
    """

    def __init__(
        self,
        *,
        stored: StoredReplays | None = None,
        crew: Crew | None = None,
        source: Source | None = None,
    ) -> None:
        self._stored = stored
        self._crew = crew
        self._source = source

    def replay(
        self, load: Workload, planned: Sequence[Planned], progress: Progress = SILENT
    ) -> list[Replayed]:
        """Return one replay for each plan, in the order of the plans."""
        done = self._finished_of(planned, progress)
        waiting = {at: planned[at] for at, finished in done.items() if finished is None}
        if self._crew is not None and self._source is not None:
            replayed = self._elsewhere(waiting, progress)
        else:
            replayed = dict(self._here(load, waiting, progress))
        return [one for at in done if (one := replayed.get(at) or done[at]) is not None]

    def _finished_of(
        self, planned: Sequence[Planned], progress: Progress
    ) -> dict[int, Replayed | None]:
        """The finished replay of each plan, None for none; a damaged one is reported."""
        done: dict[int, Replayed | None] = dict.fromkeys(range(len(planned)))
        for at, plan in enumerate(planned if self._stored else ()):
            assert self._stored is not None  # noqa: S101 - as the line above saw
            try:
                done[at] = self._stored.get(plan.policy, plan.seed, plan.repeat)
            except DamagedReplayError as error:
                progress.stage(
                    f"{plan.policy} is replayed anew, what was kept of it is damaged: {error}"
                )
        return done

    def _keep(self, plan: Planned, one: Replayed) -> Replayed:
        if self._stored is not None:
            self._stored.put(plan.policy, plan.seed, plan.repeat, one)
        return one

    def _here(
        self, load: Workload, waiting: Mapping[int, Planned], progress: Progress
    ) -> Iterator[tuple[int, Replayed]]:
        """Replay the plans in this process, one order of arrival after the other."""
        many = _replays_of_each(waiting)
        own = {at: plan for at, plan in waiting.items() if not plan.repeat}
        for at, plan in own.items():
            policy = plan.policy
            with progress.task(str(policy), len(load.use.times_ms), "steps") as task:
                each = partial(task.advance, 1)
                one = replay_one(load, policy, plan.seed, each, replays=many[policy])
            yield at, self._keep(plan, one)
        others = sorted(waiting.keys() - own.keys(), key=lambda at: (waiting[at].repeat, at))
        ordered, repeat = load, 0
        with progress.task("other orders of arrival", len(others), "replays") as task:
            for at in others:
                plan, policy = waiting[at], waiting[at].policy
                if plan.repeat != repeat:
                    ordered, repeat = in_order(load, plan.seed), plan.repeat
                one = replay_one(ordered, policy, plan.seed, replays=many[policy])
                yield at, self._keep(plan, one.without_frames())
                task.advance(1, str(policy))

    def _elsewhere(self, waiting: Mapping[int, Planned], progress: Progress) -> dict[int, Replayed]:
        """Replay the plans by workers, the longest first, so that all workers end together."""
        assert self._crew is not None  # noqa: S101 - as the caller saw
        assert self._source is not None  # noqa: S101 - same
        longest = sorted(waiting, key=lambda at: not waiting[at].policy.placement.batched)
        source, replayed, many = self._source, {}, _replays_of_each(waiting)

        def task(plan: Planned) -> ReplayTask:
            policy = plan.policy
            return ReplayTask(source, Sent(policy), plan.seed, plan.repeat, many[policy])

        tasks = ((at, task(waiting[at])) for at in longest)
        with progress.task("replays", len(waiting), "replays") as shown:
            for at, future in each_done(self._crew, tasks):
                plan = waiting[at]
                replayed[at] = self._keep(plan, _result(future, plan))
                shown.advance(1, str(plan.policy))
        return replayed


def _replays_of_each(waiting: Mapping[int, Planned]) -> Mapping[Entrant, int]:
    return Counter(plan.policy for plan in waiting.values())


def _result(future: Future[Replayed], plan: Planned) -> Replayed:
    """A worker's result; where the worker died, the error names the user's own policy."""
    try:
        return future.result()
    except LostWorkerError as error:
        file = plan.policy.file
        if file is None:
            raise
        raise TracekitError(
            f"{file}: the process that replayed it ended ({error.what})",
            hint="a policy answers or raises an Exception; it does not end the program",
        ) from error
