"""Orders of arrival: what they change, what they leave, and that they are the same again."""

from __future__ import annotations

import numpy as np
import polars as pl
from replay_support import changed, fields_of, workload

from tracekit.answer.repeat import repeat_replay
from tracekit.base.arrays import stream
from tracekit.cluster.gangs import rearranged
from tracekit.cluster.workload import Workload
from tracekit.policy.entrant import Entrants
from tracekit.replay.runs.run import choose_policies, replay
from tracekit.replay.runs.run_folder import manifest_of

ROWS = [(at * 100, 9000, 5 + at % 7, 3 + at % 5, at % 3) for at in range(20)]
FIXED = workload([(60, 60)] * 3, ROWS)
FREE = changed(
    FIXED,
    use={
        "values": np.repeat(FIXED.containers.request.T[:, None], 4, axis=1).astype(np.float32),
        "settled_ms": 2000,
    },
    containers={"exchangeable": np.arange(20) < 15},
)
BY_CONTAINER = ("ids", "services", "recorded_node", "departure_ms", "request", "nonzero_request",
                "limit", "exchangeable")  # fmt: skip


def about(load: Workload) -> dict[str, list[object]]:
    """Everything known of each container but its time of arrival."""
    results = {}
    for at, name in enumerate(load.containers.ids):
        fields = [
            np.asarray(getattr(load.containers, field))[at].tolist() for field in BY_CONTAINER
        ]
        results[name] = [*fields, [load.use.at(step)[:, at].tolist() for step in range(4)]]
    return results


def test_an_order_changes_times_of_arrival_and_nothing_else() -> None:
    other = rearranged(FREE, stream(1, "arrivals"))
    assert other.containers.ids != FREE.containers.ids
    assert other.containers.arrival_ms.tolist() == FREE.containers.arrival_ms.tolist()
    assert about(other) == about(FREE)
    assert other.use.values is FREE.use.values
    staying = [f"c{at}" for at in range(15, 20)]
    for name in staying:
        assert (
            other.containers.arrival_ms[other.containers.ids.index(name)]
            == FREE.containers.arrival_ms[FREE.containers.ids.index(name)]
        )


def test_every_array_of_containers_is_rearranged() -> None:
    """A field with one entry per container that an order forgets would mix containers up."""
    per_container = {
        name
        for name, value in fields_of(FREE).items()
        if isinstance(value, tuple | np.ndarray) and FREE.containers.count in np.shape(value)
    }
    assert per_container == {
        *(f"containers.{name}" for name in BY_CONTAINER),
        "containers.arrival_ms",
        "use.values",
    }


def test_without_exchangeable_containers_only_ties_are_drawn() -> None:
    assert rearranged(FIXED, stream(1, "arrivals")).containers.ids == FIXED.containers.ids
    tied = changed(
        FIXED,
        containers={"arrival_ms": np.zeros(20, np.int64)},
        use={"values": np.ones_like(FIXED.use.values)},
    )
    other = rearranged(tied, stream(1, "arrivals"))
    assert other.containers.ids != tied.containers.ids
    assert set(other.containers.ids) == set(tied.containers.ids)


def repeated(seed: int = 0, repeats: int = 8) -> pl.DataFrame:
    policies = choose_policies(Entrants.of(["first_fit", "least_allocated"]), FREE)
    made = repeat_replay(FREE, policies, seed=seed, repeats=repeats).repeats
    assert made is not None
    return made


def test_every_policy_meets_every_order() -> None:
    made = repeated()
    assert made.group_by("policy").len()["len"].to_list() == [8] * 3
    assert made["seed"].unique().sort().to_list() == list(range(8))
    assert made.filter(pl.col("policy") == "first_fit")["imbalance_mean"].n_unique() > 1


def test_the_first_is_the_plain_replay_and_the_same_again() -> None:
    policies = choose_policies(Entrants.of(["first_fit"]), FREE)
    plain = replay(FREE, policies, seed=3)
    made = [repeat_replay(FREE, policies, seed=3, repeats=7) for _ in range(2)]
    assert made[0].steps.equals(plain.steps)
    assert made[0].placements.equals(plain.placements)
    assert made[0].summary.select(plain.summary.columns).equals(plain.summary)
    assert made[0].summary.equals(made[1].summary)
    for name in ("repeats", "differences"):
        assert getattr(made[0], name).equals(getattr(made[1], name))


def test_those_not_repeated_are_replayed_once_and_have_no_interval() -> None:
    policies = choose_policies(Entrants.of(["first_fit", "least_allocated", "random"]), FREE)
    whole = repeat_replay(FREE, policies, seed=0, repeats=6)
    again = [one for one in policies if one.name() in ("observed", "least_allocated")]
    some = repeat_replay(FREE, policies, seed=0, repeats=6, repeated=again)
    assert some.summary["policy"].equals(whole.summary["policy"])
    assert some.steps.equals(whole.steps)
    assert some.repeats is not None
    assert whole.repeats is not None
    names = ["observed", "least_allocated"]
    assert some.repeats.equals(whole.repeats.filter(pl.col("policy").is_in(names)))
    rows = some.summary.filter(pl.col("imbalance_mean_low").is_not_null())["policy"]
    assert rows.to_list() == names
    assert some.differences is not None
    assert set(some.differences["policy_a"]) | set(some.differences["policy_b"]) == set(names)
    counts = {one["policy"]: one["repeats"] for one in manifest_of(some)["policies"]}
    assert counts == {"observed": 6, "first_fit": 1, "least_allocated": 6, "random": 1}
