"""How time and memory of every verb grow: ``make bench-growth`` fits exponents and judges them.

Each verb works on made-up data of five sizes, each in a process of its own; seconds are those of
the processors, with children, after the imports. One thing grows at a time: nodes, containers,
steps, calls, policies or cases; with containers the whole cluster does, 15 of them on a node and
in a service, from 80 nodes on. ``many`` are so many containers that replays in six orders are
compiled, without an index; of containers alone one order is replayed, and not compiled;
``searched`` are replayed by the policies that search. Two things are judged: the exponent, and the
part that grows with the square of the size beside the part in proportion. The smallest size is
run three times: what the two cheapest differ by is no growth. Where a case leaves its band, every
size is run up to two more times, and the cheapest runs count: others at work on the machine only
add to a cost. Exits with 1 when a case leaves its band even so.
``--only 'VERB|VERB by WHAT'`` measures some, ``--quick`` takes small sizes and judges nothing.
``--kept FILE`` judges the rows of a file again, such as those of runs in pieces.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from growth_fit import LEAST_MIB, LEAST_S, Band, exponent, noise, squared_share
from machine import machine

#: What grows, and the five sizes of it.
SIZES: dict[str, tuple[int, ...]] = {
    "nodes": (160, 320, 640, 1_280, 2_560),
    "containers": (600, 1_200, 2_400, 4_800, 9_600),
    "many_containers": (10_000, 15_000, 22_500, 34_000, 51_000),
    "nodes_of_many": (800, 1_600, 3_200, 6_400, 12_800),
    "searched_containers": (600, 1_200, 2_400, 4_800, 9_600),
    "searched_nodes": (160, 320, 640, 1_280, 2_560),
    "steps": (120, 240, 480, 960, 1_920),
    "calls": (4_000, 8_000, 16_000, 32_000, 64_000),
    "policies": (1, 2, 4, 8, 16),
    "cases": (50, 500, 1_000, 2_000, 4_000),
}
#: So many times the sizes, by verb and what grows, where what does not grow hides the growth.
LARGER = {
    **{(verb, "calls"): 8 for verb in ("synth", "ingest", "check", "analyze", "callgraph")},
    **{("analyze", what): 2 for what in ("containers", "steps")},
    ("replay", "containers"): 2,
    ("check", "containers"): 4,
    ("estimate", "containers"): 4,
    ("query", "containers"): 4,
    ("fit", "containers"): 4,
    ("fit", "steps"): 4,
}
QUICK_SHARE, QUICK_NODES = 10, 80
#: Runs of the smallest size.
AGAIN = 3


@dataclass(frozen=True, kw_only=True)
class Case:
    """A verb and what grows; ``growth_work`` holds what is called."""

    verb: str
    grows: str

    @property
    def sizes(self) -> tuple[int, ...]:
        """Five sizes of what grows."""
        times = LARGER.get((self.verb, self.grows), 1)
        return tuple(size * times for size in SIZES[self.grows])

    def is_asked_for(self, only: list[str]) -> bool:
        """Whether it is among verbs, or verbs with what grows: ``ingest``, ``ingest by calls``."""
        return not only or self.verb in only or f"{self.verb} by {self.grows}" in only


@dataclass(frozen=True, kw_only=True)
class Run:
    """One process: seconds of the processors and peak MiB."""

    size: int
    cpu_s: float
    memory_mib: float


CASES = tuple(
    Case(verb=verb, grows=grows)
    for verb, dimensions in {
        "synth": ("nodes", "containers", "steps", "calls"),
        "ingest": ("nodes", "containers", "steps", "calls"),
        "check": ("containers", "calls"),
        "estimate": ("containers",),
        "query": ("containers", "steps"),
        "analyze": ("nodes", "containers", "steps", "calls"),
        "callgraph": ("calls",),
        "fit": ("containers", "steps"),
        "bind": ("nodes", "containers"),
        "requests": ("calls",),
        "replay": (
            *("nodes", "containers", "steps", "policies", "nodes_of_many", "many_containers"),
            *("searched_nodes", "searched_containers"),
        ),
        "report": ("containers", "policies"),
        "compare": ("policies",),
        "sensitivity": ("nodes", "containers"),
        "nodes": ("nodes", "containers"),
        "explain": ("cases",),
    }.items()
    for grows in dimensions
)

#: Verbs that are not measured, and why.
LEFT_OUT = {
    "claims": "judges what others measured",
    "extender_bench": "its clusters have the published size",
    "serve": "make bench-serve measures it",
    "export": "writes files of what a run left",
    "export_chains": "the chains of callgraph, chosen and counted",
    "connect": "opens a file; what is asked through it is DuckDB's",
    "fetch": "its time is the network's",
    "fetch_kubernetes": "its time is kubectl's",
    "fetch_prometheus": "its time is Prometheus'",
    "info": "reads the manifest, as `estimate` does",
    "listing": "lists what is installed; works on no data",
    "optimize_bench": "works on functions, in sizes that its paper fixes",
    "placement_bench": "works on drawn sets, in sizes that its paper fixes",
    "run": "calls the other verbs one after another",
}

#: Of verbs that are measured: why nothing else that they could meet is made to grow.
NOT_GROWN = {
    "check": "nodes and steps are rows, as containers are",
    "estimate": "reads the manifest: whatever grows, its files do",
    "query": "one query, of containers; the others are asked by `analyze`",
    "callgraph": "reads calls alone",
    "fit": "nodes only group the containers; it reads no calls",
    "bind": "looks at each container once, at its mean use: steps are read as `fit` reads them",
    "requests": "reads what calls ask of services",
    "replay": "reads no calls",
    "report": "steps are thinned to a figure's width, nodes are counted by share",
    "compare": "reads two summaries, a row a policy",
    "sensitivity": "replays, whose growth with steps and policies `replay` has",
    "nodes": "replays, whose growth with steps and policies `replay` has",
    "explain": "reads recorded cases alone",
}

_ROWS = "rows are read once, in batches: in proportion; a sort adds a logarithm, a neighbour noise"
_HELD = "at most in proportion to what grows; parts and batches are bounded"
_LINEAR, _MEMORY = Band(low=0.0, high=1.4, reason=_ROWS), Band(low=0.0, high=1.25, reason=_HELD)
#: Where each of what grows is worked at: no growth would say that the bench sees nothing.
_SEEN = Band(low=0.5, high=1.4, reason=f"each is worked at; {_ROWS}")

_GROWING = (
    *(("synth", what) for what in ("containers", "steps", "calls")),
    *(("ingest", what) for what in ("containers", "steps", "calls")),
    *(("analyze", what) for what in ("containers", "steps")),
    *(
        ("callgraph", "calls"),
        ("requests", "calls"),
        ("sensitivity", "containers"),
        ("explain", "cases"),
    ),
    *(("replay", what) for what in ("many_containers", "searched_containers")),
)

#: Bands of seconds and of MiB, by verb and what grows; without a verb, those of all others.
BANDS: dict[tuple[str, str], tuple[Band, Band]] = {
    **{("", grows): (_LINEAR, _MEMORY) for grows in SIZES},
    **dict.fromkeys(_GROWING, (_SEEN, _MEMORY)),
    ("replay", "policies"): (
        Band(low=0.5, high=1.4, reason="policies differ in their cost by more", squared=inf),
        _MEMORY,
    ),
    ("replay", "containers"): (
        _SEEN,
        Band(
            low=0.0,
            high=1.5,
            reason="uncompiled, each shape keeps a row of all nodes: up to 256 MiB",
            squared=inf,
        ),
    ),
    ("bind", "containers"): (
        Band(
            low=0.5,
            high=1.6,
            reason="more containers a socket: each feels all beside it",
            squared=inf,
        ),
        _MEMORY,
    ),
    ("fit", "containers"): (
        Band(
            low=0.5,
            high=1.4,
            reason="sums per node and service: normal equations of services",
            squared=1.0,
        ),
        Band(
            low=0.0,
            high=1.3,
            reason="rows of one step at a time, equations of all services",
            squared=inf,
        ),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """An exponent and a squared part beside their band."""

    case: Case
    what: str
    exponent: float
    squared: float
    band: Band

    @property
    def holds(self) -> bool:
        """Whether both are in the band."""
        return self.band.holds(self.exponent, self.squared)

    def text(self) -> str:
        """The end of a line of the table."""
        band = f"{self.exponent:.2f} in {self.band.low:g}..{self.band.high:g}"
        squared = f"squared {self.squared:.2f} of {self.band.squared:g}"
        return f"{self.what} {band}, {squared}" + ("" if self.holds else " OUT OF BAND")


def verdicts(case: Case, runs: list[Run]) -> tuple[Verdict, Verdict]:
    """What is judged of seconds and of MiB, by runs of which the smallest size has several."""
    again = [run for run in runs if run.size == runs[0].size]
    noises = (
        noise([run.cpu_s for run in again], LEAST_S),
        noise([run.memory_mib for run in again], LEAST_MIB),
    )
    return judged(case, cheapest(runs), noises)


def judged(case: Case, runs: list[Run], noises: tuple[float, float]) -> tuple[Verdict, Verdict]:
    """The same by one run a size, ascending, and what is no growth in seconds and in MiB."""
    sizes = [run.size for run in runs]
    costs = {"s": [run.cpu_s for run in runs], "MiB": [run.memory_mib for run in runs]}
    bands = BANDS.get((case.verb, case.grows), BANDS["", case.grows])
    seconds, memory = (
        Verdict(
            case=case,
            what=what,
            exponent=exponent(sizes, each, least),
            squared=squared_share(sizes, each, least),
            band=band,
        )
        for (what, each), least, band in zip(costs.items(), noises, bands, strict=True)
    )
    return seconds, memory


def cheapest(runs: list[Run]) -> list[Run]:
    """A run for each size: the least seconds and the least MiB of several."""
    found = []
    for size in dict.fromkeys(run.size for run in runs):
        same = [run for run in runs if run.size == size]
        least_s, least_mib = min(run.cpu_s for run in same), min(run.memory_mib for run in same)
        found.append(Run(size=size, cpu_s=least_s, memory_mib=least_mib))
    return found


def measured(case: Case, sizes: tuple[int, ...], folder: Path, *, judge: bool) -> list[Run]:
    """The runs of a case, smallest first; all sizes once more where it leaves its band."""
    _work("make", case, sizes, folder)
    runs = [_run(case, sizes[0], folder)]
    runs += [_again(case, sizes[0], folder) for _ in range(AGAIN - 1)]
    runs += [_run(case, size, folder) for size in sizes[1:]]
    for _ in range(AGAIN - 1):
        if not judge or all(one.holds for one in verdicts(case, runs)):
            break
        runs += [_again(case, size, folder) for size in sizes]
    return runs


def warm(case: Case, size: int, folder: Path) -> None:
    """Run a verb once, so that what is compiled on first use is so before."""
    _work("make", case, (size,), folder)
    _run(case, size, folder)


def _again(case: Case, size: int, folder: Path) -> Run:
    _work("make", case, (size,), folder)
    return _run(case, size, folder)


def _run(case: Case, size: int, folder: Path) -> Run:
    told = json.loads(_work("measure", case, (size,), folder).splitlines()[-1])
    return Run(size=size, cpu_s=told["cpu_s"], memory_mib=told["memory_mib"])


def _work(task: str, case: Case, sizes: tuple[int, ...], folder: Path) -> str:
    worker = str(Path(__file__).with_name("growth_work.py"))
    what = [task, case.verb, case.grows, ",".join(map(str, sizes)), str(folder)]
    done = subprocess.run(
        [sys.executable, worker, *what], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(what[:4])}: {done.stderr[-2000:]}")
    return done.stdout


def line(case: Case, runs: list[Run], found: tuple[Verdict, Verdict]) -> str:
    """The row of the table."""
    each = cheapest(runs)
    sizes = " ".join(f"{run.size:,}" for run in each)
    seconds = " ".join(f"{run.cpu_s:.2f}" for run in each)
    mib = " ".join(f"{run.memory_mib:.0f}" for run in each)
    told = "; ".join(one.text() for one in found)
    return f"{case.verb} by {case.grows} {sizes}: {seconds} s, {mib} MiB: {len(runs)} runs: {told}"


#: A row of the table: verb, what grows, sizes, seconds and MiB.
_ROW = re.compile(r"(\w+) by (\w+) ([\d, ]+): ([\d. ]+) s, ([\d ]+) MiB:")


def kept(text: str) -> dict[Case, list[Run]]:
    """The rows of a table that was kept, one run a size; of a case that was run again, the last."""
    found: dict[Case, list[Run]] = {}
    for row in map(_ROW.match, text.splitlines()):
        if row is None:
            continue
        sizes, seconds, mib = (part.replace(",", "").split() for part in row.groups()[2:])
        found[Case(verb=row[1], grows=row[2])] = [
            Run(size=int(size), cpu_s=float(cpu_s), memory_mib=float(memory))
            for size, cpu_s, memory in zip(sizes, seconds, mib, strict=True)
        ]
    return found


def judge_kept(text: str) -> int:
    """Print each row with its verdict, then the cases that have none, and how many are out."""
    rows, outside = kept(text), 0
    for case in CASES:
        if case not in rows:
            print(f"{case.verb} by {case.grows}: no row")
            continue
        found = judged(case, rows[case], (LEAST_S, LEAST_MIB))
        outside += sum(not one.holds for one in found)
        print(f"{case.verb} by {case.grows}: " + "; ".join(one.text() for one in found))
    missing = len(set(CASES) - set(rows))
    print(f"{outside} out of their band, {missing} of {len(CASES)} cases without a row")
    return 1 if outside or missing else 0


def each(only: list[str], *, quick: bool) -> Iterator[tuple[Case, list[Run]]]:
    """The cases with their runs; data of a size is made once and shared."""
    with tempfile.TemporaryDirectory() as folder:
        for case in CASES:
            if not case.is_asked_for(only):
                continue
            sizes = case.sizes
            if quick:
                # so many nodes at least that the containers of a small cluster fit on them
                least = QUICK_NODES if "nodes" in case.grows else 1
                sizes = tuple(
                    max(size // QUICK_SHARE, least * (at + 1)) for at, size in enumerate(sizes)
                )
            # not the smallest: some kernels are compiled from some thousand rows on
            warm(case, sizes[len(sizes) // 2], Path(folder))
            yield case, measured(case, sizes, Path(folder), judge=not quick)


def main(arguments: list[str] | None = None) -> int:
    """Print the table as it is measured; 1 when a case is out of its band."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="verbs or cases, by |: 'plan|ingest by calls'")
    parser.add_argument("--quick", action="store_true", help="small sizes, no verdict")
    parser.add_argument("--kept", type=Path, help="judges the rows of a file, measures nothing")
    given = parser.parse_args(arguments)
    if given.kept:
        return judge_kept(given.kept.read_text())
    print(machine(), flush=True)
    outside = 0
    for case, runs in each([one for one in given.only.split("|") if one], quick=given.quick):
        found = verdicts(case, runs)
        outside += sum(not one.holds for one in found)
        print(line(case, runs, found), flush=True)
    for verb, reason in LEFT_OUT.items():
        print(f"{verb}: not measured: {reason}")
    for verb, reason in NOT_GROWN.items():
        print(f"{verb}: nothing else grows: {reason}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"all of it took {used.ru_utime + used.ru_stime:,.0f} s of the processors")
    if given.quick:
        return 0
    print(f"{outside} out of their band")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
