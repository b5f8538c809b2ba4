"""Sends many damaged inputs through every door, and keeps each input that caused a fault.

Program: ``python tests/fuzz/campaign.py [CASES] [SEED]`` with ``tests/support``, ``tests/faults``
and ``tests/fuzz`` on PYTHONPATH, or ``make fuzz``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from door import Case, Door, all_doors
from forks import Done, Forks
from mutate import Rng

#: What a command line on a small input may take; more is a hang.
SECONDS = 40
#: Address space of each command line: the GiB that ingest keeps to, 1.4 GiB that a process with
#: everything imported has reserved before it begins, and the stacks and arenas of its threads.
MEMORY_BYTES = 4 * 2**30
#: After so many inputs of a door a line tells how far it is.
_TOLD = 250


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A damaged input that a command did not handle; ``kept`` is the folder of the input."""

    door: str
    number: int
    case: Case
    why: str
    kept: Path | None = None

    def __str__(self) -> str:
        rows = " ".join(map(repr, map(str, self.case.arguments)))
        wanted = textwrap.shorten(str(self.case.expected), 200)
        return f"{self.door} {self.number}: tracekit {rows} ({wanted}): {self.why}"


class Campaign:
    """The doors, prepared once, in a folder of its own.

    Parameters
    ----------
    keep : where the folders of faults are kept; None: nowhere
    """

    def __init__(self, folder: Path, forks: Forks, seed: int, keep: Path | None = None) -> None:
        self._forks = forks
        self._folder = folder
        self._seed = seed
        self._keep = keep
        self.inputs: Counter[str] = Counter()
        self.codes: Counter[tuple[str, int | None]] = Counter()
        self._ready: set[str] = set()

    def run(self, name: str, door: Door, numbers: range) -> Iterator[Fault]:
        """Try the numbered cases of a door; returns the faults."""
        start = self._prepared(name, door)
        number = numbers.start
        tried = 0
        while tried < len(numbers):
            case, why, staying = self._one(name, door, start, number)
            tried += case.inputs
            number += 1
            self.inputs[name] += case.inputs
            if why is not None:
                yield Fault(door=name, number=number - 1, case=case, why=why, kept=staying)

    def _prepared(self, name: str, door: Door) -> Path:
        start = self._folder / "start" / name
        if name not in self._ready:
            start.mkdir(parents=True)
            for command in door.prepare(start):
                done = self._forks.run(*command, folder=start)
                assert done.code == 0, done.err
            self._ready.add(name)
        return start

    def _one(
        self, name: str, door: Door, start: Path, number: int
    ) -> tuple[Case, str | None, Path | None]:
        folder = self._folder / "work"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        case = door.case(start, folder, _stream(self._seed, name, number))
        done = self._forks.run(
            *case.arguments, folder=folder, seconds=SECONDS, memory_bytes=MEMORY_BYTES
        )
        self.codes[name, done.code] += 1
        why = done.complaint or door.verdict(case, done, folder)
        return case, why, self._kept(name, number, folder, done) if why else None

    def _kept(self, name: str, number: int, folder: Path, done: Done) -> Path | None:
        if self._keep is None:
            return None
        staying = self._keep / f"{name}-{number}"
        shutil.rmtree(staying, ignore_errors=True)
        shutil.copytree(folder, staying, symlinks=True)
        (staying / "SAID.txt").write_text(f"{done.arguments}\n{done.code}\n{done.out}\n{done.err}")
        return staying


def _stream(seed: int, name: str, number: int) -> Rng:
    """The random stream of a case, which does not depend on other cases."""
    key = int.from_bytes(hashlib.sha256(f"{name} {number}".encode()).digest()[:8], "little")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, key])))


def main(cases: int = 10_000, seed: int = 0) -> int:
    """Try every door, and print a line for each door and each fault; 1 for any fault."""
    folder = Path(tempfile.mkdtemp(prefix="tracekit-fuzz-"))
    print(f"seed {seed}; what goes wrong is kept in {folder / 'faults'}", flush=True)
    doors = sorted(all_doors().items(), key=lambda door: -door[1].share)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        tried = [
            pool.submit(_through, name, door, round(cases * door.share), folder, seed)
            for name, door in doors
        ]
        results = [one.result() for one in tried]
    total = sum(inputs for inputs, _ in results)
    hits = [fault for _, faults in results for fault in faults]
    tracebacks = sum("Traceback" in fault.why for fault in hits)
    bugs = sum("this is a bug" in fault.why for fault in hits)
    rows = sum("rows" in fault.why or "read" in fault.why for fault in hits)
    print(
        f"{total:,} damaged inputs: {len(hits)} faults, of which {tracebacks} tracebacks,"
        f" {bugs} 'bug' lines, {rows} with rows unaccounted for"
    )
    return 1 if hits else 0


def _through(name: str, door: Door, cases: int, folder: Path, seed: int) -> tuple[int, list[Fault]]:
    """All cases of a door, in its own folder and process; the number of inputs, and the faults."""
    started, results = time.monotonic(), []
    own = folder / name
    with Forks(own / "said") as forks:
        campaign = Campaign(own, forks, seed, folder / "faults")
        for start in range(0, cases, _TOLD):
            for fault in campaign.run(name, door, range(start, min(start + _TOLD, cases))):
                print(f"  {fault}", flush=True)
                results.append(fault)
            past = time.monotonic() - started
            print(f"  {name}: {campaign.inputs[name]:,} inputs in {past:.0f} s", flush=True)
    shutil.rmtree(own, ignore_errors=True)
    codes = {code: count for (_, code), count in sorted(campaign.codes.items(), key=str)}
    seconds = time.monotonic() - started
    print(
        f"{name}: {campaign.inputs[name]:,} inputs, {len(results)} faults, exit codes {codes},"
        f" {seconds:.0f} s",
        flush=True,
    )
    return campaign.inputs[name], results


if __name__ == "__main__":
    sys.exit(main(*(int(argument) for argument in sys.argv[1:3])))
