"""Which metrics are read, and that the page of the source and the queries know them all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from docs_support import DOCS
from kubernetes_support import written
from reading_support import read
from series_support import FORMS, NAME, Made, amounts_of, at_times, of_pod

from tracekit.intake.sources.own._prometheus.metrics import QUERIES, STATES, USES


def test_the_page_of_the_source_names_every_metric_that_is_read() -> None:
    page = (DOCS / "sources" / "kubernetes.md").read_text(encoding="utf-8")
    assert [name for name in (*USES, *STATES) if f"`{name}`" not in page] == []


def test_every_query_gives_what_the_table_of_metrics_knows() -> None:
    assert {query.name for query in QUERIES} <= {*USES, *STATES}
    for query in QUERIES:
        text = query.promql(match='cluster="x"', rate="2m", span="5m")
        assert 'cluster="x"' in text
        # what is filled in by us, and not by Prometheus
        assert "$" not in text.replace('"$1"', "")
        bare = query.promql(match="", rate="2m", span="5m")
        assert ",}" not in bare


@pytest.mark.parametrize("rate", ["sum_irate", "sum_rate5m"])
@pytest.mark.parametrize(
    ("name", "form"), [case[1:] for case in FORMS], ids=[case[1] for case in FORMS]
)
def test_recording_rules_of_kube_prometheus_are_use(
    tmp_path: Path, name: str, form: Callable[[Sequence[Made]], str], rate: str
) -> None:
    """Beside the metric that they are of, which is in the same database, they count once."""
    rule = "node_namespace_pod_container:container_"
    made = [
        (f"{rule}cpu_usage_seconds_total:{rate}", of_pod(node="n1"), at_times(0.5, 0.5, 0.5)),
        (f"{rule}memory_working_set_bytes", of_pod(node="n1"), at_times(1e8, 1e8, 1e8)),
    ]
    both = [*made, ("container_memory_working_set_bytes", of_pod(), at_times(1e8, 1e8, 1e8))]
    for some in (made, both):
        found = read(NAME, written(tmp_path / name, form(some)))
        assert {row[1:4] for row in amounts_of(found)} == {
            ("default/web-1", "cpu", 0.5), ("default/web-1", "memory", 1e8),
        }  # fmt: skip
        assert len(amounts_of(found)) == 6
