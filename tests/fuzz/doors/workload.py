"""Folders of a workload of one's own: columns of other types, other values, damaged bytes."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from door import Case, Door
from forks import Done
from mutate import FIELDS, Rng, any_of

from doors._folders import damage

_NUMBERS = (None, 0, -1, 1, 2**62, 10**15, 1_700_000_000_000)


class Workload(Door):
    """One replay of a damaged workload at a time."""

    share = 0.05

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

    def verdict(self, case: Case, done: Done, folder: Path) -> str | None:
        """A refused workload leaves no run."""
        if done.code == 2 and (folder / "myrun").exists():
            return "refused, but a run folder was written"
        return None

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


DOOR = Workload()
