"""The data of a report: frames by name, a run's manifest, and the answer."""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tracekit.base.errors import TracekitError
from tracekit.base.facts import FILE, Answer, read_answer
from tracekit.base.files.places import found_from, place
from tracekit.base.files.result_folder import read_frame
from tracekit.base.study import BESIDE, STUDY_FOLDER, Study, read_study
from tracekit.policy.entrant import FILES
from tracekit.replay.runs.run_folder import RUN_FOLDER, run_within
from tracekit.report.computed import Computed, folders_of
from tracekit.report.paths import Paths, paths
from tracekit.sizing.run_folder import SIZING_FOLDER
from tracekit.store.folder import NAME, Store, open_store
from tracekit.store.query.database import Database
from tracekit.store.query.run import describe
from tracekit.store.sqlfiles import all_queries, get_query

#: Entries that identify the workload of a study.
_OF_LOAD = ("name", "nodes", "steps")


def folders_of_studies(source: Path, given: Sequence[Path]) -> dict[str, Path]:
    """Return the study folders to show by name: those near ``source``, then ``given`` ones.

    If ``source`` is a study itself, no other one near it counts. A given folder replaces another of
    its name.
    """
    around = source.resolve().parent
    beside = around if around.name == BESIDE else around / BESIDE
    folders = sorted(beside.iterdir()) if beside.is_dir() else []
    own = [source] if STUDY_FOLDER.holds(source) else []
    shown = own or [one for one in folders if STUDY_FOLDER.holds(one)]
    return {one.resolve().name: one for one in (*shown, *given)}


def read_studies(
    folders: Mapping[str, Path], given: Sequence[Path], load: Mapping[str, Any] | None
) -> dict[str, Study]:
    """Return the studies of these folders, without those of another workload.

    Given folders are read whatever their workload. Other damaged folders are left out.

    Parameters
    ----------
    load : mapping, optional
        The workload of the shown run, from its manifest; None to take every study.

    Raises
    ------
    TracekitError
        For a given folder without a study.
    """
    studies = {}
    for name, folder in folders.items():
        if folder in given:
            studies[name] = read_study(folder)
            continue
        with contextlib.suppress(TracekitError):
            study = read_study(folder)
            if load is None or of_load(study, load):
                studies[name] = study
    return studies


def of_load(study: Study, load: Mapping[str, Any]) -> bool:
    """Return whether a study is of a run's workload; one without workload and store always is."""
    ours = study.about.get("workload")
    if ours is None:
        return "store" not in study.about
    # a study of the fewest nodes leaves out nodes that are gone by the end
    ours = {**ours, "nodes": ours.get("nodes_with_left", ours.get("nodes"))}
    return all(ours[name] == load.get(name, ours[name]) for name in _OF_LOAD if ours.get(name))


#: A function that gives a query's rows by its name and parameters.
Fetch = Callable[[str, Mapping[str, str]], pl.DataFrame]

RUN_FRAMES = ("summary", "steps")
#: Frames that a run folder may lack.
MORE_FRAMES = ("placements", "differences", "repeats", "nodes", "moves", "stays")
#: The folder of the replay in a whole run.
REPLAY = "replay"
#: Frames of a comparison of sizing policies, and the name of its folder beside a store.
SIZE_FRAMES, SIZE = ("table", "summary", "containers", "training", "sensitivity"), "size"


