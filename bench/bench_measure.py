"""Times and memory of whole processes, with their children."""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_PAGE = os.sysconf("SC_PAGE_SIZE")
_EVERY_S = 0.05


@dataclass(frozen=True)
class Measured:
    """One run: seconds on the wall and of the processors, and peak resident bytes in all."""

    wall_s: float
    cpu_s: float
    memory_bytes: int


def measure(command: Sequence[str]) -> Measured:
    """Run a command to its end; raises when it fails. Memory is sampled every 50 ms."""
    start, before = time.perf_counter(), os.times()
    # an installation has its modules compiled, whatever the shell at hand says
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=env
    ) as process:
        peak = _Peak(process.pid)
        _, errors = process.communicate()
        wall = time.perf_counter() - start
    after = os.times()
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)}: {errors.decode()[-2000:]}")
    cpu = after.children_user + after.children_system
    cpu -= before.children_user + before.children_system
    return Measured(wall, cpu, peak.bytes)


def interleaved(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[Measured]]:
    """Each command ``rounds`` times, A B A B, so that a busy neighbour meets all of them."""
    runs: dict[str, list[Measured]] = {name: [] for name in commands}
    for _ in range(rounds):
        for name, command in commands.items():
            runs[name].append(measure(command))
    return runs


def median_wall(runs: Sequence[Measured]) -> float:
    """The median of the seconds on the wall."""
    return statistics.median(run.wall_s for run in runs)


def median_cpu(runs: Sequence[Measured]) -> float:
    """The median of the seconds of the processors."""
    return statistics.median(run.cpu_s for run in runs)


class _Peak:
    """Watches the resident memory of a process and all below it until they end."""

    def __init__(self, pid: int) -> None:
        self.bytes = 0
        threading.Thread(target=self._watch, args=(pid,), daemon=True).start()

    def _watch(self, pid: int) -> None:
        while (now := sum(_resident(one) for one in with_children(pid))) or _lives(pid):
            self.bytes = max(self.bytes, now)
            time.sleep(_EVERY_S)


def _lives(pid: int) -> bool:
    return Path(f"/proc/{pid}/statm").exists()


def with_children(pid: int) -> list[int]:
    """A process and all below it."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text().split()
        except OSError:
            continue
        for child in children:
            found += with_children(int(child))
    return found


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    except (OSError, IndexError):
        return 0
