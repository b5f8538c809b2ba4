"""Several schedulers on views that are out of date, beside a plain reading of their rules."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from cluster_support import stored
from hypothesis import given, settings
from hypothesis import strategies as some
from replay_support import workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.workload import Workload
from tracekit.commands.shell import run
from tracekit.policy.entrant import Schedulers, parse_entrant
from tracekit.policy.parse import parse_policy
from tracekit.replay.engine.engine import Engine
from tracekit.replay.engine.queueing import StalePlacer
from tracekit.replay.engine.steps import Outcome

rows_of = some.lists(
    some.tuples(
        some.integers(0, 4500), some.integers(1, 5000), some.integers(1, 60), some.integers(1, 60)
    ),
    min_size=1,
    max_size=14,
)
nodes_of = some.lists(some.sampled_from([(100, 100), (60, 160)]), min_size=1, max_size=4)


def replayed(load: Workload, name: str, schedulers: Schedulers | None) -> Outcome:
    more: Any = (
        {} if schedulers is None else {"placer": partial(StalePlacer, schedulers=schedulers)}
    )
    return Engine(load, parse_policy(name), np.random.default_rng(0), **more).run()


def lives_of(rows: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int, int]]:
    """Containers as the builder takes them: from, to, CPU, memory."""
    return [(came, came + stays, cpu, memory) for came, stays, cpu, memory in rows]


class Plain:
    """First fit by several schedulers, each container looked at by itself."""

    def __init__(self, load: Workload, schedulers: Schedulers) -> None:
        self.load, self.schedulers, self.conflicts = load, schedulers, 0
        self.node, self.placed = [-1] * load.containers.count, [-1] * load.containers.count
        self.of_ms = [-(10**9)] * schedulers.number
        self.seen: list[list[int]] = [[] for _ in self.of_ms]
        arrival, departure = (
            load.containers.arrival_ms.tolist(),
            load.containers.departure_ms.tolist(),
        )
        self.departure = departure
        waiting: list[int] = []
        end = int(load.use.times_ms[-1]) + load.use.step_ms - 1
        for now in sorted({*arrival, *departure}):
            if now > end:
                break
            left = [at for at in range(load.containers.count) if departure[at] == now]
            waiting = [at for at in waiting if at not in left]
            if any(self.node[at] >= 0 for at in left):
                waiting = self.again(waiting, now)
            new = [at for at in range(load.containers.count) if arrival[at] == now]
            waiting += [at for at in new if not self.place(at, now)]

    def again(self, waiting: list[int], now: int) -> list[int]:
        """Who still waits: a size that found no node is not tried twice, as in every replay."""
        left: list[int] = []
        for index in waiting:
            sizes = [tuple(self.load.containers.request[at]) for at in left]
            if tuple(self.load.containers.request[index]) in sizes or not self.place(index, now):
                left.append(index)
        return left

    def place(self, index: int, now: int) -> bool:
        mine, age = index % self.schedulers.number, self.schedulers.cache_age_ms
        offset = mine * age // self.schedulers.number
        due = next((at for at in range(now, now - age, -1) if (at - offset) % age == 0), now)
        if due > self.of_ms[mine] or not age:
            self.look(mine, due, now)
        node = self.first(index, self.seen[mine])
        if node is not None and not self.fits(index, node, self.there(now)):
            self.conflicts += 1
            node = None
        if node is None:
            self.look(mine, now, now)
            node = self.first(index, self.seen[mine])
        if node is None:
            return False
        self.node[index], self.placed[index] = node, now
        self.seen[mine].append(index)
        return True

    def there(self, at_ms: int) -> list[int]:
        """Who has a node at a time, as far as is decided."""
        placed = enumerate(self.placed)
        return [at for at, since in placed if 0 <= since <= at_ms < self.departure[at]]

    def look(self, mine: int, of_ms: int, now: int) -> None:
        """Take a view: who was there, and whom the scheduler itself has placed since."""
        own = [at for at in self.there(now) if at % self.schedulers.number == mine]
        self.seen[mine] = list({*self.there(of_ms), *own})
        self.of_ms[mine] = of_ms

    def fits(self, index: int, node: int, present: list[int]) -> bool:
        wanted = [
            self.load.containers.request[at]
            for at in [index, *present]
            if at == index or self.node[at] == node
        ]
        return bool((np.sum(wanted, axis=0) <= self.load.nodes.capacity[node]).all())

    def first(self, index: int, present: list[int]) -> int | None:
        return next(
            (at for at in range(self.load.nodes.count) if self.fits(index, at, present)), None
        )


@settings(max_examples=60)
@given(rows_of, nodes_of, some.integers(2, 3), some.sampled_from([0, 1, 300, 1000, 2500]))
def test_it_does_as_a_plain_reading_of_the_rules(
    rows: list[tuple[int, int, int, int]], nodes: list[tuple[int, int]], number: int, age_ms: int
) -> None:
    load = workload(nodes, lives_of(rows), steps=6)
    schedulers = Schedulers(number=number, cache_age_ms=age_ms)
    result, plain = replayed(load, "first_fit", schedulers), Plain(load, schedulers)
    assert result.conflicts == plain.conflicts
    assert result.node.tolist() == plain.node
    assert result.time_ms.tolist() == plain.placed


@settings(max_examples=20)
@given(rows_of, nodes_of, some.sampled_from(["best_fit", "least_allocated", "default_scheduler"]))
def test_with_a_new_view_at_each_decision_several_place_as_one(
    rows: list[tuple[int, int, int, int]], nodes: list[tuple[int, int]], name: str
) -> None:
    load = workload(nodes, lives_of(rows), steps=6)
    alone = replayed(load, name, None)
    several = replayed(load, name, Schedulers(number=3, cache_age_ms=0))
    assert several.node.tolist() == alone.node.tolist()
    assert several.conflicts == 0


def test_an_entrant_is_spelled_as_it_is_read() -> None:
    for text in ("best_fit+schedulers", "best_fit+load_spread+schedulers[number=4]"):
        assert str(parse_entrant(text)) == parse_entrant(text).address().replace("[]", "") == text
    result = parse_entrant("best_fit+schedulers[number=4]").spelled()
    assert (result["schedulers.number"], result["schedulers.cache_age_ms"]) == ("4", "10000")


@pytest.mark.parametrize("text", ["observed", "tpso", "lra+schedulers[number=1]"])
def test_who_cannot_be_several(text: str) -> None:
    with pytest.raises(TracekitError):
        parse_entrant(text if "+" in text else f"{text}+schedulers")


@pytest.mark.slow
def test_conflicts_stand_beside_one_scheduler(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = str(stored(tmp_path).path)
    folders = [tmp_path / "once", tmp_path / "again"]
    for folder in folders:
        call = ["replay", store, "--policy", "best_fit", "--schedulers", "2", "--cache-age", "1m"]
        call += ["--repeat", "3"]
        assert run([*call, "--json", "--out", str(folder)]) == 0
        document = json.loads(capsys.readouterr().out)
    one, several = "best_fit", "best_fit+schedulers[cache_age_ms=60000]"
    summary = {row["policy"]: row["conflicts"] for row in document["summary"]}
    assert summary[one] == 0
    facts = [fact for fact in document["facts"] if fact["kind"] == "conflicts"]
    assert [(fact["subject"], fact["value"]) for fact in facts] == [(several, summary[several])]
    orders = pl.read_parquet(folders[0] / "repeats.parquet").filter(policy=several)["conflicts"]
    assert (facts[0]["low"], facts[0]["high"]) == (orders.min(), orders.max())
    assert facts[0]["about"]["orders"] == len(orders) > 1
    for name in ("summary", "placements", "steps"):
        same = [(folder / f"{name}.parquet").read_bytes() for folder in folders]
        assert same[0] == same[1]
    assert pl.read_parquet(folders[0] / "steps.parquet")["policy"].n_unique() == 4
