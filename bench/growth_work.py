"""One process of ``bench_growth``: ``make`` what a verb works on, or ``measure`` the verb itself.

``python growth_work.py make|measure VERB GROWS SIZES FOLDER``. Data of a size is made once, under
``FOLDER/GROWS-SIZE``, by the verbs that come before. ``make`` takes several sizes, by comma.
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import tracekit
from tracekit.synth.presets import _PRESETS, STEPS_PER_HOUR, Preset

#: Sizes of what does not grow.
NODES, CONTAINERS, STEPS, CALLS = 80, 1_200, 240, 4_000

#: As many policies as are asked for, in this order; each is replayed.
POLICIES = (
    "least_allocated", "balanced_allocation", "most_allocated", "best_fit", "worst_fit",
    "first_fit", "lowest_debris", "least_requested", "most_requested", "random",
    "target_load_packing", "load_variation_risk_balancing", "low_risk_overcommitment",
    "least_allocated[tie=first]", "balanced_allocation[tie=first]", "best_fit[tie=reservoir]",
)  # fmt: skip

#: Of those that search over a batch, or weigh each neighbour, the ones that cost most.
SEARCHES = ("tbesk", "bes", "tssa", "cmdn")
#: So many containers that replays in six orders are compiled.
MANY = 12_000

CASES_FILE = Path(__file__).parents[1] / "tests" / "golden" / "k8s_least_allocated.json"


def policies(grows: str, size: int) -> tuple[str, ...]:
    """Those that are replayed."""
    if grows.startswith("searched"):
        return SEARCHES
    return POLICIES[:size] if grows == "policies" else POLICIES[:2]


def plant(grows: str, size: int) -> None:
    """Register a preset in which one thing has this size."""
    steps = max(size // STEPS_PER_HOUR, 1) * STEPS_PER_HOUR if grows == "steps" else STEPS
    containers = MANY if grows == "nodes_of_many" else CONTAINERS
    if grows.endswith("containers"):
        containers = size
    _PRESETS["grown"] = Preset(
        title="one thing grows",
        nodes=size if "nodes" in grows else max(NODES, containers // 15),
        services=max(containers // 15, 4),
        containers=containers,
        hours=steps // STEPS_PER_HOUR,
        traces=size if grows == "calls" else CALLS,
        call_minutes_per_file=30,
    )


def synth(data: Path, grows: str, size: int) -> None:
    """Four tables, written by one process."""
    plant(grows, size)
    tracekit.synth(data / "trace", preset="grown", jobs=1)


def ingest(data: Path, grows: str, size: int) -> None:  # noqa: ARG001
    """All tables, with one worker."""
    tracekit.ingest(data / "trace", data / "store", jobs=1)


def replay(data: Path, grows: str, size: int) -> None:
    """Two policies, as many as are asked for, or those that search."""
    orders = 1 if grows.startswith("searched") or grows == "containers" else None
    tracekit.replay(data / "store", policies(grows, size), out=data / "run", jobs=1, repeats=orders)


def explain(data: Path, grows: str, size: int) -> None:  # noqa: ARG001
    """A file of recorded cases."""
    tracekit.explain(data / "cases.json")


def cases(data: Path, size: int) -> None:
    """Recorded cases, the same ones over and over."""
    document = json.loads(CASES_FILE.read_text())
    known = document["cases"]
    document["cases"] = [{**known[at % len(known)], "name": str(at)} for at in range(size)]
    data.mkdir(parents=True, exist_ok=True)
    (data / "cases.json").write_text(json.dumps(document))


VERBS: dict[str, Callable[[Path, str, int], object]] = {
    "synth": synth,
    "ingest": ingest,
    "check": lambda data, _, __: tracekit.check(data / "store"),
    "estimate": lambda data, _, __: tracekit.estimate(data / "store"),
    "query": lambda data, _, __: tracekit.query(data / "store", "usage/containers_per_node"),
    "analyze": lambda data, _, __: tracekit.analyze(data / "store", data / "analysis"),
    "callgraph": lambda data, _, __: tracekit.callgraph(data / "store", data / "calls", jobs=1),
    "fit": lambda data, _, __: tracekit.fit(data / "store", data / "fit"),
    "bind": lambda data, _, __: tracekit.bind(
        data / "store", ("interference",), fit=data / "fit", out=data / "bound"
    ),
    "requests": lambda data, _, __: tracekit.requests(
        data / "store", ("percentile_request", "minimum_selection"), out=data / "sized", by="calls"
    ),
    "replay": replay,
    "report": lambda data, _, __: tracekit.report(data / "run", data / "report.html"),
    "compare": lambda data, _, __: tracekit.compare(data / "run", data / "run"),
    "sensitivity": lambda data, _, __: tracekit.sensitivity(data / "store", policies=POLICIES[:2]),
    "nodes": lambda data, _, __: tracekit.nodes(
        data / "store",
        policies=POLICIES[:1],
        limits=["pending <= 1000000", "pending_container_steps <= 1e9"],
    ),
    "explain": explain,
}

#: What a verb needs, by what it is made with and where that is found.
_STORE = (("synth", "trace"), ("ingest", "store"))
NEEDS: dict[str, tuple[tuple[str, str], ...]] = {
    "synth": (),
    "explain": (),
    "ingest": _STORE[:1],
    "bind": (*_STORE, ("fit", "fit")),
    "report": (*_STORE, ("replay", "run")),
    "compare": (*_STORE, ("replay", "run")),
}

#: What a verb writes; removed before it is measured, or not made yet.
WRITES = {
    "synth": "trace", "ingest": "store", "analyze": "analysis", "callgraph": "calls", "fit": "fit",
    "bind": "bound", "requests": "sized", "replay": "run", "report": "report.html",
}  # fmt: skip


def make(verb: str, grows: str, size: int, data: Path) -> None:
    """What the verb works on, where it is not there yet."""
    for name, written in NEEDS.get(verb, _STORE):
        if not (data / written).exists():
            VERBS[name](data, grows, size)
    if verb == "explain":
        cases(data, size)
    for kept in data.glob(".*"):  # replays that would not be made again
        shutil.rmtree(kept)
    if verb in WRITES:
        shutil.rmtree(data / WRITES[verb], ignore_errors=True)
        (data / WRITES[verb]).unlink(missing_ok=True)


def measure(verb: str, grows: str, size: int, data: Path) -> dict[str, float]:
    """Seconds of the processors with children, and the peak of the largest process."""
    before = _seconds()
    VERBS[verb](data, grows, size)
    peaks = [resource.getrusage(who).ru_maxrss for who in _WHO]
    return {"cpu_s": _seconds() - before, "memory_mib": max(peaks) / 1024}


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def _seconds() -> float:
    used = [resource.getrusage(who) for who in _WHO]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(arguments: list[str]) -> None:
    """Do one task; ``measure`` ends with a line of JSON."""
    task, verb, grows, sizes, folder = arguments
    for size in map(int, sizes.split(",")):
        data = Path(folder) / f"{grows.removeprefix('searched_')}-{size}"
        if task == "make":
            make(verb, grows, size, data)
        else:
            print(json.dumps(measure(verb, grows, size, data)))


if __name__ == "__main__":
    main(sys.argv[1:])
