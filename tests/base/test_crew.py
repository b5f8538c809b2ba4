"""Worker processes are as many as there is work for, whatever number is asked for."""

from __future__ import annotations

import os

import pytest

from tracekit.base import crew


def test_a_thousand_jobs_do_not_start_a_thousand_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []

    class Counted:
        def __init__(self, _without: tuple[str, ...]) -> None:
            started.append(self)

        def stop(self) -> None:
            pass

    monkeypatch.setattr(crew, "_Worker", Counted)
    crew.Workers(1000).close()
    assert len(started) == os.cpu_count()
