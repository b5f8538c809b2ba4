"""The source of a workload: small enough to send to another process, which reads it again.

A workload can also be written to a folder that processes of one machine map, with one copy in
memory for all. Arrays are plain ``.npy`` files, and all else is one JSON document. Reading them
runs no code.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tracekit.base.arrays import stream
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Fact
from tracekit.base.opened import read_text
from tracekit.base.parameters import names, unknown_name
from tracekit.base.progress import SILENT, Progress
from tracekit.cluster.assembly.lives import between_samples
from tracekit.cluster.assembly.sizes import is_sized, used_by_others
from tracekit.cluster.assembly.workload import sized_assumptions, workload_from_sizes
from tracekit.cluster.assumptions import Assumptions, SizedAssumptions, parse_assumptions
from tracekit.cluster.budgets import Budgets
from tracekit.cluster.calls import CallWeights
from tracekit.cluster.circumstances import split_settings, with_assumptions
from tracekit.cluster.constraints.allowed import Allowed
from tracekit.cluster.constraints.cells import Cells
from tracekit.cluster.constraints.constraints import Constraints, DeschedulerRows
from tracekit.cluster.constraints.reasons import Reasons
from tracekit.cluster.constraints.rules import CountRules
from tracekit.cluster.declared import Ceiling, absolute
from tracekit.cluster.gangs import with_gangs
from tracekit.cluster.named import Paper000, ingested, resolved, settings_of, store_of_drawn
from tracekit.cluster.parts import (
    Containers,
    NodeDomains,
    NodeEvents,
    Nodes,
    Provenance,
    Rules,
    Use,
)
from tracekit.cluster.provenance import BETWEEN, BETWEEN_PERCENT, SizeDoubt, unpriced_remark
from tracekit.cluster.requests import with_requests
from tracekit.cluster.trace.workload import calls_of_store, workload_from_store
from tracekit.cluster.workload import Workload
from tracekit.store.folder import Store

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
        NodeEvents,
        Fact,
        DeschedulerRows,
        Nodes,
        Containers,
        Use,
        Rules,
        Provenance,
    )
}


@dataclass(frozen=True)
class SharedWorkload:
    """A folder through which processes share one workload."""

    folder: Path

    def load(self) -> Workload:
        """Return the workload. Its arrays are in memory once for all processes."""
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
    """Share the workload through a folder of its own, which exists within the ``with`` block."""
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
        field.name: _document_value(getattr(thing, field.name), folder, f"{prefix}{field.name}")
        for field in dataclasses.fields(thing)
    }


def _document_value(value: Any, folder: Path, name: str) -> Any:
    """A value as the document has it; ``name`` is the stem of its file."""
    if isinstance(value, np.ndarray):
        _save(value, folder / f"{name}.npy")
        return {"array": f"{name}.npy"}
    if type(value).__name__ in _NESTED:
        fields = _written(value, folder, f"{name}.")
        return {"made": type(value).__name__, "fields": fields}
    if isinstance(value, tuple) and value and dataclasses.is_dataclass(value[0]):
        return [_document_value(one, folder, f"{name}.{at}") for at, one in enumerate(value)]
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


class Source(Protocol):
    """A source from which a workload can be read again; equal sources give equal workloads."""

    def load(self) -> Workload:
        """Read the workload."""

    def __hash__(self) -> int: ...


def check_assumed(settings: Sequence[str]) -> None:
    """Raise TracekitError for an assumption that no store has, before any store is read.

    The values, and the names that only one kind of store has, are checked when the store is read.
    """
    every = [*names(Assumptions), *names(SizedAssumptions)]
    for setting in split_settings(settings)[1]:
        name = setting.partition("=")[0].strip()
        if name not in every:
            raise unknown_name(
                f"there is no assumption '{name}'", "there are", name, list(dict.fromkeys(every))
            )


@dataclass(frozen=True)
class WorkloadSource:
    """A store, or a text of ``--workload``, with all that it takes to read the workload again.

    With ``gangs`` the containers of a service are admitted together: see
    ``tracekit.cluster.gangs``. With ``calls`` the workload has the calls between services, which
    policies with the parameter ``near_weight`` read. ``mapped`` is a folder through which another
    process shares the workload that it has read.
    """

    store: Store | None
    workload: str | None
    assume: tuple[str, ...] = ()
    seed: int = 0
    gangs: bool = False
    calls: bool = False
    mapped: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if (self.workload is None) == (self.store is None):
            given = (
                "neither a store nor a workload is"
                if self.store is None
                else "a store and a workload are"
            )
            raise TracekitError(
                f"{given} given, expected one of them",
                hint="tracekit replay STORE --out RUN, or --workload WORKLOAD --out RUN",
            )

    def load(self) -> Workload:
        """Read the workload; the same source gives the same workload."""
        if self.mapped is not None:
            return SharedWorkload(self.mapped).load()
        load = self._read(stream(self.seed, "workload"))
        if self.calls and load.rules.calls is None:
            load = dataclasses.replace(
                load, rules=dataclasses.replace(load.rules, calls=self._calls(load))
            )
        if self.gangs:
            load = with_gangs(load)
        happens, _ = split_settings(self.assume)
        if happens:
            load = with_assumptions(load, happens, stream(self.seed, "lost"))
        if unpriced := unpriced_remark(load.nodes.price_per_hour):
            load = dataclasses.replace(
                load,
                provenance=load.provenance.plus(remarks=unpriced),
            )
        return _with_counts(load)

    def assuming(self, *settings: str) -> WorkloadSource:
        """Return the source with further assumptions, whose workload is read again."""
        return dataclasses.replace(self, assume=(*self.assume, *settings), mapped=None)

    def _calls(self, load: Workload) -> CallWeights:
        store = self.store or ingested(str(self.workload), split_settings(self.assume)[1]).store
        return calls_of_store(store, load.containers.services)

    def _read(self, rng: np.random.Generator) -> Workload:
        _, assume = split_settings(self.assume)
        if self.store is not None:
            return _of_store(self.store, assume, rng)
        stored = ingested(str(self.workload), assume)
        load = _of_store(stored.store, stored.assume, rng)
        return load if stored.drawn is None else stored.drawn.labelled(load)


def drawn_workload(drawn: Paper000, rng: np.random.Generator, *assume: str) -> Workload:
    """Return a made-up workload, with an order of arrival drawn from ``rng``."""
    store = store_of_drawn(drawn)
    assumed = [f"{name}={value}" for name, value in settings_of("paper000", assume).items()]
    return drawn.labelled(_of_store(store, assumed, rng))


def _of_store(store: Store, assume: Sequence[str], rng: np.random.Generator) -> Workload:
    """The workload of a store, with the requests that the assumptions choose.

    Where use is recorded in amounts, it stays as it is whatever requests are: they are chosen after
    the assembly. Use in fractions of requests needs the choice before it.
    """
    if is_sized(store) and not used_by_others(store):
        assumptions = sized_assumptions(assume)
        return with_requests(workload_from_sizes(store, assumptions, rng), store, assumptions)
    return workload_from_store(store, parse_assumptions(assume), rng)


def _with_counts(load: Workload) -> Workload:
    """The workload with counts, above 0, of what its measures leave out."""
    away = [
        one.node
        for one in (load.nodes.losses, load.nodes.joins, load.nodes.leaves)
        if one is not None
    ]
    unseen, percent = between_samples(
        load.use.times_ms, load.containers.arrival_ms, load.containers.departure_ms
    )
    counts = {
        BETWEEN: unseen,
        BETWEEN_PERCENT: percent,
        "nodes_empty_while_away": len(np.unique(np.concatenate(away))) if away else 0,
    }
    counted = {name: count for name, count in counts.items() if count}
    return dataclasses.replace(load, provenance=load.provenance.plus(facts=counted))


def source_of(
    store: Store | None,
    workload: Path | str | None,
    *,
    assume: Sequence[str] = (),
    seed: int = 0,
    gangs: bool = False,
    calls: bool = False,
    progress: Progress = SILENT,
) -> WorkloadSource:
    """Return the source of a workload, with paths that are also valid in another process.

    A new workload is ingested here; ``progress`` shows how far the ingest is.
    """
    source = WorkloadSource(
        None if store is None else dataclasses.replace(store, path=store.path.resolve()),
        None if workload is None else resolved(str(workload)),
        absolute(assume),
        seed,
        gangs,
        calls,
    )
    if source.workload is not None:
        ingested(source.workload, split_settings(assume)[1], progress)
    return source
