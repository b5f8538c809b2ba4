"""Series of several clusters in one Prometheus are refused: names mean other things in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from kubernetes_support import listed, node, pod, written
from reading_support import read
from series_support import FORMS, MEMORY, NAME, Made, amounts_of, as_dump, at_times, of_pod

from tracekit.base.errors import TracekitError
from tracekit.intake.ingest import ingest


@pytest.mark.parametrize("label", ["cluster", "k8s_cluster"])
@pytest.mark.parametrize(
    ("name", "form"), [case[1:] for case in FORMS], ids=[case[1] for case in FORMS]
)
def test_the_use_of_a_pod_in_another_cluster_is_not_taken_for_that_of_this_one(
    tmp_path: Path, name: str, form: Callable[[Sequence[Made]], str], label: str
) -> None:
    made = [(MEMORY, of_pod(**{label: of}), at_times(1e8, 1e8)) for of in ("eu", "us")]
    path = written(tmp_path / name, form(made))
    with pytest.raises(TracekitError, match="is of 2 clusters, expected one: eu, us") as refused:
        read(NAME, path)
    assert '{cluster="eu"}' in str(refused.value.hint)


def test_what_kube_state_metrics_says_counts_with_it_also_from_a_file_beside(
    tmp_path: Path,
) -> None:
    state = (
        "kube_node_status_allocatable",
        {"node": "n1", "resource": "cpu", "cluster": "us"},
        at_times(8, 8),
    )
    use = (MEMORY, of_pod(cluster="eu"), at_times(1e8, 1e8))
    mine = tmp_path / "mine"
    mine.mkdir()
    written(mine / "state.txt", as_dump([state]))
    written(mine / "use.txt", as_dump([use]))
    written(mine / "list.json", listed(node("n1"), pod(nodeName="n1")))
    with pytest.raises(TracekitError, match="is of 2 clusters, expected one: eu, us"):
        ingest(mine, tmp_path / "store")


def test_series_without_the_label_are_of_the_same_cluster(tmp_path: Path) -> None:
    some = [("web-1", {"cluster": "eu"}), ("web-2", {}), ("web-3", {"cluster": ""})]
    made = [(MEMORY, of_pod(name, **labels), at_times(1e8)) for name, labels in some]
    found = read(NAME, written(tmp_path / "dump.txt", as_dump(made)))
    assert len(amounts_of(found)) == 3
