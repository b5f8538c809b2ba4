"""A run as the source of an export, the class of a format, and parts that formats share."""

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tracekit.answer import run_answer
from tracekit.answer.nodes import answer_of_nodes, case_of
from tracekit.base.arrays import BoolArray, IntArray
from tracekit.base.documents import decode
from tracekit.base.errors import TracekitError
from tracekit.base.facts import Answer, Fact, Followup, Scalar, read_answer
from tracekit.base.files.result_folder import read_frame
from tracekit.base.study import BESIDE, STUDY_FOLDER, Study, read_study
from tracekit.base.units import MILLI_PER_CORE
from tracekit.cluster.provenance import ASSUMED
from tracekit.cluster.resources import BASE, PODS
from tracekit.cluster.source import WorkloadSource, source_of
from tracekit.cluster.workload import UNKNOWN, Workload
from tracekit.policy.entrant import Entrant, parse_entrant
from tracekit.policy.kubernetes.scorers import SCORERS
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.rebalance import RebalancePolicy
from tracekit.policy.rebalance._descheduler_plugins import PLUGINS
from tracekit.replay.runs.run_folder import RUN_FOLDER, entrant_of_run, run_within, source_of_run
from tracekit.store.folder import Store, open_store
from tracekit.store.quantities import ABSENT

FEWEST, REQUESTS = "fewest_nodes", "requests_to_change"


class ExportSource:
    """The source of an export: a folder that ``run``, ``replay`` or a study has written.

    Parameters
    ----------
    policy : str
        The policy to export, as commands take it; '' for the one that the folder recommends.
    objects : Path, optional
        A file or folder of pods that kubectl printed.

    Raises
    ------
    TracekitError
        For any other folder.
    """

    def __init__(self, path: Path, policy: str = "", objects: Path | None = None) -> None:
        self.path, self.policy, self.objects = path, policy, objects
        self.replay = path if RUN_FOLDER.holds(path) else run_within(path)
        own = [path] if STUDY_FOLDER.holds(path) else []
        inside = path == self.replay and (path.parent / BESIDE).is_dir()
        self._whole = path.parent if inside else path
        beside = sorted((self._whole / BESIDE).glob("*"))
        self._studies = own or [one for one in beside if STUDY_FOLDER.holds(one)]
        if self.replay is None and not own:
            raise TracekitError(
                f"'{path}' is neither a run nor a study",
                hint="make one: tracekit run SRC --out RUN, tracekit requests STORE --out RUN",
            )

    @functools.cached_property
    def manifest(self) -> Mapping[str, Any]:
        """The manifest of the replay."""
        return dict(RUN_FOLDER.sound(self._replay()))

    @functools.cached_property
    def _source(self) -> WorkloadSource:
        return source_of_run(self.manifest, self._replay())

    @functools.cached_property
    def load(self) -> Workload:
        """The workload that was replayed."""
        return self._source.load()

    @property
    def store(self) -> Store | None:
        """The store that was replayed, or None if the workload is not from a store."""
        return self._source.store

    @functools.cached_property
    def answer(self) -> Answer | None:
        """The conclusions of the run, or of a study of the fewest nodes; None without either."""
        if self.replay is not None:
            return read_answer(self._whole) or read_answer(self.replay)
        study = self.study(FEWEST)
        return None if study is None else answer_of_nodes(study)

    def frame(self, name: str) -> pl.DataFrame:
        """Return the frame of ``NAME.parquet`` of the replay."""
        return read_frame(self._replay() / f"{name}.parquet")

    def study(self, name: str, case: str | None = None) -> Study | None:
        """Return the study ``name``, or None. Case 'recommended' asks for recommended requests."""
        for folder in self._studies:
            apart = (folder.name == run_answer.FOLDERS["recommended"]) != (case == "recommended")
            if case is not None and len(self._studies) > 1 and name == FEWEST and apart:
                continue
            study = read_study(folder)
            if study.name == name:
                return study
        return None

    def counted(self, study: Study) -> WorkloadSource:
        """Return the source of a study's workload, with recommended requests if it had them."""
        if self.replay is not None:
            own = self._source
            if case_of(study) != "recommended":
                return own
            folder = (self._whole / BESIDE / run_answer.REQUESTS).resolve()
            return replace(own, assume=(*own.assume, f"requests=sized:{folder}"))
        load = study.about["workload"]
        return source_of(
            open_store(load["store"]) if load["store"] else None,
            load["loader"] or None,
            assume=load["assume"],
            seed=study.about["seed"],
            gangs=load["gangs"],
        )

    def entrant(self, policy: str = "") -> Entrant:
        """Return the policy of a text; for '' that of ``self.policy``, or else the recommended."""
        text = policy or self.policy or self._won()
        if self.replay is None:
            return parse_entrant(text)
        return entrant_of_run(self.manifest, self.replay, text)

    def _won(self) -> str:
        """The recommended policy; raises TracekitError where there is none."""
        kind = "verdict" if self.replay is None else "recommended_policy"
        fact = None if self.answer is None else self.answer.first(kind)
        if fact is None or not fact.subject:
            raise TracekitError(
                f"'{self.path}' recommends no policy", hint="name one: --policy least_allocated"
            )
        return fact.subject

    def _replay(self) -> Path:
        if self.replay is None:
            raise TracekitError(
                f"'{self.path}' is a study, and has no replay",
                hint="give the folder of tracekit run, or of tracekit replay",
            )
        return self.replay


