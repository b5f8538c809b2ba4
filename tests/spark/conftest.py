"""A small made-up trace for what runs on a cluster."""

from __future__ import annotations

from pathlib import Path

import pytest

import tracekit


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    tracekit.synth(folder, preset="tiny")
    return folder
