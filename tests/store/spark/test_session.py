"""What stands in the way of a Spark session is told in one line."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tracekit.base.errors import TracekitError
from tracekit.store import spark
from tracekit.store.spark import is_spark, master_of, open_session


@pytest.mark.parametrize(
    ("engine", "master"),
    [
        ("spark://host:7077", "spark://host:7077"),
        ("spark:local[2]", "local[2]"),
        ("spark:local", "local"),
        ("spark:yarn", "yarn"),
        ("spark:k8s://https://host:443", "k8s://https://host:443"),
    ],
)
def test_engines_name_masters(engine: str, master: str) -> None:
    assert is_spark(engine)
    assert master_of(engine) == master


def test_without_pyspark_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(TracekitError):
        open_session("spark:local[1]")


def test_without_java_it_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(TracekitError):
        open_session("spark:local[1]")
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    old.chmod(0o755)
    with pytest.raises(TracekitError):
        open_session("spark:local[1]")


def test_a_master_that_is_not_there_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object())
    monkeypatch.setattr(spark, "_check_java", lambda _: None)
    with pytest.raises(TracekitError):
        open_session("spark://127.0.0.1:9")
