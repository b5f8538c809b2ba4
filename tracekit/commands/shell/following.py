"""What to do next in a folder, judged by its contents: printed by ``tracekit`` alone."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base.facts import Fact, Followup
from tracekit.base.files import result_folder
from tracekit.base.files.result_folder import STUDY
from tracekit.store.folder import is_store

#: Endings of trace files; the files are not opened.
_TRACE_ENDINGS = (".tar.gz", ".csv.gz", ".csv", ".parquet")
_LOOKED_AT = 200
_SHOWN = 3


@dataclass(frozen=True)
class Contents:
    """Paths of the traces, stores, runs and HTML reports in a folder, as a user would type them."""

    traces: tuple[str, ...]
    stores: tuple[str, ...]
    runs: tuple[str, ...]
    pages: tuple[str, ...]


#: Something in a folder, and the command that goes on from it.
Advice = tuple[Fact, Followup | None]


def look_around(folder: Path) -> Contents:
    """Return what a folder, its subfolders, and their ``store`` and ``replay`` folders hold."""
    entries = sorted(folder.iterdir())[:_LOOKED_AT] if folder.is_dir() else []
    inner = (entry / name for entry in entries for name in ("store", "replay"))
    kinds = [(_spelled(folder, one), kind_of(one)) for one in [folder, *entries, *inner]]
    reports = (entry / "report.html" for entry in entries if entry.is_dir())
    pages = [*reports, *(entry for entry in entries if entry.suffix == ".html")]
    return Contents(
        traces=tuple(_trace_folders(folder, entries)),
        stores=tuple(name for name, kind in kinds if kind == "store"),
        runs=tuple(name for name, kind in kinds if kind == "run"),
        pages=tuple(_spelled(folder, page) for page in pages if page.is_file()),
    )


def kind_of(folder: Path) -> str | None:
    """Return ``store``, ``run``, ``study`` or another kind of result; None for any other folder."""
    if (folder / STUDY).is_file():
        return "study"
    if is_store(folder):
        return "store"
    made_by = result_folder.kind_of(folder)
    return {"replay": "run", "": None}.get(made_by, made_by)


def advice(contents: Contents) -> list[Advice]:
    """Return sentences on a folder with the next command; three ways to begin where it is empty."""
    return list(_results(contents)) or [
        (_lies("", "nothing"), _next("run", SRC="synth:small", out="demo")),
        (
            _lies("", "or_real"),
            _next("fetch", SOURCE="ctm21", OUT="traces", tables="node", parts="0"),
        ),
        (_lies("", "or_own"), _next("fetch kubernetes", OUT="mycluster")),
    ]


def _results(contents: Contents) -> Iterator[Advice]:
    for page in contents.pages[:_SHOWN]:
        yield _lies(page, "page"), None
    for run in contents.runs[:_SHOWN]:
        page = f"{'run' if run == '.' else run.replace('/', '-')}.html"
        reported = {page, str(Path(run).parent / "report.html")} & {*contents.pages}
        if not reported:
            yield _lies(run, "run"), _next("report", RUN=run, out=page)
    if len(contents.runs) > 1:
        base, new, *_ = contents.runs
        yield _lies("", "runs"), _next("compare", BASE=base, NEW=new)
    for store in contents.stores[:_SHOWN]:
        if str(Path(store).parent / "replay") in contents.runs:
            yield _lies(store, "store"), _next("nodes", STORE=store)
        else:
            out = "../run" if store == "." else f"{store.replace('/', '-')}-run"
            yield _lies(store, "store"), _next("run", SRC=store, out=out)
    for traces in () if contents.stores else contents.traces[:_SHOWN]:
        yield _lies(traces, "traces"), _next("run", SRC=traces, out="out")


def _lies(name: str, what: str) -> Fact:
    subject = "this folder" if name == "." else name
    return Fact(kind="lies_here", subject=subject, because=what)


def _next(command: str, **arguments: str) -> Followup:
    return Followup(question="", command=command, arguments=arguments)


def _trace_folders(folder: Path, entries: Sequence[Path]) -> list[str]:
    """The folder of trace files; ``.`` where the files lie here or in several folders."""
    here = any(entry.name.endswith(_TRACE_ENDINGS) for entry in entries if entry.is_file())
    inside = [
        _spelled(folder, entry)
        for entry in entries
        if entry.is_dir() and kind_of(entry) is None and _has_traces(entry)
    ]
    return ["."] if here or len(inside) > 1 else inside


def _has_traces(folder: Path) -> bool:
    """Whether a folder has archives, lists of kubectl, or a folder of archives."""
    patterns = ("*.tar.gz", "*.csv", "*/*.tar.gz", "kubernetes*.json*")
    return any(path.is_file() for one in patterns for path in folder.glob(one))


def _spelled(folder: Path, entry: Path) -> str:
    return "." if entry == folder else str(entry.relative_to(folder))
