from __future__ import annotations

import pytest

from tracekit.intake.fetch.plan import plan


def test_the_whole_release_is_183_archives_of_about_61_gib() -> None:
    wanted = plan("ctm21")
    assert len(wanted) == len({one.path for one in wanted}) == 183
    assert sum(one.usual_bytes for one in wanted) / 2**30 == pytest.approx(61.1, abs=0.1)
    first = next(one for one in wanted if one.path == "MSCallGraph/MSCallGraph_144.tar.gz")
    assert first.url == (
        "http://aliopentrace.oss-cn-beijing.aliyuncs.com/v2021MicroservicesTraces/"
        "MSCallGraph/MSCallGraph_144.tar.gz"
    )


CASES = [
    (["node"], None, ["node/Node_0"]),
    (["node", "resource"], "0-1", ["MSResource/MSResource_0", "MSResource/MSResource_1", "node"]),
    (["resource"], "2,0-0", ["MSResource/MSResource_0", "MSResource/MSResource_2"]),
    (["MSRTQps"], "24", ["MSRTQps/MSRTQps_24"]),
    (["service_rate"], "23-99", ["MSRTQps/MSRTQps_23", "MSRTQps/MSRTQps_24"]),
    (["NODE", "node_usage"], "0", ["node/Node_0"]),
]


@pytest.mark.parametrize(("tables", "parts", "starts"), CASES)
def test_tables_by_word_name_or_stem_and_parts_by_number(
    tables: list[str], parts: str | None, starts: list[str]
) -> None:
    paths = [one.path for one in plan("ctm21", tables=tables, parts=parts)]
    assert len(paths) == len(starts)
    assert all(path.startswith(start) for path, start in zip(paths, starts, strict=True))


def test_a_mirror_needs_no_slash_at_its_end() -> None:
    for base in ("http://host/a", "http://host/a/"):
        (one,) = plan("ctm21", tables=["node"], base_url=base)
        assert one.url == "http://host/a/node/Node_0.tar.gz"


def test_the_other_release_has_its_own_layout() -> None:
    (one,) = plan("ctm22", tables=["call"], parts="6239")
    assert one.url.endswith("/v2022MicroservicesTraces/CallGraph/CallGraph_6239.tar.gz")


def test_files_that_are_read_by_code_have_archives_and_checksums() -> None:
    every = plan("alibaba18")
    assert [one.path for one in every[:2]] == ["machine_meta.tar.gz", "machine_usage.tar.gz"]
    (one,) = plan("alibaba18", tables=["Machines"], parts="0")
    assert one.url.endswith("/v2018Traces/machine_meta.tar.gz")
    assert (one.sha256 or "").startswith("b5b1b786")
    assert plan("ctm21")[0].sha256 is None
