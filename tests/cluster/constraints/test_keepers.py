"""Every kind of constraint against the plain statement of it."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from constraint_support import broken, drawn
from hypothesis import given
from hypothesis import strategies as some
from replay_support import Row, workload

from tracekit.base.errors import TracekitError
from tracekit.cluster.constraints.cells import Cells, CellsKeeper
from tracekit.cluster.constraints.constraint import CellChoice
from tracekit.cluster.constraints.constraints import Constraints

NODES, COUNT = 4, 8
ROWS: list[Row] = [(0, 9000, 1, 1)] * COUNT
LOAD = workload([(9, 9)] * NODES, ROWS)
KINDS = {part.name: at for at, part in enumerate(drawn(LOAD, np.random.default_rng(0)))}
steps = some.lists(some.tuples(some.integers(0, COUNT - 1), some.integers(0, NODES - 1)),
                   max_size=25)  # fmt: skip


@pytest.mark.parametrize("at", [at for name, at in KINDS.items() if name != "NUMA cells"])
@given(steps, some.integers(0, 2**32))
def test_a_node_is_open_where_one_more_breaks_nothing(
    at: int, moves: list[tuple[int, int]], seed: int
) -> None:
    part = drawn(LOAD, np.random.default_rng(seed))[at]
    keeper, node = part.keeper(NODES), np.full(COUNT, -1)
    for index, target in moves:
        if node[index] >= 0:
            keeper.remove(index, int(node[index]))
            node[index] = -1
        elif keeper.open(index)[target]:
            keeper.add(index, target)
            node[index] = target
        values = np.flatnonzero(node >= 0).tolist()
        assert not broken(part, node, values)
        for wanted in sorted(set(range(COUNT)) - set(values)):
            names = keeper.open(wanted).tolist()
            for target_ in range(NODES):
                tried = node.copy()
                tried[wanted] = target_
                assert names[target_] != broken(part, tried, [*values, wanted])


amount = some.integers(0, 6)
cell_rows = some.lists(some.tuples(amount, amount, some.integers(0, 3)), min_size=1, max_size=6)


@given(
    some.lists(some.lists(some.tuples(amount, amount), min_size=3, max_size=3),
               min_size=2, max_size=2),
    cell_rows,
    some.lists(some.tuples(some.integers(0, 5), some.integers(0, 1)), max_size=15),
    some.sampled_from(["first", "tight"]),
)  # fmt: skip
def test_cells_by_trying_every_choice_of_them(
    nodes: list[list[tuple[int, int]]], rows: list[tuple[int, int, int]],
    moves: list[tuple[int, int]], choice: CellChoice,
) -> None:  # fmt: skip
    cells = Cells(
        capacity=np.array(nodes),
        request=np.array([row[:2] for row in rows]),
        numa_cells=np.array([row[2] for row in rows]),
        cell=choice,
    )
    keeper = cells.keeper(2)
    free = [[list(cell) for cell in node] for node in nodes]
    existing: dict[int, tuple[int, list[tuple[int, int, int]]]] = {}
    for index, node in moves:
        if index >= len(rows):
            continue
        if index in existing:
            where, back = existing.pop(index)
            keeper.remove(index, where)
            give(free[where], back, 1)
        elif keeper.open(index)[node]:
            taken = chosen(free[node], rows[index], choice)
            assert taken is not None
            keeper.add(index, node)
            existing[index] = node, taken
            give(free[node], taken, -1)
        assert keeper.free.tolist() == free
        for wanted, row in enumerate(rows):
            fits = [chosen(left, row, choice) is not None for left in free]
            assert keeper.open(wanted).tolist() == fits


def give(free: list[list[int]], taken: list[tuple[int, int, int]], sign: int) -> None:
    for cell, cpu, memory in taken:
        free[cell][0] += sign * cpu
        free[cell][1] += sign * memory


def chosen(
    free: list[list[int]], row: tuple[int, int, int], choice: str
) -> list[tuple[int, int, int]] | None:
    """The cells and what is taken of each, None where there are too few; every choice is tried."""
    cpu, memory, bound = row
    part = [-(-cpu // max(bound, 1)), -(-memory // max(bound, 1))]
    tried = [
        which
        for which in itertools.combinations(range(len(free)), max(bound, 1))
        if all(w == 0 or free[c][r] >= w for c in which for r, w in enumerate(part))
    ]

    def worth(which: tuple[int, ...]) -> Any:
        return sorted((free[cell][0], cell) for cell in which) if choice == "tight" else which

    if tried:
        return [(cell, part[0], part[1]) for cell in min(tried, key=worth)]
    if bound:
        return None
    order = sorted(range(len(free)), key=lambda c: (free[c][0] if choice == "tight" else 0, c))
    taken = []
    for cell in order:
        some_of = min(cpu, free[cell][0]), min(memory, free[cell][1])
        taken.append((cell, *some_of))
        cpu, memory = cpu - some_of[0], memory - some_of[1]
    return taken


def test_together_with_its_parts_and_another_order() -> None:
    parts = tuple(drawn(LOAD, np.random.default_rng(5)))
    whole, order = Constraints(parts=parts), np.array([3, 1, 7])
    taken, keeper = whole.taken(order), whole.keeper(NODES, "tight")
    taken.check(3, NODES)
    assert [taken.kind(at) for at in range(3)] == [whole.kind(int(at)) for at in order]
    assert len({whole.kind(at) for at in range(COUNT)}) > 1
    assert whole.facts() == {
        f"constraint_{part.name.replace(' ', '_')}": int(part.about.sum()) for part in parts
    }
    keeper.add(0, 1)
    for index in range(COUNT):
        mask = keeper.open(index)
        closed = np.logical_or.reduce([of for _, of in keeper.closed(index)])
        assert mask is not None
        assert (mask == ~closed).all()
    with pytest.raises(TracekitError, match="'rules on sharing'"):
        whole.check(9, NODES)
    assert isinstance(parts[-1].keeper(NODES), CellsKeeper)
