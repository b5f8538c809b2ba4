"""A workload in a folder that processes of one machine map, with one copy in memory for all.

Arrays are plain ``.npy`` files, and all else is one JSON document. Reading them runs no code.
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

from tracekit.base.facts import Fact
from tracekit.base.opened import read_text
from tracekit.cluster.budgets import Budgets
from tracekit.cluster.calls import CallWeights
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.constraints import Constraints
from tracekit.cluster.constraints.reasons import Reasons
from tracekit.cluster.constraints.rules import CountRules
from tracekit.cluster.constraints.written import Written
from tracekit.cluster.declared import Ceiling
from tracekit.cluster.nodes import Losses, NodeDomains
from tracekit.cluster.parts import Containers, Nodes, Provenance, Rules, Use
from tracekit.cluster.provenance import SizeDoubt
from tracekit.cluster.workload import Workload

_DOCUMENT = "workload.json"
_MAPPED_BYTES = 1 << 16
#: What a field may hold that has fields of its own, by name.
_NESTED: dict[str, type[Any]] = {
    made.__name__: made
    for made in (
        Budgets,
        CallWeights,
        Ceiling,
        Constraints,
        Allowed,
        Reasons,
        CountRules,
        Cells,
        NodeDomains,
        SizeDoubt,
        Losses,
        Fact,
        Written,
        Nodes,
        Containers,
        Use,
        Rules,
        Provenance,
    )
}


@dataclass(frozen=True)
class SharedWorkload:
    """The place of a shared workload."""

    folder: Path

    def load(self) -> Workload:
        """The workload; its arrays are in memory once for all processes."""
        document = json.loads(read_text(self.folder / _DOCUMENT))
        return Workload(**self._fields(document))

    def _fields(self, document: dict[str, Any]) -> dict[str, Any]:
        return {name: self._field(value) for name, value in document.items()}

    def _field(self, value: Any) -> Any:
        if isinstance(value, dict) and set(value) == {"array"}:
            return _mapped(self.folder / value["array"])
        if isinstance(value, dict) and set(value) == {"made", "fields"}:
            return _NESTED[value["made"]](**self._fields(value["fields"]))
        if isinstance(value, list):
            return tuple(self._field(one) if isinstance(one, dict) else one for one in value)
        return value


@contextlib.contextmanager
def shared(load: Workload, folder: Path) -> Iterator[SharedWorkload]:
    """The workload shared through a folder of its own, which exists within the ``with`` block."""
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
    return {
        field.name: _kept(getattr(thing, field.name), folder, f"{prefix}{field.name}")
        for field in dataclasses.fields(thing)
    }


def _kept(value: Any, folder: Path, name: str) -> Any:
    """A value as the document has it; ``name`` is the stem of its file."""
    if isinstance(value, np.ndarray):
        _save(value, folder / f"{name}.npy")
        return {"array": f"{name}.npy"}
    if type(value).__name__ in _NESTED:
        fields = _written(value, folder, f"{name}.")
        return {"made": type(value).__name__, "fields": fields}
    if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        return [_kept(one, folder, f"{name}.{at}") for at, one in enumerate(value)]
    return value


def _save(value: NDArray[Any], path: Path) -> None:
    """Write the array to a file; if it is mapped from a file, link that file."""
    file = value.base
    if isinstance(file, np.memmap) and _alike(file) == _alike(value):
        with contextlib.suppress(OSError):  # on another disk
            path.hardlink_to(str(file.filename))
            return
    np.save(path, value, allow_pickle=False)


def _alike(array: NDArray[Any]) -> tuple[object, ...]:
    return array.dtype, array.shape, array.strides


def _mapped(path: Path) -> NDArray[Any]:
    """An array of a file, with pages that all processes share while they only read."""
    # an array without elements cannot be mapped, and a small one need not be
    mode: Literal["c"] | None = "c" if path.stat().st_size > _MAPPED_BYTES else None
    return np.asarray(np.load(path, mmap_mode=mode, allow_pickle=False))
