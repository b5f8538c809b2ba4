"""Verifies the files of stores and results by their checksums."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from tracekit.base.errors import TracekitError
from tracekit.base.facts import FILE, damage_of_answer
from tracekit.base.files.places import is_remote
from tracekit.base.files.result_folder import (
    Damage,
    as_damage,
    damaged,
    damaged_results,
    document_of,
)
from tracekit.store.broken_rows import QUALITY
from tracekit.store.catalog import checked_catalog, damaged_quality, stale_quality, unfinished
from tracekit.store.folder import CATALOG, NAME, Store, is_sealed, is_store, open_store


@dataclass(frozen=True)
class Subset:
    """Every ``of``-th file in the order of paths, from number ``first`` on (counted from 1)."""

    first: int = 1
    of: int = 1

    @classmethod
    def parsed(cls, text: str) -> Self:
        """Parse a text such as ``1/7``; raises TracekitError for other text."""
        first, _, of = text.partition("/")
        if first.isdecimal() and of.isdecimal() and 1 <= int(first) <= int(of):
            return cls(int(first), int(of))
        raise TracekitError(
            f"--subset {text} is no share of the files",
            hint="the first of seven shares is --subset 1/7, the last is --subset 7/7",
        )

    def among(self, checksums: Mapping[str, str]) -> dict[str, str]:
        """Return the files of this subset, with their checksums."""
        return {path: checksums[path] for path in sorted(checksums)[self.first - 1 :: self.of]}


@dataclass(kw_only=True)
class Verified:
    """The counts and findings of a verification; see ``tracekit.commands.check``."""

    verified: int = 0
    without_checksums: list[str] = field(default_factory=list)
    damaged: list[Damage] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    unfinished: bool = False

    def document(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return dataclasses.asdict(self)


def verified(folder: Path, subset: Subset) -> Verified:
    """Verify a store, a result, or all stores and results in a folder.

    Raises
    ------
    TracekitError
        For a folder without any.
    """
    one = verified_one(folder, subset)
    if one is not None:
        return one
    inner = [] if is_remote(folder) else sorted(_within(folder))
    if not inner:
        open_store(folder)  # raises the error
    outcome = Verified()
    if not is_remote(folder) and (folder / FILE).is_file():
        damage = damage_of_answer(folder / FILE)
        outcome = Verified(verified=1, damaged=[] if damage is None else [damage])
    for path in inner:
        _add(outcome, path, path.relative_to(folder).as_posix(), subset)
    return outcome


def verified_one(folder: Path, subset: Subset) -> Verified | None:
    """Verify a store or a result; None for any other folder."""
    if is_store(folder):
        return _of_store(open_store(folder), subset)
    result = None if is_remote(folder) else document_of(folder)
    return None if result is None else _of_result(folder, *result, subset)


def _within(folder: Path) -> Iterator[Path]:
    """The stores and results in a folder and in its folders."""
    for path in (*folder.glob("*"), *folder.glob("*/*")):
        if not path.name.startswith(".") and (is_store(path) or document_of(path) is not None):
            yield path


def _add(outcome: Verified, folder: Path, name: str, subset: Subset) -> None:
    """Add the verification of a folder, with paths that begin with its name."""
    try:
        one = verified_one(folder, subset) or Verified()
    except TracekitError as error:
        outcome.damaged.append(as_damage(f"{name}/{NAME}", "unreadable", why=error.what))
        return
    outcome.verified += one.verified
    outcome.without_checksums += [f"{name}/{path}" for path in one.without_checksums]
    outcome.damaged += [dataclasses.replace(d, path=f"{name}/{d.path}") for d in one.damaged]
    outcome.stale += [f"{name}/{path}" for path in one.stale]
    outcome.unfinished |= one.unfinished


def _of_result(folder: Path, path: Path, document: dict[str, Any], subset: Subset) -> Verified:
    some = subset.among(document.get("checksums", {}))
    return Verified(
        verified=1 + len(some),
        without_checksums=[] if "checksums" in document else [path.name],
        damaged=list(damaged_results(folder, path.name, document, some)),
    )


def _of_store(store: Store, subset: Subset) -> Verified:
    sources = store.manifest.sources
    of = {path: entry for entry in sources for path in entry.checksums}
    some = subset.among({path: entry.checksums[path] for path, entry in of.items()})
    harmed = [
        one
        for path, wanted in some.items()
        for one in damaged(store.path, {path: wanted}, of[path].file)
    ]
    harmed += damaged_quality(store)
    cut_short = unfinished(store)
    stale: list[str] = []
    has_catalog = not is_remote(store.path)
    # the catalog of a damaged or unfinished store is not checked
    if not harmed and not cut_short:
        stale += stale_quality(store)
        current, damage = checked_catalog(store) if has_catalog else (True, None)
        if damage is not None:
            harmed.append(as_damage(CATALOG, "unreadable", why=damage))
        elif not current:
            stale.append(CATALOG)
    unsealed = [] if is_sealed(store.path) else [NAME]
    return Verified(
        verified=len(some) + len(QUALITY) + has_catalog,
        without_checksums=[*(one.file for one in sources if not one.checksums), *unsealed],
        damaged=harmed,
        stale=stale,
        unfinished=cut_short,
    )
