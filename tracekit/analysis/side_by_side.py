"""Steps that build on each other, several of them under way at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from graphlib import TopologicalSorter


def side_by_side(
    steps: Mapping[str, Callable[[], None]], after: Mapping[str, Collection[str]], lanes: int
) -> Iterator[str]:
    """Do every step once, each after those it builds on; yields its name when it is done.

    With one lane the steps are done one by one, in this thread and in the order given. What a step
    raises is raised here, once the steps that are under way have ended; no other is begun.

    Parameters
    ----------
    steps : what to do, by name, in an order in which they could be done one by one
    after : for each step the names of those it builds on; names of no step do not count
    """
    if lanes == 1:
        for name, step in steps.items():
            step()
            yield name
        return
    builds_on = {name: set(after[name]) & steps.keys() for name in steps}
    weight = _built_on(builds_on)
    waiting = TopologicalSorter(builds_on)
    waiting.prepare()
    ready: list[str] = []
    with ThreadPoolExecutor(lanes) as threads:
        under_way: dict[Future[None], str] = {}
        try:
            while waiting.is_active():
                # what most others wait for goes first; among equals the order given decides
                ready = sorted([*ready, *waiting.get_ready()], key=lambda n: -weight[n])
                while ready and len(under_way) < lanes:
                    name = ready.pop(0)
                    under_way[threads.submit(steps[name])] = name
                for done in wait(under_way, return_when=FIRST_COMPLETED).done:
                    done.result()
                    name = under_way.pop(done)
                    waiting.done(name)
                    yield name
        finally:
            threads.shutdown(cancel_futures=True)


def _built_on(builds_on: Mapping[str, Collection[str]]) -> dict[str, int]:
    """For each step how many others build on it, at one remove or more."""
    built = {name: set(under) for name, under in builds_on.items()}
    for name in TopologicalSorter(builds_on).static_order():
        for under in builds_on[name]:
            built[name] |= built[under]
    return {name: sum(name in under for under in built.values()) for name in builds_on}
