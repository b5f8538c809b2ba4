"""What a report is made of: a store's query results and a run's frames, each read once."""

import contextlib
import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tracekit.answer.decision import Decision, decision
from tracekit.answer.fewest.asked_already import AskedAlready
from tracekit.answer.fewest.study import NAME as SHRUNK
from tracekit.answer.may_answer import may_be_chosen
from tracekit.answer.standings import Standings, standings
from tracekit.errors import TracekitError
from tracekit.files.parquet import read_frame
from tracekit.files.places import found_from, place
from tracekit.query.database import Database
from tracekit.query.describe import describe
from tracekit.replay.runs.results import Results
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.runs.run_folder import RUN_FOLDER, run_within
from tracekit.report.computed import Computed
from tracekit.report.paths import Paths
from tracekit.report.sizing_run import SizingRun, read_sizing
from tracekit.report.studies import Studies, assumed_otherwise
from tracekit.sizing.run_folder import SIZING_FOLDER
from tracekit.sqlfiles import get_query
from tracekit.store.folder import Store, open_store
from tracekit.study import STUDY_FOLDER, Study

#: The study of changed assumptions.
VARIED = "assumptions"
#: A query's rows, by its name and the values of its parameters.
Fetch = Callable[[str, Mapping[str, str]], pl.DataFrame]

RUN_FRAMES = ("summary", "steps")
#: Frames that a run folder may lack.
MORE_FRAMES = ("placements", "differences", "repeats", "nodes")


class Data:
    """Frames by name; a query is run when a page first asks for it.

    Parameters
    ----------
    fetch : callable, optional
        Runs a query of ``queries/``; None when there is no store.
    info : mapping, optional
        What ``tracekit.query.describe`` says of the store.
    run : mapping, optional
        The run's manifest; None when there is no run.
    run_frames : mapping of str to frame
        ``summary`` and ``steps`` of the run folder, and ``placements`` and ``differences`` if any.
    results : callable, optional
        Gives ``analysis/<result>`` and ``callgraph/<frame>``: see ``tracekit.report.computed``.
    studies : mapping of str to Study
        What studies found, by the name of the study.
    other_studies : sequence of (str, Study)
        Further ones of the same names, with the names of their folders.
    folders : mapping of str to str, optional
        The folders of ``studies`` by the studies' names, named as those of others.
    sizing : SizingRun, optional
        A comparison of sizing policies; None when there is none.
    paths : Paths, optional
        Where these lie, as commands name them.
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
        other_studies: Sequence[tuple[str, Study]] = (),
        folders: Mapping[str, str] | None = None,
        sizing: SizingRun | None = None,
        paths: Paths | None = None,
    ) -> None:
        self._fetch = fetch
        self._frames: dict[tuple[str, ...], pl.DataFrame] = {}
        self._run_frames = dict(run_frames or {})
        self._standings: dict[str, Standings] = {}
        self._results = results
        self.info = info
        self.run = run
        self.studies = dict(studies or {})
        self.other_studies = tuple(other_studies)
        self.folders = dict(folders or {})
        self.sizing = sizing
        self.paths = paths or Paths()

    @property
    def made_up(self) -> bool:
        """Whether the trace was drawn by ``tracekit synth``, so that nothing in it is found."""
        return bool((self.info or {}).get("made_up"))

    @functools.cached_property
    def results(self) -> Results | None:
        """The run as standings and decisions are asked of it; None when there is none."""
        summary = self.replay("summary")
        if self.run is None or summary.is_empty():
            return None
        repeats = self.replay("repeats")
        return Results(self.run, summary, None if repeats.is_empty() else repeats)

    @functools.cached_property
    def decision(self) -> Decision | None:
        """What the run lets one decide; None when there is none."""
        return None if self.results is None else decision(self.results)

    def standings(self, measure: str) -> Standings:
        """How the policies of the run stand by a measure; there must be a run."""
        if self.results is None:
            raise LookupError(measure)
        if measure not in self._standings:
            beside = self._beside(self.results, measure)
            self._standings[measure] = standings(self.results, measure, beside=beside)
        return self._standings[measure]

    def _beside(self, found: Results, measure: str) -> str:
        """Whom the others are set beside: the policy that is chosen, else the best that may be."""
        told = self.decision
        if told is not None and told.chosen and measure == told.criterion:
            return told.chosen[0]
        usual = [names for names in found.groups if OBSERVED in names]
        rows = standings(found, measure, among=[*may_be_chosen(found), *usual]).rows
        return rows[0].names[0] if rows else ""

    @property
    def asked_already(self) -> AskedAlready:
        """What the studies that are there have asked."""
        return AskedAlready([*self.studies.values(), *(study for _, study in self.other_studies)])

    @property
    def has_store(self) -> bool:
        """Whether there are queries to ask."""
        return self._fetch is not None

    @property
    def has_run(self) -> bool:
        """Whether there is a replay to show."""
        return self.run is not None

    def query(self, name: str, **params: str) -> pl.DataFrame:
        """The rows of a query; a frame without columns when there is no store."""
        if self._fetch is None:
            return pl.DataFrame()
        key = (name, *(f"{param}={value}" for param, value in sorted(params.items())))
        if key not in self._frames:
            self._frames[key] = self._fetch(name, params)
        return self._frames[key]

    def result(self, name: str) -> pl.DataFrame:
        """A result of analytics, call graphs or a study; without columns when there is none."""
        study, _, frame = name.partition("/")
        if study in self.studies:
            return self.studies[study].frames.get(frame, pl.DataFrame())
        return pl.DataFrame() if self._results is None else self._results(name)

    def folder(self, study: str) -> str:
        """Where a study lies, as commands name it; empty where that is not known."""
        name = self.folders.get(study)
        return "" if name is None else self.paths.study(name)

    def replay(self, name: str) -> pl.DataFrame:
        """A frame of the run folder; a frame without columns when there is no run."""
        return self._run_frames.get(name, pl.DataFrame())

    def size(self, name: str) -> pl.DataFrame:
        """A frame of the sizing run; a frame without columns when there is none."""
        return (
            pl.DataFrame() if self.sizing is None else self.sizing.frames.get(name, pl.DataFrame())
        )


def open_source(source: Path) -> tuple[Path | None, Path | None]:
    """The store and the run that a path means; raises TracekitError when it is neither.

    A run's own store is used when it is still there. A sizing run may name a store, a study folder
    has neither.
    """
    if STUDY_FOLDER.holds(source):
        return None, None
    if SIZING_FOLDER.holds(source):
        return _named_store(source), None
    if not RUN_FOLDER.holds(source):
        return _store_of(source), None
    for name in (RUN_FOLDER.document, *(f"{frame}.parquet" for frame in RUN_FRAMES)):
        if not (source / name).is_file():
            raise TracekitError(
                f"the run folder {source} has no {name}", hint="replay anew: tracekit replay STORE"
            )
    return _named_store(source), source


def _store_of(source: Path) -> Path:
    source = place(source)
    try:
        open_store(source)
    except TracekitError as error:
        nested = run_within(source)
        if nested:
            hint = f"did you mean {nested}?"
        else:
            hint = error.hint or "make a store: tracekit ingest SRC STORE"
        what = error.what.replace("no such store", "no such store or run folder")
        raise TracekitError(
            what.replace("not a store", "neither a store nor a run folder"), hint=hint
        ) from error
    return source


def _named_store(run: Path) -> Path | None:
    """The store the manifest names, else the one beside the run with the workload's name."""
    document = read_run(run)
    load = document.get("workload") or document.get("set") or {}
    named, name = load.get("store"), str(load.get("name", ""))
    beside = run.resolve().parent / name if name and Path(name).name == name else None
    for folder in (found_from(run, str(named)) if named else None, beside):
        if folder is None:
            continue
        with contextlib.suppress(TracekitError):
            open_store(folder)
            return folder
    return None


