"""Commands that ask of the same workload what a run asked, with what it assumed."""

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from shlex import quote
from typing import Any

from tracekit.answer.overload import WITHOUT
from tracekit.replay.runs.run import OBSERVED
from tracekit.replay.workload.assumptions import Assumptions
from tracekit.replay.workload.circumstances import NAMES
from tracekit.replay.workload.loaders import all_loaders, spelled
from tracekit.replay.workload.sized.assumptions import SizedAssumptions
from tracekit.report.data import Data
from tracekit.study import Study


def asked(data: Data, verb: str, *, without: Sequence[str] = ()) -> str:
    """A command of ``verb`` on what the run replayed, with its assumptions but for some."""
    settings = _settings(data, without)
    return " ".join([f"tracekit {verb} {data.paths.replayed}", *settings, *_circumstances(data)])


def there(asked: str) -> bool:
    """Whether the folder that a command writes is there: it was followed before."""
    words = shlex.split(asked)
    return "--out" in words and Path(words[words.index("--out") + 1]).is_dir()


def fewest(data: Data, policy: str, as_in: Study | None) -> str:
    """The command that searches the fewest nodes for a policy, at the limits of a study."""
    given = as_in is not None and as_in.about["limits_given"]
    limits = as_in.about["limits"] if as_in is not None and given else []
    words = [f"--limit {quote(text)}" for text in limits]
    name = "without-overload" if limits == [WITHOUT] else "fewest"
    to = data.paths.study(f"{name}-{policy}")
    named = f"--policy {data.paths.policy(policy)}"
    return " ".join([asked(data, "nodes"), named, *words, f"--out {to}"])


def may_vary(data: Data) -> bool:
    """Whether ``sensitivity`` takes what was replayed: it reads stores alone, without gangs."""
    return data.paths.replayed == data.paths.store and not _gangs(data)


def _gangs(data: Data) -> bool:
    """Whether somebody asked for containers of a service to be admitted together."""
    return bool((data.run or {}).get("workload", {}).get("admitted") == "gangs")


def _circumstances(data: Data) -> list[str]:
    """What else than assumptions decides the workload: gangs, and the seed of what is drawn."""
    seed = (data.run or {}).get("seed", 0)
    return [*(["--gang"] if _gangs(data) else []), *([f"--seed {seed}"] if seed else [])]


def again(data: Data) -> list[str]:
    """The commands that give the numbers of a report again, one after another."""
    paths, page = data.paths, "--out again.html"
    taken = [f"tracekit ingest SRC {paths.store}"] if data.has_store else []
    if data.has_run:
        return [*taken, _replay(data), f"tracekit report {paths.beside('again')} {page}"]
    return [*taken, f"tracekit report {paths.source} {page}"]


def _replay(data: Data) -> str:
    """The command line that gives the run again."""
    run: Mapping[str, Any] = data.run or {}
    paths = data.paths
    names = [one["policy"] for one in run["policies"] if one["policy"] != OBSERVED]
    words = [
        asked(data, "replay"),
        *(f"--policy {paths.policy(name)}" for name in names),
        *_orders(data),
        f"--out {paths.beside('again')}",
    ]
    return " ".join(words)


def assumptions_of(load: Mapping[str, Any]) -> type[Any]:
    """The class whose fields are what a workload may assume: a loader's, or a store's."""
    kind = all_loaders().get(spelled(str(load.get("loader", "")))[0])
    if kind is not None:
        return kind
    sized = "full_cpu_cores" in load.get("assumptions", {})
    return SizedAssumptions if sized else Assumptions


def _settings(data: Data, without: Sequence[str]) -> list[str]:
    """What was assumed other than by default, and is not said with the workload already."""
    load: Mapping[str, Any] = (data.run or {}).get("workload", {})
    defaults = {one.name: one.default for one in dataclasses.fields(assumptions_of(load))}
    _, given, _ = spelled(str(load.get("loader", "")))
    return [
        f"--assume {quote(f'{name}={value}')}"
        for name, value in load.get("assumptions", {}).items()
        if name not in (*given, *without)
        and (name in NAMES or (name in defaults and defaults[name] != value))
    ]


def _orders(data: Data) -> list[str]:
    """How many orders of arrival, and of which policies if not of all."""
    run: Mapping[str, Any] = data.run or {}
    if run.get("repeats", 1) == 1:
        return ["--repeat 1"]
    several = [one for one in run["policies"] if one.get("repeats", run["repeats"]) > 1]
    names = [one["policy"] for one in several if one["policy"] != OBSERVED]
    named = [f"--repeat-policy {data.paths.policy(name)}" for name in names]
    every = len(several) == len(run["policies"])
    first, *more = run.get("repeats_looks") or [run["repeats"]]
    added = [f"--repeat-up-to {most}" for most in more]
    return [f"--repeat {first}", *added, *([] if every else named)]
