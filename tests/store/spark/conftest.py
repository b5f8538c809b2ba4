"""A small made-up trace for what runs on a cluster, and the cluster."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from spark_support import SparkCluster, spark_cluster

import tracekit

#: Two tests lose one each, and one worker is left.
_WORKERS = 3


@pytest.fixture(scope="session")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("traces")
    tracekit.synth(folder, preset="tiny")
    return folder


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    """One for all: a Java process of Spark's is slow until it has done everything once."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - an optional extra

    with spark_cluster(tmp_path_factory.mktemp("spark"), _WORKERS) as running:
        yield running
        session = SparkSession.getActiveSession()
        if session is not None:
            session.stop()
