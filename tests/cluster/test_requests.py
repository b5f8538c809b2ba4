"""``--assume requests=...``: recorded sizes, one size for all, a file, what ``size`` chose."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from replay_support import fields_of
from tests_support import the

from tracekit.base.errors import TracekitError
from tracekit.cluster.source import WorkloadSource, source_of
from tracekit.cluster.workload import Workload
from tracekit.intake.ingest import ingest
from tracekit.store.folder import Store, open_store
from tracekit.synth import write

RESOURCES = ("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit")
GIB = 2**30


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("requests") / "trace"
    write(out, preset="tiny", seed=5, tables=["node", "resource", "size"])
    return out


@pytest.fixture(scope="module")
def store(trace: Path) -> Store:
    ingest(trace, trace.parent / "sized")
    return open_store(trace.parent / "sized")


@pytest.fixture(scope="module")
def bare(trace: Path) -> Store:
    """The same usage without the tables of nodes and containers, as CTM21 comes."""
    for part in ("node", "MSResource"):
        ingest(trace / part, trace.parent / "bare")
    return open_store(trace.parent / "bare")


@pytest.fixture(scope="module")
def stated_requests(trace: Path) -> pl.DataFrame:
    return pl.read_csv(trace / "sizes" / "containers.csv")


def load(store: Store, *assume: str) -> Workload:
    return source_of(store, None, assume=assume).load()


def rows(made: Workload, table: pl.DataFrame, key: str = "container") -> pl.DataFrame:
    """The rows of a table in the order of the workload's containers."""
    ids = made.containers.ids if key == "container" else made.containers.services
    order = pl.DataFrame({key: list(ids)})
    return order.join(table, on=key, how="left", maintain_order="left")


def test_recorded_is_the_default_where_there_is_any(
    store: Store, stated_requests: pl.DataFrame
) -> None:
    made = load(store)
    mine = rows(made, stated_requests)

    assert made.resources == RESOURCES
    names = ("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit_per_s")
    assert made.containers.request.tolist() == mine.select(names).to_numpy().tolist()
    limits = mine.select("cpu_limit_milli", "memory_limit_bytes").to_numpy()
    assert made.containers.limit[:, :2].tolist() == limits.tolist()
    assert len({tuple(row) for row in made.containers.request.tolist()}) > 3
    kinds = {name: kind for name, kind in made.provenance.quantities.items() if "requests" in name}
    assert kinds == dict.fromkeys(
        ["requests", *(f"requests: {name}" for name in RESOURCES)], "recorded"
    )


def test_nodes_have_what_is_recorded(store: Store, trace: Path) -> None:
    made = load(store)
    nodes = pl.read_csv(trace / "sizes" / "nodes.csv")
    mine = pl.DataFrame({"node": list(made.nodes.ids)}).join(
        nodes, on="node", how="left", maintain_order="left"
    )
    names = ("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit_per_s")
    assert made.nodes.capacity.tolist() == mine.select(names).to_numpy().tolist()
    assert made.provenance.quantities["node sizes: memory_bytes"] == "recorded"
    # what production ran fits, as the tables say
    used = np.zeros_like(made.nodes.capacity)
    np.add.at(used, made.containers.recorded_node, made.containers.request)
    assert (used <= made.nodes.capacity).all()


def test_use_is_a_fraction_of_the_limit(
    store: Store, bare: Store, stated_requests: pl.DataFrame
) -> None:
    """Whatever is asked for, what a container uses is the recorded part of its own limit."""
    made, plain = load(store), load(bare)
    at = {name: position for position, name in enumerate(plain.containers.ids)}
    same = np.array([at[name] for name in made.containers.ids])
    limits = rows(made, stated_requests).select("cpu_limit_milli", "memory_limit_bytes").to_numpy()
    fraction = plain.use.values[:, :, same] / np.array([4000, 4 * GIB])[:, None, None]
    expected = fraction * limits.T[:, None, :]
    np.testing.assert_allclose(made.use.values, expected, rtol=1e-5)


def test_uniform_is_what_a_store_without_sizes_gives(store: Store, bare: Store) -> None:
    """To the last bit, once nodes are assumed too."""
    made, plain = load(store, "requests=uniform", "node_sizes=assumed"), load(bare)
    assert made.resources == plain.resources == ("cpu_milli", "memory_bytes")
    assert made.containers.ids == plain.containers.ids
    ours, theirs = fields_of(made), fields_of(plain)
    for name in ("nodes.capacity", "containers.request", "containers.limit",
                 "containers.nonzero_request", "use.values", "use.background"):  # fmt: skip
        np.testing.assert_array_equal(ours[name], theirs[name], err_msg=name)
    assert (
        plain.provenance.quantities["requests"]
        == plain.provenance.quantities["node sizes"]
        == "assumed"
    )


