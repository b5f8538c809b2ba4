"""Binding as it was recorded."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from replay_support import Row, workload

import tracekit
from tracekit.binding.choosers import Bindings, recorded_bindings, recorded_chooser
from tracekit.binding.loop import VcpuOutcome, VcpuReplay
from tracekit.binding.occupancy import InterferenceModel
from tracekit.binding.vcpu_state import request_vcpus, room_of
from tracekit.commands.bind import bind
from tracekit.store.folder import open_store

#: Two containers of two cores, one of three, all there at once.
ROWS: list[Row] = [(0, 9000, 2000, 1), (0, 9000, 2000, 1), (0, 9000, 3000, 1)]


def replayed(bindings: Bindings) -> VcpuOutcome:
    """Two hosts of eight vCPUs: 0, 1, 4, 5 are the first socket."""
    load = workload([(8000, 1000)] * 2, ROWS, steps=4)
    model = InterferenceModel(cpu=np.array([0.5]), k1=np.array([0.3]), k2=np.array([0.1]))
    room = room_of(load)
    chooser = recorded_chooser(load, room, bindings)
    service = np.zeros(load.containers.count, dtype=np.int64)
    size = chooser.size(request_vcpus(load.containers.request, load.resources))
    rng = np.random.default_rng(0)
    return VcpuReplay(load, room, model, service, chooser, rng, size=size).run()


def names() -> tuple[tuple[str, ...], tuple[str, ...]]:
    load = workload([(8000, 1000)] * 2, ROWS, steps=4)
    return load.containers.ids, load.nodes.ids


def test_containers_go_where_they_were() -> None:
    (a, b, c), (n0, n1) = names()
    found = replayed({a: (n1, "0,4"), b: (n1, "2-3"), c: (n0, "1,4-5")})
    assert found.node.tolist() == [1, 1, 0]
    assert found.vcpus == [[0, 4], [2, 3], [1, 4, 5]]
    assert (found.socket >= 0).all()


UNBOUND = {
    "somebody has one of them": "4-5",
    "across sockets": "1-2",
    "not on this host": "8-9",
    "no list": "x",
}


@pytest.mark.parametrize("case", UNBOUND)
def test_who_cannot_have_them_is_on_the_host_unbound(case: str) -> None:
    (a, b, c), (n0, n1) = names()
    found = replayed({a: (n0, "0,4"), b: (n0, UNBOUND[case]), c: (n1, "2-3,6")})
    assert found.node.tolist() == [0, 0, 1]
    assert found.vcpus == [[0, 4], [], [2, 3, 6]]
    assert found.socket[1] == -1


def test_containers_have_as_many_as_they_had() -> None:
    (a, b, c), (n0, _) = names()
    found = replayed({a: (n0, "0"), b: (n0, "2-3,6-7"), c: (n0, "1,4-5")})
    assert found.vcpus == [[0], [2, 3, 6, 7], [1, 4, 5]]
    assert found.steps[0]["bound_vcpus"] == 8


def test_who_was_nowhere_stays_out() -> None:
    (a, b, _), (n0, _) = names()
    found = replayed({a: (n0, "0,4"), b: ("elsewhere", "2-3")})
    assert found.node.tolist() == [0, -1, -1]


@pytest.mark.slow
def test_a_trace_with_vcpus_is_fitted_and_bound_without_further_files(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    trace = tmp_path / "trace"
    trace.mkdir()
    created, used = [], []
    for container in range(24):
        node, socket, at = container % 3, container // 3 % 2, container // 6
        cpus = [16 * socket + 4 * at, 16 * socket + 4 * at + 1, 16 * socket + 4 * at + 32]
        created.append(f"0,Create,{container},{node},3,0.02,0.01,{'|'.join(map(str, cpus))}")
        used += [
            f"{39600 + 300 * step},{container},{rng.uniform(5, 80):.2f},50,10,1,1,1,1,1,1,1"
            for step in range(12)
        ]
    events = [f"0,{node},add,,64,0.69,1" for node in range(3)]
    for name, lines in (
        ("server_event", events),
        ("container_event", created),
        ("container_usage", used),
    ):
        (trace / f"{name}.csv").write_text("\n".join(lines) + "\n")
    tracekit.ingest(trace, tmp_path / "store")
    assert recorded_bindings(open_store(tmp_path / "store"))["0"] == ("0", "0-1,32")
    fit = tracekit.fit(tmp_path / "store", tmp_path / "fit", resolved=True)
    assert fit.mode == "bound"
    assert fit.rows.height == 24 * 12
    assert (fit.rows["cpu_ss"] > 0).any()
    run = bind(tmp_path / "store", fit=tmp_path / "fit")
    assert run.policies[-1] == "recorded"
    recorded = run.containers.filter(policy="recorded")
    as_it_was = dict(recorded.select("container", "vcpus").iter_rows())
    assert as_it_was["0"] == [0, 1, 32]
    assert as_it_was["23"] == [28, 29, 60]
    assert set(recorded.select("container", "node").rows()) == {
        (str(one), str(one % 3)) for one in range(24)
    }


@pytest.fixture(scope="module")
def made_up(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up trace and its store; bindings are in the truth alone."""
    folder = tmp_path_factory.mktemp("recorded")
    tracekit.synth(folder / "trace", preset="tiny")
    tracekit.ingest(folder / "trace", folder / "store")
    return folder


@pytest.mark.slow
def test_the_recorded_binding_is_that_of_the_rows_of_the_fit(made_up: Path, tmp_path: Path) -> None:
    """The audit's figure: what is lost as recorded, from the planted truth by plain sums."""
    truth = made_up / "trace" / "truth"
    files = {"binding": truth / "monitoring.csv", "topology": truth / "topology.csv"}
    tracekit.fit(made_up / "store", tmp_path / "fit", **files)  # type: ignore[arg-type]
    planted = pl.read_parquet(truth / "binding.parquet").filter(pl.col("cpu_list") != "")
    bindings = pl.read_parquet(tmp_path / "fit" / "bindings.parquet")
    expected = planted.select("container_id", "node_id", "cpu_list").sort("container_id")
    assert bindings.select("container", "node", "vcpus").rows() == expected.rows()
    found = bind(
        made_up / "store",
        ["recorded", "whole_cores"],
        fit=tmp_path / "fit",
        truth=truth / "binding.parquet",
        assume=["start=observed"],
    )
    load = found.workload
    always = (load.containers.departure_ms > load.use.times_ms[-1]) & (
        load.containers.arrival_ms <= load.use.times_ms[0]
    )
    stays = {name for name, there in zip(load.containers.ids, always, strict=True) if there}
    hosts = planted.group_by("node_id").agg(pl.col("container_id").is_in(stays).all())
    whole = hosts.filter("container_id")["node_id"].to_list()
    there = found.containers.filter(pl.col("policy") == "recorded", pl.col("node").is_in(whole))
    both = there.join(planted, left_on="container", right_on="container_id")
    assert both.height > 10
    lost = both["k1"] * both["cpu_sc"] + both["k2"] * both["cpu_ss"]
    assert both["inflation_fraction"].to_numpy() == pytest.approx(lost.to_numpy(), abs=1e-9)
    assert not found.held.taken_off
    assert found.held.high is not None
    assert found.held.high < 0.5
