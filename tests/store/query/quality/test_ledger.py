from __future__ import annotations

from pathlib import Path

from tests_support import NODE_HEADER, TraceFolder, csv_text, hex_id

from tracekit.intake.ingest import ingest
from tracekit.store.folder import open_store
from tracekit.store.query import run


def test_each_defect_is_counted_with_what_was_done(traces: TraceFolder, tmp_path: Path) -> None:
    node = hex_id("node", 5)
    traces.write(
        "Node_1.csv",
        NODE_HEADER,
        [
            f"0,{node},0.5,0.5",
            f"0,{node},0.5,0.5",
            f"0,{node},0.6,0.5",
            f"30000,{node},abc,0.5",
            f"60000,{node},1.5,0.5",
            f"90000,{node},0.5",
            f"99000000,{node},0.5,0.5",
        ],
    )
    ingest(traces.path, tmp_path / "store")
    ledger = run(open_store(tmp_path / "store"), "quality/ledger")
    node_rows = ledger.filter(table="node_usage").select("defect", "column", "rows", "action")
    assert node_rows.rows() == [
        ("conflicting_duplicate", "", 1, "dropped, first kept"),
        ("exact_duplicate", "", 1, "dropped, first kept"),
        ("malformed_row", "", 1, "rejected"),
        ("missing_samples", "time_ms", 1, "left as gaps"),
        ("out_of_range", "cpu_fraction", 1, "kept"),
        ("stray_time", "time_ms", 1, "kept"),
        ("unparsable_value", "cpu_fraction", 1, "rejected"),
    ]
    calls = ledger.filter(table="call").select("defect", "column", "rows", "example").rows()
    assert calls == [
        ("exact_duplicate", "", 1, "MSCallGraph_0.csv: line 6"),
        ("missing_name", "downstream", 1, "MSCallGraph_0.csv: NAN"),
        ("missing_name", "upstream", 1, "MSCallGraph_0.csv: (?)"),
        ("missing_name", "upstream", 1, "MSCallGraph_0.csv: (empty)"),
    ]


def test_a_clean_table_has_no_ledger(tmp_path: Path) -> None:
    lines = [f"{step * 30000},{hex_id('node', 0)},0.5,0.5" for step in range(5)]
    (tmp_path / "Node_0.csv").write_text(csv_text(NODE_HEADER, lines))
    ingest(tmp_path / "Node_0.csv", tmp_path / "store")
    assert run(open_store(tmp_path / "store"), "quality/ledger").is_empty()


def test_the_step_is_found_even_when_entities_have_one_sample_each(tmp_path: Path) -> None:
    """In the head of a real file most nodes appear once: the mode per node would be wrong."""
    times = [0, 30000, 60000, 90000, 0, 60000, 35820000]
    lines = [f"{time},{hex_id('node', at)},0.5,0.5" for at, time in enumerate(times)]
    (tmp_path / "Node_0.csv").write_text(csv_text(NODE_HEADER, lines))
    ingest(tmp_path / "Node_0.csv", tmp_path / "store")
    (row,) = run(open_store(tmp_path / "store"), "quality/time_grid").to_dicts()
    assert (row["step_ms"], row["time_max_ms"], row["stray_rows"]) == (30000, 90000, 1)
