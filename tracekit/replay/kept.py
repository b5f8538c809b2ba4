"""Replays that are done, kept aside until the whole run is: what makes a run resumable.

They lie in a hidden folder beside the run folder, under a key of all that shapes them: the
workload's arrays, seed, version. Another workload or seed finds nothing there.
"""

from __future__ import annotations

import dataclasses
import hashlib
import pickle
import shutil
from pathlib import Path

import numpy as np

from tracekit._version import VERSION
from tracekit.replay.entrant import Entrant
from tracekit.replay.one import Replayed
from tracekit.replay.workload import Workload


class Kept:
    """The finished replays of a run that is under way.

    Parameters
    ----------
    out : the run folder that will be written
    """

    def __init__(self, out: Path, load: Workload) -> None:
        self._root = out.parent / f".{out.name}.unfinished"
        self._folder = self._root / _fingerprint(load)

    def get(self, policy: Entrant, seed: int, repeat: int) -> Replayed | None:
        """A finished replay; None where there is none, or none that can be read."""
        try:
            found = pickle.loads(self._path(policy, seed, repeat).read_bytes())  # noqa: S301 - our own file
        except (OSError, EOFError, pickle.UnpicklingError, AttributeError):
            return None
        return found if isinstance(found, Replayed) else None

    def put(self, policy: Entrant, seed: int, repeat: int, replayed: Replayed) -> None:
        """Keep a replay; a file is there whole or not at all."""
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._path(policy, seed, repeat)
        made = path.with_suffix(".new")
        made.write_bytes(pickle.dumps(replayed))
        made.replace(path)

    def forget(self) -> None:
        """The run is written: nothing need be kept."""
        shutil.rmtree(self._root, ignore_errors=True)

    def _path(self, policy: Entrant, seed: int, repeat: int) -> Path:
        told = f"{policy}\n{seed}\n{repeat}\n".encode()
        # a user's own policy is what its file says
        own = b"" if policy.file is None else Path(policy.file).read_bytes()
        name = hashlib.sha256(told + own).hexdigest()[:24]
        return self._folder / f"{name}.pickle"


def _fingerprint(load: Workload) -> str:
    """A hash of all of the workload that a replay can depend on, and of the version."""
    digest = hashlib.blake2b(VERSION.encode(), digest_size=16)
    for field in dataclasses.fields(load):
        value = getattr(load, field.name)
        array = isinstance(value, np.ndarray) and value.dtype != object
        digest.update(np.ascontiguousarray(value).data if array else pickle.dumps(value))
    return digest.hexdigest()