def test_dedicated_nodes_keep_their_shapes(store: Store) -> None:
    """One factor for all, so that three quarters of the scarcer resource is asked for."""
    made, plain = load(store, "background=none"), load(store)
    share = made.containers.request[:, :2].sum(axis=0) / made.nodes.capacity[:, :2].sum(axis=0)
    assert share.max() == pytest.approx(0.75, rel=1e-4)
    factor = made.nodes.capacity / plain.nodes.capacity
    np.testing.assert_allclose(factor, factor[0, 0], rtol=1e-3)


def test_a_container_that_is_not_listed_has_the_assumed_size(
    trace: Path, stated_requests: pl.DataFrame, tmp_path: Path
) -> None:
    for part in ("node", "MSResource"):
        shutil.copytree(trace / part, tmp_path / "trace" / part)
    shutil.copy(trace / "sizes" / "nodes.csv", tmp_path / "trace")
    missing = stated_requests["container"][3]
    some = stated_requests.filter(pl.col("container") != missing)
    some.write_csv(tmp_path / "trace" / "containers.csv")
    ingest(tmp_path / "trace", tmp_path / "store")

    made = load(open_store(tmp_path / "store"))
    at = made.containers.ids.index(missing)
    assert made.containers.request[at].tolist() == [4000, 4 * GIB, 0, 0]
    assert made.containers.limit[at, :2].tolist() == [6000, 6 * GIB]
    assert made.provenance.facts["containers_with_assumed_request"] == 1
    others = [name for name in made.containers.ids if name != missing]
    assert len(others) == 79


FILES: list[tuple[str, dict[str, list[Any]], Callable[[Path, pl.DataFrame], None]]] = [
    ("csv", {}, lambda path, table: table.write_csv(path)),
    ("parquet", {}, lambda path, table: table.write_parquet(path)),
]


@pytest.mark.parametrize(("ending", "_", "writes"), FILES)
def test_a_file_by_service(
    ending: str,
    _: dict[str, list[Any]],
    writes: Callable[[Path, pl.DataFrame], None],
    bare: Store,
    tmp_path: Path,
) -> None:
    """Of a store without sizes a file says what use is a fraction of: its limits, else requests."""
    plain = load(bare)
    service = plain.containers.services[0]
    table = pl.DataFrame(
        {
            "service": [service],
            "cpu_cores": [2.5],
            "memory_bytes": [3 * GIB],
            "memory_limit_bytes": [8 * GIB],
        }
    )
    writes(tmp_path / f"mine.{ending}", table)
    made = load(bare, f"requests={tmp_path / f'mine.{ending}'}")

    its = np.array([name == service for name in made.containers.services])
    assert 0 < its.sum() < made.containers.count
    assert set(map(tuple, made.containers.request[its].tolist())) == {(2500, 3 * GIB)}
    assert set(map(tuple, made.containers.limit[its].tolist())) == {(3750, 8 * GIB)}
    assert set(map(tuple, made.containers.request[~its].tolist())) == {(4000, 4 * GIB)}
    np.testing.assert_allclose(
        made.use.values[:, :, its],
        plain.use.values[:, :, its] * np.array([2500 / 4000, 2.0])[:, None, None],
        rtol=1e-6,
    )
    np.testing.assert_array_equal(made.use.values[:, :, ~its], plain.use.values[:, :, ~its])
    assert made.provenance.quantities["requests: cpu_milli"] == "chosen"
    assert made.provenance.facts["containers_in_the_file_of_requests"] == its.sum()
    # the file's place is no part of what a manifest says
    assert made.provenance.assumptions["requests"] == f"mine.{ending}"


def test_a_file_leaves_recorded_use_alone(store: Store, tmp_path: Path) -> None:
    plain = load(store)
    name = plain.containers.ids[2]
    (tmp_path / "mine.csv").write_text(f"container,cpu_cores,disk_bytes\n{name},0.25,1000\n")
    made = load(store, f"requests={tmp_path / 'mine.csv'}")

    assert made.containers.request[2].tolist() == [
        250,
        plain.containers.request[2, 1],
        1000,
        plain.containers.request[2, 3],
    ]
    np.testing.assert_array_equal(
        np.delete(made.containers.request, 2, 0), np.delete(plain.containers.request, 2, 0)
    )
    np.testing.assert_array_equal(made.use.values, plain.use.values)
    np.testing.assert_array_equal(made.use.background, plain.use.background)


