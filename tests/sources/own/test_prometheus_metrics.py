"""Which metrics are read, and that the page of the source and the queries know them all."""

from __future__ import annotations

from docs_support import DOCS

from tracekit.sources.own._prometheus_metrics import QUERIES, STATES, USES


def test_the_page_of_the_source_names_every_metric_that_is_read() -> None:
    page = (DOCS / "sources" / "kubernetes.md").read_text(encoding="utf-8")
    assert [name for name in (*USES, *STATES) if f"`{name}`" not in page] == []


def test_every_query_gives_what_the_table_of_metrics_knows() -> None:
    assert {query.name for query in QUERIES} <= {*USES, *STATES}
    for query in QUERIES:
        text = query.promql(match='cluster="x"', rate="2m", span="5m")
        assert 'cluster="x"' in text
        assert "$" not in text
        bare = query.promql(match="", rate="2m", span="5m")
        assert ",}" not in bare
