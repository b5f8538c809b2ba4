"""Replays that are done, kept aside until the whole run is: what makes a run resumable.

They lie in a hidden folder beside the run folder, under a key of all that shapes them: the
workload's arrays, seed, version. Another workload or seed finds nothing there. They are data, JSON
and Parquet, so that reading one runs nothing; a hash of its place and its bytes tells one that is
damaged or was put in another's place, and its head the layout it was written in.
"""

import dataclasses
import hashlib
import io
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit._version import VERSION
from tracekit.base.files.links import check_no_link
from tracekit.base.files.replacing import replaced_file
from tracekit.base.opened import read_bytes
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrant
from tracekit.replay.runs.one import Replayed, layout

_FRAMES = ("steps", "placements", "moves", "stays")
_DIGEST_BYTES = 16
#: What a row and a timing say in words; all else in them is numbers.
_TEXTS = ("policy", "parameters")
_NUMBERS = {"Int64", "Float64"}


#: What is written as it is, alone and in a list.
_WRITTEN = (str, bytes, int, float, type(None))


class DamagedReplayError(ValueError):
    """A kept replay is damaged."""


class OtherLayoutError(ValueError):
    """A kept replay has other columns, types or measures than a replay gives now."""


class Kept:
    """The finished replays of a run that is under way.

    Parameters
    ----------
    out : the run folder that will be written
    """

    def __init__(self, out: Path, load: Workload) -> None:
        self._folder = kept_folder(out) / fingerprint(load)

    def get(self, policy: Entrant, seed: int, repeat: int) -> Replayed | None:
        """A finished replay, None where there is none.

        Raises
        ------
        DamagedReplayError, OtherLayoutError
            When it is there and of no use.
        """
        path = self._path(policy, seed, repeat)
        try:
            data = read_bytes(path)
        except OSError:
            return None
        return _decoded(data, _place(path))

    def put(self, policy: Entrant, seed: int, repeat: int, replayed: Replayed) -> None:
        """Keep a replay; a file is there whole or not at all."""
        path = self._path(policy, seed, repeat)
        check_no_link((self._folder,))
        with replaced_file(path, follow=False, durable=False) as made:
            made.write_bytes(_encoded(replayed, _place(path)))

    def _path(self, policy: Entrant, seed: int, repeat: int) -> Path:
        told = f"{policy}\n{seed}\n{repeat}\n".encode()
        # a user's own policy is what its file says
        own = b"".join(read_bytes(Path(file)) for file in policy.written_in())
        name = hashlib.sha256(told + own).hexdigest()[:24]
        return self._folder / f"{name}.replay"


def kept_folder(out: Path) -> Path:
    """The folder of a run's finished replays until the run folder is written.

    Raises TracekitError where a link stands in its place.
    """
    folder = out.parent / f".{out.name}.unfinished"
    check_no_link((folder,))
    return folder


def forget(out: Path) -> None:
    """What follows a run is done too: none of its replays need be kept."""
    shutil.rmtree(kept_folder(out), ignore_errors=True)


def _place(path: Path) -> str:
    """The path of a kept replay, by everything that it depends on."""
    return f"{path.parent.name}/{path.name}"


def _encoded(replayed: Replayed, place: str) -> bytes:
    """A hash; a line of JSON with layout and sizes of what follows; the frames as Parquet."""
    frames = [_parquet(getattr(replayed, name)) for name in _FRAMES]
    head = {
        "layout": layout(),
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
        raise DamagedReplayError("its hash is another")
    line, _, frames = body.partition(b"\n")
    try:
        head = json.loads(line)
        written_in = head.get("layout")
    except (ValueError, AttributeError, RecursionError) as error:
        raise DamagedReplayError(f"{type(error).__name__}: {error}") from error
    if written_in != layout():
        raise OtherLayoutError
    return _read(head, frames)


def _read(head: dict[str, Any], frames: bytes) -> Replayed:
    try:
        sizes = head["bytes"]
        read = {
            name: pl.read_parquet(io.BytesIO(frames[end - size : end]))
            for name, size, end in zip(_FRAMES, sizes, np.cumsum(sizes), strict=True)
        }
        _check_kinds(head, read)
        return Replayed(
            row=head["row"],
            timing=head["timing"],
            digest=head["digest"],
            **read,
        )
    except (
        ValueError,
        KeyError,
        TypeError,
        AttributeError,
        OverflowError,
        pl.exceptions.PolarsError,
    ) as error:
        raise DamagedReplayError(f"{type(error).__name__}: {error}") from error


def _check_kinds(head: dict[str, Any], frames: dict[str, pl.DataFrame]) -> None:
    """Raise TypeError where values are of other kinds than a replay gives.

    Anybody can work out the hash: it tells accidents, not somebody who writes other numbers here.
    """
    known = layout()
    for name, frame in frames.items():
        kinds = {column: str(kind) for column, kind in frame.schema.items()}
        more = {column: kinds[column] for column in kinds.keys() - dict(known[name]).keys()}
        # a workload with more resources has more columns
        if {**kinds, **dict(known[name])} != kinds or not set(more.values()) <= _NUMBERS:
            raise TypeError(f"its {name} have other columns")
    row, timing = head["row"], head["timing"]
    if missing := {"placed", "pending", *known["measures"]} - row.keys():
        raise TypeError(f"its row lacks {min(missing)}")
    if timing["policy"] != row["policy"]:
        raise TypeError("its row and its timing are of two policies")
    for one in (row, timing):
        for name, value in one.items():
            kind = str if name in _TEXTS else (int, float, type(None))
            if not isinstance(value, kind) or isinstance(value, bool):
                raise TypeError(f"its {name} is {value!r:.40}")
    if not isinstance(head["digest"], str):
        raise TypeError("its digest is no text")


def _parquet(frame: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd")
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python."""
    return value.item()


def _digest(place: str, body: bytes) -> bytes:
    digest = hashlib.blake2b(f"{place}\n".encode(), digest_size=_DIGEST_BYTES)
    digest.update(body)
    return digest.digest()


def fingerprint(load: Workload) -> str:
    """A hash of all of the workload that a replay can depend on, and of the version."""
    digest = hashlib.blake2b(VERSION.encode(), digest_size=16)
    _feed(digest, load)
    return digest.hexdigest()


def replays_alike(load: Workload) -> str:
    """A hash that is the same where every replay is: without what a workload says of itself."""
    return fingerprint(
        dataclasses.replace(
            load,
            provenance=dataclasses.replace(
                load.provenance, assumptions={}, facts={}, quantities={}, remarks=()
            ),
        )
    )


def _feed(digest: hashlib.blake2b, value: Any) -> None:
    """Add a value; arrays by their bytes, parts one by one, all else as it is written."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype}{value.shape}".encode())
        # as it is written a large array has its ends alone
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
