"""What the shell completes: names of policies, queries, measures, ..., and folders of results.

Every Tab starts the program again, so nothing is imported for it: a name is that of a file, or of
what a file declares. A test holds each list to the registry.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tracekit.base import assets
from tracekit.base.errors import TracekitError
from tracekit.commands import listing as catalogue

_PACKAGE = Path(__file__).resolve().parents[2]
#: Where the files of a kind lie, below the package.
_FILES = {
    "policies": "policy/placement",
    "rebalancers": "policy/rebalance",
    "sizing_policies": "sizing/policies",
}
#: Kinds of which several stand in one file: as keys of a dictionary, or as objects of a class.
_KEYS = {
    "presets": ("synth/presets.py", "_PRESETS"),
    "workloads": ("cluster/named.py", "NAMED"),
    "functions": ("policy/search/problem.py", "_FUNCTIONS"),
    "searches": ("policy/search/searches.py", "_SEARCHES"),
    "models": ("interference/models.py", "_MODELS"),
}
_OBJECTS = {"measures": "replay/measures"}
#: What a word that names a folder may be, as ``shell.following.kind_of`` calls it.
_FOLDER_KINDS = {
    "stores": frozenset({"store"}),
    "runs": frozenset({"run"}),
    "results": frozenset({"store", "run", "study"}),
}
#: Where what a replay of a store may assume is declared: a class's fields, or a dictionary's names.
_ASSUMED = (
    ("cluster/assumptions.py", "Assumptions"),
    ("cluster/assembly/assumptions.py", "SizedAssumptions"),
    ("cluster/circumstances.py", "NAMES"),
)
_FOLDERS_LOOKED_AT = 500


def completer(kind: str) -> Callable[[str], list[str]]:
    """The function that typer calls for words that continue what was typed."""

    def words(incomplete: str) -> list[str]:
        return _matching(kind, incomplete)

    return words


def _matching(kind: str, typed: str) -> list[str]:
    if kind in _FOLDER_KINDS:
        return sorted(_folders(_FOLDER_KINDS[kind], typed))
    if kind == "traces":
        made_up = [f"synth:{name}" for name in names("presets")]
        return [name for name in made_up if typed and name.startswith(typed)]
    if kind == "entrants":
        before, plus, begun = typed.rpartition("+")
        known = names("rebalancers") if plus else ["all", "common", *names("policies")]
        return [f"{before}{plus}{name}" for name in known if name.startswith(begun)]
    if kind == "queries":
        return _queries_like(typed)
    return [f"{name}{_after(kind)}" for name in names(kind) if name.startswith(typed)]


def _after(kind: str) -> str:
    """The text behind a name before more is typed."""
    return "=" if kind == "assumptions" else ""


def _queries_like(typed: str) -> list[str]:
    """Queries that begin so, else those of any folder whose own name does; none for a path."""
    known = names("queries")
    found = [name for name in known if name.startswith(typed)]
    return found or [name for name in known if name.rpartition("/")[2].startswith(typed)]


def names(kind: str) -> list[str]:
    """The names of a kind, sorted, without importing any of it; none where they are not found."""
    if kind == "kinds":
        return list(catalogue.KINDS)
    if kind == "queries":
        return sorted(_queries())
    if kind == "sources":
        return sorted({*_stems("intake/sources/released"), *_stems("intake/sources/own")})
    if kind in _KEYS or kind in _OBJECTS:
        return sorted(_in_files(kind))
    if kind == "assumptions":
        return sorted(
            {name for file, what in _ASSUMED for name in _declared(_PACKAGE / file, what)}
        )
    return sorted(_stems(_FILES[kind]))


def _stems(folder: str) -> Iterator[str]:
    return (one.stem for one in _files(folder))


def _files(folder: str) -> Iterator[Path]:
    return (one for one in (_PACKAGE / folder).glob("*.py") if not one.name.startswith("_"))


def _queries() -> Iterator[str]:
    try:
        folder = assets.asset_dir("queries")
    except TracekitError:
        return
    for path in folder.rglob("*.sql"):
        yield path.relative_to(folder).with_suffix("").as_posix()


def _in_files(kind: str) -> Iterator[str]:
    if kind in _OBJECTS:
        return _objects(_OBJECTS[kind])
    file, what = _KEYS[kind]
    return _declared(_PACKAGE / file, what)


def _objects(folder: str) -> Iterator[str]:
    """The public names that a folder's files give to what they make; one per resource has two."""
    import ast

    for file in _files(folder):
        for one in ast.parse(file.read_text(encoding="utf-8")).body:
            if not (isinstance(one, ast.Assign) and isinstance(one.value, ast.Call)):
                continue
            name = ast.unparse(one.targets[0])
            if name.islower() and not name.startswith("_"):
                each = any(given.arg == "per_resource" for given in one.value.keywords)
                yield from (f"{part}{name}" for part in (("cpu_", "memory_") if each else ("",)))


def _declared(file: Path, what: str) -> Iterator[str]:
    """The fields of a class, or the names of a dictionary, without importing the file."""
    import ast

    for one in ast.parse(file.read_text(encoding="utf-8")).body:
        if isinstance(one, ast.ClassDef) and one.name == what:
            fields = (line for line in one.body if isinstance(line, ast.AnnAssign))
            yield from (line.target.id for line in fields if isinstance(line.target, ast.Name))
        elif isinstance(one, ast.Assign) and ast.unparse(one.targets[0]) == what:
            known = one.value.keys if isinstance(one.value, ast.Dict) else []
            yield from (str(key.value) for key in known if isinstance(key, ast.Constant))


def _folders(kinds: frozenset[str], typed: str) -> Iterator[str]:
    """Folders of those kinds where the word points to, and those inside a folder there.

    None at all leaves the shell to complete file names as it always does.
    """
    from tracekit.commands.shell.following import kind_of

    where, _, begun = typed.rpartition("/")
    root = Path(where or ("/" if typed.startswith("/") else "."))
    for folder in itertools.islice(_below(root, begun), _FOLDERS_LOOKED_AT):
        if kind_of(folder) in kinds:
            yield f"{where}/{folder.relative_to(root)}" if "/" in typed else str(folder)


def _below(root: Path, begun: str) -> Iterator[Path]:
    for folder in _inside(root):
        if folder.name.startswith(begun) and (begun or not folder.name.startswith(".")):
            yield folder
            yield from (one for one in _inside(folder) if not one.name.startswith("."))


def _inside(folder: Path) -> Iterable[Path]:
    try:
        return sorted(one for one in folder.iterdir() if one.is_dir())
    except OSError:
        return ()
