"""What to do next, given the folder one stands in: printed by ``tracekit`` alone."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.files import result_folder
from tracekit.base.words import agreeing
from tracekit.store.manifest import is_store

#: Endings of what ingest takes; a file is not opened to be told apart here.
TRACE_ENDINGS = (".tar.gz", ".csv.gz", ".csv", ".parquet")
_LOOKED_AT = 200
_SHOWN = 3


@dataclass(frozen=True)
class Found:
    """What lies in a folder: names as a user would type them.

    ``others`` are further results, each with its kind, a key of ``_OTHERS``.
    """

    traces: tuple[str, ...]
    stores: tuple[str, ...]
    runs: tuple[str, ...]
    pages: tuple[str, ...]
    others: tuple[tuple[str, str], ...] = ()


#: Results besides stores and runs: what they are, and what goes on from them. FREE is a name that
#: is not taken, STORE the store beside them.
_OTHERS = {
    "study": ("is a study", "tracekit report {0} --out {page}"),
    "fit": ("is a fit of what neighbours cost", "tracekit bind {store} --fit {0} --out {bound}"),
    "analysis": ("holds the analytics of a store; a report shows them", ""),
    "calls": ("holds call graphs; a report shows them", ""),
    "size": ("is a sizing run", "tracekit report {0} --out {page}"),
    "bind": (
        "is a replay down to the vCPU; the report of its store shows it",
        "tracekit report {store} --out {page}",
    ),
}


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


def advice(found: Found) -> list[tuple[str, str]]:
    """Sentences with the command that goes on from there, the most finished thing first.

    No two of them write to the same place, and none writes over what is there.
    """
    taken = {*found.pages, *found.runs, *(name for name, _ in found.others)}
    lines = [(f"{page} is a page: open it in a browser", "") for page in found.pages[:_SHOWN]]
    if len(found.pages) > _SHOWN:
        lines.append((agreeing(len(found.pages) - _SHOWN, "more [page is|pages are] here"), ""))
    for run in found.runs[:_SHOWN]:
        page = _reported_in(run, found.pages)
        tail = f"; its report is {page}" if page else ""
        command = "" if page else f"tracekit report {run} --out {_free(run, '.html', taken)}"
        lines.append((f"{_here(run)} is a replay{tail}", command))
    if len(found.runs) > 1:
        lines.append(("what changed between two of them", f"tracekit compare {_two(found.runs)}"))
    for name, kind in found.others[: 2 * _SHOWN]:
        tail, command = _OTHERS[kind]
        if "{store}" in command and not found.stores:
            command = ""
        lines.append((f"{_here(name)} {tail}", _filled(command, name, found, taken)))
    for store in found.stores[:_SHOWN]:
        whole = str(Path(store).parent / "replay") in found.runs
        command = f"tracekit nodes {store}"
        if not whole:
            command = f"tracekit run {store} --out {_free(store, '-run', taken)}"
        lines.append((f"{_here(store)} is a store", command))
    if not found.stores:
        lines += [
            (f"{_here(traces)} holds trace files", f"tracekit run {traces} --out out")
            for traces in found.traces[:_SHOWN]
        ]
    return lines or [
        (
            "Nothing of tracekit here yet: start without any data",
            "tracekit run synth:small --out demo",
        ),
        ("or take some of the real trace", "tracekit fetch ctm21 traces --tables node --parts 0"),
        ("or your own cluster", "tracekit fetch kubernetes mycluster"),
    ]


def _reported_in(run: str, pages: Sequence[str]) -> str | None:
    """The page that ``tracekit run`` or the advice above made of a run."""
    beside = Path(run).parent / "report.html"
    return next((page for page in (str(beside), f"{_plain(run)}.html") if page in pages), None)


def _two(runs: Sequence[str]) -> str:
    return " ".join(runs[:2])


def _filled(command: str, name: str, found: Found, taken: set[str]) -> str:
    """A command of ``_OTHERS`` with its names; only those it has are taken."""
    mine = [store for store in found.stores if Path(store).parent == Path(name).parent]
    names = {"store": next(iter([*mine, *found.stores]), "")}
    if "{page}" in command:
        names["page"] = _free(name, ".html", taken)
    if "{bound}" in command:
        names["bound"] = _free(name, "-bound", taken)
    return command.format(name, **names)


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


def _here(name: str) -> str:
    return "this folder" if name == "." else name


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
