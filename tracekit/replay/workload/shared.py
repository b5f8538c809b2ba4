"""A workload in a folder that the processes of one machine map: one copy in memory for all of them.

Arrays are plain ``.npy`` files, all else is one JSON document; reading them runs nothing.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tracekit.replay.workload.calls import CallWeights
from tracekit.replay.workload.constraints import AntiAffinity
from tracekit.replay.workload.workload import Workload

_DOCUMENT = "workload.json"
_MAPPED_BYTES = 1 << 16
#: Fields that are arrays and names again.
_NESTED: dict[str, type[Any]] = {"anti_affinity": AntiAffinity, "calls": CallWeights}


@dataclass(frozen=True)
class SharedWorkload:
    """Where a workload lies that was shared."""

    folder: Path

    def load(self) -> Workload:
        """The workload; its arrays are in memory once, however many processes have it."""
        document = json.loads((self.folder / _DOCUMENT).read_text(encoding="utf-8"))
        for name, made in _NESTED.items():
            if document[name] is not None:
                document[name] = made(**self._fields(document[name]))
        return Workload(**self._fields(document))

    def _fields(self, document: dict[str, Any]) -> dict[str, Any]:
        return {name: self._field(value) for name, value in document.items()}

    def _field(self, value: Any) -> Any:
        if isinstance(value, dict) and set(value) == {"array"}:
            return _mapped(self.folder / value["array"])
        return tuple(value) if isinstance(value, list) else value


@contextlib.contextmanager
def shared(load: Workload, folder: Path) -> Iterator[SharedWorkload]:
    """The workload shared by way of a folder of its own, which is there as long as it is used."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        document = _written(load, folder, "")
        (folder / _DOCUMENT).write_text(json.dumps(document), encoding="utf-8")
        # whoever goes on with the shared one shall not hold this one too
        del load
        yield SharedWorkload(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        # the folder it is in goes too, unless somebody keeps something there
        with contextlib.suppress(OSError):
            folder.parent.rmdir()


def _written(thing: Any, folder: Path, prefix: str) -> dict[str, Any]:
    """The fields of a workload, or of a part of it, with arrays as files of the folder."""
    document: dict[str, Any] = {}
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        if isinstance(value, np.ndarray):
            np.save(folder / f"{prefix}{field.name}.npy", value, allow_pickle=False)
            document[field.name] = {"array": f"{prefix}{field.name}.npy"}
        elif field.name in _NESTED and value is not None:
            document[field.name] = _written(value, folder, f"{field.name}.")
        else:
            document[field.name] = value
    return document


def _mapped(path: Path) -> NDArray[Any]:
    """An array of a file, whose pages every process shares that only reads them."""
    # an array without elements cannot be mapped, and a small one need not be
    mode: Literal["c"] | None = "c" if path.stat().st_size > _MAPPED_BYTES else None
    return np.asarray(np.load(path, mmap_mode=mode, allow_pickle=False))
