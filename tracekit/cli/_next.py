"""What to do next, given the folder one stands in: printed by ``tracekit`` alone."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

#: Endings of what ingest takes; a file is not opened to be told apart here.
TRACE_ENDINGS = (".tar.gz", ".csv.gz", ".csv", ".parquet")
_LOOKED_AT = 200
_SHOWN = 3


@dataclass(frozen=True)
class Found:
    """What lies in a folder: names as a user would type them."""

    traces: tuple[str, ...]
    stores: tuple[str, ...]
    runs: tuple[str, ...]
    pages: tuple[str, ...]


def look_around(folder: Path) -> Found:
    """Stores, runs, reports and trace files of a folder and of the folders in it."""
    entries = sorted(folder.iterdir())[:_LOOKED_AT] if folder.is_dir() else []
    nested = [(entry, kind_of(entry)) for entry in [folder, *entries, *_inside(entries)]]
    return Found(
        traces=tuple(_trace_folders(folder, entries)),
        stores=tuple(_spelled(folder, entry) for entry, kind in nested if kind == "store"),
        runs=tuple(_spelled(folder, entry) for entry, kind in nested if kind == "run"),
        pages=tuple(entry.name for entry in entries if entry.suffix == ".html"),
    )


def kind_of(folder: Path) -> str | None:
    """'store' or 'run' when the folder is one, judged by its manifest."""
    try:
        manifest = json.loads((folder / "manifest.json").read_bytes())
    except (OSError, ValueError):
        return None
    if not isinstance(manifest, dict):
        return None
    if "sources" in manifest and "format_version" in manifest:
        return "store"
    return "run" if str(manifest.get("schema", "")).startswith("tracekit/replay/") else None


def advice(found: Found) -> list[tuple[str, str]]:
    """Sentences with the command that goes on from there, the most finished thing first."""
    lines = [(f"{page} is a page: open it in a browser", "") for page in found.pages[:_SHOWN]]
    lines += [
        (f"{_here(run)} is a replay", f"tracekit report {run} --out report.html")
        for run in found.runs[:_SHOWN]
    ]
    lines += [
        (f"{_here(store)} is a store", f"tracekit replay {store} --policy all --out run")
        for store in found.stores[:_SHOWN]
    ]
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
    ]


def _here(name: str) -> str:
    return "this folder" if name == "." else name


def _inside(entries: Sequence[Path]) -> Iterator[Path]:
    """The folders that ``tracekit run`` makes inside its own."""
    return (entry / name for entry in entries if entry.is_dir() for name in ("store", "replay"))


def _trace_folders(folder: Path, entries: Sequence[Path]) -> list[str]:
    """Where trace files lie; the folder itself when they lie in several: one ingest takes all."""
    here = any(entry.name.endswith(TRACE_ENDINGS) for entry in entries if entry.is_file())
    inside = [
        _spelled(folder, entry)
        for entry in entries
        if entry.is_dir() and kind_of(entry) is None and _has_archives(entry)
    ]
    return ["."] if here or len(inside) > 1 else inside


def _has_archives(folder: Path) -> bool:
    """Whether archives lie in the folder, or one level down, as a fetched release has them."""
    found = (*folder.glob("*.tar.gz"), *folder.glob("*.csv"), *folder.glob("*/*.tar.gz"))
    return any(path.is_file() for path in found)


def _spelled(folder: Path, entry: Path) -> str:
    return "." if entry == folder else str(entry.relative_to(folder))
