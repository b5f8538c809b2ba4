"""Every call on files fails once in turn, and is killed once in turn: nothing may be lost by it.

The loop that SQLite tests itself with. A command line is run undisturbed, which counts its calls
and gives the bytes to expect. Then it is run again and again from the same start, with the first
call failing, the second, and so on. After each: what was there before is whole or the new result
is; the same command line, run once more, ends in the bytes of the undisturbed run.
"""

from __future__ import annotations

import copy
import errno
import itertools
import shutil
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forks import Done, Fault, Forks
from kubernetes_support import listed, node, pod, written
from power_loss import ENDED, Disk, Image, images, put_down
from sizing_support import written_set
from store_support import tree
from tests_support import TraceFolder

#: What a call fails with, in turn; 0 is a kill. -1 is the errno that is usual for the call.
ERRORS = (0, -1, errno.ENOSPC, errno.EIO, errno.EACCES)

#: Files that may differ between two undisturbed runs: they hold wall-clock times.
TIMED = ("timing.parquet", "report.html")
_LOCK = ".lock"
#: After which call the power goes, and the kind of what is on the disk then.
PowerPoint = tuple[int, str]


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """A command line and what is there before.

    Parameters
    ----------
    before : command lines that make what is there before
    whole : results that are whole or absent at any moment, old or new
    store : a store that can be read to its last byte at any moment, if it is there
    side_by_side : whether workers make calls too, in an order that differs from run to run
    """

    name: str
    command: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    whole: tuple[str, ...] = ()
    store: str | None = None
    side_by_side: bool = False


_INGEST = ("ingest", "traces", "store", "--jobs", "1")
_NODES = ("ingest", "traces/Node_0.csv", "store", "--jobs", "1")
_LISTS = ("ingest", "lists", "cluster", "--jobs", "1")
_MONDAY = ("ingest", "lists/monday.json", "cluster", "--jobs", "1")
_REPLAY = ("replay", "store", "--policy", "first_fit", "--policy", "random", "--out", "myrun")
_OTHER = ("replay", "store", "--policy", "best_fit", "--out", "myrun")
_ANALYZE = ("analyze", "store", "--out", "analysis")
_CALLS = ("callgraph", "store", "--out", "calls", "--jobs", "1")
_REPORT = ("report", "myrun", "--out", "report.html")
_RUN = ("run", "traces", "--out", "all", "--policy", "first_fit", "--repeat", "1")

_FIT = ("fit", "store", "--out", "fit")
_BIND = ("bind", "store", "--fit", "fit", "--repeat", "1", "--out", "bound")
_VARY = (
    *("sensitivity", "store", "--policy", "first_fit", "--policy", "best_fit"),
    *("--repeat", "2", "--jobs", "1", "--out", "varied"),
)
_SHRINK = (
    *("nodes", "store", "--policy", "first_fit"),
    *("--repeat", "1", "--jobs", "1", "--out", "fewer"),
)
_SIZE = ("requests", "set", "--policy", "percentile_request", "--out", "sized")

#: What the small form tries too.
SCENARIOS = (
    Scenario(name="ingest", command=_INGEST, store="store"),
    Scenario(name="ingest-more", command=_INGEST, before=(_NODES,), store="store"),
    # a later list: the store is made anew in the place of the earlier one
    Scenario(name="ingest-anew", command=_LISTS, before=(_MONDAY,), store="cluster"),
    Scenario(name="replay-over", command=_REPLAY, before=(_INGEST, _OTHER), whole=("myrun",)),
    Scenario(
        name="analyze-over", command=_ANALYZE, before=(_INGEST, _ANALYZE), whole=("analysis",)
    ),
    Scenario(name="callgraph", command=_CALLS, before=(_INGEST,), whole=("calls",)),
    Scenario(
        name="report-over",
        command=_REPORT,
        before=(_INGEST, _OTHER, _REPORT, _REPLAY),
        whole=("report.html",),
    ),
    Scenario(
        name="run",
        command=(*_RUN, "--jobs", "1"),
        store="all/store",
        whole=("all/replay", "all/analysis"),
    ),
)
#: What the large form tries besides.
FURTHER = (
    Scenario(name="replay", command=_REPLAY, before=(_INGEST,), whole=("myrun",)),
    Scenario(name="analyze", command=_ANALYZE, before=(_INGEST,), whole=("analysis",)),
    Scenario(name="report", command=_REPORT, before=(_INGEST, _OTHER), whole=("report.html",)),
    Scenario(name="fit-over", command=_FIT, before=(_INGEST, _FIT), whole=("fit",)),
    Scenario(name="bind", command=_BIND, before=(_INGEST, _FIT), whole=("bound",)),
    Scenario(name="vary", command=_VARY, before=(_INGEST,), whole=("varied",)),
    Scenario(name="shrink", command=_SHRINK, before=(_INGEST,), whole=("fewer",)),
    Scenario(name="size-over", command=_SIZE, before=(_SIZE,), whole=("sized",)),
    Scenario(
        name="run-side-by-side",
        command=(*_RUN, "--jobs", "2"),
        side_by_side=True,
        store="all/store",
        whole=("all/replay", "all/analysis"),
    ),
)


