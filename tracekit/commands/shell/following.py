"""What to do next, given the folder one stands in: printed by ``tracekit`` alone."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.facts import Fact, Followup, Scalar
from tracekit.base.files import result_folder
from tracekit.store.folder import is_store

#: Endings of what ingest takes; a file is not opened to be told apart here.
TRACE_ENDINGS = (".tar.gz", ".csv.gz", ".csv", ".parquet")
_LOOKED_AT = 200
_SHOWN = 3


@dataclass(frozen=True)
class Found:
    """What lies in a folder: names as a user would type them.

    ``others`` are further results, each with its kind, one of ``_OTHERS``.
    """

    traces: tuple[str, ...]
    stores: tuple[str, ...]
    runs: tuple[str, ...]
    pages: tuple[str, ...]
    others: tuple[tuple[str, str], ...] = ()


#: Results besides stores and runs.
_OTHERS = ("study", "fit", "analysis", "calls", "size", "bind")
#: What lies in a folder, and how to go on from it.
Advice = tuple[Fact, Followup | None]


def look_around(folder: Path) -> Found:
    """Results, reports and trace files of a folder and of the folders in it."""
    entries = sorted(folder.iterdir())[:_LOOKED_AT] if folder.is_dir() else []
    nested = [
        (_spelled(folder, entry), kind_of(entry)) for entry in [folder, *entries, *_inside(entries)]
    ]
    beside = (entry / "report.html" for entry in entries if entry.is_dir())
    # the report of a whole run has all that others have a part of
    pages = [*beside, *(entry for entry in entries if entry.suffix == ".html")]
    return Found(
        traces=tuple(_trace_folders(folder, entries)),
        stores=tuple(name for name, kind in nested if kind == "store"),
        runs=tuple(name for name, kind in nested if kind == "run"),
        pages=tuple(_spelled(folder, page) for page in pages if page.is_file()),
        others=tuple((name, kind) for name, kind in nested if kind in _OTHERS),
    )


def kind_of(folder: Path) -> str | None:
    """'store', 'run' or another kind of result when the folder is one, judged by its document."""
    if (folder / "study.json").is_file():
        return "study"
    if is_store(folder):
        return "store"
    made_by = result_folder.kind_of(folder)
    return {"replay": "run", "": None}.get(made_by, made_by)


def advice(found: Found) -> list[Advice]:
    """What lies here, the most finished thing first, each with the command that goes on from it.

    No two commands write to the same place, and none writes over what is there.
    """
    taken = {*found.pages, *found.runs, *(name for name, _ in found.others)}
    return list(_results(found, taken)) or [
        (_lies("", "nothing"), _next("run", SRC="synth:small", out="demo")),
        (
            _lies("", "or_real"),
            _next("fetch", SOURCE="ctm21", OUT="traces", tables="node", parts="0"),
        ),
        (_lies("", "or_own"), _next("fetch kubernetes", OUT="mycluster")),
    ]


def _results(found: Found, taken: set[str]) -> Iterator[Advice]:
    for page in found.pages[:_SHOWN]:
        yield _lies(page, "page"), None
    if len(found.pages) > _SHOWN:
        yield _lies("", "pages", len(found.pages) - _SHOWN), None
    for run in found.runs[:_SHOWN]:
        page_of_run = _reported_in(run, found.pages)
        if page_of_run:
            yield _lies(run, "run_shown", page=page_of_run), None
        else:
            yield _lies(run, "run"), _next("report", RUN=run, out=_free(run, ".html", taken))
    if len(found.runs) > 1:
        base, new, *_ = found.runs
        yield _lies("", "runs"), _next("compare", BASE=base, NEW=new)
    for name, kind in found.others[: 2 * _SHOWN]:
        yield _lies(name, kind), _from_other(name, kind, found, taken)
    for store in found.stores[:_SHOWN]:
        whole = str(Path(store).parent / "replay") in found.runs
        yield (
            _lies(store, "store"),
            _next("nodes", STORE=store)
            if whole
            else _next("run", SRC=store, out=_free(store, "-run", taken)),
        )
    for traces in () if found.stores else found.traces[:_SHOWN]:
        yield _lies(traces, "traces"), _next("run", SRC=traces, out="out")


def _lies(name: str, what: str, many: int | None = None, **about: Scalar) -> Fact:
    subject = "this folder" if name == "." else name
    return Fact(kind="lies_here", subject=subject, because=what, value=many, about=about)


def _next(command: str, **arguments: str) -> Followup:
    return Followup(question="", command=command, arguments=arguments)


def _from_other(name: str, kind: str, found: Found, taken: set[str]) -> Followup | None:
    """What goes on from a result that is neither a store nor a run."""
    mine = [store for store in found.stores if Path(store).parent == Path(name).parent]
    store = next(iter([*mine, *found.stores]), "")
    if kind in {"study", "size"}:
        return _next("report", STUDY=name, out=_free(name, ".html", taken))
    if kind == "bind" and store:
        return _next("report", STORE=store, out=_free(name, ".html", taken))
    if kind == "fit" and store:
        return _next("bind", STORE=store, fit=name, out=_free(name, "-bound", taken))
    return None


def _reported_in(run: str, pages: Sequence[str]) -> str | None:
    """The page that ``tracekit run`` or the advice above made of a run."""
    beside = Path(run).parent / "report.html"
    return next((page for page in (str(beside), f"{_plain(run)}.html") if page in pages), None)


def _free(name: str, ending: str, taken: set[str]) -> str:
    """A name like that of a result which nothing has yet; it is taken from now on."""
    kind, dot, suffix = ending.partition(".")
    # what is made of this folder goes beside it
    base = f"../{kind[1:] or 'report'}" if name == "." else f"{_plain(name)}{kind}"
    numbers = (f"-{at}" if at > 1 else "" for at in itertools.count(1))
    free = next(one for at in numbers if (one := f"{base}{at}{dot}{suffix}") not in taken)
    taken.add(free)
    return free


def _plain(name: str) -> str:
    """The name of a result as one word."""
    return name.replace("/", "-")


def _inside(entries: Sequence[Path]) -> Iterator[Path]:
    """The folders that ``tracekit run`` makes inside its own."""
    made = ("store", "replay", "analysis", "calls", "fit", "bound")
    return (entry / name for entry in entries if entry.is_dir() for name in made)


def _trace_folders(folder: Path, entries: Sequence[Path]) -> list[str]:
    """The folder of trace files; the folder itself if several hold some: one ingest takes all."""
    here = any(entry.name.endswith(TRACE_ENDINGS) for entry in entries if entry.is_file())
    inside = [
        _spelled(folder, entry)
        for entry in entries
        if entry.is_dir() and kind_of(entry) is None and _has_archives(entry)
    ]
    return ["."] if here or len(inside) > 1 else inside


def _has_archives(folder: Path) -> bool:
    """Whether archives or lists of kubectl lie there, or archives of a release one level down."""
    names = ("*.tar.gz", "*.csv", "*/*.tar.gz", "kubernetes*.json*")
    found = (path for name in names for path in folder.glob(name))
    return any(path.is_file() for path in found)


def _spelled(folder: Path, entry: Path) -> str:
    return "." if entry == folder else str(entry.relative_to(folder))
