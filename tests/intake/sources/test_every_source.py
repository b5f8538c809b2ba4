"""What every source states, headers of the tables of a release, sizes behind azure_packing20."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tracekit.base.errors import TracekitError
from tracekit.intake.sources import (
    ClusterFile,
    ClusterSource,
    Match,
    MissingColumnError,
    Source,
    TableFormat,
    all_sources,
    get_source,
    recognise,
)
from tracekit.intake.sources.released.azure_packing20 import (
    RESOURCES,
    capacities,
    requests,
    rounded_up,
)
from tracekit.testing import SourceContract


@pytest.mark.parametrize("source", all_sources().values(), ids=all_sources())
class TestEverySource(SourceContract):
    """Of the registry each."""


@pytest.mark.parametrize("name", all_sources())
def test_a_source_read_by_code_has_a_page(name: str) -> None:
    if isinstance(all_sources()[name], ClusterSource):
        page = Path(__file__).parents[3] / "docs" / "sources" / f"{name}.md"
        text = page.read_text(encoding="utf-8")
        assert text.startswith("# ")
        assert "tracekit ingest" in text


@pytest.mark.parametrize("name", all_sources())
def test_archives_have_an_address_a_number_and_a_length(name: str) -> None:
    source = all_sources()[name]
    archives = [kind.archives for kind in _kinds(source) if kind.archives is not None]
    assert bool(archives) == bool(source.download_url)
    assert not archives or (source.download_url or "").endswith("/")
    for archive in archives:
        assert archive.path.count("{part}") == 1 or archive.parts == 1
        assert len(archive.sha256) in {0, archive.parts}
        assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in archive.sha256)
        assert min(archive.parts, archive.part_bytes) > 0


def _kinds(source: Source) -> list[TableFormat | ClusterFile]:
    """Tables and kinds of files that a source has."""
    files = source.files if isinstance(source, ClusterSource) else ()
    return [*source.formats, *files]


def test_an_unknown_release_is_refused() -> None:
    with pytest.raises(TracekitError):
        get_source("ctm20")


RESOURCE = "timestamp,msname,msinstanceid,nodeid,cpu_utilization,memory_utilization"
NODE = "timestamp,nodeid,cpu_utilization,memory_utilization"
CALLS = "timestamp,traceid,service,rpc_id,rpctype,um,uminstanceid,interface,dm,dminstanceid,rt"
WIDE = (
    "timestamp,msname,msinstanceid,nodeid,providerrpc_rt,providerrpc_mcr,consumerrpc_rt,"
    "consumerrpc_mcr,writemc_rt,writemc_mcr,readmc_rt,readmc_mcr,writedb_rt,writedb_mcr,"
    "readdb_rt,readdb_mcr,consumermq_rt,consumermq_mcr,providermq_rt,providermq_mcr,http_mcr,"
    "http_rt"
)
HEX = "b1f98eed32dcd1bcb575af5f483ab12c3b7981b7d25c6595a54de6376c381c22"
#: Header, first rows, and the release and table that they are of: ids tell where headers are alike.
HEADERS: list[tuple[str, list[str], str, str]] = [
    (",timestamp,nodeid,node_cpu_usage,node_memory_usage", [], "ctm21", "node_usage"),
    ("node_memory_usage,nodeid,timestamp,node_cpu_usage", [], "ctm21", "node_usage"),
    ("\ufefftimestamp,nodeid,node_cpu_usage,node_memory_usage", [], "ctm21", "node_usage"),
    (
        ",msname,msinstanceid,nodeid,instance_cpu_usage,instance_memory_usage,timestamp",
        [],
        "ctm21",
        "container_usage",
    ),
    (RESOURCE, [], "ctm21", "container_usage"),
    (",timestamp,msname,msinstanceid,metric,value", [], "ctm21", "service_rate"),
    ("timestamp,msname,msinstanceid,metrics,value", [], "ctm21", "service_rate"),
    (",traceid,timestamp,rpcid,um,rpctype,dm,interface,rt", [], "ctm21", "call"),
    (CALLS, [], "ctm22", "call"),
    (WIDE, [], "ctm22", "service_rate"),
    ("timestamp,msname,msinstanceid,nodeid,http_rt", [], "ctm22", "service_rate"),
    (NODE, ["60000,NODE_12,0.2,0.3"], "ctm22", "node_usage"),
    (NODE, [f"0,{HEX},0.2,0.3"], "ctm21", "node_usage"),
    (NODE, ["60000,,0.2,0.3", "60000,NODE_7,0.2,0.3"], "ctm22", "node_usage"),
    (NODE, ["60000,(?),0.2,0.3"], "ctm21", "node_usage"),
    (NODE, ["60000,node7,0.2,0.3"], "ctm21", "node_usage"),
    (NODE, ["60000"], "ctm21", "node_usage"),
    (RESOURCE, ["180000,MS_2,MS_2_POD_0,NODE_1,0.22,0.83"], "ctm22", "container_usage"),
    (RESOURCE, [f"180000,{HEX},{HEX},{HEX},0.22,0.83"], "ctm21", "container_usage"),
    (
        RESOURCE,
        ["1,MS_1,MS_1_POD_0,NODE_2,0,0", f"2,{HEX},MS_1_POD_0,NODE_2,0,0"],
        "ctm21",
        "container_usage",
    ),
]


@pytest.mark.parametrize(("header", "rows", "release", "table"), HEADERS)
def test_headers_are_recognised_whatever_their_order(
    header: str, rows: list[str], release: str, table: str
) -> None:
    match = recognise(header.split(","), rows=[row.split(",") for row in rows])
    assert isinstance(match, Match)
    assert (match.source.name, match.format.table) == (release, table)


def test_a_named_release_is_not_doubted() -> None:
    row = f"0,{HEX},0.2,0.3"
    match = recognise(NODE.split(","), release="ctm22", rows=[row.split(",")])
    assert isinstance(match, Match)
    assert match.source.name == "ctm22"


#: Headers of no table, or of one that lacks a column.
NO_TABLES: list[tuple[str, type[TracekitError]]] = [
    ("timestamp,nodeid,node_cpu,node_memory_usage", MissingColumnError),
    ("timestamp,msname,nodeid,cpu_utilization,memory_utilization", MissingColumnError),
    ("timestamp,msname,msinstanceid,nodeid", MissingColumnError),
    (CALLS.replace("rpc_id,", ""), MissingColumnError),
    ("task,machine,start,end", TracekitError),
    ('\ufffd{\x00"\x00a\x00', TracekitError),
    ("NAMESPACE   NAME   READY   STATUS", TracekitError),
    ("NAME   CPU(cores)   CPU(%)   MEMORY(bytes)", TracekitError),
    ('Time,"{pod=""a""}"', TracekitError),
    ("apiVersion: v1", TracekitError),
]


@pytest.mark.parametrize(("header", "error"), NO_TABLES)
def test_another_file_is_no_table(header: str, error: type[TracekitError]) -> None:
    assert type(recognise(header.split(","))) is error


@example(sizes=[1.0, 1.0, 7.5], demands=[0.5])
@given(
    sizes=st.lists(st.sampled_from([1.0, 2.0, 4.0, 5.0, 7.5]), min_size=1, max_size=6),
    demands=st.lists(st.sampled_from([0.1, 0.25, 0.3, 0.5, 1.0]), min_size=1, max_size=6),
)
def test_relative_sizes_are_found_where_the_fractions_agree(
    sizes: list[float], demands: list[float]
) -> None:
    """The fractions are made from known sizes, all types fit everywhere: the sizes come back."""
    rows = [
        {
            "vmTypeId": f"v{vm}",
            "machineId": f"m{machine}",
            "line": 1,
            **dict.fromkeys(RESOURCES, demand / size),
        }
        for vm, demand in enumerate(demands)
        for machine, size in enumerate(sizes)
    ]
    types = pl.DataFrame(rows)
    result = capacities(types)
    largest = max(sizes)
    assert result["core"].to_list() == pytest.approx([one / largest for one in sizes], abs=2e-9)
    study = requests(types, result)
    assert study["core"].to_list() == pytest.approx([one / largest for one in demands], abs=2e-9)
    room = rounded_up(result)["core"].to_list()
    for size, capacity in zip(sizes, room, strict=True):
        for demand, request in zip(demands, study["core"], strict=True):
            as_many = int(size / demand + 1e-9)
            assert as_many * round(request * 1e9) <= round(capacity * 1e9)
