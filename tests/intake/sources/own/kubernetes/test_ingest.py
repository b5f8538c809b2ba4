"""Everything that is wrong with a cluster at once: all of it in the rejects, nothing lost."""

from __future__ import annotations

from pathlib import Path

from kubernetes_support import (
    CREATED_MS,
    answer,
    container,
    listed,
    node,
    pod,
    series,
    written,
)

from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import Database

START = CREATED_MS // 1000
MEMORY = "container_memory_working_set_bytes"
CPU = "container_cpu_usage_seconds_total"


def _dump(name: str, values: list[str], pod_name: str = "web-1") -> str:
    labels = f'{{__name__="{name}", container="main", namespace="default", pod="{pod_name}"}}'
    return "".join(
        f"{labels} {value} {CREATED_MS + 30_000 * at}\n" for at, value in enumerate(values)
    )


def test_what_is_wrong_is_rejected_with_file_and_place_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    things = [
        node("n1"),
        pod("web-1", nodeName="n1"),
        pod("twin", meta={"uid": "uid-web-1"}, nodeName="n1"),
        pod("lost", nodeName="n9"),
        pod("owing", containers=[container("-1")], nodeName="n1"),
    ]
    written(folder / "cluster.json", listed(*things), indent=4)
    more = listed(*(pod(f"more-{at}", nodeName="n1") for at in range(6)))
    written(folder / "more.json", more)
    counter = _dump(CPU, ["0", "30", "15", "NaN", "45"])
    gauge = _dump(MEMORY, ["500000", "NaN", "7"])
    written(folder / "dump.txt", (counter + gauge)[:-12])
    spare = series(None, [(START, 1.0)], namespace="default", pod="more-1")
    written(folder / "nameless.json", answer(spare))
    store = tmp_path / "store"
    summary = ingest(folder, store)
    with Database(open_store(store)) as database:
        rejects = database.frame(
            "SELECT source_file, line, split_part(reason, ',', 1) AS reason FROM reject"
            " ORDER BY source_file, line"
        )
        amounts = database.frame(
            "SELECT resource, time_ms, amount FROM container_amount ORDER BY ALL"
        )
        containers = database.frame("SELECT container FROM container ORDER BY ALL")
    assert rejects.rows() == [
        ("cluster.json", 3, "is 'uid-web-1'"),
        ("cluster.json", 4, "is 'n9'"),
        ("cluster.json", 5, "of cpu of container main is -1"),
        ("dump.txt", 4, "is NaN"),
        ("dump.txt", 7, "is NaN"),
        ("dump.txt", 8, "is cut off: the file ends before the line does"),
        ("nameless.json", 1, "is a series without __name__; name the file after what it holds"),
    ]
    # a counter that fell began again at 0
    assert amounts.rows() == [
        ("cpu", CREATED_MS + 30_000, 1.0),
        ("cpu", CREATED_MS + 60_000, 0.5),
        ("cpu", CREATED_MS + 120_000, 0.5),
        ("memory", CREATED_MS, 500_000.0),
    ]
    whole = [f"default/more-{at}" for at in range(6)]
    assert containers["container"].to_list() == [*whole, "default/web-1"]
    assert sum(entry.rejected for entry in summary.ingested) == rejects.height
