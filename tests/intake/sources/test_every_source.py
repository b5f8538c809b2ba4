from __future__ import annotations

import re
from pathlib import Path

import pytest

from tracekit.base.errors import TracekitError
from tracekit.intake.sources import (
    ClusterFile,
    ClusterSource,
    Match,
    Source,
    TableFormat,
    all_sources,
    get_source,
    recognise,
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


CASES = [
    (",timestamp,nodeid,node_cpu_usage,node_memory_usage", "node_usage"),
    ("node_memory_usage,nodeid,timestamp,node_cpu_usage", "node_usage"),
    ("timestamp,nodeid,cpu_utilization,memory_utilization", "node_usage"),
    (
        ",msname,msinstanceid,nodeid,instance_cpu_usage,instance_memory_usage,timestamp",
        "container_usage",
    ),
    ("timestamp,msname,msinstanceid,nodeid,cpu_utilization,memory_utilization", "container_usage"),
    (",timestamp,msname,msinstanceid,metric,value", "service_rate"),
    ("timestamp,msname,msinstanceid,metrics,value", "service_rate"),
    (",traceid,timestamp,rpcid,um,rpctype,dm,interface,rt", "call"),
    ("\ufefftimestamp,nodeid,node_cpu_usage,node_memory_usage", "node_usage"),
]


@pytest.mark.parametrize(("header", "table"), CASES)
def test_headers_are_recognised_whatever_their_order(header: str, table: str) -> None:
    match = recognise(header.split(","))
    assert isinstance(match, Match)
    assert match.format.table == table


def test_a_missing_column_is_named_with_the_likely_one() -> None:
    error = recognise(["timestamp", "nodeid", "node_cpu", "node_memory_usage"])
    assert isinstance(error, TracekitError)
    assert "without column 'node_cpu_usage'" in error.what
    assert "found: timestamp, nodeid, node_cpu, node_memory_usage" in error.what
    assert "'node_cpu' may be 'node_cpu_usage'" in (error.hint or "")


def test_a_container_table_without_its_container_is_not_taken_for_a_node_table() -> None:
    header = "timestamp,msname,nodeid,cpu_utilization,memory_utilization"
    error = recognise(header.split(","))
    assert isinstance(error, TracekitError)
    assert "'msinstanceid'" in error.what


def test_another_trace_is_no_table() -> None:
    error = recognise(["task", "machine", "start", "end"])
    assert isinstance(error, TracekitError)
    assert "not a table of a known trace" in error.what


def test_an_unknown_release_lists_the_known() -> None:
    with pytest.raises(TracekitError, match=r"no trace release named 'ctm20'; known: .*ctm21"):
        get_source("ctm20")


def test_text_of_two_bytes_a_character_is_told_how_to_write_it_anew() -> None:
    error = recognise(['\ufffd{\x00"\x00a\x00'])
    assert isinstance(error, TracekitError)
    assert "is text in UTF-16, expected UTF-8" in error.what
    assert "iconv" in str(error.hint)


def test_a_message_before_json_is_told() -> None:
    error = recognise(["Warning: v1 is deprecated"], rows=[["{"], ['"kind": "List"']])
    assert isinstance(error, TracekitError)
    assert error.what == "is JSON after a line that is none: 'Warning: v1 is deprecated'"
    assert "2>&1" in str(error.hint)


@pytest.mark.parametrize(
    "line", ["NAME    READY   STATUS    RESTARTS   AGE", "NAMESPACE   NAME   READY   STATUS"]
)
def test_a_table_of_kubectl_is_told_how_to_print_it_as_json(line: str) -> None:
    error = recognise([line])
    assert isinstance(error, TracekitError)
    assert "is a table that kubectl printed" in error.what
    assert "kubectl get nodes,pods -A -o json" in str(error.hint)


@pytest.mark.parametrize(
    ("line", "what", "instead"),
    [
        ("NAME   CPU(cores)   CPU(%)   MEMORY(bytes)", "kubectl top printed", "metrics.k8s.io"),
        ("NAMESPACE   NAME   CPU(cores)   MEMORY(bytes)", "kubectl top printed", "metrics.k8s.io"),
        ('Time,"{pod=""a""}"', "Grafana exports", "query_range"),
        ('{"results": {"A": {"frames": [{"schema": {}}]}}}', "Grafana exports", "query_range"),
    ],
)
def test_other_forms_of_use_are_told_with_the_one_that_is_read(
    line: str, what: str, instead: str
) -> None:
    error = recognise(line.split(","))
    assert isinstance(error, TracekitError)
    assert what in error.what
    assert instead in str(error.hint)


@pytest.mark.parametrize("line", ["apiVersion: v1", "kind: List", "---"])
def test_a_list_in_yaml_is_told_how_to_print_it_as_json(line: str) -> None:
    error = recognise([line])
    assert isinstance(error, TracekitError)
    assert "is YAML" in error.what
    assert error.hint is not None
    assert "kubectl get nodes,pods -A -o json" in error.hint
