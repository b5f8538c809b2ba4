"""The main job at the trace's own size, as its user would do it.

``make bench-full`` makes up a trace of the real size, takes it through every stage by a command of
its own, and then through all of them at once by ``tracekit run``. Of each command it prints the
seconds, the rows of the trace per second, the seconds of the processors, the memory at its peak
(shared pages counted once, over all its processes; and of the largest process), and what it left on
disk. ``--trace DIR`` takes a trace that is made already, ``--only`` some of the commands.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_measure import with_children
from machine import machine

from tracekit.store.folder import open_store

TRACEKIT = str(Path(sys.executable).with_name("tracekit"))
EVERY_S = 1.0
GIB = 2**30


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One command, and what it writes."""

    name: str
    arguments: tuple[str, ...]
    left: Path


@dataclass(frozen=True, kw_only=True)
class Took:
    """What a command took: seconds on the wall and of the processors, bytes at the peak."""

    wall_s: float
    cpu_s: float
    all_bytes: int
    largest_bytes: int


def stages(preset: str, tables: str, trace: Path | None, work: Path, jobs: str) -> list[Stage]:
    """Every command, in the order in which they can be done."""
    made = trace or work / "trace"
    store, out = work / "store", work / "out"
    synth = ("synth", made, "--preset", preset, *(("--tables", tables) if tables else ()))
    every = ("replay", store, "--policy", "all", "--jobs", jobs, "--out", out / "replay")
    common = ("--policy", "common", "--repeat", "6")
    listed = [
        ("synth", (*synth, "--jobs", jobs), made),
        ("ingest", ("ingest", made, store), store),
        ("analyze", ("analyze", store, "--out", out / "analysis"), out / "analysis"),
        ("callgraph", ("callgraph", store, "--out", out / "calls"), out / "calls"),
        ("fit", ("fit", store, "--out", out / "fit"), out / "fit"),
        ("replay all", every, out / "replay"),
        (
            "replay common x 6",
            ("replay", store, *common, "--jobs", jobs, "--out", out / "common"),
            out / "common",
        ),
        ("report", ("report", out / "replay", "--out", out / "report.html"), out / "report.html"),
        ("run", ("run", made, "--jobs", jobs, "--out", work / "run"), work / "run"),
    ]
    return [
        Stage(name=name, arguments=tuple(str(one) for one in arguments), left=left)
        for name, arguments, left in listed
        if not (name == "synth" and trace) and not (name == "callgraph" and not _calls(tables))
    ]


def _calls(tables: str) -> bool:
    return not tables or "call" in tables.split(",")


def take(stage: Stage) -> Took:
    """Do it; raises when it fails."""
    start, before = time.perf_counter(), os.times()
    with subprocess.Popen(
        [TRACEKIT, *stage.arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        peak = _Peak(process.pid)
        _, errors = process.communicate()
    wall, after = time.perf_counter() - start, os.times()
    if process.returncode:
        raise RuntimeError(f"{' '.join(stage.arguments)}: {errors.decode()[-2000:]}")
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Took(wall_s=wall, cpu_s=cpu, all_bytes=peak.all, largest_bytes=peak.largest)


class _Peak:
    """Watches what a process and all below it hold; a page that several share counts once."""

    def __init__(self, pid: int) -> None:
        self.all = self.largest = 0
        threading.Thread(target=self._watch, args=(pid,), daemon=True).start()

    def _watch(self, pid: int) -> None:
        while held := [_proportional(one) for one in with_children(pid)]:
            self.all = max(self.all, sum(held))
            self.largest = max(self.largest, *held)
            if not any(held):
                return
            time.sleep(EVERY_S)


def _proportional(pid: int) -> int:
    """Resident bytes of a process, a page shared by n processes counted as 1/n (Pss)."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))


def _bytes_of(path: Path) -> int:
    if path.is_file():
        return path.stat().st_size
    return sum(one.stat().st_size for one in path.rglob("*") if one.is_file())


def _rows(store: Path) -> int:
    manifest = open_store(store).manifest
    tables = ("node_usage", "container_usage", "service_rate", "call")
    return sum(entry.rows for table in tables for entry in manifest.parts(table))


HEADER = (
    f"{'':<18} {'s':>8} {'rows/s':>12} {'cpu s':>8} {'GiB all':>8} {'GiB one':>8} {'left GB':>8}"
)


def _line(stage: Stage, took: Took, rows: int) -> str:
    rate = f"{rows / took.wall_s:,.0f}" if rows else ""
    return (
        f"{stage.name:<18} {took.wall_s:>8.1f} {rate:>12} {took.cpu_s:>8.1f}"
        f" {took.all_bytes / GIB:>8.2f} {took.largest_bytes / GIB:>8.2f}"
        f" {_bytes_of(stage.left) / 1e9:>8.3f}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", default="ctm21")
    parser.add_argument("--tables", default="node,resource", help="empty: all")
    parser.add_argument("--trace", type=Path, help="a trace that is made already")
    parser.add_argument("--work", type=Path, help="where to write; a new folder if not given")
    parser.add_argument("--jobs", default=str(os.cpu_count() or 1))
    parser.add_argument("--only", help="names of commands, with commas between")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="bench-full-") as temporary:
        work = given.work or Path(temporary)
        listed = stages(given.preset, given.tables, given.trace, work, given.jobs)
        only = given.only.split(",") if given.only else [stage.name for stage in listed]
        print(f"{machine()}; {given.jobs} jobs; load {os.getloadavg()[0]:.1f}")
        print(f"{given.preset} {given.tables}\n{HEADER}", flush=True)
        for stage in listed:
            if stage.name not in only:
                continue
            took = take(stage)
            known = [one for one in (work / "store", work / "run" / "store") if one.is_dir()]
            print(_line(stage, took, _rows(known[0]) if known else 0), flush=True)


if __name__ == "__main__":
    main()
