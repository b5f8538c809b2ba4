"""Folders of which one file is damaged: stores, runs, studies, a workload of one's own."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from door import Case, Door
from mutate import FIELDS, Rng, any_of, mutated_bytes, mutated_json
from tests_support import TraceFolder


def damage(folder: Path, rng: Rng) -> str:
    """Damage one file of the folder; returns its name."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    documents = [path for path in files if path.suffix == ".json"]
    path: Path = any_of(rng, documents) if documents and rng.random() < 0.4 else any_of(rng, files)
    how = int(rng.integers(6))
    if how == 0:
        path.unlink()
    elif how == 1:
        path.write_bytes(b"")
    elif how == 2:
        shutil.copyfile(any_of(rng, files), folder / ".copy")
        (folder / ".copy").replace(path)
    elif how == 3 and path.suffix == ".json":
        path.write_text(json.dumps(mutated_json(json.loads(path.read_text()), rng)))
    else:
        path.write_bytes(mutated_bytes(path.read_bytes(), rng))
    return path.relative_to(folder).as_posix()


_COMMANDS = (
    ("info", "store"),
    ("check", "store"),
    ("check", "store", "--verify"),
    ("query", "store", "usage/zone_summary"),
    ("query", "store", "quality/ledger"),
    ("ingest", "traces", "store", "--jobs", "1"),
    ("plan", "store"),
    ("analyze", "store", "--out", "analysis"),
    ("callgraph", "store", "--out", "calls", "--jobs", "1"),
    ("replay", "store", "--policy", "first_fit", "--out", "myrun"),
    ("fit", "store", "--out", "fit"),
    ("report", "store", "--out", "report.html"),
)


class Store(Door):
    """One command on a damaged store at a time."""

    share = 0.05

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """A whole store and the traces it is made of."""
        TraceFolder.written(folder / "traces")
        return (("ingest", "traces", "store", "--jobs", "1"),)

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A copy with one file damaged."""
        shutil.copytree(start, folder, dirs_exist_ok=True)
        damaged = damage(folder / "store", rng)
        return Case(arguments=any_of(rng, _COMMANDS), expected=damaged)


STORE = Store()


_RUN_COMMANDS = (
    ("report", "new", "--out", "report.html"),
    ("compare", "base", "new"),
    ("compare", "new", "base", "--fail-if", "imbalance_mean > base", "--json"),
    ("replay", "--workload", "paper000", "--policy", "first_fit", "--out", "new"),
)


class Run(Door):
    """One command on a damaged run at a time."""

    share = 0.05

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """Two whole runs."""
        made = ("replay", "--workload", "paper000", "--policy", "first_fit")
        return ((*made, "--out", "base"), (*made, "--policy", "random", "--out", "new"))

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A copy with one file damaged."""
        shutil.copytree(start, folder, dirs_exist_ok=True)
        damaged = damage(folder / "new", rng)
        return Case(arguments=any_of(rng, _RUN_COMMANDS), expected=damaged)


RUN = Run()


class Study(Door):
    """A report of a damaged study."""

    share = 0.02

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """A whole study: the comparison of two runs."""
        made = ("replay", "--workload", "paper000", "--policy", "first_fit")
        return (
            (*made, "--out", "base"),
            (*made, "--policy", "best_fit", "--out", "new"),
            ("compare", "base", "new", "--out", "study"),
        )

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A copy with one file damaged."""
        shutil.copytree(start / "study", folder / "study")
        return Case(
            arguments=("report", "study", "--out", "report.html"),
            expected=damage(folder / "study", rng),
        )


STUDY = Study()


_NUMBERS = (None, 0, -1, 1, 2**62, 10**15, 1_700_000_000_000)


class Workload(Door):
    """One replay of a damaged workload at a time."""

    share = 0.05
    results = ("myrun",)

    def prepare(self, folder: Path) -> Sequence[Sequence[object]]:
        """A whole workload."""
        mine = folder / "mine"
        mine.mkdir()
        pl.DataFrame(
            {"node": ["n1", "n2"], "cpu_milli": [8000, 8000], "memory_bytes": [2**34, 2**34]}
        ).write_parquet(mine / "nodes.parquet")
        pl.DataFrame(
            {
                "container": ["a", "b", "c"],
                "service": ["web", "web", "db"],
                "node": ["n1", "n1", None],
                "arrival_ms": [0, 0, 30_000],
                "departure_ms": [None, None, 90_000],
                "cpu_milli": [2000, 2000, 4000],
                "memory_bytes": [2**31, 2**31, 2**33],
            }
        ).write_parquet(mine / "containers.parquet")
        pl.DataFrame(
            {
                "container": ["a", "b", "c"] * 3,
                "time_ms": [0] * 3 + [30_000] * 3 + [60_000] * 3,
                "cpu_milli": [900.0, 700.0, 2500.0] * 3,
                "memory_bytes": [1e9, 1e9, 4e9] * 3,
            }
        ).write_parquet(mine / "usage.parquet")
        return ()

    def case(self, start: Path, folder: Path, rng: Rng) -> Case:
        """A copy with a value, a column or a file changed."""
        shutil.copytree(start / "mine", folder / "mine")
        if rng.random() < 0.3:
            damage(folder / "mine", rng)
        else:
            self._change(any_of(rng, sorted((folder / "mine").glob("*.parquet"))), rng)
        return Case(
            arguments=("replay", "--workload", "mine", "--policy", "first_fit", "--out", "myrun")
        )

    def _change(self, path: Path, rng: Rng) -> None:
        frame = pl.read_parquet(path)
        for _ in range(int(rng.integers(1, 3))):
            name = any_of(rng, frame.columns)
            column = frame[name].to_list()
            at = int(rng.integers(len(column)))
            how = int(rng.integers(5))
            if how == 0:
                frame = frame.drop(name) if frame.width > 1 else frame
            elif how == 1:
                frame = frame.with_columns(pl.col(name).cast(pl.String))
            elif how == 2:
                frame = pl.concat([frame, frame])
            elif frame[name].dtype == pl.String:
                column[at] = any_of(rng, (None, *FIELDS))
                frame = frame.with_columns(pl.Series(name, column, dtype=pl.String))
            else:
                column[at] = any_of(rng, _NUMBERS)
                frame = frame.with_columns(pl.Series(name, column, dtype=frame[name].dtype))
        frame.write_parquet(path)


WORKLOAD = Workload()