@pytest.mark.parametrize("kind", ["store", "bare"])
def test_names_in_a_file_that_nobody_has_are_told(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """A name misspelt would leave its request as it was, and nobody knew."""
    store: Store = request.getfixturevalue(kind)
    name = load(store).containers.ids[2]
    (tmp_path / "mine.csv").write_text(f"container,cpu_cores\n{name},0.25\n{name}x,1\n")
    made = load(store, f"requests={tmp_path / 'mine.csv'}")
    strange = the(made.provenance.remarks, "requests_of_strangers")
    about = {"names": f"{name}x", "of": 2, "file": "mine.csv", "nearest": name}
    assert (strange.value, dict(strange.about)) == (1, about)


BAD = [
    ("cpu_cores\n1\n", "cpu_cores"),
    ("service,weight\na,1\n", "columns"),
    ("service,cpu_cores\n", "has no rows"),
    ("service,cpu_cores\na,-1\n", "cpu_cores"),
    ("service,cpu_cores\na,1\nb,much\n", "cpu_cores"),
    ("service,cpu_cores\na,nan\n", "cpu_cores"),
    ("service,cpu_cores\na,1\nb,1e300\n", "cpu_cores"),
    ("service,cpu_cores\na,1\na,2\n", "names service 'a' 2 times"),
    ("service,cpu_cores\na,1\n,2\n", "row 2: no service"),
    ("service,cpu_cores\nnobody,1\n", "names"),
    ("service,cpu_cores,cpu_limits\na,1,1\n", "'cpu_limits'"),
    ("service,cpu_cores,cpu_milli\na,1,1\n", "cpu_cores"),
    ("service,cpu_cores,cpu_limit_cores\na,2,1\n", "cpu_milli"),
    ("", "read"),
]


@pytest.mark.parametrize(("text", "says"), BAD)
def test_a_bad_file_is_one_clear_line(text: str, says: str, bare: Store, tmp_path: Path) -> None:
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(TracekitError) as caught:
        load(bare, f"requests={tmp_path / 'bad.csv'}")
    assert says in caught.value.what
    assert "bad.csv" in caught.value.what
    assert "\n" not in caught.value.what
    assert caught.value.hint


def sized(folder: Path, limits: pl.DataFrame) -> Path:
    """A result of ``tracekit requests``, as far as a replay reads it."""
    folder.mkdir()
    (folder / "manifest.json").write_text(json.dumps({"schema": "tracekit/size/1"}))
    limits.write_parquet(folder / "limits.parquet")
    return folder


def test_what_size_chose(store: Store, tmp_path: Path) -> None:
    """Half of a container's own CPU, a quarter of its memory; its service's others likewise."""
    plain = load(store)
    name, service = plain.containers.ids[0], plain.containers.services[0]
    limits = pl.DataFrame(
        {
            "policy": ["a", "a", "b"],
            "seed": [0, 1, 0],
            "container": [name] * 3,
            "limit_cores": [1.0, 2.0, 4.0],
            "limit_gb": [1.0, 1.0, 4.0],
        }
    )
    folder = sized(tmp_path / "sized", limits)
    with pytest.raises(TracekitError, match="holds 2 policies: a, b"):
        load(store, f"requests=sized:{folder}")
    with pytest.raises(TracekitError, match="'c'"):
        load(store, f"requests=sized:{folder}:c")
    made = load(store, f"requests=sized:{folder}:a")

    its = np.array([one == service for one in made.containers.services])
    full = plain.containers.limit[its, :2]
    assert made.containers.request[its, :2].tolist() == (full * [0.5, 0.25]).astype(int).tolist()
    assert made.containers.limit[its, :2].tolist() == made.containers.request[its, :2].tolist()
    np.testing.assert_array_equal(made.containers.request[~its], plain.containers.request[~its])
    np.testing.assert_array_equal(made.use.values, plain.use.values)
    assert made.provenance.facts["containers_sized"] == 1
    assert made.provenance.facts["containers_sized_like_their_service"] == its.sum() - 1
    assert made.provenance.assumptions["requests"] == "sized:sized:a"


def test_what_no_node_has_is_left_out_and_told(tmp_path: Path) -> None:
    """A store of sizes whose nodes state no disk: the replay ended in an error of its own."""
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "nodes.csv").write_text(
        "node,cpu_milli,memory_bytes\nn0,8000,17179869184\n"
    )
    (tmp_path / "own" / "containers.csv").write_text(
        "container,arrival_ms,cpu_milli,memory_bytes\na,5,1000,1073741824\n"
    )
    ingest(tmp_path / "own", tmp_path / "store")
    (tmp_path / "mine.csv").write_text("container,cpu_cores,disk_bytes,gpus\na,2,100,1\n")
    made = WorkloadSource(
        store=open_store(tmp_path / "store"),
        workload=None,
        assume=(f"requests={tmp_path / 'mine.csv'}",),
    ).load()
    assert made.containers.request.tolist() == [[2000, 2**30]]
    assert (
        the(made.provenance.remarks, "requests_of_no_node").about["resources"] == "disk_bytes, gpus"
    )


def test_resources_can_be_left_out(store: Store) -> None:
    assert load(store, "resources=cpu+memory").resources == RESOURCES[:2]
