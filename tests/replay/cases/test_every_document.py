"""Every recorded document at hand, through ``tracekit explain``'s code, without a difference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests_support import SHARED

from tracekit.replay.cases.scoring import score_file

CARRIED = sorted((Path(__file__).parents[2] / "golden").glob("*_*.json"))
OTHERS = sorted(SHARED.glob("golden/upstream/*.json")) + sorted(
    SHARED.glob("golden/derived/*.json")
)


def check(path: Path) -> None:
    scored = score_file(path)
    assert len(scored) == len(json.loads(path.read_text(encoding="utf-8"))["cases"])
    assert [(one.name, one.skipped, list(one.differences)) for one in scored] == [
        (one.name, "", []) for one in scored
    ]


@pytest.mark.parametrize("path", CARRIED, ids=lambda path: path.stem)
def test_carried_documents(path: Path) -> None:
    check(path)


@pytest.mark.skipif(not OTHERS, reason="further recorded documents are not at hand")
@pytest.mark.parametrize(
    "path", OTHERS or [Path("none")], ids=lambda path: f"{path.parent.name}-{path.stem}"
)
def test_documents_at_hand(path: Path) -> None:
    check(path)


def test_documents_are_carried() -> None:
    assert {"k8s_scheduler_core", "trimaran_peaks", "trimaran_resource_stats"} <= {
        path.stem for path in CARRIED
    }
