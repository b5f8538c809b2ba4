from __future__ import annotations

import copy
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import container

from tracekit.base.errors import TracekitError
from tracekit.policy.entrant import Entrants, parse_entrant, with_fit
from tracekit.policy.parse import parse_policy
from tracekit.policy.placement import PlacementPolicy
from tracekit.policy.view.cluster import Cluster
from tracekit.policy.view.snapshot import Placed, Snapshot

#: node, millicores, service
ROWS = [(0, 2000, "a"), (0, 4000, "b"), (1, 4000, "b"), (2, 1000, "s")]
CPU = {"a": 0.6, "b": 0.2, "s": 0.5}
K2 = {"a": 0.1, "b": 0.3, "s": 0.2}
NODES = 4
ROOM = 10_000


def seen() -> Snapshot:
    """Four nodes; the last is empty, the third runs the service ``s`` that waits."""
    room = np.full((NODES, 2), ROOM, dtype=np.int64)
    cluster = Cluster(resources=("cpu_milli", "memory_bytes"), capacity=room, allocatable=room)
    request = np.array([[milli, 1] for _, milli, _ in ROWS], dtype=np.int64)
    for (node, *_), amounts in zip(ROWS, request, strict=True):
        cluster.change(node, amounts, amounts, amounts, sign=1)
    placed = Placed(
        node=np.array([node for node, *_ in ROWS]),
        time_ms=np.zeros(len(ROWS), dtype=np.int64),
        request=request,
        limit=request,
        service=[service for *_, service in ROWS],
    )
    return cluster.snapshot(0, usage=None, placed=placed)


@pytest.fixture
def fit(tmp_path: Path) -> Path:
    folder = tmp_path / "fit"
    folder.mkdir()
    frame = pl.DataFrame({"service": list(CPU), "cpu_mean": CPU.values(), "k2": K2.values()})
    frame.write_parquet(folder / "coefficients.parquet")
    pl.DataFrame({"k2": [0.2]}).write_parquet(folder / "pooled.parquet")
    return folder


def by_hand(agg: str, *, with_newcomer: bool) -> list[float]:
    """Lost CPU over the node's, one container at a time."""
    rows = ROWS + ([(node, 2000, "s") for node in range(NODES)] if with_newcomer else [])
    lost = [0.0] * NODES
    for at, (node, milli, service) in enumerate(rows):
        others = [row for number, row in enumerate(rows) if row[0] == node and number != at]
        total = sum(size * CPU[name] for _, size, name in others)
        weight = sum(size for _, size, _ in others)
        below = {"mean": weight, "occupancy": ROOM - milli, "sum": 1000}[agg]
        pressed = total / below if weight else 0.0
        lost[node] += milli * K2[service] * pressed / ROOM
    return lost


@pytest.mark.parametrize("agg", ["mean", "occupancy", "sum"])
@pytest.mark.parametrize("choice", ["score", "delta"])
def test_scores_are_those_by_hand(agg: str, choice: str, fit: Path) -> None:
    policy = parse_policy(f"interference[fit={fit},agg={agg},choice={choice},anti_affinity=false]")
    scores = policy.score(seen(), container(2000, 1), np.arange(NODES))
    wanted = np.array(by_hand(agg, with_newcomer=True))
    if choice == "delta":
        wanted -= by_hand(agg, with_newcomer=False)
    assert scores == pytest.approx(-wanted, abs=1e-12)


def test_a_node_that_runs_the_service_comes_last(fit: Path) -> None:
    waiting = container(2000, 1)
    for given, last in (("", 2), (",anti_affinity=false", None)):
        policy = parse_policy(f"interference[fit={fit}{given}]")
        scores = policy.score(seen(), waiting, np.arange(NODES))
        assert int(np.argmax(scores)) == 3
        assert last is None or int(np.argmin(scores)) == last


def test_without_a_fit_all_services_are_alike() -> None:
    scores = parse_policy("interference").score(seen(), container(2000, 1), np.arange(NODES))
    assert scores.argsort().tolist()[-1] == 3
    assert np.isfinite(scores).all()


def test_the_fit_beside_is_read_in_any_process_and_named_the_same_everywhere(fit: Path) -> None:
    named = parse_entrant("interference[fit=beside,agg=mean]")
    assert isinstance(named, PlacementPolicy)
    with pytest.raises(TracekitError, match="fit"):
        named.score(seen(), container(2000, 1), np.arange(NODES))
    with_folder = with_fit(named, fit)
    assert isinstance(with_folder, PlacementPolicy)
    elsewhere = parse_entrant(with_folder.address())
    by_path = parse_policy(f"interference[fit={fit},agg=mean]")
    scores = by_path.score(seen(), container(2000, 1), np.arange(NODES))
    for one in (with_folder, elsewhere, copy.deepcopy(with_folder)):
        assert isinstance(one, PlacementPolicy)
        assert str(one) == "interference[fit=beside,agg=mean]"
        assert one.score(seen(), container(2000, 1), np.arange(NODES)).tolist() == scores.tolist()


@pytest.mark.parametrize(
    ("text", "by_default", "name"),
    [
        ("interference", True, "interference[fit=beside]"),
        ("interference", False, "interference"),
        ("interference[k2=0.5]", True, "interference[k2=0.5]"),
        ("first_fit", True, "first_fit"),
        ("interference+load_spread", True, "interference[fit=beside]+load_spread"),
        ("0.5*interference[fit=beside]+0.5*first_fit", False, None),
    ],
)
def test_who_takes_the_fit_of_a_run(
    text: str, by_default: bool, name: str | None, fit: Path
) -> None:
    entrant = with_fit(parse_entrant(text), fit, by_default=by_default)
    assert str(entrant) == (name or str(parse_entrant(text)))
    assert (str(fit) in entrant.address()) == ("fit=beside" in str(entrant))


def test_a_named_policy_is_named_by_the_fit_that_it_takes(fit: Path) -> None:
    entrants = Entrants.of(["interference", "first_fit"]).with_fit(fit, by_default=True)
    assert entrants.names == ("interference[fit=beside]", "first_fit")
    assert [str(one) for one in entrants.chosen] == list(entrants.names)
