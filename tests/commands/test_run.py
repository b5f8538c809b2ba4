"""tracekit run: a source that is not there is told at once."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracekit
from tracekit.base.errors import TracekitError
from tracekit.base.progress import Silent


class Told(Silent):
    """Progress that keeps the names of its stages."""

    def __init__(self) -> None:
        self.stages: list[str] = []

    def stage(self, text: str, *, then: str = "") -> None:  # noqa: ARG002 - as the others
        """Keep it."""
        self.stages.append(text)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("nothing", "folder"),
        ("synth:smal", "'smal'"),
    ],
)
def test_a_source_that_is_not_there_is_told_before_any_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    progress = Told()
    with pytest.raises(TracekitError, match=said):
        tracekit.run(source, "out", progress=progress)
    assert progress.stages == []
    assert list(tmp_path.iterdir()) == []
