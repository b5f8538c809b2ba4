from __future__ import annotations

import tarfile
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tracekit.synth import write
from tracekit.synth.presets import get_preset
from tracekit.synth.shapes import Seeds
from tracekit.synth.world import World, make_world

BROKEN = ("rejected", "dropped")


@pytest.fixture(scope="session")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("synth") / "tiny"
    write(out, preset="tiny", seed=7)
    return out


@pytest.fixture(scope="session")
def tiny_lines(tiny: Path) -> dict[str, list[str]]:
    """The lines of every CSV, by its name inside its archive, without folders."""
    results = {}
    for path in sorted(tiny.glob("*/*.tar.gz")):
        with tarfile.open(path) as tar:
            for member in tar:
                content = tar.extractfile(member)
                if content is not None:
                    text = content.read().decode()
                    assert text.endswith("\n")
                    results[Path(member.name).name] = text[:-1].split("\n")
    return results


@pytest.fixture(scope="session")
def tiny_truth(tiny: Path) -> dict[str, pl.DataFrame]:
    return {path.stem: pl.read_parquet(path) for path in (tiny / "truth").glob("*.parquet")}


@pytest.fixture(scope="session")
def good_rows(
    tiny_lines: dict[str, list[str]], tiny_truth: dict[str, pl.DataFrame]
) -> Callable[[str], pl.DataFrame]:
    """The rows of all files of a stem that are not planted to be thrown away, as text."""
    defects = tiny_truth["defect"].filter(pl.col("action").is_in(BROKEN))
    broken = set(defects.select("source_file", "line").iter_rows())

    def rows(stem: str) -> pl.DataFrame:
        frames = []
        for name, lines in tiny_lines.items():
            if not name.startswith(f"{stem}_"):
                continue
            columns = lines[0].replace("metrics", "metric").split(",")
            staying = [
                dict(zip(columns, line.split(","), strict=True))
                for number, line in enumerate(lines[1:], start=2)
                if (name, number) not in broken
            ]
            frames.append(pl.DataFrame(staying).select(column for column in columns if column))
        return pl.concat(frames)

    return rows


@pytest.fixture(scope="session")
def small_world() -> World:
    return make_world(get_preset("small"), Seeds(0))
