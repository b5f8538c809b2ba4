"""The 2022 release: other names, a wide table, and headers that the 2021 README has as well."""

from __future__ import annotations

import pytest

from tracekit.intake.sources import Match, MissingColumnError, recognise

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


def match(header: str, *rows: str, release: str = "auto") -> Match:
    found = recognise(header.split(","), release=release, rows=[row.split(",") for row in rows])
    assert isinstance(found, Match)
    return found


def test_the_calls_leave_the_columns_aside_that_no_base_table_holds() -> None:
    found = match(CALLS)
    assert (found.source.name, found.format.table) == ("ctm22", "call")
    names = CALLS.split(",")
    assert {column: names[at] for column, at in found.positions.items()} == {
        "time_ms": "timestamp",
        "trace": "traceid",
        "rpc_id": "rpc_id",
        "upstream": "um",
        "rpc_type": "rpctype",
        "downstream": "dm",
        "interface": "interface",
        "response_time_ms": "rt",
    }


def test_the_wide_table_names_its_measures_as_2021_does() -> None:
    found = match(WIDE)
    assert (found.source.name, found.format.table) == ("ctm22", "service_rate")
    assert set(found.positions) == {"time_ms", "service", "container"}
    assert len(found.wide) == 18
    assert found.wide["providerRPC_RT"] == 4
    assert found.wide["providerRPC_MCR"] == 5
    assert found.wide["HTTP_MCR"] == 20
    assert found.wide["HTTP_RT"] == 21


def test_a_wide_table_may_lack_measures_but_not_all() -> None:
    few = match("timestamp,msname,msinstanceid,nodeid,http_rt")
    assert dict(few.wide) == {"HTTP_RT": 4}
    assert isinstance(
        recognise(["timestamp", "msname", "msinstanceid", "nodeid"]), MissingColumnError
    )


SAME_HEADER = [
    (NODE, ["60000,NODE_12,0.2,0.3"], "ctm22"),
    (NODE, [f"0,{HEX},0.2,0.3"], "ctm21"),
    (NODE, ["60000,,0.2,0.3", "60000,NODE_7,0.2,0.3"], "ctm22"),
    (NODE, ["60000,(?),0.2,0.3"], "ctm21"),
    (NODE, ["60000,node7,0.2,0.3"], "ctm21"),
    (NODE, [], "ctm21"),
    (NODE, ["60000"], "ctm21"),
    (RESOURCE, ["180000,MS_21881,MS_21881_POD_0,NODE_11517,0.22,0.83"], "ctm22"),
    (RESOURCE, [f"180000,{HEX},{HEX},{HEX},0.22,0.83"], "ctm21"),
    (RESOURCE, ["1,MS_1,MS_1_POD_0,NODE_2,0,0", f"2,{HEX},MS_1_POD_0,NODE_2,0,0"], "ctm21"),
]


@pytest.mark.parametrize(("header", "rows", "release"), SAME_HEADER)
def test_ids_tell_the_releases_apart_where_headers_are_the_same(
    header: str, rows: list[str], release: str
) -> None:
    assert match(header, *rows).source.name == release


def test_a_named_release_is_not_doubted() -> None:
    assert match(NODE, f"0,{HEX},0.2,0.3", release="ctm22").source.name == "ctm22"


def test_a_cut_call_table_is_named() -> None:
    error = recognise(CALLS.replace("rpc_id,", "").split(","))
    assert isinstance(error, MissingColumnError)
    assert "ctm21 table MSCallGraph without column 'rpcid'" in error.what
