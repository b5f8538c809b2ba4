"""Facts of a store: which rows are lost, and which defects come first."""

from tracekit.answer.caveats import answer_of_trace
from tracekit.report.sentences import short


def test_a_table_of_which_nothing_is_kept_is_of_rank_one() -> None:
    tables = {
        "node": {"rows": 3, "rejected": 1},
        "call": {"rows": 0, "rejected": 7},
        "container": {"rows": 0, "rejected": 0},
    }
    facts = [one for one in answer_of_trace({"tables": tables}).facts if one.weight < 2]
    assert [(one.kind, one.subject, one.about["rejected"]) for one in facts] == [
        ("records", "call", 7)
    ]
    assert "7" in short(facts[0])


def test_the_five_largest_defects_come_first() -> None:
    ledger = [
        {"defect": f"d{rows}", "rows": rows, "table": "call", "share": 0.1, "action": "rejected"}
        for rows in (4, 9, 1, 7, 2, 8)
    ]
    facts = answer_of_trace({"tables": {}, "ledger": ledger}).of("defect")
    assert [one.value for one in facts if one.weight < 3] == [9, 8, 7, 4, 2]
    assert [one.value for one in facts if one.weight >= 3] == [1]