class Data:
    """All that the pages of one report read; a query runs when a page first reads it.

    Parameters
    ----------
    fetch : callable, optional
        Runs a query of ``queries/``; None when there is no store.
    info : mapping, optional
        The document of ``tracekit.store.query.run.describe``.
    run : mapping, optional
        The run's manifest; None when there is no run.
    run_frames : mapping of str to frame
        The frames of the run folder, by file name.
    results : callable, optional
        Gives ``analysis/<result>`` and ``callgraph/<frame>``: see ``tracekit.report.computed``.
    studies : mapping of str to Study
        The studies by the names of their folders.
    answer : Answer, optional
        The answer of the run.
    paths : Paths, optional
        The paths of the source, store, run and studies, as commands name them.
    """

    def __init__(
        self,
        *,
        fetch: Fetch | None = None,
        info: Mapping[str, Any] | None = None,
        run: Mapping[str, Any] | None = None,
        run_frames: Mapping[str, pl.DataFrame] | None = None,
        results: Callable[[str], pl.DataFrame] | None = None,
        studies: Mapping[str, Study] | None = None,
        answer: Answer | None = None,
        paths: Paths | None = None,
    ) -> None:
        self._fetch = fetch
        self._frames: dict[tuple[str, ...], pl.DataFrame] = {}
        self._run_frames = dict(run_frames or {})
        self._results = results
        self.info = info
        self.run = run
        self.studies = dict(studies or {})
        self.answer = answer
        self.paths = paths or Paths()

    @property
    def made_up(self) -> bool:
        """Whether the trace was made up by ``tracekit synth``."""
        return bool((self.info or {}).get("made_up"))

    @property
    def has_store(self) -> bool:
        """Whether queries can run."""
        return self._fetch is not None

    def frame(self, name: str) -> pl.DataFrame:
        """Return the frame of a query, of a run (``replay/<frame>``), a study, or a result.

        An absent frame has no columns.
        """
        if name in all_queries():
            return self.query(name)
        kind, _, rest = name.partition("/")
        return self.replay(rest) if kind == REPLAY else self.result(name)

    def query(self, name: str, **params: str) -> pl.DataFrame:
        """Return the rows of a query; a frame without columns when there is no store."""
        if self._fetch is None:
            return pl.DataFrame()
        key = (name, *(f"{param}={value}" for param, value in sorted(params.items())))
        if key not in self._frames:
            self._frames[key] = self._fetch(name, params)
        return self._frames[key]

    def study(self, name: str) -> Study | None:
        """Return the study whose folder has this name, else the first study of this name."""
        ours = (one for one in self.studies.values() if one.name == name)
        return self.studies.get(name) or next(ours, None)

    def result(self, name: str) -> pl.DataFrame:
        """Return ``<study>/<frame>`` or a result of the store; no columns where it is absent."""
        kind, _, frame = name.partition("/")
        study = self.study(kind)
        if study is not None:
            return study.frames.get(frame, pl.DataFrame())
        return pl.DataFrame() if self._results is None else self._results(name)

    def folder(self, study: str) -> str:
        """Return the folder of a study as commands name it; empty where it is unknown."""
        ours = (name for name, one in self.studies.items() if study in (name, one.name))
        return self.paths.results.get(next(ours, ""), "")

    def replay(self, name: str) -> pl.DataFrame:
        """Return a frame of the run folder; a frame without columns when there is no run."""
        return self._run_frames.get(name, pl.DataFrame())


@dataclass(frozen=True, kw_only=True)
class ReportSource:
    """What ``open_source`` finds at a path: a store, a run, or neither for a study.

    Parameters
    ----------
    store : Store, optional
        The store itself, or the store of a run or a sizing run if it still exists.
    run : path, optional
        The run folder; ``document`` is its manifest.
    """

    store: Store | None = None
    run: Path | None = None
    document: Mapping[str, Any] = field(default_factory=dict)


def open_source(source: Path) -> ReportSource:
    """Open a path; a folder of ``tracekit run --out`` means the run in it.

    Raises TracekitError for a path that is neither a store nor a folder of results.
    """
    if STUDY_FOLDER.holds(source):
        return ReportSource()
    if SIZING_FOLDER.holds(source):
        return ReportSource(store=_named_store(source, SIZING_FOLDER.read(source)))
    run = source if RUN_FOLDER.holds(source) else run_within(source)
    if run is None:
        return ReportSource(store=_store_of(source))
    for name in (RUN_FOLDER.document, *(f"{frame}.parquet" for frame in RUN_FRAMES)):
        if not (run / name).is_file():
            raise TracekitError(
                f"the run folder {run} has no {name}", hint="replay anew: tracekit replay STORE"
            )
    document = RUN_FOLDER.sound(run)
    return ReportSource(store=_named_store(run, document), run=run, document=document)


def _store_of(source: Path) -> Store:
    source = place(source)
    try:
        return open_store(source)
    except TracekitError as error:
        if not source.exists() or any((source / one).exists() for one in (NAME, FILE)):
            raise
        raise TracekitError(
            f"{source} is {'a file, ' * source.is_file()}neither a store nor a run folder",
            hint=error.hint or "make a store: tracekit ingest SRC STORE",
        ) from error


