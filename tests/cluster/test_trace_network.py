"""Network and disk that a trace does not measure: modelled when asked, from call rates."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests_support import TraceFolder, hex_id

from tracekit.cluster.assumptions import Assumptions, parse_assumptions
from tracekit.cluster.source import source_of
from tracekit.cluster.trace.amounts import call_rates, with_network_and_disk
from tracekit.commands.shell import run
from tracekit.store.folder import open_store

GIB = 2**30
ASKED = ["network_and_disk=modelled", "kbit_per_call=100"]


@pytest.fixture
def store(traces: TraceFolder, tmp_path: Path) -> str:
    assert run(["ingest", str(traces.path), str(tmp_path / "store")]) == 0
    return str(tmp_path / "store")


def test_nothing_is_modelled_unless_asked(store: str) -> None:
    load = source_of(open_store(store), None, assume=[]).load()
    assert load.resources == ("cpu_milli", "memory_bytes")


def test_network_from_call_rates_and_disk_from_a_constant(store: str) -> None:
    """Container c is called 1.5 (c + 1) times a second, by the rows of the hand-made trace."""
    load = source_of(open_store(store), None, assume=ASKED).load()
    assert load.resources == ("cpu_milli", "memory_bytes", "disk_bytes", "net_kbit")
    assert load.nodes.capacity[0, 2:].tolist() == [3600 * GIB, 10_000_000]
    for number in range(6):
        at = load.containers.ids.index(hex_id("container", number))
        assert load.containers.request[at, 2:].tolist() == [20 * GIB, 150 * (number + 1)]
        assert load.containers.limit[at, 2:].tolist() == [30 * GIB, 225 * (number + 1)]
    assert load.provenance.facts["containers_without_call_rate"] == 0
    assert load.provenance.assumptions["kbit_per_call"] == 100.0


def test_dedicated_nodes_keep_their_shape(store: str) -> None:
    load = source_of(open_store(store), None, assume=[*ASKED, "background=none"]).load()
    share = load.nodes.capacity[0] / [104_000, 384 * GIB, 3600 * GIB, 10_000_000]
    assert share == pytest.approx([share[0]] * 4, rel=1e-4)


def test_without_call_rates_there_is_no_network(store: str) -> None:
    plain = source_of(open_store(store), None, assume=[]).load()
    load = with_network_and_disk(plain, parse_assumptions(ASKED), {})
    assert load.resources == ("cpu_milli", "memory_bytes", "disk_bytes")
    assert load.provenance.facts["containers_without_call_rate"] == 6


def test_a_container_without_rate_asks_for_none(store: str) -> None:
    plain = source_of(open_store(store), None, assume=[]).load()
    load = with_network_and_disk(plain, Assumptions(), {plain.containers.ids[0]: 2.0})
    assert load.containers.request[:, 3].tolist() == [160, 0, 0, 0, 0, 0]


def test_a_store_without_the_table_has_no_rates(traces: TraceFolder, tmp_path: Path) -> None:
    (traces.path / "MSRTQps_0.csv").unlink()
    assert run(["ingest", str(traces.path), str(tmp_path / "store")]) == 0
    assert call_rates(open_store(tmp_path / "store")) == {}
