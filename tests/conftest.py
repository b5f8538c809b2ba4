"""Fixtures that many tests share: hand-made trace files, and real rows where they are at hand."""

from __future__ import annotations

import os

# Several processes of tests share the processors: threads of numpy's and scikit-learn's libraries
# would wait for one another by spinning. They read this when they are loaded.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

import functools
import importlib
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
import sessions
from hypothesis import settings
from tests_support import TraceFolder, few_or_many, shared_data

# The tests make and remove some hundred thousand small files: in memory, where there is room.
MEMORY = Path("/dev/shm")  # noqa: S108 - pytest makes a folder for this user alone
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 16e9:
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None  # it is looked up anew


def pytest_configure(config: pytest.Config) -> None:
    """What a session does besides its tests is in a plugin."""
    config.pluginmanager.register(sessions, "tracekit-sessions")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests come first, so that no process is left with one at the end.

    A file stays in one process (``--dist loadfile``), which makes what its tests share once.
    """
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


# a shared machine may stall any one example; the number of examples bounds the time
settings.register_profile("tracekit", deadline=None, max_examples=few_or_many(30, 500))
settings.load_profile("tracekit")


@pytest.fixture
def traces(tmp_path: Path) -> TraceFolder:
    """A folder with the four tables as small CSVs, spelled as in the released files."""
    return TraceFolder.written(tmp_path / "traces")


@pytest.fixture(scope="session")
def real_rows() -> Path:
    """The heads of the real tables; tests that want them are skipped where they are not at hand."""
    return shared_data("ctm21")


@pytest.fixture(autouse=True)
def _no_debug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TRACEKIT_DEBUG", raising=False)
    # a test that is about the lines of progress asks for them
    monkeypatch.setenv("TRACEKIT_QUIET", "1")
    monkeypatch.setenv("COLUMNS", "80")
    os.environ.pop("FORCE_COLOR", None)


@pytest.fixture(autouse=True)
def _faults_of_pages_are_raised(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A page with a fault fails the test that makes it, but for tests of just that."""
    if request.node.get_closest_marker("page_faults_are_told") is None:
        # by its module's name: the verb of the package's name hides it
        render = importlib.import_module("tracekit.report.render")
        monkeypatch.setattr(render, "page_fault", _raised)


@pytest.fixture(autouse=True)
def _libraries_are_packed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripts of a report are the same five megabytes in each: 0.2 s to compress."""
    packed = _packed_once()
    monkeypatch.setattr(importlib.import_module("tracekit.report.render"), "_packed", packed)


@pytest.fixture(autouse=True)
def _workloads_are_kept_for_a_session(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The stores of named workloads lie where they are removed with the session's files."""
    named = importlib.import_module("tracekit.cluster.named")
    monkeypatch.setattr(named, "cache_folder", tmp_path_factory.getbasetemp)


@functools.cache
def _packed_once() -> Callable[[str], str]:
    packed: Callable[[str], str] = importlib.import_module("tracekit.report.render")._packed
    return functools.cache(packed)


def _raised(page: object, error: Exception) -> str:  # noqa: ARG001 - as page_fault is called
    raise error