def _named_store(run: Path, document: Mapping[str, Any]) -> Store | None:
    """The store in the manifest, else the store beside the run with the workload's name."""
    load = document.get("workload") or document.get("set") or {}
    named, name = load.get("store"), str(load.get("name", ""))
    beside = run.resolve().parent / name if name and Path(name).name == name else None
    for folder in (found_from(run, str(named)) if named else None, beside):
        if folder is None:
            continue
        with contextlib.suppress(TracekitError):
            return open_store(folder)
    return None


def answer_at(source: Path, run: Path | None) -> Answer | None:
    """Return the answer stored for a source; for the parts of ``tracekit run``, the whole run's."""
    part = source.resolve() if run is None else run.resolve()
    whole = read_answer(part.parent) if part.name in (REPLAY, "store") else None
    return whole or read_answer(part)


@contextlib.contextmanager
def opened(source: Path, studies: Sequence[Path] = (), *, queries: bool = True) -> Iterator[Data]:
    """Open a store, a run or a study folder, with further studies, and yield the data for a report.

    Without ``queries`` a run is shown without its store.

    Raises
    ------
    TracekitError
        For another source, and for a given study folder without a study.
    """
    meant = open_source(source)
    store, document = meant.store, meant.document
    folder = None if store is None else store.path
    folders = folders_of_studies(source, studies)
    shown = read_studies(folders, studies, document.get("workload"))
    with contextlib.ExitStack() as stack:
        database = stack.enter_context(Database(store)) if store and queries else None
        named = paths(
            source,
            folder,
            meant.run,
            loader=str(document.get("workload", {}).get("loader") or ""),
            files=[one for policy in document.get("policies", ()) for one in policy.get(FILES, ())],
            results=folders_of(folder) | {name: folders[name] for name in shown},
        )
        yield _loaded(source, meant, database, studies=shown, named=named)


def _loaded(
    source: Path,
    meant: ReportSource,
    database: Database | None,
    *,
    studies: Mapping[str, Study],
    named: Paths,
) -> Data:
    """The data of a store, a run, studies and a sizing run; each may be absent."""
    store, run = meant.store, meant.run
    computed = Computed(store) if store else None
    sizes = _sizes(source, store)

    def fetch(name: str, params: Mapping[str, str]) -> pl.DataFrame:
        if database is None:
            return pl.DataFrame()
        computed_frame = computed.query(name) if computed and not params else None
        return (
            database.frame(get_query(name).text, params)
            if computed_frame is None
            else computed_frame
        )

    def results(name: str) -> pl.DataFrame:
        if name.startswith(f"{SIZE}/"):
            return sizes.get(name.removeprefix(f"{SIZE}/"), pl.DataFrame())
        return pl.DataFrame() if computed is None else computed.frame(name)

    return Data(
        fetch=fetch if database else None,
        info=describe(store) if store else None,
        run=meant.document if run else None,
        run_frames=_of_run(run) if run else {},
        results=results,
        studies=studies,
        answer=answer_at(source, run),
        paths=named,
    )


def _sizes(source: Path, store: Store | None) -> dict[str, pl.DataFrame]:
    """The frames of a sizing run: of the source itself, else of the folder beside the store."""
    beside = store.path.resolve().parent / SIZE if store else source
    ours = next((one for one in (source, beside) if SIZING_FOLDER.holds(one)), None)
    return {} if ours is None else _read(ours, SIZE_FRAMES)


def _of_run(run: Path) -> dict[str, pl.DataFrame]:
    """The frames of a run; TracekitError where a file is of another table."""
    frames = _read(run, (*RUN_FRAMES, *MORE_FRAMES))
    for name in RUN_FRAMES:
        if "policy" not in frames[name].columns:
            raise TracekitError(
                f"{run / name}.parquet is damaged: it has no column policy",
                hint="replay again into the same folder",
            )
    return frames


def _read(folder: Path, names: tuple[str, ...]) -> dict[str, pl.DataFrame]:
    files = {name: folder / f"{name}.parquet" for name in names}
    return {name: read_frame(path) for name, path in files.items() if path.is_file()}