def read_run(folder: Path) -> dict[str, Any]:
    """A run folder's manifest."""
    document: dict[str, Any] = RUN_FOLDER.read(folder)
    return document


def load(
    database: Database | None,
    store: Store | None,
    run: Path | None,
    *,
    studies: Studies | None = None,
    sizing: Path | None = None,
    paths: Paths | None = None,
) -> Data:
    """The data of an opened store, a run, studies and a sizing run; each of them may be absent."""
    computed = Computed(store) if store else None

    def fetch(name: str, params: Mapping[str, str]) -> pl.DataFrame:
        if database is None:
            return pl.DataFrame()
        known = computed.query(name) if computed and not params else None
        return database.frame(get_query(name).text, params) if known is None else known

    files = {n: run / f"{n}.parquet" for n in (*RUN_FRAMES, *MORE_FRAMES)} if run else {}
    frames = {name: read_frame(path) for name, path in files.items() if path.is_file()}
    data = Data(
        fetch=fetch if database else None,
        info=describe(store) if store else None,
        run=read_run(run) if run else None,
        run_frames=frames,
        results=computed.frame if computed else None,
        studies=None if studies is None else studies.shown,
        other_studies=() if studies is None else studies.others,
        folders=None if studies is None else studies.folders,
        sizing=read_sizing(sizing) if sizing else None,
        paths=paths,
    )
    of_the_answer(data)
    return data


def of_the_answer(data: Data) -> None:
    """Of several studies of one name one that tried the policy that the run names goes first."""
    subject = "" if data.decision is None else data.decision.subject
    for name in (VARIED, SHRUNK) if subject else ():
        usual = data.studies.get(name)
        if usual is not None and subject not in usual.about["policies"]:
            _put_first(data, name, subject, usual)


def _put_first(data: Data, name: str, subject: str, usual: Study) -> None:
    """Show a study that tried a policy, with the load as it was recorded, if there is one."""
    load = (data.run or {}).get("workload", {})
    for at, (folder, study) in enumerate(data.other_studies):
        about = study.about
        ours = study.name == name and subject in about["policies"] and about.get("scale", 1) == 1
        if ours and not assumed_otherwise(study, load):
            data.studies[name] = study
            others = list(data.other_studies)
            others[at] = (data.folders.get(name, name), usual)
            data.folders[name], data.other_studies = folder, tuple(others)
            return


def in_columns(frame: pl.DataFrame, schema: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """The columns of the schema alone; no rows where the frame, which may lack them, has none."""
    return pl.DataFrame(schema=schema) if frame.is_empty() else frame.select(list(schema))
