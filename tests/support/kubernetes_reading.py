"""Reads what kubectl printed as the source does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kubernetes_support import (
    Object,
    listed,
    written,
)
from reading_support import Reading, read

NAME = "kubernetes"


def read_list(tmp_path: Path, *objects: Object) -> Reading:
    return read(NAME, written(tmp_path / "cluster.json", listed(*objects), indent=4))


def ended(phase: str, **status: Any) -> dict[str, Any]:
    return {"phase": phase, **status}