@dataclass(frozen=True, kw_only=True)
class Written:
    """The content of the files of an export, before they are written, with facts on it.

    Parameters
    ----------
    files : mapping of str to bytes
        Content by file name; a format of one file has the name ''.
    facts : tuple of Fact
        The first is on what is written, others on what is lost.
    next : tuple of Followup
    """

    files: Mapping[str, bytes]
    facts: tuple[Fact, ...]
    next: tuple[Followup, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Format:
    """A file format to which ``tracekit export`` can convert a run.

    Parameters
    ----------
    name : str
        The value of ``--to``.
    title : str
        One line on what is written.
    write : callable
        Makes the files; raises TracekitError if the run lacks something for them.
    folder : bool
        Whether there are several files.
    """

    name: str
    title: str
    write: Callable[[ExportSource], Written] = field(repr=False)
    folder: bool = False


def left_out(because: str, value: Scalar = None, unit: str = "", **about: Scalar) -> Fact:
    """Return a fact on what an export loses; ``because`` is the key of its sentence."""
    return Fact(kind="left_out", value=value, unit=unit, because=because, about=about)


def not_carried(
    policy: PlacementPolicy | RebalancePolicy,
    name: str,
    args: Mapping[str, Any],
    but: Iterable[str] = (),
) -> Iterator[Fact]:
    """Yield a fact for each parameter of a policy that its plugin's arguments do not express.

    Parameters
    ----------
    name, args : the Kubernetes plugin, and its arguments in the file
    but : names of parameters that the file states elsewhere
    """
    read: Any = {**SCORERS, **PLUGINS}[name]
    carried = dict(read.built(decode(args, read.kind, name)).spelled())
    for parameter, value in policy.spelled().items():
        if parameter not in but and carried.get(parameter) != value:
            yield left_out("parameter", name=f"{policy.name()}.{parameter}", given=value)


def ends_ms(load: Workload) -> IntArray:
    """Return each container's departure, (containers,), or the trace's end if that is earlier."""
    end = int(load.use.times_ms[-1]) + load.use.step_ms
    return np.maximum(np.minimum(load.containers.departure_ms, end), load.containers.arrival_ms + 1)


def whole_cores(milli: IntArray) -> IntArray:
    """Return millicores as whole cores, rounded up, at least 1."""
    return np.maximum(-(-milli // MILLI_PER_CORE), 1)


def carried(load: Workload, *, rounded: bool, nodes: bool = True) -> Iterator[Fact]:
    """Yield a fact on the containers written, and one on those with CPU rounded to whole cores.

    The second is for ``rounded`` alone. ``nodes`` says whether the file has the nodes, too.
    """
    yield Fact(
        kind="exported",
        value=load.containers.count,
        unit="containers",
        because="workload" if nodes else "without_nodes",
        about={"of": load.nodes.count},
    )
    parts = int((load.containers.request[:, 0] % MILLI_PER_CORE > 0).sum())
    if rounded and parts:
        yield left_out("parts_of_cores", parts, "containers")


def lost(load: Workload, *names: str) -> Iterator[Fact]:
    """Yield a fact for each of the named properties that the workload has and the export loses.

    ``names`` are keys of ``_HAVING``, such as ``limits``. The fact's value counts the containers or
    nodes with the property.
    """
    for name in names:
        count = int(np.count_nonzero(_HAVING[name](load)))
        if count:
            yield left_out(name, count, "nodes" if name in _OF_NODES else "containers")


def use_is_recorded(load: Workload) -> BoolArray:
    """Return whether each container's CPU use was recorded, not assumed, shape (containers,)."""
    if load.use.recorded is not None:
        return np.asarray(
            load.use.recorded[0][load.use.columns_of(np.arange(load.containers.count))]
        )
    is_recorded = load.provenance.quantities.get("use of containers", ABSENT) not in {
        ABSENT,
        ASSUMED,
    }
    return np.full(load.containers.count, is_recorded)


def _marked(values: Any, holds: Callable[[Any], Any]) -> Any:
    """``holds(values)``; empty where there are no values."""
    return () if values is None else holds(values)


#: Labels of constraints that Kubernetes does not have.
_OWN_RULES = frozenset({"apart", "together", "NUMA cells", "rules on sharing"})


def _ruled(load: Workload, labels: frozenset[str] | None = None) -> BoolArray:
    none = np.zeros(load.containers.count, np.bool_)
    parts = () if load.rules.constraints is None else load.rules.constraints.parts
    about = (part.about for part in parts if labels is None or part.label in labels)
    return np.asarray(np.any([none, *about], axis=0))


def _away(load: Workload) -> IntArray:
    away = (load.nodes.losses, load.nodes.joins, load.nodes.leaves)
    gone = [one.node for one in away if one is not None]
    return np.bincount(np.concatenate(gone)) if gone else np.zeros(0, np.int64)


_OF_NODES = {"background", "zones", "prices", "away", "unequal", "memory_of_nodes", "nodes"}
_HAVING: Mapping[str, Callable[[Workload], Any]] = {
    "use": use_is_recorded,
    "use_over_time": use_is_recorded,
    "use_of_memory": use_is_recorded,
    "placement": lambda load: load.containers.recorded_node >= 0,
    "limits": lambda load: (load.containers.limit > 0).any(axis=1),
    "priority": lambda load: _marked(load.rules.priority, lambda one: one != 0),
    "gangs": lambda load: _marked(load.rules.gang, lambda one: one >= 0),
    "rules": _ruled,
    "own_rules": lambda load: _ruled(load, _OWN_RULES),
    "budgets": lambda load: _marked(load.rules.budgets, lambda one: one.of[:, 0] >= 0),
    "groups": lambda load: [one != UNKNOWN for one in load.containers.services],
    "departures": lambda load: load.containers.departure_ms <= load.use.times_ms[-1],
    "order_of_ends": lambda load: load.containers.departure_ms <= load.use.times_ms[-1],
    "further": lambda load: (load.containers.request[:, _further(load)] > 0).any(axis=1),
    "background": lambda load: load.use.background.any(axis=(0, 1)),
    "zones": lambda load: _marked(load.nodes.domains, lambda _: np.ones(load.nodes.count)),
    "prices": lambda load: _marked(load.nodes.price_per_hour, lambda one: one > 0),
    "away": _away,
    "unequal": lambda load: load.nodes.capacity[:, 0] != load.nodes.capacity[0, 0],
    "memory_of_nodes": lambda load: load.nodes.capacity[:, 1] > 0,
    "nodes": lambda load: np.ones(load.nodes.count),
}


def _further(load: Workload) -> list[int]:
    return [at for at, one in enumerate(load.resources) if one not in (*BASE, PODS)]
