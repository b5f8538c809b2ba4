"""A store with sizes as a workload: sizes, lives, use, what stays where it was."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from cluster_support import CLUSTER, stored, workload
from tests_support import the

from tracekit.base.errors import TracekitError
from tracekit.cluster.assembly import sizes as tables
from tracekit.cluster.assembly.sizes import in_columns
from tracekit.cluster.assumptions import SizedAssumptions
from tracekit.cluster.resources import NONZERO_DEFAULT
from tracekit.policy.parse import parse_policy
from tracekit.replay.bounds.demand import demand_bound
from tracekit.replay.runs.remarks import peaks
from tracekit.replay.runs.run import replay
from tracekit.store.folder import Store
from tracekit.store.views import read

#: Where no node is known, requests of 2,000 bytes are taken for MiB: these are of megabytes.
_OF_MB = [
    line.removesuffix("000") + "000000" if line.endswith("000") else line
    for line in CLUSTER["containers.csv"]
]


def test_sizes_are_those_recorded(tmp_path: Path) -> None:
    made = workload(stored(tmp_path))
    assert made.nodes.ids == ("n1", "n0"), "nodes in the order of the source"
    assert made.nodes.capacity.tolist() == [[4000, 8000], [2000, 4000]]
    assert sorted(made.containers.ids) == ["a", "b", "c"]
    by_id = dict(zip(made.containers.ids, made.containers.request.tolist(), strict=True))
    assert by_id == {"a": [0, 0], "b": [1000, 2000], "c": [500, 1000]}
    unstated = made.containers.nonzero_request[made.containers.ids.index("a")].tolist()
    assert unstated == list(NONZERO_DEFAULT.values())
    assert made.containers.recorded
    assert made.provenance.facts["containers_without_request"] == 1
    assert made.provenance.quantities["node sizes"] == "recorded"
    assert made.provenance.quantities["prices"] == "absent"


@pytest.mark.slow
def test_use_is_the_amount_recorded_and_held(tmp_path: Path) -> None:
    made = workload(stored(tmp_path))
    assert made.use.step_ms == 30_000
    assert made.use.times_ms.tolist() == list(range(0, 240_000, 30_000))
    use = np.stack([made.use.at(step) for step in range(len(made.use.times_ms))])
    b, a, c = (made.containers.ids.index(name) for name in "bac")
    assert use[:, 0, b].tolist() == [100 + 30 * step for step in range(8)]
    assert use[:, 1, a].tolist() == [400.0] * 8
    assert use[:, 0, c].tolist() == [500.0] * 8, "no use recorded: what it requests"
    assert made.provenance.facts["containers_without_usage"] == 1
    half = workload(stored(tmp_path / "half"), "used_share=0.5")
    assert half.use.at(0)[0, half.containers.ids.index("c")] == 250.0


@pytest.mark.slow
def test_lives(tmp_path: Path) -> None:
    made = workload(stored(tmp_path), "arrival_span_ms=60000")
    lives = {
        name: (int(made.containers.arrival_ms[at]), int(made.containers.departure_ms[at]))
        for at, name in enumerate(made.containers.ids)
    }
    assert lives["c"] == (60_000, 150_000)
    assert {lives["a"][0], lives["b"][0]} == {0, 30_000}, "spread over the span in seeded order"
    assert lives["a"][1] == lives["b"][1] == 240_000, "those that stay, stay to the end"
    assert made.use.settled_ms == 30_000
    stay = workload(stored(tmp_path / "stay"), "departures=none")
    assert set(stay.containers.departure_ms.tolist()) == {240_000}


@pytest.mark.slow
def test_orders_are_drawn_by_seed(tmp_path: Path) -> None:
    rows = [f"k{at:02},web,n1,0,,10,10" for at in range(40)]
    store = stored(
        tmp_path, {"containers.csv": [CLUSTER["containers.csv"][0], *rows], "usage.csv": None}
    )
    first, again, other = (workload(store, seed=seed).containers.ids for seed in (1, 1, 2))
    assert first == again
    assert first != other
    listed = workload(store, "order=listed").containers.ids
    assert listed == tuple(f"k{at:02}" for at in range(40))


@pytest.mark.slow
def test_what_ran_at_the_beginning_stays_when_observed(tmp_path: Path) -> None:
    made = workload(stored(tmp_path), "start=observed")
    assert made.rules.pinned is not None
    where = dict(zip(made.containers.ids, made.rules.pinned.tolist(), strict=True))
    assert where == {"b": 0, "a": 1, "c": -1}
    assert made.containers.arrival_ms[:2].tolist() == [0, 0]
    assert workload(stored(tmp_path / "empty")).rules.pinned is None


@pytest.mark.slow
def test_a_daemon_stays_on_its_node(tmp_path: Path) -> None:
    header, *rows = CLUSTER["containers.csv"]
    lines = [f"{header},daemon", f"{rows[0]},1", f"{rows[1]},0", f"{rows[2]},"]
    made = workload(stored(tmp_path, {"containers.csv": lines}))
    assert made.rules.pinned is not None
    assert made.rules.daemon is not None
    at = made.containers.ids.index("b")
    assert made.rules.pinned.tolist() == [0 if n == at else -1 for n in range(3)]
    assert made.rules.daemon.tolist() == [n == at for n in range(3)]


@pytest.mark.slow
def test_what_nodes_use_besides_stays_on_them(tmp_path: Path) -> None:
    background = ["node,time_ms,cpu_milli,memory_bytes"]
    background += [f"n0,{at},300,700" for at in range(0, 240_000, 30_000)]
    made = workload(stored(tmp_path, {"background.csv": background}))
    assert made.use.background[0, :, 1].tolist() == [300.0] * 8
    assert made.use.background[1, :, 1].tolist() == [700.0] * 8
    assert not made.use.background[:, :, 0].any()


@pytest.mark.slow
@pytest.mark.parametrize("fraction", [0.5, 0.05])
def test_use_of_nodes_that_no_container_explains(tmp_path: Path, fraction: float) -> None:
    usage = ["time_ms,node,cpu_fraction,memory_fraction"]
    usage += [f"{at},n1,{fraction},{fraction}" for at in range(0, 240_000, 30_000)]
    made = workload(stored(tmp_path, {"node_usage.csv": usage}), "arrival_span_ms=120000")
    b = made.containers.ids.index("b")
    c = made.containers.ids.index("c")
    for step, now in enumerate(made.use.times_ms.tolist()):
        use = made.use.at(step)[0]
        # b was there from the beginning, whenever the replay lets it arrive
        present = use[b] + use[c] * (60_000 <= now < 150_000)
        wanted = max(fraction * 4000 - present, 0.0)
        assert made.use.background[0, step, 0] == pytest.approx(wanted, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_production_uses_what_was_recorded_of_its_nodes_at_every_step(
    tmp_path: Path, seed: int
) -> None:
    usage = ["time_ms,node,cpu_fraction,memory_fraction"]
    usage += [f"{at},n1,{0.5 + at / 1e6},0.5" for at in range(0, 240_000, 30_000)]
    store = stored(tmp_path, {"node_usage.csv": usage})
    made = workload(store, "arrival_span_ms=120000", seed=seed)
    for step in range(len(made.use.times_ms)):
        cpu, memory = peaks(made, np.array([step]))
        assert cpu == pytest.approx(0.5 + 30e3 * step / 1e6, rel=1e-6)
        assert memory == pytest.approx(0.5, rel=1e-6)


@pytest.mark.slow
def test_groups_keep_apart_by_rack(tmp_path: Path) -> None:
    header, *rows = CLUSTER["containers.csv"]
    lines = [f"{header},apart,apart_domain", *(f"{row},g,rack" for row in rows)]
    store = stored(tmp_path, {"containers.csv": lines})
    made = workload(store)
    assert made.rules.constraints is not None
    assert workload(store, "groups=none").rules.constraints is None


@pytest.mark.slow
def test_most_containers_that_ask_for_something_have_to_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = stored(tmp_path)

    def sizes(*listed: str) -> tables.Sizes:
        def part(store: Store, name: str) -> pl.DataFrame:
            rows = read(store, name)
            return rows.filter(pl.col("container").is_in(listed)) if name == "container" else rows

        monkeypatch.setattr(tables, "read", part)
        return tables.sizes_of(store)

    assert sizes("a", "c").unlisted == 1
    with pytest.raises(TracekitError, match="'b'"):
        sizes("a")


def test_nodes_may_be_assumed(tmp_path: Path) -> None:
    usual = [",".join(part for at, part in enumerate(line.split(",")) if at != 2)
             for line in _OF_MB]  # fmt: skip
    store = stored(tmp_path, {"nodes.csv": None, "containers.csv": usual})
    made = workload(store, "nodes=12", "node_cpu_cores=2", "node_memory_bytes=4KiB")
    assert made.nodes.ids[:2] == ("node-00", "node-01")
    assert made.nodes.capacity.tolist() == [[2000, 4096]] * 12
    assert made.provenance.quantities["node sizes"] == "assumed"


@pytest.mark.slow
def test_nodes_that_are_not_listed_are_counted(tmp_path: Path) -> None:
    table = ["time_ms,container,node,position", "0,a,n1,1", "0,b,n9,2", "0,c,n8,3", "0,d,,4"]
    arguments = ["time_ms,container,resource,request,unit"]
    arguments += [f"0,{name},cpu,1,cores" for name in "abcd"]
    files = {
        "containers.csv": None,
        "usage.csv": None,
        "container.csv": table,
        "container_resource.csv": arguments,
    }
    made = workload(stored(tmp_path, files))
    assert made.provenance.facts["containers_on_unknown_nodes"] == 2
    assert made.provenance.facts["containers_without_recorded_node"] == 1
    assert not made.containers.recorded, "a third of production compares with nothing"


@pytest.mark.slow
def test_long_use_has_steps_of_several_samples(tmp_path: Path) -> None:
    usage = ["container,time_ms,cpu_milli,memory_bytes"]
    usage += [f"b,{at * 1000},{at},1" for at in range(6000)]
    store = stored(tmp_path, {"usage.csv": usage})
    made = workload(store)
    assert made.use.step_ms == 3000
    assert len(made.use.times_ms) <= 2880
    b = made.containers.ids.index("b")
    assert made.use.at(1)[0, b] == 5.0, "the last sample of a step"
    assert workload(store, "step_ms=1000").use.step_ms == 1000


def test_what_fits_on_no_node_is_set_aside(tmp_path: Path) -> None:
    header, *rows = CLUSTER["containers.csv"]
    store = stored(tmp_path, {"containers.csv": [header, *rows, "huge,web,n1,0,,9e8,1"]})
    made = workload(store)
    assert sorted(made.containers.ids) == ["a", "b", "c"]
    assert made.provenance.facts["containers_set_aside_too_large"] == 1
    assert the(made.provenance.remarks, "too_large").about["names"] == "huge"
    assert not len(made.too_large())


def test_where_nothing_fits_it_is_kept_as_too_large(tmp_path: Path) -> None:
    header = CLUSTER["containers.csv"][0]
    store = stored(
        tmp_path, {"containers.csv": [header, "b,web,n1,0,,9e8,2000"], "usage.csv": None}
    )
    made = workload(store)
    assert len(made.too_large()) == 1


@pytest.mark.slow
def test_nodes_with_nothing_but_daemons_are_not_used(tmp_path: Path) -> None:
    header = CLUSTER["containers.csv"][0]
    lines = [f"{header},daemon", "b,web,n1,0,,1000,2000,", "c,db,n1,0,,500,1000,"]
    lines += ["d0,agent,n0,0,,100,100,1", "d1,agent,n1,0,,100,100,1"]
    store = stored(tmp_path, {"containers.csv": lines, "usage.csv": None})
    load = workload(store)
    run = replay(load, [parse_policy("first_fit")], seed=0)
    row = run.summary.filter(policy="first_fit").row(0, named=True)
    assert row["nodes_used_max"] == 1
    assert demand_bound(load) == 1
    bound = run.summary.filter(policy="bound").row(0, named=True)
    assert bound["nodes_used_max"] == 1


@pytest.mark.slow
def test_nodes_without_a_price_are_not_free(tmp_path: Path) -> None:
    """Where only some have one, nobody says what the nodes in use cost."""
    header, *rows = CLUSTER["nodes.csv"]
    lines = [f"{header},price_per_hour", f"{rows[0]},0.5", *(f"{row}," for row in rows[1:])]
    load = workload(stored(tmp_path, {"nodes.csv": lines}))
    unpriced = the(load.provenance.remarks, "unpriced")
    assert (unpriced.value, unpriced.about["of"]) == (len(rows) - 1, len(rows))
    run = replay(load, [parse_policy("first_fit")], seed=0)
    assert not {"cost_per_hour", "cost_per_hour_gap"} & {*run.summary.columns, *run.steps.columns}


def test_daemons_are_there_before_anything_is_placed(tmp_path: Path) -> None:
    header = CLUSTER["containers.csv"][0]
    lines = [f"{header},daemon", *(f"k{at},web,n1,0,,10,10," for at in range(9))]
    lines += ["d0,agent,n0,0,,100,100,1", "d1,agent,n1,0,,100,100,1"]
    made = workload(stored(tmp_path, {"containers.csv": lines, "usage.csv": None}))
    assert set(made.containers.ids[:2]) == {"d0", "d1"}
    assert made.containers.arrival_ms[:2].tolist() == [0, 0]
    assert made.containers.exchangeable is not None
    assert not made.containers.exchangeable[:2].any()


# Units as an older store keeps them: columns of a workload are in one unit all the same.


@pytest.mark.parametrize(
    ("resource", "unit", "column", "amount"),
    [
        ("memory", "GiB", "memory_bytes", 2.0 * 2**30),
        ("cpu", "millicores", "cpu_milli", 2.0),
        ("cpu", "cores", "cpu_milli", 2000.0),
        ("net", "bytes/s", "net_kbit", 0.016),
        ("gpu", "count", "gpu_milli", 2000.0),
        ("disk", None, "disk_bytes", 2.0),
    ],
)
def test_amounts_are_in_the_unit_of_their_column(
    resource: str, unit: str | None, column: str, amount: float
) -> None:
    kinds = {"resource": pl.String, "unit": pl.String, "amount": pl.Float64}
    rows = pl.DataFrame([(resource, unit, 2.0)], schema=kinds, orient="row")
    result = in_columns(rows, SizedAssumptions(), ("amount",))
    assert result.select("column", "amount").rows() == [(column, pytest.approx(amount))]


# Containers of whose use only a part is recorded: what they request stands in, and it is told.


@pytest.mark.slow
def test_the_request_stands_in_for_the_resource_that_is_not_recorded(tmp_path: Path) -> None:
    rows = ["a,web,n1,0,,500,1000", "b,web,n1,0,,500,1000", "c,web,n1,0,,500,1000"]
    used = [
        f"{name},{at * 30_000},{cpu},400"
        for at in range(4)
        for name, cpu in (("a", "100"), ("b", ""))
    ]
    files = {
        "containers.csv": [CLUSTER["containers.csv"][0], *rows],
        "usage.csv": ["container,time_ms,cpu_milli,memory_bytes", *used],
    }
    made = workload(stored(tmp_path, files))
    use = made.use.at(0)
    at = made.containers.ids.index
    assert use[:, at("a")].tolist() == [100.0, 400.0]
    assert use[:, at("b")].tolist() == [500.0, 400.0], "no CPU recorded: what it requests"
    assert use[:, at("c")].tolist() == [500.0, 1000.0]
    assert made.provenance.facts["containers_with_request_as_cpu_use"] == 1
    assert made.provenance.facts["containers_with_request_as_use"] == 1


def test_steps_without_a_sample_are_counted(tmp_path: Path) -> None:
    rows = ["a,web,n1,0,,500,1000", "b,web,n1,0,60000,500,1000", "c,web,n1,0,,500,1000"]
    samples = {("a", 0): "100,400", ("a", 1): "110,", ("a", 3): "120,410", ("b", 0): "90,300"}
    used = [f"{name},{at * 30_000},{values}" for (name, at), values in samples.items()]
    files = {
        "containers.csv": [CLUSTER["containers.csv"][0], *rows],
        "usage.csv": ["container,time_ms,cpu_milli,memory_bytes", *used],
    }
    made = workload(stored(tmp_path, files))
    # of a: memory at step 1 and both at step 2; of b: step 1, after which it is gone; c has none
    assert made.provenance.facts["container_steps_held"] == 3
    # of nobody: step 2
    assert made.provenance.facts["steps_without_any_sample"] == 1
