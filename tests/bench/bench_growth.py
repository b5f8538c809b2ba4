"""How time and memory of every verb grow: ``make bench-growth`` fits exponents and judges them.

Each verb works on made-up data of five sizes, each in a process of its own; seconds are those of
the processors, with children, after the imports. One thing grows at a time: nodes, containers,
steps, calls, policies or cases; with containers the whole cluster does, 15 of them on a node and
in a service, from 80 nodes on. ``many`` are so many containers that a replay is compiled;
``searched`` are replayed by the policies that search. The smallest size is run three times: what
those differ by is no growth. Exits with 1 when an exponent leaves its band.
``--only 'VERB|VERB by WHAT'`` measures some, ``--quick`` takes small sizes and judges nothing.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from growth_fit import LEAST_MIB, LEAST_S, Band, exponent, noise
from machine import machine

#: What grows, and the five sizes of it.
SIZES: dict[str, tuple[int, ...]] = {
    "nodes": (160, 320, 640, 1_280, 2_560),
    "containers": (600, 1_200, 2_400, 4_800, 9_600),
    "many_containers": (12_000, 18_000, 27_000, 40_000, 60_000),
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
    ("check", "containers"): 4,
    ("plan", "containers"): 4,
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
        "plan": ("containers",),
        "query": ("containers", "steps"),
        "analyze": ("nodes", "containers", "steps", "calls"),
        "callgraph": ("calls",),
        "fit": ("containers", "steps"),
        "bind": ("nodes", "containers"),
        "size": ("calls",),
        "replay": (
            *("nodes", "containers", "steps", "policies", "nodes_of_many", "many_containers"),
            *("searched_nodes", "searched_containers"),
        ),
        "report": ("containers", "policies"),
        "compare": ("policies",),
        "vary": ("nodes", "containers"),
        "shrink": ("nodes", "containers"),
        "score": ("cases",),
    }.items()
    for grows in dimensions
)

#: Verbs that are not measured, and why.
LEFT_OUT = {
    "export_chains": "the chains of callgraph, chosen and counted",
    "connect": "opens a file; what is asked through it is DuckDB's",
    "explain": "one decision of one case: nothing grows that `score` does not measure",
    "fetch": "its time is the network's",
    "fetch_kubernetes": "its time is kubectl's",
    "fetch_prometheus": "its time is Prometheus'",
    "info": "reads the manifest, as `plan` does",
    "listing": "lists what is installed; works on no data",
    "optimize_bench": "works on functions, in sizes that its paper fixes",
    "placement_bench": "works on drawn sets, in sizes that its paper fixes",
    "run": "calls the other verbs one after another",
}

#: Of verbs that are measured: why nothing else that they could meet is made to grow.
NOT_GROWN = {
    "check": "nodes and steps are rows, as containers are",
    "plan": "reads the manifest: whatever grows, its files do",
    "query": "one query, of containers; the others are asked by `analyze`",
    "callgraph": "reads calls alone",
    "fit": "nodes only group the containers; it reads no calls",
    "bind": "looks at each container once, at its mean use: steps are read as `fit` reads them",
    "size": "reads what calls ask of services",
    "replay": "reads no calls",
    "report": "steps are thinned to a figure's width, nodes are counted by share",
    "compare": "reads two summaries, a row a policy",
    "vary": "replays, whose growth with steps and policies `replay` has",
    "shrink": "replays, whose growth with steps and policies `replay` has",
    "score": "reads recorded cases alone",
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
    *(("callgraph", "calls"), ("size", "calls"), ("vary", "containers"), ("score", "cases")),
    *(("replay", what) for what in ("containers", "many_containers", "searched_containers")),
    ("replay", "policies"),
)

#: Bands of seconds and of MiB, by verb and what grows; without a verb, those of all others.
BANDS: dict[tuple[str, str], tuple[Band, Band]] = {
    **{("", grows): (_LINEAR, _MEMORY) for grows in SIZES},
    **dict.fromkeys(_GROWING, (_SEEN, _MEMORY)),
    ("bind", "containers"): (
        Band(low=0.5, high=1.6, reason="more containers a socket: each feels all beside it"),
        _MEMORY,
    ),
    ("fit", "containers"): (
        Band(low=0.5, high=1.4, reason="sums per node and service: normal equations of services"),
        Band(low=0.0, high=1.3, reason="rows of one step at a time, equations of all services"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """One exponent beside its band."""

    case: Case
    what: str
    exponent: float
    band: Band

    @property
    def holds(self) -> bool:
        """Whether it is in the band."""
        return self.band.holds(self.exponent)

    def text(self) -> str:
        """The end of a line of the table."""
        band = f"{self.exponent:5.2f} in {self.band.low:g}..{self.band.high:g}"
        return f"{self.what} {band}" + ("" if self.holds else " OUT OF BAND")


def verdicts(case: Case, runs: list[Run]) -> tuple[Verdict, Verdict]:
    """The exponents of seconds and of MiB, by runs of which the smallest size has several."""
    time, memory = BANDS.get((case.verb, case.grows), BANDS["", case.grows])
    again = [run for run in runs if run.size == runs[0].size]
    each = middle(runs)
    sizes = [run.size for run in each]
    of_seconds, of_mib = (
        exponent(
            sizes,
            [cost(run) for run in each],
            noise([cost(run) for run in again], least),
        )
        for cost, least in ((_seconds, LEAST_S), (_mib, LEAST_MIB))
    )
    return (
        Verdict(case=case, what="s", exponent=of_seconds, band=time),
        Verdict(case=case, what="MiB", exponent=of_mib, band=memory),
    )


def _seconds(run: Run) -> float:
    return run.cpu_s


def _mib(run: Run) -> float:
    return run.memory_mib


def middle(runs: list[Run]) -> list[Run]:
    """A run for each size, the middle one of several."""
    found = []
    for size in dict.fromkeys(run.size for run in runs):
        same = [run for run in runs if run.size == size]
        seconds, mib = sorted(map(_seconds, same)), sorted(map(_mib, same))
        at = len(same) // 2
        found.append(Run(size=size, cpu_s=seconds[at], memory_mib=mib[at]))
    return found


def measured(case: Case, sizes: tuple[int, ...], folder: Path) -> list[Run]:
    """The runs of a case, smallest first, and that one more than once."""
    _work("make", case, sizes, folder)
    first = [_run(case, sizes[0], folder)]
    for _ in range(AGAIN - 1):
        _work("make", case, sizes[:1], folder)
        first.append(_run(case, sizes[0], folder))
    return [*first, *(_run(case, size, folder) for size in sizes[1:])]


def warm(case: Case, size: int, folder: Path) -> None:
    """Run a verb once, so that what is compiled on first use is so before."""
    _work("make", case, (size,), folder)
    _run(case, size, folder)


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
    each = middle(runs)
    sizes = " ".join(f"{run.size:,}" for run in each)
    seconds = " ".join(f"{run.cpu_s:.2f}" for run in each)
    mib = " ".join(f"{run.memory_mib:.0f}" for run in each)
    told = "; ".join(one.text() for one in found)
    return f"{case.verb} by {case.grows} {sizes}: {seconds} s, {mib} MiB: {told}"


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
            yield case, measured(case, sizes, Path(folder))


def main(arguments: list[str] | None = None) -> int:
    """Print the table as it is measured; 1 when an exponent is out of its band."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="verbs or cases, by |: 'plan|ingest by calls'")
    parser.add_argument("--quick", action="store_true", help="small sizes, no verdict")
    given = parser.parse_args(arguments)
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
    print(f"{outside} exponents out of their band")
    return 1 if outside else 0


if __name__ == "__main__":
    sys.exit(main())
