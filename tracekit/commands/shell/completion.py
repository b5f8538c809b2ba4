"""What the shell completes: names of policies, queries, measures, ..., and folders of results.

Every Tab starts the program again. So the names of policies and queries are read from their files
without an import, and no other kind is loaded than the one that is completed.
"""

import ast
import contextlib
from collections.abc import Callable, Iterator
from glob import escape
from pathlib import Path

from tracekit.base import folders
from tracekit.base.registry import with_underscores
from tracekit.commands import listing as catalogue

_PACKAGE = Path(__file__).resolve().parents[2]
#: Kinds whose names are those of classes, and the folder of their files below the package.
_FOLDERS = {
    "policies": "policy/placement",
    "rebalancers": "policy/rebalance",
    "sizing_policies": "sizing/policies",
}
#: Kinds of folders, and what ``following.kind_of`` calls them.
_RESULTS = {"stores": {"store"}, "runs": {"run"}, "results": {"store", "run", "study"}}


def completer(kind: str) -> Callable[[str], list[str]]:
    """The function that typer calls with an unfinished word for the words that continue it."""
    return lambda incomplete: _matching(kind, incomplete)


def _matching(kind: str, word: str) -> list[str]:
    if kind == "traces":
        made_up = [f"synth:{name}" for name in names("presets")] if word else []
        return [name for name in made_up if name.startswith(word)]
    if kind == "entrants":
        before, plus, unfinished = word.rpartition("+")
        choices = names("rebalancers") if plus else ["all", "common", *names("policies")]
        return [f"{before}{plus}{name}" for name in choices if name.startswith(unfinished)]
    if kind in _RESULTS:
        return sorted(_results(_RESULTS[kind], word))
    ending = "=" if kind == "assumptions" else ""
    return [f"{name}{ending}" for name in names(kind) if name.startswith(word)]


def names(kind: str) -> list[str]:
    """Return the names of a kind, sorted."""
    if kind == "kinds":
        return list(catalogue.KINDS)
    return sorted(_names(kind))


def _names(kind: str) -> Iterator[str]:
    if kind == "queries":
        folder = folders.asset_dir("queries")
        for path in folder.rglob("*.sql"):
            yield path.relative_to(folder).with_suffix("").as_posix()
    elif kind in _FOLDERS:
        for path in (_PACKAGE / _FOLDERS[kind]).glob("[!_]*.py"):
            for node in ast.parse(path.read_bytes()).body:
                if isinstance(node, ast.ClassDef) and node.bases and node.name[0] != "_":
                    yield with_underscores(node.name)
    else:
        yield from (str(one["name"]) for one in catalogue.listing(kind))


def _results(kinds: set[str], word: str) -> Iterator[str]:
    """Folders of these kinds that continue a word, and such folders inside them.

    Where no folder does, the shell completes names of files as it always does.
    """
    from tracekit.commands.shell.following import kind_of

    where, slash, unfinished = word.rpartition("/")
    root = Path(where + slash or ".")
    begins = f"{escape(unfinished)}*" if unfinished else "[!.]*"
    with contextlib.suppress(OSError):
        for folder in (*root.glob(begins), *root.glob(f"{begins}/[!.]*")):
            if folder.is_dir() and kind_of(folder) in kinds:
                yield str(folder)