def fetching(base_url: str) -> Scenario:
    """Fetch one archive from a mirror; under its own name it is whole or absent."""
    command = ("fetch", "ctm21", "got", "--tables", "node", "--parts", "0")
    archive = "got/node/Node_0.tar.gz"
    return Scenario(name="fetch", command=(*command, "--base-url", base_url), whole=(archive,))


@dataclass(frozen=True)
class Loss:
    """A point at which something went wrong."""

    scenario: str
    point: str
    why: str

    def __str__(self) -> str:
        return f"{self.scenario}: {self.point}: {self.why}"


def _named(fault: Fault, what: str) -> str:
    if fault.allocation:
        return f"allocation {fault.allocation}"
    kind = "reading call" if fault.reading else "call"
    plain = {0: "killed", -1: "usual error"}.get(fault.error, "?")
    return f"{kind} {fault.at} ({what}; {errno.errorcode.get(fault.error, plain)})"


class Loop:
    """The points of one scenario.

    Parameters
    ----------
    folder : an empty folder for the scenario's own use
    """

    def __init__(self, scenario: Scenario, folder: Path, forks: Forks) -> None:
        self.scenario = scenario
        self._forks = forks
        self._start = folder / "start"
        self._work = folder / "work"
        self._start.mkdir(parents=True)
        TraceFolder.written(self._start / "traces")
        write_lists(self._start / "lists")
        (self._start / "set").mkdir()
        written_set(self._start / "set", containers=20, periods=20)
        self._old = self._prepared()
        #: The calls from each place, for those that change something and for opens for reading.
        self.sites: dict[bool, dict[str, list[int]]] = {}
        first, second = self._undisturbed(reading=False), self._undisturbed(reading=True)
        differ = {
            name for name in first.keys() | second.keys() if first.get(name) != second.get(name)
        }
        assert {Path(name).name for name in differ} <= set(TIMED), differ
        self._timed = differ
        self._new = first

    def points(self, errors: Sequence[int], *, share: float = 1.0) -> Iterator[Fault]:
        """The points to try: one call of each place it is made from, of this share of the places.

        ``errors`` are taken in turn from place to place.
        """
        turn = itertools.cycle(errors)
        for reading, sites in self.sites.items():
            for calls in _spread(list(sites.values()), share):
                # any of them, the same at every run
                at = calls[(7 * len(calls)) // 11]
                yield Fault(at=at, error=next(turn), reading=reading)

    def every_point(self, errors: Sequence[int]) -> Iterator[Fault]:
        """Each call that changes something with each error; of opens for reading one of each place.

        What an open for reading that fails leads to is decided where it is made: nothing on the
        disk has changed since the one before. There are as many of them as there are files.
        """
        for reading, sites in self.sites.items():
            some = [calls[:1] if reading else calls for calls in sites.values()]
            for at, error in itertools.product(sorted(itertools.chain(*some)), errors):
                yield Fault(at=at, error=error, reading=reading)

    @property
    def counted(self) -> str:
        """How many calls there are, and from how many places."""
        facts = [
            f"{sum(map(len, sites.values())):,} {what} from {len(sites)} places"
            for what, sites in zip(("calls", "opens for reading"), self.sites.values(), strict=True)
        ]
        return " and ".join(facts)

    def try_point(self, fault: Fault) -> Loss | None:
        """Let one call fail, look at what is left, run again; what was lost, if anything."""
        self._restore()
        done = self._run(fault)
        why = self._after_failure(fault, done) or self._after_second_run()
        return None if why is None else Loss(self.scenario.name, _named(fault, done.what), why)

    def power_points(self, most: int) -> list[PowerPoint]:
        """Moments at which the power may go, evenly spread, the end among them.

        Each gives another image of the disk.
        """
        self._restore()
        self._disk, self._record = Disk(self._work), self._work.with_name("record")
        done = self._run(Fault(), record=self._record)
        assert done.code == 0, done.err
        every = [(at, kind) for at, kind, _ in self._images(check=True)]
        few = min(most, len(every))
        return [every[-1 - at * len(every) // few] for at in range(few)]

    def try_power(self, points: Collection[PowerPoint]) -> Iterator[Loss | None]:
        """Open what is left of the disk at these moments, run again; what was lost, if anything."""
        for at, kind, image in self._images(check=False):
            if (at, kind) not in points:
                continue
            shutil.rmtree(self._work)
            self._work.mkdir()
            put_down(image, self._work)
            why = self._after_power(acknowledged=at == ENDED) or self._after_second_run()
            yield None if why is None else Loss(self.scenario.name, f"power at {at}, {kind}", why)

    def _images(self, *, check: bool) -> Iterator[tuple[int, str, Image]]:
        work = self._work if check else None
        return images(copy.deepcopy(self._disk), self._record, work)

    def _after_power(self, *, acknowledged: bool) -> str | None:
        now = _files(self._work)
        return self._is_not_done(now) if acknowledged else self._is_damaged(now)

    def allocation_points(self, count: int) -> list[Fault]:
        """So many allocations, evenly spread over those that are made."""
        self._restore()
        done = self._run(Fault(allocation=sys.maxsize))
        assert done.code == 0, done.err
        few = min(count, done.allocations)
        return [Fault(allocation=1 + at * done.allocations // few) for at in range(few)]

    def _prepared(self) -> dict[str, str]:
        for command in self.scenario.before:
            done = self._forks.run(*command, folder=self._start)
            assert done.code == 0, done.err
        return _files(self._start)

    def _undisturbed(self, *, reading: bool) -> dict[str, str]:
        self._restore()
        done = self._run(Fault(reading=reading), sites=True)
        assert done.code == 0, done.err
        by_site = self.sites[reading] = {}
        for at, site in enumerate(done.sites, 1):
            by_site.setdefault(site, []).append(at)
        return _files(self._work)

    def _restore(self) -> None:
        shutil.rmtree(self._work, ignore_errors=True)
        shutil.copytree(self._start, self._work)

    def _run(self, fault: Fault | None = None, **noted: Any) -> Done:
        return self._forks.run(
            *self.scenario.command, folder=self._work, fault=fault, seconds=120, **noted
        )

    def _after_failure(self, fault: Fault, done: Done) -> str | None:
        if fault.allocation and done.code is not None:
            pass  # some libraries end the process, which is as good as any other end
        elif done.calls < fault.at and (self.scenario.side_by_side or fault.reading):
            pass  # workers, and threads that read, make some calls more or fewer as turns come
        elif fault.error == 0:
            if done.code != -9:
                return f"the call was not reached: exit code {done.code}"
        elif done.complaint is not None:
            return done.complaint
        now = _files(self._work)
        acknowledged = done.code == 0 and bool(fault.error)
        return self._is_not_done(now) if acknowledged else self._is_damaged(now)

    def _is_not_done(self, now: dict[str, str]) -> str | None:
        """Whether something else stands there than the command says that it has done.

        What could not be cleared away is hidden, and the next run clears it.
        """
        meant = {
            name: digest
            for name, digest in now.items()
            if name in self._new or not _is_hidden(name)
        }
        wrong = self._differences(meant)
        return f"exit code 0, but {wrong}" if wrong else self._is_damaged(now)

    def _is_damaged(self, now: dict[str, str]) -> str | None:
        """Whether a result is half there, or the store cannot be read."""
        for result in self.scenario.whole:
            if wrong := self._torn(result, now):
                return wrong
        return self._store_is_damaged()

    def _torn(self, result: str, now: dict[str, str]) -> str | None:
        """Whether a result is neither as it was nor as it will be."""
        seen = self._part(result, now)
        if seen in (self._part(result, self._old), self._part(result, self._new)):
            return None
        return f"{result} is neither the earlier nor the new one: {sorted(seen)}"

    def _part(self, result: str, files: dict[str, str]) -> dict[str, str]:
        return {
            name: digest
            for name, digest in files.items()
            if (name == result or name.startswith(f"{result}/")) and name not in self._timed
        }

    def _store_is_damaged(self) -> str | None:
        """A store that was there still is, and can be read to its last byte."""
        store = self.scenario.store
        if store is None or not (self._work / store / "manifest.json").exists():
            was = f"{store}/manifest.json" in self._old
            return f"{store} was a store, and is none" if was else None
        for command in (("check", store, "--verify"), ("query", store, "quality/ledger")):
            done = self._forks.run(*command, folder=self._work)
            if done.code != 0:
                return f"{' '.join(command)} on what was left: {done.code}: {done.err[-300:]}"
        return None

    def _after_second_run(self) -> str | None:
        done = self._run()
        if done.code != 0:
            return f"run again: exit code {done.code}: {done.err[-400:]}"
        wrong = self._differences(_files(self._work))
        return f"run again: {wrong}" if wrong else None

    def _differences(self, now: dict[str, str]) -> str | None:
        if missing := sorted(self._new.keys() - now.keys()):
            return f"missing: {missing[:5]}"
        if more := sorted(now.keys() - self._new.keys()):
            return f"left over: {more[:5]}"
        other = [name for name in now if now[name] != self._new[name] and name not in self._timed]
        return f"other bytes: {other[:5]}" if other else None


def write_lists(folder: Path) -> None:
    """A cluster as kubectl lists it on two days: what ran on the first has left on the second."""
    folder.mkdir()
    for day, name in ((1, "monday"), (2, "tuesday")):
        came = {"creationTimestamp": f"2026-01-{day:02}T00:00:00Z"}
        objects = listed(node("n1"), pod(f"web-{day}", meta=came, nodeName="n1"))
        written(folder / f"{name}.json", objects)


def _is_hidden(name: str) -> bool:
    return any(part.startswith(".") for part in Path(name).parts)


def _files(folder: Path) -> dict[str, str]:
    return {name: digest for name, digest in tree(folder).items() if Path(name).name != _LOCK}


def _spread(sites: list[list[int]], share: float) -> list[list[int]]:
    """Evenly spread places, the last always among them."""
    total = len(sites)
    count = min(max(round(total * share), 2), total)
    return [sites[total - 1 - at * total // count] for at in reversed(range(count))]
